//! Logins: families of refresh tokens, and browser sessions.

use guildhall_domain::access::principal::LoginKind;
use guildhall_domain::access::refresh::{PreviousToken, TokenFamily};
use guildhall_domain::ids::{LoginId, PrincipalId};
use jiff_sqlx::{Timestamp, ToSqlx};

use crate::{Store, StoreError, Tx};

/// A token family, with the tokens stored as hashes.
pub type HashedFamily = TokenFamily<Vec<u8>>;

/// Inserts a login. Returns `false` if the principal is disabled.
pub async fn insert(
    tx: &mut Tx,
    id: LoginId,
    principal: PrincipalId,
    kind: LoginKind,
    family: &HashedFamily,
) -> Result<bool, StoreError> {
    let done = sqlx::query_file!(
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
    Ok(done.rows_affected() == 1)
}

/// A valid browser session.
#[derive(Debug, Clone)]
pub struct BrowserSession {
    pub principal: PrincipalId,
    pub hash: Vec<u8>,
    pub expires_at: jiff::Timestamp,
}

/// Finds a browser session that is neither revoked nor expired.
pub async fn find_browser_session(store: &Store, id: LoginId) -> Result<Option<BrowserSession>, StoreError> {
    let row = sqlx::query_file!("queries/logins/find_browser_session.sql", id.as_uuid())
        .fetch_optional(&store.pool)
        .await?;
    Ok(row.map(|row| BrowserSession {
        principal: PrincipalId::from_uuid(row.principal),
        hash: row.current_hash,
        expires_at: row.expires_at.to_jiff(),
    }))
}

/// Finds and locks a token family, so that concurrent refreshes are serialised. A disabled principal has none.
pub async fn lock(
    tx: &mut Tx,
    id: LoginId,
    kind: LoginKind,
) -> Result<Option<(PrincipalId, HashedFamily)>, StoreError> {
    let row = sqlx::query_file!("queries/logins/lock.sql", id.as_uuid(), kind.as_str())
        .fetch_optional(tx.connection())
        .await?;
    Ok(row.map(|row| {
        let previous = row.previous_hash.zip(row.previous_rotated_at);
        let family = TokenFamily {
            current: row.current_hash,
            previous: previous.map(|(hash, at)| PreviousToken { hash, rotated_at: at.to_jiff() }),
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

/// Revokes a login. Returns `false` if it was already revoked.
pub async fn revoke(tx: &mut Tx, id: LoginId) -> Result<bool, StoreError> {
    let done = sqlx::query_file!("queries/logins/revoke.sql", id.as_uuid()).execute(tx.connection()).await?;
    Ok(done.rows_affected() == 1)
}

/// Revokes the valid logins of a principal, except one. Returns their number.
pub async fn revoke_by_principal(
    tx: &mut Tx,
    principal: PrincipalId,
    except: Option<LoginId>,
) -> Result<u64, StoreError> {
    let except = except.map(LoginId::as_uuid);
    let done = sqlx::query_file!("queries/logins/revoke_by_principal.sql", principal.as_uuid(), except)
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected())
}
