//! The one issuer of a database.

use guildhall_domain::identity::{CertificateFingerprint, IssuerName};

use crate::{Store, StoreError};

/// Stores the issuer, if none is stored. Returns false where another one is.
pub async fn claim(
    store: &Store,
    name: &IssuerName,
    root: CertificateFingerprint,
) -> Result<bool, StoreError> {
    let root = root.as_bytes().as_slice();
    sqlx::query_file!("queries/aid_issuer/insert.sql", name.as_str(), root).execute(&store.pool).await?;
    let row = sqlx::query_file!("queries/aid_issuer/matches.sql", name.as_str(), root)
        .fetch_one(&store.pool)
        .await?;
    Ok(row.matches)
}
