//! Runner jobs: a runner that is started for a run, or kept warm for whichever comes.

use std::time::Duration;

use jiff::Timestamp;

use crate::access::principal::named;
use crate::ids::{AttemptId, CommandId, PlaceId, RunnerId, RunnerJobId};
use crate::runs::command::CommandState;
use crate::runs::lease::Lease;
use crate::runs::{RunState, TerminalStatus};

named! {
    /// Why a job is there.
    JobKind, "kind of runner job";
    /// Somebody asked for it.
    Asked = "asked",
    /// Its run had waited and no warm runner took it.
    Cold = "cold",
    /// Waits for whichever run comes.
    Warm = "warm",
}

named! {
    /// Where a job stands.
    JobPhase, "phase of a runner job";
    /// Written down; nothing was started yet.
    Pending = "pending",
    /// A launcher is at it.
    Launching = "launching",
    Running = "running",
    /// Its process ended as it should.
    Succeeded = "succeeded",
    /// It could not be started, was not needed any more, or its process ended otherwise.
    Failed = "failed",
    /// The place where it ran is not heard of: nobody knows.
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

/// Returns the name under which an attempt is found where it runs; it fits Kubernetes.
#[must_use]
pub fn job_name(attempt: AttemptId) -> String {
    let digits = attempt.as_uuid().simple().to_string();
    format!("guildhall-runner-{}", &digits[20..])
}

/// Returns where the log of an attempt is found at its place. It names no path of a machine.
#[must_use]
pub fn log_identity(place: PlaceId, attempt: AttemptId) -> String {
    format!("{place}/attempts/{attempt}/runner.log")
}

/// Whether a session's storage can be worked in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    There,
    Evicted,
}

/// What a decision on a new job looks at.
#[derive(Debug, Clone)]
pub struct Facts<'a> {
    pub run: &'a RunState,
    pub lease: Option<&'a Lease>,
    /// The open commands of the run, in order.
    pub open: &'a [(CommandId, CommandState)],
    /// A job of the run that has not ended.
    pub job: Option<RunnerJobId>,
    pub storage: Storage,
}

/// Why no runner is started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobRefusal {
    #[error("the run has ended ({0}): create another in the same session")]
    RunEnded(TerminalStatus),
    #[error("the run is being cancelled")]
    RunCancelling,
    #[error("the session's storage is gone: begin another session")]
    StorageEvicted,
    #[error("no command of the run is pending: send one first")]
    NothingPending,
    #[error("the command is not pending: it runs, or has ended")]
    NotPending,
    #[error("the run is held by {owner} until {expires_at}: it takes the command")]
    Held { owner: RunnerId, expires_at: Timestamp },
    #[error("{0} was started for this run and has not ended")]
    Started(RunnerJobId),
}

/// Decides whether a runner is started for a run, and for which of its commands.
pub fn admit(facts: &Facts<'_>, asked: Option<CommandId>) -> Result<CommandId, JobRefusal> {
    match facts.run {
        RunState::Ended(ending) => return Err(JobRefusal::RunEnded(ending.status)),
        RunState::Cancelling => return Err(JobRefusal::RunCancelling),
        RunState::Open => {}
    }
    if facts.storage == Storage::Evicted {
        return Err(JobRefusal::StorageEvicted);
    }
    let mut pending =
        facts.open.iter().filter(|(_, state)| *state == CommandState::Pending).map(|(id, _)| *id);
    let command = match asked {
        Some(asked) => pending.find(|id| *id == asked).ok_or(JobRefusal::NotPending)?,
        None => pending.next().ok_or(JobRefusal::NothingPending)?,
    };
    if let Some(Lease { runner, expires_at, .. }) = facts.lease {
        return Err(JobRefusal::Held { owner: *runner, expires_at: *expires_at });
    }
    facts.job.map_or(Ok(command), |job| Err(JobRefusal::Started(job)))
}

/// Attempts that a command is worth by itself. Then somebody has to look: the jobs say why they ended.
pub const COLD_STARTS_AT_MOST: u32 = 5;

/// Returns how long after the last end the next attempt is made, when so many have ended without the command being
/// taken.
#[must_use]
pub fn cold_start_after(ended: u32) -> Option<Duration> {
    (ended < COLD_STARTS_AT_MOST).then(|| match ended {
        0 => Duration::ZERO,
        more => Duration::from_secs(1 << more),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Epoch;
    use crate::runs::Ending;

    fn facts<'a>(run: &'a RunState, open: &'a [(CommandId, CommandState)]) -> Facts<'a> {
        Facts { run, lease: None, open, job: None, storage: Storage::There }
    }

    #[test]
    fn the_first_pending_command_is_taken_where_none_is_named() {
        let running = CommandState::Running { epoch: Epoch::new(1), cancelling: false };
        let open = [
            (CommandId::generate(), running),
            (CommandId::generate(), CommandState::Pending),
            (CommandId::generate(), CommandState::Pending),
        ];
        let facts = facts(&RunState::Open, &open);
        assert_eq!(admit(&facts, None), Ok(open[1].0));
        assert_eq!(admit(&facts, Some(open[2].0)), Ok(open[2].0));
        assert_eq!(admit(&facts, Some(open[0].0)), Err(JobRefusal::NotPending));
        assert_eq!(admit(&facts, Some(CommandId::generate())), Err(JobRefusal::NotPending));
    }

    #[test]
    fn nothing_is_started_for_what_cannot_be_served() {
        let open = [(CommandId::generate(), CommandState::Pending)];
        let ended = RunState::Ended(Ending::cancelled("enough"));
        assert_eq!(admit(&facts(&ended, &open), None), Err(JobRefusal::RunEnded(TerminalStatus::Cancelled)));
        assert_eq!(admit(&facts(&RunState::Cancelling, &open), None), Err(JobRefusal::RunCancelling));
        assert_eq!(admit(&facts(&RunState::Open, &[]), None), Err(JobRefusal::NothingPending));
        let evicted = Facts { storage: Storage::Evicted, ..facts(&RunState::Open, &open) };
        assert_eq!(admit(&evicted, None), Err(JobRefusal::StorageEvicted));
    }

    #[test]
    fn a_run_has_one_runner_at_a_time_and_one_on_its_way() {
        let open = [(CommandId::generate(), CommandState::Pending)];
        let lease =
            Lease { runner: RunnerId::generate(), epoch: Epoch::new(1), expires_at: Timestamp::UNIX_EPOCH };
        let held = Facts { lease: Some(&lease), ..facts(&RunState::Open, &open) };
        let expected = JobRefusal::Held { owner: lease.runner, expires_at: lease.expires_at };
        assert_eq!(admit(&held, None), Err(expected));
        let job = RunnerJobId::generate();
        let started = Facts { job: Some(job), ..facts(&RunState::Open, &open) };
        assert_eq!(admit(&started, None), Err(JobRefusal::Started(job)));
    }

    #[test]
    fn attempts_come_slower_and_then_no_more() {
        let waits: Vec<_> = (0..7).map(|ended| cold_start_after(ended).map(|wait| wait.as_secs())).collect();
        assert_eq!(waits, [Some(0), Some(2), Some(4), Some(8), Some(16), None, None]);
    }
}
