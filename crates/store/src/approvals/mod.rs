//! Approvals. Every writer holds the lock of the run's journal head.

mod content;
mod list;
mod row;

use std::collections::BTreeMap;

use guildhall_domain::approvals::digest::{ActionDigest, ShownDigest};
use guildhall_domain::approvals::question::OptionEffect;
use guildhall_domain::approvals::state::{ApprovalState, Decision};
use guildhall_domain::ids::{ApprovalId, CommandId, PrincipalId, RunId, SessionId, TenantId};
use guildhall_domain::journal::{Journal, Stream};
use jiff_sqlx::{Timestamp, ToSqlx};
use sqlx::PgExecutor;
use uuid::Uuid;

use crate::{Store, StoreError, Tx, approval_votes};
pub use content::{erase_ended_content, find_content, limit_content, load_content, set_content};
pub use list::list;
pub use row::StoredApproval;
use row::{ApprovalRow, decided_by};

/// Returns the stream of the questions of a tenant.
#[must_use]
pub fn stream(tenant: TenantId) -> Stream {
    Stream { journal: Journal::Approvals, owner: tenant.as_uuid() }
}

/// Values of a new approval.
#[derive(Debug, Clone, Copy)]
pub struct NewApproval<'a> {
    pub id: ApprovalId,
    pub tenant: TenantId,
    pub session: SessionId,
    pub run: RunId,
    pub command: CommandId,
    pub process: &'a str,
    pub request: &'a str,
    pub sealed_question: &'a [u8],
    pub shown: ShownDigest,
    pub action: Option<ActionDigest>,
    pub policy_version: u32,
    pub expires_at: jiff::Timestamp,
}

pub async fn insert(tx: &mut Tx, new: &NewApproval<'_>) -> Result<(), StoreError> {
    sqlx::query_file!(
        "queries/approvals/insert.sql",
        new.id.as_uuid(),
        new.tenant.as_uuid(),
        new.session.as_uuid(),
        new.run.as_uuid(),
        new.command.as_uuid(),
        new.process,
        new.request,
        new.sealed_question,
        new.shown.as_bytes().as_slice(),
        new.action.as_ref().map(|action| action.as_bytes().as_slice()),
        i32::try_from(new.policy_version).unwrap_or(i32::MAX),
        new.expires_at.to_sqlx() as Timestamp
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

pub async fn find(store: &Store, id: ApprovalId) -> Result<Option<StoredApproval>, StoreError> {
    find_with(&store.pool, id).await
}

/// Finds an approval in a transaction that holds the lock of its run.
pub async fn load(tx: &mut Tx, id: ApprovalId) -> Result<Option<StoredApproval>, StoreError> {
    find_with(tx.connection(), id).await
}

async fn find_with(
    executor: impl PgExecutor<'_>,
    id: ApprovalId,
) -> Result<Option<StoredApproval>, StoreError> {
    let row = sqlx::query_file_as!(ApprovalRow, "queries/approvals/find.sql", id.as_uuid());
    row.fetch_optional(executor).await?.map(ApprovalRow::into_approval).transpose()
}

/// Finds the approval of a request of an agent's process.
pub async fn load_by_request(
    tx: &mut Tx,
    run: RunId,
    process: &str,
    request: &str,
) -> Result<Option<StoredApproval>, StoreError> {
    let row = sqlx::query_file_as!(
        ApprovalRow,
        "queries/approvals/find_by_request.sql",
        run.as_uuid(),
        process,
        request
    );
    row.fetch_optional(tx.connection()).await?.map(ApprovalRow::into_approval).transpose()
}

/// Lists the approvals of a command that its end changes.
pub async fn load_open(tx: &mut Tx, command: CommandId) -> Result<Vec<StoredApproval>, StoreError> {
    let rows = sqlx::query_file_as!(ApprovalRow, "queries/approvals/list_open.sql", command.as_uuid());
    rows.fetch_all(tx.connection()).await?.into_iter().map(ApprovalRow::into_approval).collect()
}

/// Lists the parked questions of a run.
pub async fn load_parked(tx: &mut Tx, run: RunId) -> Result<Vec<StoredApproval>, StoreError> {
    let rows = sqlx::query_file_as!(ApprovalRow, "queries/approvals/list_parked.sql", run.as_uuid());
    rows.fetch_all(tx.connection()).await?.into_iter().map(ApprovalRow::into_approval).collect()
}

/// Lists the approvals of a command whose answer no process has got.
pub async fn load_undelivered(tx: &mut Tx, command: CommandId) -> Result<Vec<StoredApproval>, StoreError> {
    let rows = sqlx::query_file_as!(ApprovalRow, "queries/approvals/list_undelivered.sql", command.as_uuid());
    rows.fetch_all(tx.connection()).await?.into_iter().map(ApprovalRow::into_approval).collect()
}

/// Lists the latest approvals of the same action in a session, oldest first.
pub async fn load_same_action(
    tx: &mut Tx,
    session: SessionId,
    action: ActionDigest,
    limit: u32,
) -> Result<Vec<StoredApproval>, StoreError> {
    let (session, action) = (session.as_uuid(), action.as_bytes().as_slice());
    let rows = sqlx::query_file_as!(
        ApprovalRow,
        "queries/approvals/list_same_action.sql",
        session,
        action,
        i64::from(limit)
    );
    rows.fetch_all(tx.connection()).await?.into_iter().rev().map(ApprovalRow::into_approval).collect()
}

/// Who sent a turn, and who created its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnOrigin {
    pub sender: PrincipalId,
    pub creator: PrincipalId,
}

/// Finds who sent turns, and who created their runs.
pub async fn find_origins(
    store: &Store,
    turns: &[CommandId],
) -> Result<BTreeMap<CommandId, TurnOrigin>, StoreError> {
    let turns: Vec<Uuid> = turns.iter().map(|turn| turn.as_uuid()).collect();
    let rows = sqlx::query_file!("queries/approvals/find_origins.sql", &turns).fetch_all(&store.pool).await?;
    let origins = rows.into_iter().map(|row| {
        let (sender, creator) = (PrincipalId::from_uuid(row.sender), PrincipalId::from_uuid(row.creator));
        (CommandId::from_uuid(row.command), TurnOrigin { sender, creator })
    });
    Ok(origins.collect())
}

pub async fn find_tenant(store: &Store, id: ApprovalId) -> Result<Option<TenantId>, StoreError> {
    let row = sqlx::query_file!("queries/approvals/find_tenant.sql", id.as_uuid());
    Ok(row.fetch_optional(&store.pool).await?.map(|row| TenantId::from_uuid(row.tenant)))
}

/// Lists pending approvals that have expired, the longest first.
pub async fn list_expired(store: &Store, limit: u32) -> Result<Vec<ApprovalId>, StoreError> {
    let rows = sqlx::query_file!("queries/approvals/list_expired.sql", i64::from(limit));
    let rows = rows.fetch_all(&store.pool).await?;
    Ok(rows.into_iter().map(|row| ApprovalId::from_uuid(row.id)).collect())
}

/// Gives an expired question more time.
pub async fn escalate(tx: &mut Tx, id: ApprovalId, expires_at: jiff::Timestamp) -> Result<(), StoreError> {
    sqlx::query_file!("queries/approvals/escalate.sql", id.as_uuid(), expires_at.to_sqlx() as Timestamp)
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Stores a state. Values of answers that it does not need are erased.
pub async fn set_state(tx: &mut Tx, id: ApprovalId, state: &ApprovalState) -> Result<(), StoreError> {
    let (is_parked, reason) = match state {
        ApprovalState::Pending { is_parked } => (*is_parked, None),
        ApprovalState::Withdrawn(reason) | ApprovalState::Void(_, reason) => (false, Some(reason.as_str())),
        ApprovalState::Decided(_)
        | ApprovalState::Expired(_)
        | ApprovalState::Delivering(_)
        | ApprovalState::Delivered(_)
        | ApprovalState::Settled(_)
        | ApprovalState::Reused(_)
        | ApprovalState::Uncertain(_) => (false, None),
    };
    let decision = state.decision();
    let by = decision.map(|decision| decided_by(decision.by()));
    let is_answer = decision.is_some_and(|decision| decision.effect() == OptionEffect::Answer);
    let needs_content = is_answer && state.needs_content();
    sqlx::query_file!(
        "queries/approvals/set_state.sql",
        id.as_uuid(),
        state.status().as_str(),
        is_parked,
        reason,
        decision.map(Decision::option),
        decision.map(|decision| decision.effect().as_str()),
        by.as_ref().map(|(kind, _)| *kind),
        &by.as_ref().map(|(_, ids)| ids.clone()).unwrap_or_default(),
        decision.map(|decision| decision.at().to_sqlx()) as Option<Timestamp>,
        needs_content
    )
    .execute(tx.connection())
    .await?;
    match state {
        ApprovalState::Pending { .. } => Ok(()),
        ApprovalState::Decided(_)
        | ApprovalState::Expired(_)
        | ApprovalState::Delivering(_)
        | ApprovalState::Delivered(_)
        | ApprovalState::Settled(_)
        | ApprovalState::Withdrawn(_)
        | ApprovalState::Void(..)
        | ApprovalState::Reused(_)
        | ApprovalState::Uncertain(_) => approval_votes::erase_content(tx, id).await,
    }
}
