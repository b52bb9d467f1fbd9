//! Runner jobs: the processes that are launched for runs, and their state.

use guildhall_domain::runners::job::Job;
use std::time::Duration;

use guildhall_domain::ids::{
    AttemptId, CommandId, EnrolmentId, LauncherId, PrincipalId, RunId, RunnerId, RunnerJobId, TenantId,
};
use guildhall_domain::runners::job::{JobKind, JobPhase};
use jiff_sqlx::Timestamp;
use sqlx::PgExecutor;
use uuid::Uuid;

use crate::{Store, StoreError, Tx};

/// Values of a new job.
#[derive(Debug, Clone)]
pub struct NewJob<'a> {
    pub id: RunnerJobId,
    pub attempt: AttemptId,
    pub kind: JobKind,
    pub profile: &'a str,
    pub run: Option<RunId>,
    pub command: Option<CommandId>,
    pub launcher: &'a str,
    /// The launcher that starts it; `None` means any launcher of this kind.
    pub launcher_id: Option<LauncherId>,
    pub created_by: Option<PrincipalId>,
}

/// A job that a launcher has claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedJob {
    pub id: RunnerJobId,
    pub attempt: AttemptId,
    pub kind: JobKind,
    pub profile: String,
    pub run: Option<RunId>,
    pub command: Option<CommandId>,
    /// The enrolment of an earlier launch attempt.
    pub enrolment: Option<EnrolmentId>,
    pub tries: i32,
}

/// The columns that every job query selects.
struct Row {
    id: Uuid,
    attempt: Uuid,
    kind: String,
    profile: String,
    run: Option<Uuid>,
    command: Option<Uuid>,
    launcher: String,
    launcher_id: Option<Uuid>,
    phase: String,
    enrolment: Option<Uuid>,
    exit_code: Option<i32>,
    message: Option<String>,
    created_at: Timestamp,
    launched_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
    command_state: Option<String>,
    runner: Option<Uuid>,
}

impl Row {
    fn into_job(self) -> Job {
        Job {
            id: RunnerJobId::from_uuid(self.id),
            attempt: AttemptId::from_uuid(self.attempt),
            kind: parse_kind(&self.kind),
            profile: self.profile,
            run: self.run.map(RunId::from_uuid),
            command: self.command.map(CommandId::from_uuid),
            launcher: self.launcher,
            launcher_id: self.launcher_id.map(LauncherId::from_uuid),
            phase: JobPhase::from_name(&self.phase).unwrap_or(JobPhase::Lost),
            enrolment: self.enrolment.map(EnrolmentId::from_uuid),
            exit_code: self.exit_code,
            message: self.message,
            created_at: self.created_at.to_jiff(),
            launched_at: self.launched_at.map(Timestamp::to_jiff),
            ended_at: self.ended_at.map(Timestamp::to_jiff),
            command_state: self.command_state,
            runner: self.runner.map(RunnerId::from_uuid),
        }
    }
}

/// Parses a kind. A check constraint of the table allows no other value.
fn parse_kind(name: &str) -> JobKind {
    JobKind::from_name(name).unwrap_or(JobKind::Requested)
}

pub async fn insert(tx: &mut Tx, new: &NewJob<'_>) -> Result<(), StoreError> {
    sqlx::query_file!(
        "queries/runner_jobs/insert.sql",
        new.id.as_uuid(),
        new.attempt.as_uuid(),
        new.kind.as_str(),
        new.profile,
        new.run.map(RunId::as_uuid),
        new.command.map(CommandId::as_uuid),
        new.launcher,
        new.launcher_id.map(LauncherId::as_uuid),
        new.created_by.map(PrincipalId::as_uuid)
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

pub async fn find(store: &Store, id: RunnerJobId) -> Result<Option<Job>, StoreError> {
    let row = sqlx::query_file_as!(Row, "queries/runner_jobs/find.sql", id.as_uuid())
        .fetch_optional(&store.pool)
        .await?;
    Ok(row.map(Row::into_job))
}

/// Lists the jobs of a run, or of one of its commands, newest first.
pub async fn list_by_run(
    store: &Store,
    run: RunId,
    command: Option<CommandId>,
    limit: u32,
) -> Result<Vec<Job>, StoreError> {
    read_by_run(&store.pool, run, command, limit).await
}

/// Lists the jobs of a locked run, newest first.
pub async fn list_by_locked_run(tx: &mut Tx, run: RunId, limit: u32) -> Result<Vec<Job>, StoreError> {
    read_by_run(tx.connection(), run, None, limit).await
}

async fn read_by_run(
    executor: impl PgExecutor<'_>,
    run: RunId,
    command: Option<CommandId>,
    limit: u32,
) -> Result<Vec<Job>, StoreError> {
    let command = command.map(CommandId::as_uuid);
    let rows = sqlx::query_file_as!(
        Row,
        "queries/runner_jobs/list_by_run.sql",
        run.as_uuid(),
        command,
        i64::from(limit)
    )
    .fetch_all(executor)
    .await?;
    Ok(rows.into_iter().map(Row::into_job).collect())
}

/// Lists the running jobs of a launcher.
pub async fn list_running(
    store: &Store,
    launcher_id: LauncherId,
    limit: u32,
) -> Result<Vec<Job>, StoreError> {
    let rows = sqlx::query_file_as!(
        Row,
        "queries/runner_jobs/list_running.sql",
        launcher_id.as_uuid(),
        i64::from(limit)
    )
    .fetch_all(&store.pool)
    .await?;
    Ok(rows.into_iter().map(Row::into_job).collect())
}

/// Finds the open job of a run; warm runners do not count.
pub async fn find_open_by_run(tx: &mut Tx, run: RunId) -> Result<Option<RunnerJobId>, StoreError> {
    let row = sqlx::query_file!("queries/runner_jobs/find_open_by_run.sql", run.as_uuid())
        .fetch_optional(tx.connection())
        .await?;
    Ok(row.map(|row| RunnerJobId::from_uuid(row.id)))
}

/// The number of jobs of a launcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LauncherLoad {
    /// Jobs that have not ended.
    pub open: u32,
    /// Open jobs that may have a process.
    pub started: u32,
    /// Idle warm runners of the profile.
    pub warm: u32,
}

/// Locks a launcher until the end of the transaction, so that one server at a time decides what it starts.
pub async fn lock_launcher(tx: &mut Tx, launcher_id: LauncherId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/runner_jobs/lock_launcher.sql", launcher_id.to_string())
        .fetch_one(tx.connection())
        .await?;
    Ok(())
}

pub async fn count_by_launcher(
    tx: &mut Tx,
    launcher_id: LauncherId,
    profile: &str,
) -> Result<LauncherLoad, StoreError> {
    let row = sqlx::query_file!("queries/runner_jobs/count_by_launcher.sql", launcher_id.as_uuid(), profile)
        .fetch_one(tx.connection())
        .await?;
    let count = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
    Ok(LauncherLoad { open: count(row.open), started: count(row.begun), warm: count(row.warm) })
}

/// Counts the warm runners of a launcher and profile that failed within a time span.
pub async fn count_recent_failures(
    tx: &mut Tx,
    launcher_id: LauncherId,
    profile: &str,
    within: Duration,
) -> Result<i64, StoreError> {
    let within = within.as_secs_f64();
    let row = sqlx::query_file!(
        "queries/runner_jobs/count_recent_failures.sql",
        launcher_id.as_uuid(),
        profile,
        within
    )
    .fetch_one(tx.connection())
    .await?;
    Ok(row.failed)
}

/// Claims pending jobs for a launcher.
pub async fn claim(
    tx: &mut Tx,
    launcher_id: LauncherId,
    launcher: &str,
    limit: u32,
) -> Result<Vec<ClaimedJob>, StoreError> {
    let rows =
        sqlx::query_file!("queries/runner_jobs/claim.sql", launcher_id.as_uuid(), launcher, i64::from(limit))
            .fetch_all(tx.connection())
            .await?;
    let jobs = rows.into_iter().map(|row| ClaimedJob {
        id: RunnerJobId::from_uuid(row.id),
        attempt: AttemptId::from_uuid(row.attempt),
        kind: parse_kind(&row.kind),
        profile: row.profile,
        run: row.run.map(RunId::from_uuid),
        command: row.command.map(CommandId::from_uuid),
        enrolment: row.enrolment.map(EnrolmentId::from_uuid),
        tries: row.tries,
    });
    Ok(jobs.collect())
}

/// Marks a job as running.
pub async fn set_running(store: &Store, id: RunnerJobId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/runner_jobs/set_running.sql", id.as_uuid()).execute(&store.pool).await?;
    Ok(())
}

/// Ends a job. Returns `false` if it had already ended.
pub async fn end(
    tx: &mut Tx,
    id: RunnerJobId,
    phase: JobPhase,
    exit_code: Option<i32>,
    message: Option<&str>,
) -> Result<bool, StoreError> {
    let done =
        sqlx::query_file!("queries/runner_jobs/end.sql", id.as_uuid(), phase.as_str(), exit_code, message)
            .execute(tx.connection())
            .await?;
    Ok(done.rows_affected() == 1)
}

/// Refreshes `seen_at` of the open jobs of a launcher.
pub async fn touch(store: &Store, launcher_id: LauncherId, launcher: &str) -> Result<(), StoreError> {
    sqlx::query_file!("queries/runner_jobs/touch.sql", launcher_id.as_uuid(), launcher)
        .execute(&store.pool)
        .await?;
    Ok(())
}

/// Lists open jobs that no launcher has refreshed for `max_age`.
pub async fn list_stale(
    store: &Store,
    max_age: Duration,
    limit: u32,
) -> Result<Vec<RunnerJobId>, StoreError> {
    let rows =
        sqlx::query_file!("queries/runner_jobs/list_stale.sql", max_age.as_secs_f64(), i64::from(limit))
            .fetch_all(&store.pool)
            .await?;
    Ok(rows.into_iter().map(|row| RunnerJobId::from_uuid(row.id)).collect())
}

/// Lists the leases of the runners of an enrolment.
pub async fn list_leases(
    store: &Store,
    enrolment: EnrolmentId,
) -> Result<Vec<(RunId, RunnerId)>, StoreError> {
    let rows = sqlx::query_file!("queries/leases/list_by_enrolment.sql", enrolment.as_uuid())
        .fetch_all(&store.pool)
        .await?;
    Ok(rows.into_iter().map(|row| (RunId::from_uuid(row.run), RunnerId::from_uuid(row.runner))).collect())
}

/// A waiting run for which a runner may be launched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LaunchCandidate {
    pub run: RunId,
    /// Number of jobs that were started for the waiting commands and have ended.
    pub ended: u32,
    /// Time since the last of them ended.
    pub since: Option<Duration>,
}

/// Lists the tenants and profiles whose runs have waited longer than `waited` for a runner.
pub async fn list_waiting_profiles(
    store: &Store,
    waited: Duration,
    limit: u32,
) -> Result<Vec<(TenantId, String)>, StoreError> {
    let (waited, limit) = (waited.as_secs_f64(), i64::from(limit));
    let rows = sqlx::query_file!("queries/runs/list_waiting_profiles.sql", waited, limit)
        .fetch_all(&store.pool)
        .await?;
    Ok(rows.into_iter().map(|row| (TenantId::from_uuid(row.tenant), row.backend_profile)).collect())
}

/// Lets this many idle runners of a launcher release their runs, longest idle first.
pub async fn drain_idle(store: &Store, launcher: LauncherId, count: usize) -> Result<(), StoreError> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    sqlx::query_file!("queries/runner_jobs/drain_idle.sql", launcher.as_uuid(), count)
        .execute(&store.pool)
        .await?;
    Ok(())
}

/// Lists runs of these tenants and profiles that have waited longer than `waited` for a runner, and for which fewer
/// than `max_ended` jobs were started and ended.
pub async fn list_launch_candidates(
    store: &Store,
    of: &[(TenantId, String)],
    waited: Duration,
    max_ended: u32,
    limit: u32,
) -> Result<Vec<LaunchCandidate>, StoreError> {
    let (tenants, profiles): (Vec<Uuid>, Vec<String>) =
        of.iter().map(|(tenant, profile)| (tenant.as_uuid(), profile.clone())).unzip();
    let rows = sqlx::query_file!(
        "queries/runner_jobs/list_launch_candidates.sql",
        &tenants,
        &profiles,
        waited.as_secs_f64(),
        i64::from(max_ended),
        i64::from(limit)
    )
    .fetch_all(&store.pool)
    .await?;
    let candidates = rows.into_iter().map(|row| LaunchCandidate {
        run: RunId::from_uuid(row.id),
        ended: u32::try_from(row.ended).unwrap_or(u32::MAX),
        since: row.seconds_since.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
    });
    Ok(candidates.collect())
}
