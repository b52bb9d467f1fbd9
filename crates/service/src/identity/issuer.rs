//! The authority of this installation: its certificates and keys, in files that no other user can read.

use std::sync::Arc;

use guildhall_domain::identity::{CertificateFingerprint, IssuerName};
use guildhall_identity::login_challenge::LoginChallengeKey;
use guildhall_identity::pki::{
    Curve, EcKey, IssuerAuthority, IssuerError, P256PublicKey, RootAuthority, SignError, Signer, der_to_pem,
    self_signed_authority, self_signed_root,
};
use guildhall_identity::seal::{Kek, SealError};
use guildhall_identity::transparency::LogKey;
use guildhall_identity::trust::{AuthorityKey, RootEntry, root_entries};
use guildhall_launcher::secrets::{IssuerFile, IssuerFolder};
use jiff::Timestamp;
use serde_json::Value;

use super::error::IdentityError;
use super::key_store::{KeyStore, SealedKeys};
pub use super::open_error::OpenIssuerError;

/// What signs certificates, and what proves to clients that they log in at the right server.
#[derive(Debug)]
pub struct Issuer {
    pub authority: IssuerAuthority,
    pub(super) login_challenges: LoginChallengeKey,
    auth_certificate: String,
    auth_key: Arc<dyn Signer>,
    /// None: the folder is older than the log, and `guildhall init` adds the key.
    log: Option<LogSigner>,
    trust: Option<TrustAuthority>,
    /// For the keys of agents.
    pub(super) keys: Arc<dyn KeyStore>,
}

/// The key that signs heads of the transparency log.
#[derive(Debug)]
pub struct LogSigner {
    pub public: LogKey,
    pub key: Arc<dyn Signer>,
}

/// The authority that signs the list of trusted roots. Clients pin its certificate.
#[derive(Debug)]
pub struct TrustAuthority {
    pub certificate: String,
    pub public: AuthorityKey,
    pub key: Arc<dyn Signer>,
}

impl Issuer {
    /// Creates the files of a new issuer, or those that an older version has not created. Returns false where all exist: they
    /// stay as they are.
    pub fn create(
        folder: &IssuerFolder,
        kek: &Kek,
        name: &IssuerName,
        now: Timestamp,
    ) -> Result<bool, OpenIssuerError> {
        if folder.exists()? {
            return add_later_files(folder, kek, name, now);
        }
        let (root_key, issuer_key, auth_key) =
            (generate(Curve::P384)?, generate(Curve::P256)?, generate(Curve::P256)?);
        let root = self_signed_root(&format!("{name} root"), &root_key, now)?;
        let signed =
            RootAuthority { certificate: &root, key: &root_key }.sign_issuer(name, &issuer_key, now)?;
        let sealed = |file: IssuerFile, key: &EcKey| seal(kek, file, key);
        let mut files = vec![
            (IssuerFile::RootCertificate, der_to_pem(&root)),
            (IssuerFile::RootKey, sealed(IssuerFile::RootKey, &root_key)?),
            (IssuerFile::IssuerCertificate, der_to_pem(&signed)),
            (IssuerFile::IssuerKey, sealed(IssuerFile::IssuerKey, &issuer_key)?),
            (IssuerFile::AuthKey, sealed(IssuerFile::AuthKey, &auth_key)?),
        ];
        let authority = IssuerAuthority::open(name.clone(), signed, root, Arc::new(issuer_key), now)?;
        let auth =
            authority.sign_service("auth", &P256PublicKey::of(&auth_key).map_err(IssuerError::from)?, now)?;
        files.push((IssuerFile::AuthCertificate, der_to_pem(&auth)));
        let (log_key, trust_key) = (generate(Curve::P256)?, generate(Curve::P384)?);
        files.push((IssuerFile::LogKey, seal(kek, IssuerFile::LogKey, &log_key)?));
        files.push((IssuerFile::TrustKey, seal(kek, IssuerFile::TrustKey, &trust_key)?));
        files.push((IssuerFile::TrustCertificate, trust_certificate(name, &trust_key, now)?));
        Ok(folder.create(&files)?)
    }

    /// Signs the next certificate of the issuer with the key of the root, which has to be in the folder. The key of the
    /// issuer stays the same, so all certificates below it stay valid. Returns when the new one ends.
    pub fn renew(
        folder: &IssuerFolder,
        kek: &Kek,
        name: &IssuerName,
        now: Timestamp,
    ) -> Result<Timestamp, OpenIssuerError> {
        let keys = SealedKeys::new(folder, kek);
        let root = keys.certificate(IssuerFile::RootCertificate)?;
        let root_key = keys.signer(IssuerFile::RootKey, Curve::P384)?;
        let issuer_key = keys.signer(IssuerFile::IssuerKey, Curve::P256)?;
        let authority = RootAuthority { certificate: &root, key: &*root_key };
        let signed = authority.sign_issuer(name, &*issuer_key, now)?;
        let authority = IssuerAuthority::open(name.clone(), signed, root, issuer_key, now)?;
        let auth_key = keys.signer(IssuerFile::AuthKey, Curve::P256)?;
        let auth = authority.sign_service(
            "auth",
            &P256PublicKey::of(&*auth_key).map_err(IssuerError::from)?,
            now,
        )?;
        // In this order: the old certificate of the service is valid below the new one of the issuer.
        folder.replace(IssuerFile::IssuerCertificate, &authority.certificate_pem())?;
        folder.replace(IssuerFile::AuthCertificate, &der_to_pem(&auth))?;
        Ok(authority.not_after())
    }

    /// Opens the issuer. The key of the root is not read: it may be kept elsewhere.
    pub fn open(
        folder: &IssuerFolder,
        kek: &Kek,
        name: &IssuerName,
        now: Timestamp,
    ) -> Result<Self, OpenIssuerError> {
        let keys = SealedKeys::new(folder, kek);
        let (signed, root) = (
            keys.certificate(IssuerFile::IssuerCertificate)?,
            keys.certificate(IssuerFile::RootCertificate)?,
        );
        let issuer_key = keys.signer(IssuerFile::IssuerKey, Curve::P256)?;
        let authority = IssuerAuthority::open(name.clone(), signed, root, issuer_key, now)?;
        let auth = keys.certificate(IssuerFile::AuthCertificate)?;
        let unusable = || OpenIssuerError::File(IssuerFile::AuthCertificate.name());
        let parsed = authority.verify(&auth, now).map_err(|_| unusable())?;
        let auth_key = keys.signer(IssuerFile::AuthKey, Curve::P256)?;
        let is_pair = P256PublicKey::of(&*auth_key).is_ok_and(|key| key == parsed.public_key);
        if !is_pair || parsed.common_name != name.host("auth") {
            return Err(unusable());
        }
        let (log, trust) = (open_log(&keys)?, open_trust(&keys)?);
        Ok(Self {
            authority,
            login_challenges: LoginChallengeKey::new(kek),
            auth_certificate: der_to_pem(&auth),
            auth_key,
            log,
            trust,
            keys: Arc::new(keys),
        })
    }

    /// Returns the key of the transparency log.
    pub fn log(&self) -> Result<&LogSigner, IdentityError> {
        self.log.as_ref().ok_or(IdentityError::NoKey)
    }

    /// Returns the authority of the list of trusted roots.
    pub fn trust(&self) -> Result<&TrustAuthority, IdentityError> {
        self.trust.as_ref().ok_or(IdentityError::NoKey)
    }

    /// Returns the roots that clients should trust, as the list contains them.
    #[must_use]
    pub fn trusted_roots(&self) -> Value {
        let name = self.authority.name();
        let pki = name.host("pki");
        root_entries(&[RootEntry {
            name: &format!("{name} root"),
            organization: name.as_str(),
            certificate: self.authority.root_der(),
            crl_url: &format!("https://{pki}/pki/crl.json"),
            ocsp_url: &format!("https://{pki}/pki/ocsp"),
        }])
    }

    /// Returns the SHA-256 of the root, which names the issuer for ever.
    #[must_use]
    pub fn root_fingerprint(&self) -> CertificateFingerprint {
        self.authority.root_fingerprint()
    }

    /// Returns the certificate of the service at which clients log in, in PEM.
    #[must_use]
    pub fn auth_certificate(&self) -> &str {
        &self.auth_certificate
    }

    /// Signs the nonce of a client, which proves that this is the server of the issuer.
    pub fn sign_nonce(&self, nonce: &str) -> Result<Vec<u8>, SignError> {
        self.auth_key.sign(nonce.as_bytes())
    }
}

fn generate(curve: Curve) -> Result<EcKey, IssuerError> {
    EcKey::generate(curve).map_err(|_| IssuerError::Sign("no key".to_owned()))
}

fn seal(kek: &Kek, file: IssuerFile, key: &EcKey) -> Result<String, SealError> {
    key.seal(kek, file.name()).map(hex::encode)
}

fn trust_certificate(name: &IssuerName, key: &dyn Signer, now: Timestamp) -> Result<String, IssuerError> {
    Ok(der_to_pem(&self_signed_authority(&format!("{name} trust authority"), key, now)?))
}

/// Adds the files that issuers did not always have. Returns whether one was missing.
fn add_later_files(
    folder: &IssuerFolder,
    kek: &Kek,
    name: &IssuerName,
    now: Timestamp,
) -> Result<bool, OpenIssuerError> {
    let mut is_added = false;
    for (file, curve) in [(IssuerFile::LogKey, Curve::P256), (IssuerFile::TrustKey, Curve::P384)] {
        if folder.read(file)?.is_none() {
            is_added |= folder.add(file, &seal(kek, file, &generate(curve)?)?)?;
        }
    }
    if folder.read(IssuerFile::TrustCertificate)?.is_none() {
        let key = SealedKeys::new(folder, kek).signer(IssuerFile::TrustKey, Curve::P384)?;
        is_added |= folder.add(IssuerFile::TrustCertificate, &trust_certificate(name, &*key, now)?)?;
    }
    Ok(is_added)
}

fn open_log(keys: &SealedKeys) -> Result<Option<LogSigner>, OpenIssuerError> {
    if keys.folder.read(IssuerFile::LogKey)?.is_none() {
        return Ok(None);
    }
    let key = keys.signer(IssuerFile::LogKey, Curve::P256)?;
    Ok(Some(LogSigner { public: LogKey::of(&*key).map_err(IssuerError::from)?, key }))
}

fn open_trust(keys: &SealedKeys) -> Result<Option<TrustAuthority>, OpenIssuerError> {
    let Some(certificate) = keys.folder.read(IssuerFile::TrustCertificate)? else { return Ok(None) };
    let key = keys.signer(IssuerFile::TrustKey, Curve::P384)?;
    let public = AuthorityKey::from_certificate_pem(&certificate).ok().filter(|public| public.is_of(&*key));
    let public = public.ok_or(OpenIssuerError::File(IssuerFile::TrustCertificate.name()))?;
    Ok(Some(TrustAuthority { certificate, public, key }))
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    const YEAR: SignedDuration = SignedDuration::from_hours(365 * 24);

    #[test]
    fn renewed_issuer_is_valid_longer_and_keeps_what_it_has_signed() {
        let directory = tempfile::tempdir().expect("a folder");
        let folder = IssuerFolder::new(&directory.path().join("secrets"));
        let (kek, name) = (Kek::generate(), "guild.example".parse().expect("a name"));
        let start: Timestamp = "2026-11-19T00:00:00Z".parse().expect("a time");
        let open = |at: Timestamp| Issuer::open(&folder, &kek, &name, at);
        assert!(Issuer::create(&folder, &kek, &name, start).expect("created"));
        let first = open(start).expect("opened");
        let renewal = start + 4 * YEAR;
        let key = generate(Curve::P256).expect("a key");
        let public_key = P256PublicKey::of(&key).expect("a P-256 key");
        let signed = first.authority.sign_service("probe", &public_key, renewal).expect("signed");

        assert!(open(start + 6 * YEAR).is_err(), "it has ended");
        let ends_at = Issuer::renew(&folder, &kek, &name, renewal).expect("renewed");
        let renewed = open(start + 6 * YEAR).expect("opened");
        assert_eq!(
            (renewed.authority.not_after(), renewed.root_fingerprint()),
            (ends_at, first.root_fingerprint())
        );
        assert!(ends_at > first.authority.not_after());
        assert!(renewed.authority.verify(&signed, renewal).is_ok(), "the key is the same");

        std::fs::remove_file(directory.path().join("secrets/aun/root.key")).expect("moved away");
        let refused = Issuer::renew(&folder, &kek, &name, renewal).expect_err("no key of the root");
        assert_eq!(refused.to_string(), "the file aun/root.key is missing or unreadable");
    }
}
