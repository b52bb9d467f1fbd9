//! The revisions of users with relations. Every change of what their devices have to know starts here.

use std::collections::HashMap;

use guildhall_domain::ids::PrincipalId;

use crate::{Store, StoreError, Tx};

/// Locks the head of a user until the end of the transaction. Returns its next revision.
pub async fn advance(tx: &mut Tx, principal: PrincipalId) -> Result<i64, StoreError> {
    let revision = sqlx::query_file_scalar!("queries/relation_heads/advance.sql", principal.as_uuid())
        .fetch_one(tx.connection())
        .await?;
    Ok(revision)
}

/// The same for several users.
pub async fn advance_all(
    tx: &mut Tx,
    principals: &[PrincipalId],
) -> Result<HashMap<PrincipalId, i64>, StoreError> {
    let ids: Vec<_> = principals.iter().map(|principal| principal.as_uuid()).collect();
    let rows =
        sqlx::query_file!("queries/relation_heads/advance_all.sql", &ids).fetch_all(tx.connection()).await?;
    Ok(rows.into_iter().map(|row| (PrincipalId::from_uuid(row.principal), row.revision)).collect())
}

/// Reads the revisions of users. One without a head has none.
pub async fn list(
    store: &Store,
    principals: &[PrincipalId],
) -> Result<HashMap<PrincipalId, i64>, StoreError> {
    let ids: Vec<_> = principals.iter().map(|principal| principal.as_uuid()).collect();
    let rows = sqlx::query_file!("queries/relation_heads/list.sql", &ids).fetch_all(&store.pool).await?;
    Ok(rows.into_iter().map(|row| (PrincipalId::from_uuid(row.principal), row.revision)).collect())
}
