//! Runs. Every writer holds the lock of the run's journal head.

use guildhall_domain::FailureKind;
use guildhall_domain::agents::AgentRevision;
use guildhall_domain::ids::{AttemptId, PrincipalId, RunId, RunnerId, SessionId, TenantId};
use guildhall_domain::journal::{Epoch, Journal, Seq, Stream};
use guildhall_domain::runs::Run;
use guildhall_domain::runs::event::Usage;
use guildhall_domain::runs::lease::Lease;
use guildhall_domain::runs::{FailureReason, RunState, TerminalOutcome, TerminalStatus};
use jiff_sqlx::Timestamp;
use sqlx::PgExecutor;
use uuid::Uuid;

use crate::{Store, StoreError, Tx};

/// Values of a new run.
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
    /// Its agent, with the revision of the settings that it is created with.
    pub agent: Option<AgentRevision>,
}

/// A run as its holder waits for work on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldRun {
    pub id: RunId,
    /// The number of its commands, which is the ordinal of the last.
    pub commands: i32,
    pub cancel_seq: Seq,
    pub is_ended: bool,
    /// Of its lease, if it has one.
    pub epoch: Option<Epoch>,
    /// Whether the enrolment of its holder is not revoked.
    pub is_authorized: bool,
    /// Whether it is idle and its holder is draining.
    pub must_release: bool,
    /// Whether another run waits that the holder could claim.
    pub is_needed_elsewhere: bool,
}

/// Returns the journal stream of a run's events.
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
        new.created_by.as_uuid(),
        new.agent.map(|agent| agent.id.as_uuid()),
        new.agent.map(|agent| agent.revision)
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

pub async fn find(store: &Store, id: RunId) -> Result<Option<Run>, StoreError> {
    find_with(&store.pool, id).await
}

/// Finds a run in a transaction that holds the lock of its head.
pub async fn load(tx: &mut Tx, id: RunId) -> Result<Option<Run>, StoreError> {
    find_with(tx.connection(), id).await
}

async fn find_with(executor: impl PgExecutor<'_>, id: RunId) -> Result<Option<Run>, StoreError> {
    let row =
        sqlx::query_file_as!(RunRow, "queries/runs/find.sql", id.as_uuid()).fetch_optional(executor).await?;
    Ok(row.map(RunRow::into_run))
}

/// The columns of a run.
pub(crate) struct RunRow {
    pub(crate) id: Uuid,
    pub(crate) tenant: Uuid,
    pub(crate) tenant_slug: String,
    pub(crate) session: Uuid,
    pub(crate) ordinal: i32,
    pub(crate) title: Option<String>,
    pub(crate) project: String,
    pub(crate) provider: String,
    pub(crate) backend_profile: String,
    pub(crate) workspace_ref: String,
    pub(crate) execution_policy: String,
    pub(crate) trace_sink: Option<String>,
    pub(crate) created_by: Uuid,
    pub(crate) created_at: Timestamp,
    pub(crate) state: String,
    pub(crate) terminal_status: Option<String>,
    pub(crate) failure_kind: Option<String>,
    pub(crate) failure_message: Option<String>,
    pub(crate) ended_at: Option<Timestamp>,
    pub(crate) cancel_seq: i64,
    pub(crate) waiting_since: Timestamp,
    pub(crate) input_tokens: i64,
    pub(crate) cached_input_tokens: i64,
    pub(crate) output_tokens: i64,
    pub(crate) active_ms: i64,
    pub(crate) tool_calls: i64,
    pub(crate) lost_runner: Option<Uuid>,
    pub(crate) asking_until: Option<Timestamp>,
    pub(crate) parked_until: Option<Timestamp>,
    pub(crate) lease_runner: Option<Uuid>,
    pub(crate) lease_epoch: Option<i64>,
    pub(crate) lease_attempt: Option<Uuid>,
    pub(crate) lease_renewed_at: Option<Timestamp>,
    pub(crate) lease_expires_at: Option<Timestamp>,
    pub(crate) now: Timestamp,
    /// JSON of a statement that reads more than the run.
    pub(crate) work: Option<String>,
}

impl RunRow {
    pub(crate) fn into_run(self) -> Run {
        let row = self;
        let lease = match (row.lease_runner, row.lease_epoch, row.lease_renewed_at, row.lease_expires_at) {
            (Some(runner), Some(epoch), Some(renewed_at), Some(expires_at)) => Some(Lease {
                runner: RunnerId::from_uuid(runner),
                epoch: Epoch::new(epoch),
                attempt: row.lease_attempt.map(AttemptId::from_uuid),
                renewed_at: renewed_at.to_jiff(),
                expires_at: expires_at.to_jiff(),
            }),
            _ => None,
        };
        let outcome =
            parse_outcome(row.terminal_status.as_deref(), row.failure_kind.as_deref(), row.failure_message);
        Run {
            id: RunId::from_uuid(row.id),
            tenant: TenantId::from_uuid(row.tenant),
            tenant_slug: row.tenant_slug,
            session: SessionId::from_uuid(row.session),
            ordinal: row.ordinal,
            title: row.title,
            project: row.project,
            provider: row.provider,
            backend_profile: row.backend_profile,
            workspace_ref: row.workspace_ref,
            execution_policy: row.execution_policy,
            trace_sink: row.trace_sink,
            created_by: PrincipalId::from_uuid(row.created_by),
            created_at: row.created_at.to_jiff(),
            state: match outcome {
                Some(outcome) => RunState::Ended(outcome),
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
            asking_until: row.asking_until.map(Timestamp::to_jiff),
            parked_until: row.parked_until.map(Timestamp::to_jiff),
            now: row.now.to_jiff(),
        }
    }
}

/// Reads the terminal outcome from its columns.
pub(crate) fn parse_outcome(
    status: Option<&str>,
    kind: Option<&str>,
    message: Option<String>,
) -> Option<TerminalOutcome> {
    let status = TerminalStatus::from_name(status?).ok()?;
    let failure = kind.map(|kind| FailureReason {
        // A kind written by a newer binary is still a failure.
        kind: FailureKind::from_name(kind).unwrap_or(FailureKind::Internal),
        message: message.unwrap_or_default(),
    });
    Some(TerminalOutcome { status, failure })
}

/// Finds the tenant of a run.
pub async fn find_tenant(store: &Store, id: RunId) -> Result<Option<TenantId>, StoreError> {
    let row =
        sqlx::query_file!("queries/runs/find_tenant.sql", id.as_uuid()).fetch_optional(&store.pool).await?;
    Ok(row.map(|row| TenantId::from_uuid(row.tenant)))
}

pub async fn end(tx: &mut Tx, id: RunId, outcome: &TerminalOutcome) -> Result<(), StoreError> {
    sqlx::query_file!(
        "queries/runs/end.sql",
        id.as_uuid(),
        outcome.status.as_str(),
        outcome.failure.as_ref().map(|failure| failure.kind.as_str()),
        outcome.failure.as_ref().map(|failure| failure.message.as_str())
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// What a cancel request interrupts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelTarget {
    Run,
    Command,
}

/// Records a cancel request, and the journal entry that holds it.
pub async fn request_cancel(tx: &mut Tx, id: RunId, at: Seq, target: CancelTarget) -> Result<(), StoreError> {
    sqlx::query_file!("queries/runs/set_cancelling.sql", id.as_uuid(), at.get(), target == CancelTarget::Run)
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Restarts the waiting time of a run and clears its lost runner.
pub async fn reset_waiting(tx: &mut Tx, id: RunId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/runs/reset_waiting.sql", id.as_uuid()).execute(tx.connection()).await?;
    Ok(())
}

/// Records the lost runner. Its replacement is told about it until the run is released.
pub async fn set_lost_runner(tx: &mut Tx, id: RunId, lost: RunnerId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/runs/set_lost_runner.sql", id.as_uuid(), lost.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Adds the usage of a command. Returns when an event of the run was recorded, if one is named.
pub async fn add_usage(
    tx: &mut Tx,
    id: RunId,
    usage: Usage,
    event: Option<Seq>,
) -> Result<Option<jiff::Timestamp>, StoreError> {
    let row = sqlx::query_file!(
        "queries/runs/add_usage.sql",
        id.as_uuid(),
        signed(usage.input_tokens),
        signed(usage.cached_input_tokens),
        signed(usage.output_tokens),
        signed(usage.active_ms),
        signed(usage.tool_calls),
        event.map(Seq::get),
        Journal::Run.number()
    )
    .fetch_one(tx.connection())
    .await?;
    Ok(row.recorded_at.map(Timestamp::to_jiff))
}

/// Lists the runs of a tenant that wait for a runner with one of these profiles, longest waiting first.
pub async fn list_waiting(
    store: &Store,
    tenant: TenantId,
    only: Option<&str>,
    profiles: &[String],
    limit: u32,
) -> Result<Vec<RunId>, StoreError> {
    let rows = sqlx::query_file!(
        "queries/runs/list_waiting.sql",
        tenant.as_uuid(),
        only,
        profiles,
        i64::from(limit)
    )
    .fetch_all(&store.pool)
    .await?;
    Ok(rows.into_iter().map(|row| RunId::from_uuid(row.id)).collect())
}

/// A run that waits in the queue of the shared pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingRun {
    pub id: RunId,
    pub tenant: TenantId,
    pub backend_profile: String,
}

/// Lists the runs of all tenants that wait for a runner with one of these profiles, in the order in which the shared
/// pool serves them.
pub async fn list_waiting_in_all_tenants(
    store: &Store,
    only: Option<&str>,
    profiles: &[String],
    limit: u32,
) -> Result<Vec<WaitingRun>, StoreError> {
    let rows =
        sqlx::query_file!("queries/runs/list_waiting_in_all_tenants.sql", only, profiles, i64::from(limit))
            .fetch_all(&store.pool)
            .await?;
    let waiting = rows.into_iter().map(|row| WaitingRun {
        id: RunId::from_uuid(row.id),
        tenant: TenantId::from_uuid(row.tenant),
        backend_profile: row.backend_profile,
    });
    Ok(waiting.collect())
}

/// Reads what the holders of these runs wait for, with one statement.
pub async fn list_held(store: &Store, ids: &[RunId]) -> Result<Vec<HeldRun>, StoreError> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.as_uuid()).collect();
    let rows = sqlx::query_file!("queries/runs/list_held.sql", &ids).fetch_all(&store.pool).await?;
    let held = rows.into_iter().map(|row| HeldRun {
        id: RunId::from_uuid(row.id),
        commands: row.commands,
        cancel_seq: Seq::new(row.cancel_seq).unwrap_or_default(),
        is_ended: row.is_ended,
        epoch: row.epoch.map(Epoch::new),
        is_authorized: row.is_authorized,
        must_release: row.must_release,
        is_needed_elsewhere: row.is_needed_elsewhere,
    });
    Ok(held.collect())
}

/// Lists open runs without a lease whose waiting time has run out.
pub async fn list_overdue(
    store: &Store,
    unclaimed_seconds: f64,
    idle_seconds: f64,
    limit: u32,
) -> Result<Vec<RunId>, StoreError> {
    let rows =
        sqlx::query_file!("queries/runs/list_overdue.sql", unclaimed_seconds, idle_seconds, i64::from(limit))
            .fetch_all(&store.pool)
            .await?;
    Ok(rows.into_iter().map(|row| RunId::from_uuid(row.id)).collect())
}

/// A count must not read a long queue.
const MAX_COUNTED: i64 = 10_000;

/// Counts the runs that have a pending command and no runner, up to 10,000.
pub async fn count_waiting(store: &Store) -> Result<u64, StoreError> {
    let row = sqlx::query_file!("queries/runs/count_waiting.sql", MAX_COUNTED).fetch_one(&store.pool).await?;
    Ok(unsigned(row.waiting))
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
