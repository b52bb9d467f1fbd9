//! Signed-in sessions: families of refresh tokens, and browser sessions.

use guildhall_domain::access::principal::LoginKind;
use guildhall_domain::access::refresh::{Family, Previous};
use guildhall_domain::ids::{LoginId, PrincipalId};
use jiff_sqlx::{Timestamp, ToSqlx};

use crate::{Store, StoreError, Tx};

/// A family whose tokens are known by their hashes.
pub type HashedFamily = Family<Vec<u8>>;

pub async fn insert(
    tx: &mut Tx,
    id: LoginId,
    principal: PrincipalId,
    kind: LoginKind,
    family: &HashedFamily,
) -> Result<(), StoreError> {
    sqlx::query_file!(
        "queries/logins/insert.sql",
        id.as_uuid(),
        principal.as_uuid(),
        kind.as_str(),
        family.current,
        family.last_rotated_at.to_sqlx() as Timestamp,
        family.expires_at.to_sqlx() as Timestamp
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// A browser session as it is checked.
#[derive(Debug, Clone)]
pub struct BrowserCheck {
    pub principal: PrincipalId,
    pub hash: Vec<u8>,
    pub expires_at: jiff::Timestamp,
}

/// Finds a browser session that still holds.
pub async fn find_browser(store: &Store, id: LoginId) -> Result<Option<BrowserCheck>, StoreError> {
    let row = sqlx::query_file!("queries/logins/find_browser.sql", id.as_uuid())
        .fetch_optional(&store.pool)
        .await?;
    Ok(row.map(|row| BrowserCheck {
        principal: PrincipalId::from_uuid(row.principal),
        hash: row.current_hash,
        expires_at: row.expires_at.to_jiff(),
    }))
}

/// Finds a family of tokens and holds it: two refreshes of one family wait for each other.
pub async fn lock(tx: &mut Tx, id: LoginId) -> Result<Option<(PrincipalId, HashedFamily)>, StoreError> {
    let row =
        sqlx::query_file!("queries/logins/lock.sql", id.as_uuid()).fetch_optional(tx.connection()).await?;
    Ok(row.map(|row| {
        let previous = row.previous_hash.zip(row.previous_rotated_at);
        let family = Family {
            current: row.current_hash,
            previous: previous.map(|(hash, at)| Previous { hash, rotated_at: at.to_jiff() }),
            last_rotated_at: row.last_rotated_at.to_jiff(),
            expires_at: row.expires_at.to_jiff(),
            revoked_at: row.revoked_at.map(Timestamp::to_jiff),
        };
        (PrincipalId::from_uuid(row.principal), family)
    }))
}

pub async fn update(tx: &mut Tx, id: LoginId, family: &HashedFamily) -> Result<(), StoreError> {
    let previous = family.previous.as_ref();
    sqlx::query_file!(
        "queries/logins/update.sql",
        id.as_uuid(),
        family.current,
        previous.map(|previous| previous.hash.clone()),
        previous.map(|previous| previous.rotated_at.to_sqlx()) as Option<Timestamp>,
        family.last_rotated_at.to_sqlx() as Timestamp,
        family.revoked_at.map(|at| at.to_sqlx()) as Option<Timestamp>
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Ends a login. Returns whether it still held.
pub async fn revoke(tx: &mut Tx, id: LoginId) -> Result<bool, StoreError> {
    let done = sqlx::query_file!("queries/logins/revoke.sql", id.as_uuid()).execute(tx.connection()).await?;
    Ok(done.rows_affected() == 1)
}
