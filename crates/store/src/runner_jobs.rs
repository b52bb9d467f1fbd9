//! Runner jobs: what is started for runs, where, and how the process does.

use std::time::Duration;

use guildhall_domain::ids::{
    AttemptId, CommandId, EnrolmentId, PlaceId, PrincipalId, RunId, RunnerId, RunnerJobId, TenantId,
};
use guildhall_domain::runners::job::{JobKind, JobPhase};
use jiff_sqlx::Timestamp;
use uuid::Uuid;

use crate::{Store, StoreError, Tx};

/// A job to write.
#[derive(Debug, Clone)]
pub struct NewJob<'a> {
    pub id: RunnerJobId,
    pub attempt: AttemptId,
    pub kind: JobKind,
    pub profile: &'a str,
    pub run: Option<RunId>,
    pub command: Option<CommandId>,
    pub launcher: &'a str,
    /// The place that starts it; any of its sort without it.
    pub place: Option<PlaceId>,
    pub created_by: Option<PrincipalId>,
}

/// A job as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub id: RunnerJobId,
    pub attempt: AttemptId,
    pub kind: JobKind,
    pub profile: String,
    pub run: Option<RunId>,
    pub command: Option<CommandId>,
    pub launcher: String,
    pub place: Option<PlaceId>,
    pub phase: JobPhase,
    pub enrolment: Option<EnrolmentId>,
    pub exit_code: Option<i32>,
    pub message: Option<String>,
    pub created_at: jiff::Timestamp,
    pub launched_at: Option<jiff::Timestamp>,
    pub ended_at: Option<jiff::Timestamp>,
    /// The word for where its command stands.
    pub command_state: Option<String>,
    /// The runner that registered from it.
    pub runner: Option<RunnerId>,
}

/// A job that was taken to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    pub id: RunnerJobId,
    pub attempt: AttemptId,
    pub kind: JobKind,
    pub profile: String,
    pub run: Option<RunId>,
    pub command: Option<CommandId>,
    /// What an earlier try left.
    pub enrolment: Option<EnrolmentId>,
    pub tries: i32,
}

/// A row as it comes, whatever the question.
struct Row {
    id: Uuid,
    attempt: Uuid,
    kind: String,
    profile: String,
    run: Option<Uuid>,
    command: Option<Uuid>,
    launcher: String,
    place: Option<Uuid>,
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
    fn read(self) -> Job {
        Job {
            id: RunnerJobId::from_uuid(self.id),
            attempt: AttemptId::from_uuid(self.attempt),
            kind: kind(&self.kind),
            profile: self.profile,
            run: self.run.map(RunId::from_uuid),
            command: self.command.map(CommandId::from_uuid),
            launcher: self.launcher,
            place: self.place.map(PlaceId::from_uuid),
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

/// The table has a check: there is no other word.
fn kind(word: &str) -> JobKind {
    JobKind::from_name(word).unwrap_or(JobKind::Asked)
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
        new.place.map(PlaceId::as_uuid),
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
    Ok(row.map(Row::read))
}

/// Lists the jobs of a run, or of one of its commands, newest first.
pub async fn of_run(
    store: &Store,
    run: RunId,
    command: Option<CommandId>,
    limit: u32,
) -> Result<Vec<Job>, StoreError> {
    let command = command.map(CommandId::as_uuid);
    let rows =
        sqlx::query_file_as!(Row, "queries/runner_jobs/of_run.sql", run.as_uuid(), command, i64::from(limit))
            .fetch_all(&store.pool)
            .await?;
    Ok(rows.into_iter().map(Row::read).collect())
}

/// Lists what a place has started and what has not ended.
pub async fn open_at(store: &Store, place: PlaceId, limit: u32) -> Result<Vec<Job>, StoreError> {
    let rows =
        sqlx::query_file_as!(Row, "queries/runner_jobs/open_at.sql", place.as_uuid(), i64::from(limit))
            .fetch_all(&store.pool)
            .await?;
    Ok(rows.into_iter().map(Row::read).collect())
}

/// Returns the job that is on its way for a run.
pub async fn open_of_run(tx: &mut Tx, run: RunId) -> Result<Option<RunnerJobId>, StoreError> {
    let row = sqlx::query_file!("queries/runner_jobs/open_of_run.sql", run.as_uuid())
        .fetch_optional(tx.connection())
        .await?;
    Ok(row.map(|row| RunnerJobId::from_uuid(row.id)))
}

/// What a place has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Census {
    /// Everything that has not ended.
    pub open: u32,
    /// That of it which may have a process.
    pub begun: u32,
    /// Warm runners of the profile that wait for a run.
    pub warm: u32,
}

/// Lets one server at a time decide on what runs at a place, until the end of the transaction.
pub async fn lock_place(tx: &mut Tx, place: PlaceId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/runner_jobs/lock_place.sql", place.to_string())
        .fetch_one(tx.connection())
        .await?;
    Ok(())
}

pub async fn census(tx: &mut Tx, place: PlaceId, profile: &str) -> Result<Census, StoreError> {
    let row = sqlx::query_file!("queries/runner_jobs/census.sql", place.as_uuid(), profile)
        .fetch_one(tx.connection())
        .await?;
    let count = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
    Ok(Census { open: count(row.open), begun: count(row.begun), warm: count(row.warm) })
}

/// Counts the warm runners of a profile that failed at a place within a time.
pub async fn failed_lately(
    tx: &mut Tx,
    place: PlaceId,
    profile: &str,
    within: Duration,
) -> Result<i64, StoreError> {
    let within = within.as_secs_f64();
    let row = sqlx::query_file!("queries/runner_jobs/failed_lately.sql", place.as_uuid(), profile, within)
        .fetch_one(tx.connection())
        .await?;
    Ok(row.failed)
}

/// Takes jobs to start at a place.
pub async fn take(tx: &mut Tx, place: PlaceId, launcher: &str, limit: u32) -> Result<Vec<Taken>, StoreError> {
    let rows = sqlx::query_file!("queries/runner_jobs/take.sql", place.as_uuid(), launcher, i64::from(limit))
        .fetch_all(tx.connection())
        .await?;
    let taken = rows.into_iter().map(|row| Taken {
        id: RunnerJobId::from_uuid(row.id),
        attempt: AttemptId::from_uuid(row.attempt),
        kind: kind(&row.kind),
        profile: row.profile,
        run: row.run.map(RunId::from_uuid),
        command: row.command.map(CommandId::from_uuid),
        enrolment: row.enrolment.map(EnrolmentId::from_uuid),
        tries: row.tries,
    });
    Ok(taken.collect())
}

pub async fn set_enrolment(tx: &mut Tx, id: RunnerJobId, enrolment: EnrolmentId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/runner_jobs/set_enrolment.sql", id.as_uuid(), enrolment.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Notes that a job's process runs.
pub async fn set_running(store: &Store, id: RunnerJobId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/runner_jobs/set_running.sql", id.as_uuid()).execute(&store.pool).await?;
    Ok(())
}

/// Ends a job. Returns whether it had not ended before.
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

/// Notes which run a warm runner got.
pub async fn claimed(tx: &mut Tx, enrolment: EnrolmentId, run: RunId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/runner_jobs/claimed.sql", enrolment.as_uuid(), run.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Notes that a place knows of its jobs.
pub async fn seen(store: &Store, place: PlaceId, launcher: &str) -> Result<(), StoreError> {
    sqlx::query_file!("queries/runner_jobs/seen.sql", place.as_uuid(), launcher).execute(&store.pool).await?;
    Ok(())
}

/// Finds jobs that nobody has seen for long.
pub async fn forgotten(store: &Store, after: Duration, limit: u32) -> Result<Vec<RunnerJobId>, StoreError> {
    let rows = sqlx::query_file!("queries/runner_jobs/forgotten.sql", after.as_secs_f64(), i64::from(limit))
        .fetch_all(&store.pool)
        .await?;
    Ok(rows.into_iter().map(|row| RunnerJobId::from_uuid(row.id)).collect())
}

/// Finds the runs that runners under an enrolment hold.
pub async fn held(store: &Store, enrolment: EnrolmentId) -> Result<Vec<(RunId, RunnerId)>, StoreError> {
    let rows =
        sqlx::query_file!("queries/runner_jobs/held.sql", enrolment.as_uuid()).fetch_all(&store.pool).await?;
    Ok(rows.into_iter().map(|row| (RunId::from_uuid(row.run), RunnerId::from_uuid(row.runner))).collect())
}

/// A run that waits for a runner to be started.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ToStart {
    pub run: RunId,
    /// Runners that were started for what waits there, and ended.
    pub ended: u32,
    /// Since the last of them.
    pub since: Option<Duration>,
}

/// Finds of which tenants and profiles runs wait for a runner, and have for so long.
pub async fn waiting_profiles(
    store: &Store,
    waited: Duration,
    limit: u32,
) -> Result<Vec<(TenantId, String)>, StoreError> {
    let (waited, limit) = (waited.as_secs_f64(), i64::from(limit));
    let rows = sqlx::query_file!("queries/runner_jobs/waiting_profiles.sql", waited, limit)
        .fetch_all(&store.pool)
        .await?;
    Ok(rows.into_iter().map(|row| (TenantId::from_uuid(row.tenant), row.backend_profile)).collect())
}

/// Finds runs that have waited so long for a runner, of these tenants and profiles, for which fewer than so many were
/// started and ended.
pub async fn to_start(
    store: &Store,
    of: &[(TenantId, String)],
    waited: Duration,
    ended_at_most: u32,
    limit: u32,
) -> Result<Vec<ToStart>, StoreError> {
    let (tenants, profiles): (Vec<Uuid>, Vec<String>) =
        of.iter().map(|(tenant, profile)| (tenant.as_uuid(), profile.clone())).unzip();
    let rows = sqlx::query_file!(
        "queries/runner_jobs/to_start.sql",
        &tenants,
        &profiles,
        waited.as_secs_f64(),
        i64::from(ended_at_most),
        i64::from(limit)
    )
    .fetch_all(&store.pool)
    .await?;
    let waiting = rows.into_iter().map(|row| ToStart {
        run: RunId::from_uuid(row.id),
        ended: u32::try_from(row.ended).unwrap_or(u32::MAX),
        since: row.seconds_since.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
    });
    Ok(waiting.collect())
}
