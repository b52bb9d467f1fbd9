//! The version of the list of trusted roots.

use guildhall_domain::identity::CertificateFingerprint;

use crate::{Store, StoreError};

/// Stores the hash of the roots. The version rises if it is another one than before.
pub async fn put(store: &Store, content: CertificateFingerprint) -> Result<(), StoreError> {
    let content = content.as_bytes().as_slice();
    sqlx::query_file!("queries/trust_list/put.sql", content).execute(&store.pool).await?;
    Ok(())
}

/// Returns the version of the list with these roots. None: another replica has stored other roots.
pub async fn find_version(store: &Store, content: CertificateFingerprint) -> Result<Option<u64>, StoreError> {
    let content = content.as_bytes().as_slice();
    let version = sqlx::query_file_scalar!("queries/trust_list/find.sql", content);
    let version = version.fetch_optional(&store.pool).await?.map(u64::try_from).transpose();
    version.map_err(|error| StoreError::Unreadable { column: "trust_list", source: error.into() })
}
