//! What everybody may read of an issuer, and how a client comes to trust its root.

use guildhall_domain::FailureKind;
use guildhall_domain::identity::Aid;
use guildhall_identity::trust::{TrustListError, TrustListRules, TrustedRoot, TrustedRoots};
use serde_json::Value;

use crate::{Client, ClientError};

/// A chain has two certificates of about 500 bytes.
const MAX_PEM_BYTES: usize = 64 * 1024;

/// A root was not imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error(transparent)]
    Client(#[from] ClientError),
    /// Nothing of the list was imported.
    #[error("the list of trusted roots is refused")]
    Refused(#[from] TrustListError),
}

/// A root that may be stored, and the version of its list, below which no later one may fall.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedRoot {
    pub root: TrustedRoot,
    pub version: u64,
}

impl Client {
    /// Returns the certificates of the issuer and of its root in PEM. They are not verified.
    pub async fn certificate_chain(&self) -> Result<String, ClientError> {
        self.text_without_token(self.root_request(&["pki", "chain"]), MAX_PEM_BYTES).await
    }

    /// Returns the newest certificate of an AID in PEM, or the newest one with a fingerprint. It is not verified.
    pub async fn certificate_of(
        &self,
        aid: &Aid,
        fingerprint: Option<&str>,
    ) -> Result<Option<String>, ClientError> {
        let query: Vec<_> =
            fingerprint.map(|fingerprint| ("cert_fingerprint", fingerprint)).into_iter().collect();
        let request = self.root_query(&["pki", "cert", &aid.to_string()], &query);
        match self.text_without_token(request, MAX_PEM_BYTES).await {
            Ok(pem) => Ok(Some(pem)),
            Err(error) if error.kind() == Some(FailureKind::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the certificate of the root in PEM. It is not verified.
    pub async fn root_certificate(&self) -> Result<String, ClientError> {
        self.text_without_token(self.root_request(&["root.crt"]), MAX_PEM_BYTES).await
    }

    /// Returns the signed list of trusted roots. It is not verified.
    pub async fn trust_roots(&self) -> Result<Value, ClientError> {
        self.call_without_token(self.root_request(&["pki", "trust-roots.json"])).await
    }

    /// Fetches all trusted roots, after it has verified their list.
    pub async fn import_roots(&self, rules: &TrustListRules<'_>) -> Result<TrustedRoots, ImportError> {
        Ok(rules.verify(&self.trust_roots().await?)?)
    }

    /// Fetches the root of this server, after it has verified that the list of trusted roots has its fingerprint.
    pub async fn import_own_root(&self, rules: &TrustListRules<'_>) -> Result<ImportedRoot, ImportError> {
        let (list, pem) = (self.import_roots(rules).await?, self.root_certificate().await?);
        Ok(ImportedRoot { root: list.find_pem(&pem)?.clone(), version: list.version })
    }
}
