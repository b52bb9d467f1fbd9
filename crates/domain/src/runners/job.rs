//! Runner jobs: runners started for a run, or kept warm for the next one.

use std::time::Duration;

use jiff::Timestamp;

use crate::ids::{AttemptId, CommandId, EnrolmentId, LauncherId, RunId, RunnerId, RunnerJobId};
use crate::named_enum::named_enum;
use crate::runs::command::CommandState;
use crate::runs::lease::Lease;
use crate::runs::{RunState, TerminalStatus};

named_enum! {
    /// Why a job was created.
    JobKind, "kind of runner job";
    /// A client requested it.
    Requested = "asked",
    /// Its run waited and no warm runner claimed it.
    Cold = "cold",
    /// Waits for the next run.
    Warm = "warm",
}

named_enum! {
    /// Phase of a job.
    JobPhase, "phase of a runner job";
    /// Stored, not started yet.
    Pending = "pending",
    /// A launcher is starting it.
    Launching = "launching",
    Running = "running",
    /// Its process exited successfully.
    Succeeded = "succeeded",
    /// It could not be started, was no longer needed, or its process failed.
    Failed = "failed",
    /// Its launcher no longer reports; the outcome is unknown.
    Lost = "lost",
}

impl JobPhase {
    #[must_use]
    pub fn is_ended(self) -> bool {
        match self {
            Self::Pending | Self::Launching | Self::Running => false,
            Self::Succeeded | Self::Failed | Self::Lost => true,
        }
    }
}

/// Returns the job name of an attempt, which is a valid Kubernetes name.
#[must_use]
pub fn job_name(attempt: AttemptId) -> String {
    let digits = attempt.as_uuid().simple().to_string();
    format!("guildhall-runner-{}", &digits[20..])
}

/// Returns the location of an attempt's log, without a machine path.
#[must_use]
pub fn log_identity(launcher: LauncherId, attempt: AttemptId) -> String {
    format!("{launcher}/attempts/{}/runner.log", attempt_name(attempt))
}

/// Returns the name that launchers use for an attempt, in directories and in the environment of its processes. It keeps the former
/// prefix: launchers of two versions may share a state directory.
#[must_use]
pub fn attempt_name(attempt: AttemptId) -> String {
    format!("{}_{}", AttemptId::FORMER_PREFIX, attempt.as_uuid().simple())
}

/// Whether a session's storage can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorageState {
    Available,
    /// Deleted on request or after its lifetime.
    Evicted,
    /// The launcher does not have the files that an earlier runner reported.
    Missing,
}

/// The data that the decision on a new job needs.
#[derive(Debug, Clone)]
pub struct JobInput<'a> {
    pub run: &'a RunState,
    pub lease: Option<&'a Lease>,
    /// The open commands of the run, in order.
    pub open: &'a [(CommandId, CommandState)],
    /// An active job of the run.
    pub job: Option<RunnerJobId>,
    pub storage: StorageState,
}

/// Why no runner can be started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobError {
    #[error("the run has ended ({0}): create another run in the same session")]
    RunEnded(TerminalStatus),
    #[error("the run is being cancelled")]
    RunCancelling,
    #[error("the session's storage was deleted: create another session")]
    StorageEvicted,
    #[error("the session's storage is missing on the machine of its runners: create another session")]
    StorageMissing,
    #[error("no command of the run is pending: send one first")]
    NoPendingCommand,
    #[error("the command is not pending: it is running or has ended")]
    CommandNotPending,
    #[error("the run is held by {owner} until {expires_at}: that runner takes the command")]
    RunHeld { owner: RunnerId, expires_at: Timestamp },
    #[error("runner job {0} is already active for this run")]
    AlreadyStarted(RunnerJobId),
}

/// Decides whether a runner can be started for a run, and returns the command that it is started for.
pub fn select_command(input: &JobInput<'_>, requested: Option<CommandId>) -> Result<CommandId, JobError> {
    match input.run {
        RunState::Ended(outcome) => return Err(JobError::RunEnded(outcome.status)),
        RunState::Cancelling => return Err(JobError::RunCancelling),
        RunState::Open => {}
    }
    match input.storage {
        StorageState::Available => {}
        StorageState::Evicted => return Err(JobError::StorageEvicted),
        StorageState::Missing => return Err(JobError::StorageMissing),
    }
    let mut pending =
        input.open.iter().filter(|(_, state)| *state == CommandState::Pending).map(|(id, _)| *id);
    let command = match requested {
        Some(requested) => pending.find(|id| *id == requested).ok_or(JobError::CommandNotPending)?,
        None => pending.next().ok_or(JobError::NoPendingCommand)?,
    };
    if let Some(Lease { runner, expires_at, .. }) = input.lease {
        return Err(JobError::RunHeld { owner: *runner, expires_at: *expires_at });
    }
    input.job.map_or(Ok(command), |job| Err(JobError::AlreadyStarted(job)))
}

/// Returns whether a job that was started automatically for the run also answers a request for a job: its runner takes
/// the open commands of the run, or the requested one.
#[must_use]
pub fn is_served(input: &JobInput<'_>, requested: Option<CommandId>) -> bool {
    let is_open = |id: CommandId| input.open.iter().any(|(open, _)| *open == id);
    *input.run == RunState::Open
        && input.storage == StorageState::Available
        && requested.map_or(!input.open.is_empty(), is_open)
}

/// Maximum automatic attempts per command. After that, an operator must check why the jobs ended.
pub const MAX_COLD_STARTS: u32 = 5;

/// Returns the delay before the next attempt after `ended` attempts without a claim; `None` after the last.
#[must_use]
pub fn cold_start_backoff(ended: u32) -> Option<Duration> {
    (ended < MAX_COLD_STARTS).then(|| match ended {
        0 => Duration::ZERO,
        more => Duration::from_secs(1 << more),
    })
}

/// A runner job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub id: RunnerJobId,
    pub attempt: AttemptId,
    pub kind: JobKind,
    pub profile: String,
    pub run: Option<RunId>,
    pub command: Option<CommandId>,
    pub launcher: String,
    pub launcher_id: Option<LauncherId>,
    pub phase: JobPhase,
    pub enrolment: Option<EnrolmentId>,
    pub exit_code: Option<i32>,
    pub message: Option<String>,
    pub created_at: Timestamp,
    pub launched_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// The state of its command.
    pub command_state: Option<String>,
    /// The runner that the job's process registered as.
    pub runner: Option<RunnerId>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Epoch;
    use crate::runs::TerminalOutcome;

    fn input<'a>(run: &'a RunState, open: &'a [(CommandId, CommandState)]) -> JobInput<'a> {
        JobInput { run, lease: None, open, job: None, storage: StorageState::Available }
    }

    #[test]
    fn first_pending_command_is_selected_by_default() {
        let running = CommandState::Running { epoch: Epoch::new(1), cancelling: false };
        let open = [
            (CommandId::generate(), running),
            (CommandId::generate(), CommandState::Pending),
            (CommandId::generate(), CommandState::Pending),
        ];
        let input = input(&RunState::Open, &open);
        assert_eq!(select_command(&input, None), Ok(open[1].0));
        assert_eq!(select_command(&input, Some(open[2].0)), Ok(open[2].0));
        assert_eq!(select_command(&input, Some(open[0].0)), Err(JobError::CommandNotPending));
        assert_eq!(select_command(&input, Some(CommandId::generate())), Err(JobError::CommandNotPending));
    }

    #[test]
    fn ended_cancelling_idle_or_evicted_runs_get_no_runner() {
        let open = [(CommandId::generate(), CommandState::Pending)];
        let ended = RunState::Ended(TerminalOutcome::cancelled("enough"));
        assert_eq!(
            select_command(&input(&ended, &open), None),
            Err(JobError::RunEnded(TerminalStatus::Cancelled))
        );
        assert_eq!(select_command(&input(&RunState::Cancelling, &open), None), Err(JobError::RunCancelling));
        assert_eq!(select_command(&input(&RunState::Open, &[]), None), Err(JobError::NoPendingCommand));
        for (storage, error) in [
            (StorageState::Evicted, JobError::StorageEvicted),
            (StorageState::Missing, JobError::StorageMissing),
        ] {
            let without = JobInput { storage, ..input(&RunState::Open, &open) };
            assert_eq!(select_command(&without, None), Err(error));
            assert!(!is_served(&without, None));
        }
    }

    #[test]
    fn automatic_job_serves_the_open_commands_of_an_open_run() {
        let running = CommandState::Running { epoch: Epoch::new(1), cancelling: false };
        let open = [(CommandId::generate(), running), (CommandId::generate(), CommandState::Pending)];
        let input_of =
            |run: RunState, requested: Option<CommandId>| is_served(&input(&run, &open), requested);
        for requested in [None, Some(open[0].0), Some(open[1].0)] {
            assert!(input_of(RunState::Open, requested));
            assert!(!input_of(RunState::Cancelling, requested));
            assert!(!input_of(RunState::Ended(TerminalOutcome::cancelled("enough")), requested));
        }
        assert!(!input_of(RunState::Open, Some(CommandId::generate())), "a command of another run");
        assert!(!is_served(&input(&RunState::Open, &[]), None), "no open command");
    }

    #[test]
    fn held_run_or_active_job_prevents_another_runner() {
        let open = [(CommandId::generate(), CommandState::Pending)];
        let lease = Lease {
            runner: RunnerId::generate(),
            epoch: Epoch::new(1),
            attempt: None,
            renewed_at: Timestamp::UNIX_EPOCH,
            expires_at: Timestamp::UNIX_EPOCH,
        };
        let with_lease = JobInput { lease: Some(&lease), ..input(&RunState::Open, &open) };
        let expected = JobError::RunHeld { owner: lease.runner, expires_at: lease.expires_at };
        assert_eq!(select_command(&with_lease, None), Err(expected));
        let job = RunnerJobId::generate();
        let with_job = JobInput { job: Some(job), ..input(&RunState::Open, &open) };
        assert_eq!(select_command(&with_job, None), Err(JobError::AlreadyStarted(job)));
    }

    #[test]
    fn cold_start_backoff_grows_and_then_stops() {
        let waits: Vec<_> =
            (0..7).map(|ended| cold_start_backoff(ended).map(|wait| wait.as_secs())).collect();
        assert_eq!(waits, [Some(0), Some(2), Some(4), Some(8), Some(16), None, None]);
    }
}
