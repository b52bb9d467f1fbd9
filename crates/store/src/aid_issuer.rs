//! The one issuer of a database.

use guildhall_domain::identity::{CertificateFingerprint, IssuerName};

use crate::{Store, StoreError};

/// What an issuer is known by.
#[derive(Debug, Clone, Copy)]
pub struct IssuerIdentity<'a> {
    pub name: &'a IssuerName,
    pub root: CertificateFingerprint,
    /// The key of the transparency log, if there is one.
    pub log_key: Option<CertificateFingerprint>,
    /// The key that signs the list of trusted roots, if there is one.
    pub trust_key: Option<CertificateFingerprint>,
}

/// Stores the issuer and its keys, if none are stored. Returns false where others are.
pub async fn claim(store: &Store, issuer: &IssuerIdentity<'_>) -> Result<bool, StoreError> {
    let name = issuer.name.as_str();
    let root = issuer.root.as_bytes().as_slice();
    let log_key = issuer.log_key.as_ref().map(|key| key.as_bytes().as_slice());
    let trust_key = issuer.trust_key.as_ref().map(|key| key.as_bytes().as_slice());
    sqlx::query_file!("queries/aid_issuer/insert.sql", name, root).execute(&store.pool).await?;
    let stored = sqlx::query_file!("queries/aid_issuer/claim_keys.sql", name, root, log_key, trust_key)
        .fetch_optional(&store.pool)
        .await?;
    Ok(stored.is_some_and(|row| row.matches))
}
