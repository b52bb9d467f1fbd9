//! Logins of AIDs.

use guildhall_domain::identity::{Aid, AidSession};
use guildhall_domain::ids::{LoginId, PrincipalId};
use jiff_sqlx::Timestamp;

use crate::{Store, StoreError, Tx};

/// Makes a login one of an AID.
pub async fn insert(tx: &mut Tx, login: LoginId, aid: &Aid) -> Result<(), StoreError> {
    sqlx::query_file!("queries/aid_logins/insert.sql", login.as_uuid(), aid.to_string())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Finds the session of a valid login.
pub async fn find_session(store: &Store, login: LoginId) -> Result<Option<AidSession>, StoreError> {
    let row = sqlx::query_file!("queries/aid_logins/find_session.sql", login.as_uuid())
        .fetch_optional(&store.pool)
        .await?;
    row.map(|row| {
        let aid = row.aid.parse();
        Ok(AidSession {
            aid: aid.map_err(|source: guildhall_domain::identity::InvalidAid| StoreError::Unreadable {
                column: "aid_logins.aid",
                source: source.into(),
            })?,
            owner: PrincipalId::from_uuid(row.principal),
            login,
            expires_at: row.expires_at.to_jiff(),
            is_of_agent: row.is_of_agent,
        })
    })
    .transpose()
}

/// Revokes the valid logins of an AID. Returns their number.
pub async fn revoke_by_aid(tx: &mut Tx, aid: &Aid) -> Result<u64, StoreError> {
    let done = sqlx::query_file!("queries/aid_logins/revoke_by_aid.sql", aid.to_string())
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected())
}
