//! Is anything happening? Decided when asked, from what is known; never stored.

use jiff::{SignedDuration, Timestamp};

use super::command::CommandState;
use super::fold::{Activity, Fold};
use super::lease::Lease;
use super::{RunState, TerminalStatus};
use crate::access::principal::named;

named! {
    /// What a run, or a command, waits for.
    Phase, "phase";
    WaitingRunner = "waiting-runner",
    WaitingModel = "waiting-model",
    WaitingTool = "waiting-tool",
    /// A tool has ended and the model has not gone on yet.
    IdleAfterTool = "idle-after-tool",
    TransportDisconnected = "transport-disconnected",
    RunnerHeartbeatStale = "runner-heartbeat-stale",
    /// A runner holds the run and waits for a command.
    Idle = "idle",
    Terminal = "terminal",
}

named! {
    /// Something that a person, or a program, can do now.
    Recovery, "recovery action";
    StartRunner = "start-runner",
    Wait = "wait",
    CancelCommand = "cancel-command",
    CancelRun = "cancel-run",
    SendCommand = "send-command",
    CreateRun = "create-run",
    ReadResult = "read-result",
}

impl Recovery {
    /// Returns what it means, in words.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::StartRunner => "start a runner that serves the run's profile",
            Self::Wait => "wait: this goes on by itself",
            Self::CancelCommand => "cancel the command; the run stays open",
            Self::CancelRun => "cancel the run with all its open commands",
            Self::SendCommand => "send the next command; the thread is resumed",
            Self::CreateRun => "create another run in the same session",
            Self::ReadResult => "read the result",
        }
    }
}

/// What happens next without anyone doing anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextStep {
    pub what: &'static str,
    pub at: Option<Timestamp>,
}

/// What is known when somebody asks.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    pub run: &'a RunState,
    pub command: Option<&'a CommandState>,
    pub lease: Option<&'a Lease>,
    pub fold: &'a Fold,
    pub now: Timestamp,
    pub grace: SignedDuration,
    /// When the run ends by itself, unless a runner comes.
    pub patience_ends_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Liveness {
    pub phase: Phase,
    /// Whether something is at work.
    pub active: bool,
    pub next: NextStep,
    pub actions: Vec<Recovery>,
}

/// Decides on the phase, on what happens next by itself, and on what can be done.
#[must_use]
pub fn look(facts: &Facts<'_>) -> Liveness {
    let phase = phase(facts);
    Liveness {
        phase,
        active: match phase {
            Phase::WaitingModel
            | Phase::WaitingTool
            | Phase::IdleAfterTool
            | Phase::TransportDisconnected => true,
            Phase::WaitingRunner | Phase::RunnerHeartbeatStale | Phase::Idle | Phase::Terminal => false,
        },
        next: next(facts, phase),
        actions: actions(facts, phase),
    }
}

fn phase(facts: &Facts<'_>) -> Phase {
    let ended = facts.run.is_ended() || facts.command.is_some_and(|command| !command.is_open());
    if ended {
        return Phase::Terminal;
    }
    let Some(lease) = facts.lease else { return Phase::WaitingRunner };
    if facts.now >= lease.expires_at {
        return Phase::RunnerHeartbeatStale;
    }
    match facts.command {
        Some(CommandState::Running { .. }) => {}
        Some(CommandState::Pending | CommandState::Ended(_)) => return Phase::WaitingRunner,
        None => return Phase::Idle,
    }
    if facts.fold.disconnected {
        return Phase::TransportDisconnected;
    }
    match facts.fold.activity {
        _ if !facts.fold.tools.open.is_empty() => Phase::WaitingTool,
        Activity::ToolEnded => Phase::IdleAfterTool,
        Activity::Tool | Activity::Text | Activity::Other | Activity::None => Phase::WaitingModel,
    }
}

fn next(facts: &Facts<'_>, phase: Phase) -> NextStep {
    let lost_at = facts.lease.and_then(|lease| lease.expires_at.checked_add(facts.grace).ok());
    match phase {
        Phase::Terminal => NextStep { what: "nothing: it has ended", at: None },
        Phase::WaitingRunner if facts.lease.is_none() => NextStep {
            what: "the run ends by itself unless a runner claims it",
            at: Some(facts.patience_ends_at),
        },
        Phase::WaitingRunner => NextStep {
            what: "the runner takes the command at its next poll; without a sign of life it is taken for lost",
            at: lost_at,
        },
        Phase::RunnerHeartbeatStale => NextStep {
            what: "the runner is taken for lost: what runs ends as failed, and the run is offered to the next",
            at: lost_at,
        },
        Phase::Idle => NextStep { what: "the runner waits for the next command", at: lost_at },
        Phase::WaitingModel | Phase::WaitingTool | Phase::IdleAfterTool | Phase::TransportDisconnected => {
            NextStep { what: "the runner goes on; without a sign of life it is taken for lost", at: lost_at }
        }
    }
}

fn actions(facts: &Facts<'_>, phase: Phase) -> Vec<Recovery> {
    match phase {
        Phase::Terminal if facts.run.is_ended() => vec![Recovery::ReadResult, Recovery::CreateRun],
        Phase::Terminal => match facts.command {
            Some(CommandState::Ended(ending)) if ending.status == TerminalStatus::Completed => {
                vec![Recovery::ReadResult]
            }
            Some(_) | None => vec![Recovery::ReadResult, Recovery::SendCommand],
        },
        Phase::WaitingRunner if facts.lease.is_none() => vec![Recovery::StartRunner, Recovery::CancelRun],
        Phase::WaitingRunner | Phase::RunnerHeartbeatStale => vec![Recovery::Wait, Recovery::CancelRun],
        Phase::Idle => vec![Recovery::SendCommand, Recovery::CancelRun],
        Phase::WaitingModel | Phase::WaitingTool | Phase::IdleAfterTool | Phase::TransportDisconnected => {
            vec![Recovery::Wait, Recovery::CancelCommand]
        }
    }
}

impl Liveness {
    /// Says it in one sentence, for a person.
    #[must_use]
    pub fn sentence(&self, last_event_age: Option<SignedDuration>) -> String {
        let phase = match self.phase {
            Phase::WaitingRunner => "It waits for a runner",
            Phase::WaitingModel => "The model is at work",
            Phase::WaitingTool => "A tool is at work",
            Phase::IdleAfterTool => "A tool has ended and the model has not gone on yet",
            Phase::TransportDisconnected => "The runner lost its connection to the model and tries again",
            Phase::RunnerHeartbeatStale => "The runner gives no sign of life",
            Phase::Idle => "A runner holds it and waits for a command",
            Phase::Terminal => "It has ended",
        };
        let age =
            last_event_age.map_or(String::new(), |age| format!(" (last event {} s ago)", age.as_secs()));
        let at = self.next.at.map_or(String::new(), |at| format!(" at {at:.0}"));
        let can =
            self.actions.first().map_or(String::new(), |action| format!(" You can: {}.", action.about()));
        format!("{phase}{age}; next: {}{at}.{can}", self.next.what)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Ending;
    use super::super::event::What;
    use super::*;
    use crate::ids::RunnerId;
    use crate::journal::{Epoch, Seq};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).expect("in range")
    }

    fn see(command: Option<&CommandState>, expires: Option<i64>, events: &[What]) -> Phase {
        let mut fold = Fold::default();
        for (number, what) in (1..).zip(events) {
            fold.take(Seq::new(number).expect("positive"), what);
        }
        let lease = expires.map(|second| Lease {
            runner: RunnerId::generate(),
            epoch: Epoch::ZERO,
            expires_at: at(second),
        });
        let facts = Facts {
            run: &RunState::Open,
            command,
            lease: lease.as_ref(),
            fold: &fold,
            now: at(0),
            grace: SignedDuration::from_secs(5),
            patience_ends_at: at(60),
        };
        look(&facts).phase
    }

    const RUNNING: CommandState = CommandState::Running { epoch: Epoch::ZERO, cancelling: false };

    #[test]
    fn each_phase_is_told_apart() {
        let began = What::ToolBegan { call: "a".into() };
        let ended = What::ToolEnded { call: "a".into(), status: "completed".into(), exit_code: None };
        let cut = What::Transport { connected: false };
        let done = CommandState::Ended(Ending::COMPLETED);
        assert_eq!(see(Some(&CommandState::Pending), None, &[]), Phase::WaitingRunner);
        assert_eq!(see(Some(&CommandState::Pending), Some(9), &[]), Phase::WaitingRunner);
        assert_eq!(see(Some(&RUNNING), Some(9), &[]), Phase::WaitingModel);
        assert_eq!(see(Some(&RUNNING), Some(9), std::slice::from_ref(&began)), Phase::WaitingTool);
        assert_eq!(see(Some(&RUNNING), Some(9), &[began, ended]), Phase::IdleAfterTool);
        assert_eq!(see(Some(&RUNNING), Some(9), &[cut]), Phase::TransportDisconnected);
        assert_eq!(see(Some(&RUNNING), Some(0), &[]), Phase::RunnerHeartbeatStale);
        assert_eq!(see(None, Some(9), &[]), Phase::Idle);
        assert_eq!(see(Some(&done), Some(9), &[]), Phase::Terminal);
    }

    proptest! {
        #[test]
        fn whatever_is_not_over_says_what_happens_next_and_what_can_be_done(
            pending in any::<bool>(), held in any::<bool>(), expires in -20i64..20,
        ) {
            let command = if pending { CommandState::Pending } else { RUNNING };
            let lease = held.then(|| Lease { runner: RunnerId::generate(), epoch: Epoch::ZERO, expires_at: at(expires) });
            let facts = Facts {
                run: &RunState::Open, command: Some(&command), lease: lease.as_ref(), fold: &Fold::default(),
                now: at(0), grace: SignedDuration::from_secs(5), patience_ends_at: at(60),
            };
            let liveness = look(&facts);
            prop_assert!(!liveness.actions.is_empty());
            prop_assert!(liveness.next.at.is_some());
            prop_assert!(!liveness.sentence(None).is_empty());
        }
    }
}
