//! Whom an identity provider knows under which name.

use guildhall_domain::ids::PrincipalId;

use crate::{StoreError, Tx};

/// Who is behind a subject of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Linked {
    pub principal: PrincipalId,
    pub is_disabled: bool,
}

/// Links a subject to a principal. Returns whether it was free.
pub async fn insert(
    tx: &mut Tx,
    issuer: &str,
    subject: &str,
    principal: PrincipalId,
) -> Result<bool, StoreError> {
    let done = sqlx::query_file!("queries/login_methods/insert.sql", issuer, subject, principal.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() == 1)
}

pub async fn find(tx: &mut Tx, issuer: &str, subject: &str) -> Result<Option<Linked>, StoreError> {
    let row = sqlx::query_file!("queries/login_methods/find.sql", issuer, subject)
        .fetch_optional(tx.connection())
        .await?;
    Ok(row
        .map(|row| Linked { principal: PrincipalId::from_uuid(row.principal), is_disabled: row.is_disabled }))
}
