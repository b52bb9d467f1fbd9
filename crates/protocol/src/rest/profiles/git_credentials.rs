//! Credentials of git hosts.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A credential to store.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PutGitCredential {
    /// `TOKEN` or `USER:TOKEN`, or a private SSH key without a passphrase.
    #[schema(min_length = 1, max_length = 16384)]
    pub credential: String,
}

impl std::fmt::Debug for PutGitCredential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PutGitCredential([redacted])")
    }
}

/// A stored credential, without its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitCredentialView {
    #[schema(example = "git.example.org")]
    pub host: String,
    /// token or ssh-key.
    #[schema(example = "token")]
    pub kind: String,
    /// The last digits of the SHA-256 of the value.
    pub sha256_suffix: String,
    pub updated_at: Timestamp,
}

/// The credentials of a tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitCredentialsView {
    pub credentials: Vec<GitCredentialView>,
}

/// Confirms that a credential was deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeletedGitCredentialView {
    pub host: String,
    pub kind: String,
    /// Always true.
    pub deleted: bool,
}
