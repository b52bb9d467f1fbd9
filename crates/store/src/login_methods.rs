//! Links between subjects of identity providers and principals.

use guildhall_domain::ids::PrincipalId;

use crate::{StoreError, Tx};

/// The principal that a provider's subject is linked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkedPrincipal {
    pub principal: PrincipalId,
    pub is_disabled: bool,
}

/// Links a subject to a principal. Returns `false` if it is already linked.
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

pub async fn find(tx: &mut Tx, issuer: &str, subject: &str) -> Result<Option<LinkedPrincipal>, StoreError> {
    let row = sqlx::query_file!("queries/login_methods/find.sql", issuer, subject)
        .fetch_optional(tx.connection())
        .await?;
    Ok(row.map(|row| LinkedPrincipal {
        principal: PrincipalId::from_uuid(row.principal),
        is_disabled: row.is_disabled,
    }))
}
