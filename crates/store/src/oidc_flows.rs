//! OpenID Connect sign-ins in progress.

use guildhall_domain::access::oidc::CliCallback;
use guildhall_domain::ids::InviteId;
use guildhall_domain::ops::rate::RateKey;
use jiff_sqlx::{Timestamp, ToSqlx};
use uuid::Uuid;

use crate::{Store, StoreError, Tx};

/// Maximum number of open sign-ins. Each expires after some minutes.
const MAX_OPEN_FLOWS: i64 = 10_000;

/// Maximum number of open sign-ins of one client. Concurrent inserts may exceed it by a few.
const MAX_OPEN_FLOWS_PER_CLIENT: i64 = 100;

/// Number of expired sign-ins that an insert deletes, so that no clean-up task is needed.
const EXPIRED_BATCH_SIZE: i64 = 100;

/// A sign-in in progress.
#[derive(Debug, Clone)]
pub struct OidcFlow {
    pub return_to: String,
    pub invitation: Option<(InviteId, Vec<u8>)>,
    pub cli: Option<CliCallback>,
    pub expires_at: jiff::Timestamp,
}

/// The outcome of an insert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowInsert {
    Inserted,
    /// The client has too many open sign-ins.
    ClientFull,
    /// There are too many open sign-ins.
    Full,
}

/// Inserts a sign-in and deletes some expired ones.
pub async fn insert(
    store: &Store,
    id: Uuid,
    browser_hash: &[u8],
    client: RateKey,
    flow: &OidcFlow,
) -> Result<FlowInsert, StoreError> {
    sqlx::query_file!("queries/oidc_flows/delete_expired.sql", EXPIRED_BATCH_SIZE)
        .execute(&store.pool)
        .await?;
    let (invitation, invitation_hash) =
        flow.invitation.as_ref().map(|(id, hash)| (id.as_uuid(), hash.as_slice())).unzip();
    let row = sqlx::query_file!(
        "queries/oidc_flows/insert.sql",
        id,
        browser_hash,
        flow.return_to,
        invitation,
        invitation_hash,
        flow.cli.as_ref().map(|cli| i32::from(cli.port)),
        flow.cli.as_ref().map(|cli| cli.challenge.as_str()),
        flow.expires_at.to_sqlx() as Timestamp,
        client.to_string(),
        MAX_OPEN_FLOWS,
        MAX_OPEN_FLOWS_PER_CLIENT
    )
    .fetch_one(&store.pool)
    .await?;
    Ok(match (row.client_has_room, row.has_room) {
        (false, _) => FlowInsert::ClientFull,
        (true, false) => FlowInsert::Full,
        (true, true) => FlowInsert::Inserted,
    })
}

/// Finds and deletes the sign-in of a browser: it can be completed once.
pub async fn consume(tx: &mut Tx, id: Uuid, browser_hash: &[u8]) -> Result<Option<OidcFlow>, StoreError> {
    let row = sqlx::query_file!("queries/oidc_flows/delete.sql", id, browser_hash)
        .fetch_optional(tx.connection())
        .await?;
    Ok(row.map(|row| {
        let port = row.cli_port.and_then(|port| u16::try_from(port).ok());
        OidcFlow {
            return_to: row.return_to,
            invitation: row.invitation.map(InviteId::from_uuid).zip(row.invitation_hash),
            cli: port.zip(row.cli_challenge).map(|(port, challenge)| CliCallback { port, challenge }),
            expires_at: row.expires_at.to_jiff(),
        }
    }))
}
