//! Roots are imported after their list was verified, and not otherwise.

use guildhall_identity::pki::{Curve, EcKey, der_to_pem, self_signed_authority, self_signed_root};
use guildhall_identity::trust::{
    AuthorityKey, RootEntry, TrustListError, TrustListRules, TrustedRoot, root_entries, sign_list,
};
use guildhall_sdk::{ImportError, ImportedRoot};
use jiff::Timestamp;

use crate::support::{client, response, scripted_server};

/// The authority of a list, and the root in it.
struct Issuer {
    key: EcKey,
    authority: AuthorityKey,
    root: Vec<u8>,
    now: Timestamp,
}

impl Issuer {
    fn new() -> Self {
        let now = "2026-11-19T00:00:00Z".parse().expect("a time");
        let (key, root_key) = (EcKey::generate(Curve::P384), EcKey::generate(Curve::P384));
        let (key, root_key) = (key.expect("a key"), root_key.expect("a key"));
        let certificate = self_signed_authority("guild.example trust", &key, now).expect("signed");
        let authority = AuthorityKey::from_certificate_pem(&der_to_pem(&certificate)).expect("a key");
        let root = self_signed_root("guild.example root", &root_key, now).expect("signed");
        Self { key, authority, root, now }
    }

    /// Imports the root of a server that sends this list of the version 2, and this `root.crt`.
    async fn import(
        &self,
        authority: &AuthorityKey,
        stored_version: u64,
        root: &[u8],
    ) -> Result<ImportedRoot, ImportError> {
        let roots = root_entries(&[RootEntry {
            name: "guild.example root",
            organization: "guild.example",
            certificate: &self.root,
            crl_url: "https://pki.guild.example/pki/crl.json",
            ocsp_url: "https://pki.guild.example/pki/ocsp",
        }]);
        let list = sign_list(2, &roots, self.now, &self.key).expect("signed");
        let (url, requests) =
            scripted_server(vec![response(200, &list.to_string()), response(200, &der_to_pem(root))]);
        let rules = TrustListRules { authority, stored_version, now: self.now };
        let imported = client(&url).import_own_root(&rules).await;
        let first = requests.recv().expect("a request");
        assert!(first.starts_with("get /pki/trust-roots.json "), "{first}");
        imported
    }
}

fn refusal(imported: Result<ImportedRoot, ImportError>) -> TrustListError {
    match imported {
        Err(ImportError::Refused(error)) => error,
        Err(ImportError::Client(error)) => panic!("{error:?}"),
        Ok(imported) => panic!("imported {imported:?}"),
    }
}

#[tokio::test]
async fn own_root_of_a_verified_list_is_imported() {
    let issuer = Issuer::new();
    let imported = issuer.import(&issuer.authority, 2, &issuer.root).await.expect("imported");
    let fingerprint = imported.root.fingerprint;
    let root = TrustedRoot { id: fingerprint.to_string(), fingerprint, der: issuer.root.clone() };
    assert_eq!(imported, ImportedRoot { root, version: 2 });
}

#[tokio::test]
async fn list_of_another_authority_imports_nothing() {
    let (issuer, other) = (Issuer::new(), Issuer::new());
    let refused = issuer.import(&other.authority, 0, &issuer.root).await;
    assert_eq!(refusal(refused), TrustListError::Signature);
}

#[tokio::test]
async fn older_list_than_the_last_one_imports_nothing() {
    let issuer = Issuer::new();
    let refused = issuer.import(&issuer.authority, 3, &issuer.root).await;
    assert_eq!(refusal(refused), TrustListError::Rollback { found: 2, stored: 3 });
}

#[tokio::test]
async fn root_that_is_not_in_the_list_is_not_imported() {
    let (issuer, other) = (Issuer::new(), Issuer::new());
    let refused = issuer.import(&issuer.authority, 0, &other.root).await;
    assert_eq!(refusal(refused), TrustListError::UnknownRoot);
}
