//! User names and password hashes.

use guildhall_domain::access::lockout::SignInAttempts;
use guildhall_domain::ids::PrincipalId;
use jiff_sqlx::{Timestamp, ToSqlx};

use crate::{StoreError, Tx};

/// A password hash and its failed attempts.
#[derive(Debug, Clone)]
pub struct Password {
    pub principal: PrincipalId,
    pub hash: String,
    pub attempts: SignInAttempts,
}

/// Inserts a user name and its hash. Returns `false` if the name is taken.
pub async fn insert(tx: &mut Tx, name: &str, principal: PrincipalId, hash: &str) -> Result<bool, StoreError> {
    let done = sqlx::query_file!("queries/passwords/insert.sql", name, principal.as_uuid(), hash)
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Finds and locks a user name, so that concurrent attempts on it are serialised.
pub async fn lock(tx: &mut Tx, name: &str) -> Result<Option<Password>, StoreError> {
    let row = sqlx::query_file!("queries/passwords/lock.sql", name).fetch_optional(tx.connection()).await?;
    Ok(row.map(|row| Password {
        principal: PrincipalId::from_uuid(row.principal),
        hash: row.hash,
        attempts: SignInAttempts::from_failures(row.failures.into_iter().map(Timestamp::to_jiff)),
    }))
}

pub async fn set_attempts(tx: &mut Tx, name: &str, attempts: &SignInAttempts) -> Result<(), StoreError> {
    let failures: Vec<Timestamp> = attempts.failures().iter().map(|at| at.to_sqlx()).collect();
    sqlx::query_file!("queries/passwords/set_failures.sql", name, &failures as &[Timestamp])
        .execute(tx.connection())
        .await?;
    Ok(())
}
