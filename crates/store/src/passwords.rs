//! Names and password hashes.

use guildhall_domain::access::lockout::Attempts;
use guildhall_domain::ids::PrincipalId;
use jiff_sqlx::{Timestamp, ToSqlx};

use crate::{StoreError, Tx};

/// A password, as it stood when it was locked.
#[derive(Debug, Clone)]
pub struct Password {
    pub principal: PrincipalId,
    pub hash: String,
    pub attempts: Attempts,
}

/// Writes a name and its hash. Returns whether the name was free.
pub async fn insert(tx: &mut Tx, name: &str, principal: PrincipalId, hash: &str) -> Result<bool, StoreError> {
    let done = sqlx::query_file!("queries/passwords/insert.sql", name, principal.as_uuid(), hash)
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Finds a name and holds it: attempts on the same name wait for each other.
pub async fn lock(tx: &mut Tx, name: &str) -> Result<Option<Password>, StoreError> {
    let row = sqlx::query_file!("queries/passwords/lock.sql", name).fetch_optional(tx.connection()).await?;
    Ok(row.map(|row| Password {
        principal: PrincipalId::from_uuid(row.principal),
        hash: row.hash,
        attempts: Attempts::from_failures(row.failures.into_iter().map(Timestamp::to_jiff)),
    }))
}

pub async fn set_attempts(tx: &mut Tx, name: &str, attempts: &Attempts) -> Result<(), StoreError> {
    let failures: Vec<Timestamp> = attempts.failures().iter().map(|at| at.to_sqlx()).collect();
    sqlx::query_file!("queries/passwords/set_failures.sql", name, &failures as &[Timestamp])
        .execute(tx.connection())
        .await?;
    Ok(())
}
