//! User names and password hashes.

use guildhall_domain::access::lockout::SignInAttempts;
use guildhall_domain::ids::PrincipalId;
use jiff_sqlx::{Timestamp, ToSqlx};

use crate::{Store, StoreError, Tx};

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

/// Finds and locks the user name of a principal, and its failed attempts.
pub async fn lock_by_principal(
    tx: &mut Tx,
    principal: PrincipalId,
) -> Result<Option<(String, SignInAttempts)>, StoreError> {
    let row = sqlx::query_file!("queries/passwords/lock_by_principal.sql", principal.as_uuid())
        .fetch_optional(tx.connection())
        .await?;
    Ok(row.map(|row| {
        (row.name, SignInAttempts::from_failures(row.failures.into_iter().map(Timestamp::to_jiff)))
    }))
}

/// Finds the user name of a principal.
pub async fn find_name(store: &Store, principal: PrincipalId) -> Result<Option<String>, StoreError> {
    let row = sqlx::query_file!("queries/passwords/find_name.sql", principal.as_uuid())
        .fetch_optional(&store.pool)
        .await?;
    Ok(row.map(|row| row.name))
}

/// Finds the principal with a user name. A disabled one is not found.
pub async fn find_principal(store: &Store, name: &str) -> Result<Option<PrincipalId>, StoreError> {
    let row =
        sqlx::query_file!("queries/passwords/find_principal.sql", name).fetch_optional(&store.pool).await?;
    Ok(row.map(|row| PrincipalId::from_uuid(row.principal)))
}

/// Replaces the hash of a user name and clears its failed attempts.
pub async fn set_hash(tx: &mut Tx, name: &str, hash: &str) -> Result<(), StoreError> {
    sqlx::query_file!("queries/passwords/set_hash.sql", name, hash).execute(tx.connection()).await?;
    Ok(())
}

pub async fn set_attempts(tx: &mut Tx, name: &str, attempts: &SignInAttempts) -> Result<(), StoreError> {
    let failures: Vec<Timestamp> = attempts.failures().iter().map(|at| at.to_sqlx()).collect();
    sqlx::query_file!("queries/passwords/set_failures.sql", name, &failures as &[Timestamp])
        .execute(tx.connection())
        .await?;
    Ok(())
}
