//! Sign-ins on their way through an identity provider.

use guildhall_domain::ids::InviteId;
use jiff_sqlx::{Timestamp, ToSqlx};
use uuid::Uuid;

use crate::{Store, StoreError, Tx};

/// Sign-ins that may be open at once. Each is gone after some minutes.
const OPEN_AT_MOST: i64 = 10_000;

/// Expired ones that a new one clears away, so that none needs a task of its own.
const FORGET_AT_ONCE: i64 = 100;

/// Where a command waits, and what proves that it is the one that asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CliWait {
    pub port: u16,
    pub challenge: String,
}

/// A sign-in as it is kept.
#[derive(Debug, Clone)]
pub struct Flow {
    pub return_to: String,
    pub invitation: Option<(InviteId, Vec<u8>)>,
    pub cli: Option<CliWait>,
    pub expires_at: jiff::Timestamp,
}

/// Writes a sign-in, and forgets some that have expired. Returns whether there was room.
pub async fn insert(store: &Store, id: Uuid, browser_hash: &[u8], flow: &Flow) -> Result<bool, StoreError> {
    sqlx::query_file!("queries/oidc_flows/forget_expired.sql", FORGET_AT_ONCE).execute(&store.pool).await?;
    let (invitation, invitation_hash) =
        flow.invitation.as_ref().map(|(id, hash)| (id.as_uuid(), hash.as_slice())).unzip();
    let done = sqlx::query_file!(
        "queries/oidc_flows/insert.sql",
        id,
        browser_hash,
        flow.return_to,
        invitation,
        invitation_hash,
        flow.cli.as_ref().map(|cli| i32::from(cli.port)),
        flow.cli.as_ref().map(|cli| cli.challenge.as_str()),
        flow.expires_at.to_sqlx() as Timestamp,
        OPEN_AT_MOST
    )
    .execute(&store.pool)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Takes a sign-in that a browser began: it is there once.
pub async fn take(tx: &mut Tx, id: Uuid, browser_hash: &[u8]) -> Result<Option<Flow>, StoreError> {
    let row = sqlx::query_file!("queries/oidc_flows/take.sql", id, browser_hash)
        .fetch_optional(tx.connection())
        .await?;
    Ok(row.map(|row| {
        let port = row.cli_port.and_then(|port| u16::try_from(port).ok());
        Flow {
            return_to: row.return_to,
            invitation: row.invitation.map(InviteId::from_uuid).zip(row.invitation_hash),
            cli: port.zip(row.cli_challenge).map(|(port, challenge)| CliWait { port, challenge }),
            expires_at: row.expires_at.to_jiff(),
        }
    }))
}
