//! Runs. Whoever changes one holds the lock of its journal's head.

use guildhall_domain::FailureKind;
use guildhall_domain::ids::{PrincipalId, RunId, RunnerId, SessionId, TenantId};
use guildhall_domain::journal::{Epoch, Journal, Seq, Stream};
use guildhall_domain::runs::event::Usage;
use guildhall_domain::runs::lease::{Before, Lease};
use guildhall_domain::runs::{Blocker, Ending, RunState, TerminalStatus};
use jiff_sqlx::Timestamp;
use sqlx::PgExecutor;
use uuid::Uuid;

use crate::{Store, StoreError, Tx};

/// A run to write.
#[derive(Debug, Clone)]
pub struct NewRun<'a> {
    pub id: RunId,
    pub tenant: TenantId,
    pub session: SessionId,
    pub ordinal: i32,
    pub project: &'a str,
    pub provider: &'a str,
    pub backend_profile: &'a str,
    pub workspace_ref: &'a str,
    pub execution_policy: &'a str,
    pub trace_sink: Option<&'a str>,
    pub created_by: PrincipalId,
}

/// A run as it stands, and the database's time at which it stood so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub id: RunId,
    pub tenant: TenantId,
    pub session: SessionId,
    pub ordinal: i32,
    pub project: String,
    pub provider: String,
    pub backend_profile: String,
    pub workspace_ref: String,
    pub execution_policy: String,
    pub trace_sink: Option<String>,
    pub created_by: PrincipalId,
    pub created_at: jiff::Timestamp,
    pub state: RunState,
    pub ended_at: Option<jiff::Timestamp>,
    pub cancel_seq: Seq,
    pub waiting_since: jiff::Timestamp,
    pub usage: Usage,
    pub lease: Option<Lease>,
    /// The runner that was lost and whom the present holder, or the next, follows.
    pub lost_runner: Option<RunnerId>,
    pub now: jiff::Timestamp,
}

impl Run {
    /// Returns who held the run before a claim.
    #[must_use]
    pub fn before(&self) -> Before<'_> {
        match (&self.lease, self.lost_runner) {
            (Some(lease), _) => Before::Holds(lease),
            (None, Some(lost)) => Before::Lost(lost),
            (None, None) => Before::Nobody,
        }
    }
}

/// Returns the stream of a run's events.
#[must_use]
pub fn stream(run: RunId) -> Stream {
    Stream { journal: Journal::Run, owner: run.as_uuid() }
}

pub async fn insert(tx: &mut Tx, new: &NewRun<'_>) -> Result<(), StoreError> {
    sqlx::query_file!(
        "queries/runs/insert.sql",
        new.id.as_uuid(),
        new.tenant.as_uuid(),
        new.session.as_uuid(),
        new.ordinal,
        new.project,
        new.provider,
        new.backend_profile,
        new.workspace_ref,
        new.execution_policy,
        new.trace_sink,
        new.created_by.as_uuid()
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

pub async fn find(store: &Store, id: RunId) -> Result<Option<Run>, StoreError> {
    find_on(&store.pool, id).await
}

/// Reads a run within a transaction that holds the lock of its head.
pub async fn load(tx: &mut Tx, id: RunId) -> Result<Option<Run>, StoreError> {
    find_on(tx.connection(), id).await
}

async fn find_on(executor: impl PgExecutor<'_>, id: RunId) -> Result<Option<Run>, StoreError> {
    let row = sqlx::query_file!("queries/runs/find.sql", id.as_uuid()).fetch_optional(executor).await?;
    let Some(row) = row else { return Ok(None) };
    let lease = match (row.lease_runner, row.lease_epoch, row.lease_expires_at) {
        (Some(runner), Some(epoch), Some(expires_at)) => Some(Lease {
            runner: RunnerId::from_uuid(runner),
            epoch: Epoch::new(epoch),
            expires_at: expires_at.to_jiff(),
        }),
        _ => None,
    };
    let ending = ending(row.terminal_status.as_deref(), row.failure_kind.as_deref(), row.failure_message);
    Ok(Some(Run {
        id: RunId::from_uuid(row.id),
        tenant: TenantId::from_uuid(row.tenant),
        session: SessionId::from_uuid(row.session),
        ordinal: row.ordinal,
        project: row.project,
        provider: row.provider,
        backend_profile: row.backend_profile,
        workspace_ref: row.workspace_ref,
        execution_policy: row.execution_policy,
        trace_sink: row.trace_sink,
        created_by: PrincipalId::from_uuid(row.created_by),
        created_at: row.created_at.to_jiff(),
        state: match ending {
            Some(ending) => RunState::Ended(ending),
            None if row.state == "cancelling" => RunState::Cancelling,
            None => RunState::Open,
        },
        ended_at: row.ended_at.map(Timestamp::to_jiff),
        cancel_seq: Seq::new(row.cancel_seq).unwrap_or_default(),
        waiting_since: row.waiting_since.to_jiff(),
        usage: Usage {
            input_tokens: unsigned(row.input_tokens),
            cached_input_tokens: unsigned(row.cached_input_tokens),
            output_tokens: unsigned(row.output_tokens),
            active_ms: unsigned(row.active_ms),
            tool_calls: unsigned(row.tool_calls),
        },
        lease,
        lost_runner: row.lost_runner.map(RunnerId::from_uuid),
        now: row.now.to_jiff(),
    }))
}

/// Reads an end from its columns.
pub(crate) fn ending(status: Option<&str>, kind: Option<&str>, message: Option<String>) -> Option<Ending> {
    let status = TerminalStatus::from_name(status?).ok()?;
    let failure = kind.map(|kind| Blocker {
        // A kind that a newer binary wrote is still a failure.
        kind: FailureKind::from_name(kind).unwrap_or(FailureKind::Internal),
        message: message.unwrap_or_default(),
    });
    Some(Ending { status, failure })
}

/// Returns the tenant that a run belongs to.
pub async fn tenant_of(store: &Store, id: RunId) -> Result<Option<TenantId>, StoreError> {
    let row =
        sqlx::query_file!("queries/runs/tenant_of.sql", id.as_uuid()).fetch_optional(&store.pool).await?;
    Ok(row.map(|row| TenantId::from_uuid(row.tenant)))
}

/// Which runs a list shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    Open,
    All,
}

/// Lists runs of a tenant before one, newest first.
pub async fn list(
    store: &Store,
    tenant: TenantId,
    before: Option<RunId>,
    shown: Shown,
    limit: u32,
) -> Result<Vec<RunId>, StoreError> {
    let before = before.map_or(Uuid::max(), RunId::as_uuid);
    let rows = sqlx::query_file!(
        "queries/runs/list.sql",
        tenant.as_uuid(),
        before,
        shown == Shown::All,
        i64::from(limit)
    )
    .fetch_all(&store.pool)
    .await?;
    Ok(rows.into_iter().map(|row| RunId::from_uuid(row.id)).collect())
}

pub async fn end(tx: &mut Tx, id: RunId, ending: &Ending) -> Result<(), StoreError> {
    sqlx::query_file!(
        "queries/runs/end.sql",
        id.as_uuid(),
        ending.status.as_str(),
        ending.failure.as_ref().map(|failure| failure.kind.as_str()),
        ending.failure.as_ref().map(|failure| failure.message.as_str())
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// What a runner is asked to interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    Run,
    Command,
}

/// Notes that the runner was asked to interrupt something, and where the journal says so.
pub async fn ask_to_cancel(tx: &mut Tx, id: RunId, at: Seq, asked: Asked) -> Result<(), StoreError> {
    sqlx::query_file!("queries/runs/ask_to_cancel.sql", id.as_uuid(), at.get(), asked == Asked::Run)
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Returns the number of the next command.
pub async fn next_ordinal(tx: &mut Tx, id: RunId) -> Result<i32, StoreError> {
    let row =
        sqlx::query_file!("queries/runs/next_ordinal.sql", id.as_uuid()).fetch_one(tx.connection()).await?;
    Ok(row.commands)
}

/// Lets a run's patience begin anew; nobody is to be followed.
pub async fn wait_anew(tx: &mut Tx, id: RunId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/runs/wait_anew.sql", id.as_uuid()).execute(tx.connection()).await?;
    Ok(())
}

/// Notes which runner was lost: whoever follows it is told, until the run is let go.
pub async fn set_lost_runner(tx: &mut Tx, id: RunId, lost: RunnerId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/runs/set_lost_runner.sql", id.as_uuid(), lost.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(())
}

pub async fn add_usage(tx: &mut Tx, id: RunId, usage: Usage) -> Result<(), StoreError> {
    sqlx::query_file!(
        "queries/runs/add_usage.sql",
        id.as_uuid(),
        signed(usage.input_tokens),
        signed(usage.cached_input_tokens),
        signed(usage.output_tokens),
        signed(usage.active_ms),
        signed(usage.tool_calls)
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Finds runs of a tenant that wait for a runner of these profiles, the longest waiting first.
pub async fn waiting(
    store: &Store,
    tenant: TenantId,
    only: Option<&str>,
    profiles: &[String],
    limit: u32,
) -> Result<Vec<RunId>, StoreError> {
    let rows =
        sqlx::query_file!("queries/runs/waiting.sql", tenant.as_uuid(), only, profiles, i64::from(limit))
            .fetch_all(&store.pool)
            .await?;
    Ok(rows.into_iter().map(|row| RunId::from_uuid(row.id)).collect())
}

/// Finds runs of any tenant that wait for a runner of these profiles, in the order in which the installation's own pool
/// takes them.
pub async fn waiting_anywhere(
    store: &Store,
    only: Option<&str>,
    profiles: &[String],
    limit: u32,
) -> Result<Vec<RunId>, StoreError> {
    let rows = sqlx::query_file!("queries/runs/waiting_anywhere.sql", only, profiles, i64::from(limit))
        .fetch_all(&store.pool)
        .await?;
    Ok(rows.into_iter().map(|row| RunId::from_uuid(row.id)).collect())
}

/// Finds open runs that nobody holds and whose patience is over.
pub async fn overdue(
    store: &Store,
    unclaimed_seconds: f64,
    idle_seconds: f64,
    limit: u32,
) -> Result<Vec<RunId>, StoreError> {
    let rows =
        sqlx::query_file!("queries/runs/overdue.sql", unclaimed_seconds, idle_seconds, i64::from(limit))
            .fetch_all(&store.pool)
            .await?;
    Ok(rows.into_iter().map(|row| RunId::from_uuid(row.id)).collect())
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
