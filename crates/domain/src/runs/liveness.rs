//! Liveness of a run: what it waits for and what happens next. Computed on request, never stored.

use jiff::{SignedDuration, Timestamp};

use super::command::CommandState;
use super::fold::{Activity, Fold};
use super::lease::Lease;
use super::{RunState, TerminalStatus};
use crate::named_enum::named_enum;

named_enum! {
    /// What a run or a command waits for.
    Phase, "phase";
    QueueTicket = "waiting-runner",
    WaitingModel = "waiting-model",
    WaitingTool = "waiting-tool",
    /// The agent has asked a question, and waits for the answer of a person.
    WaitingApproval = "waiting-approval",
    /// A tool has ended and the model has not continued yet.
    IdleAfterTool = "idle-after-tool",
    TransportDisconnected = "transport-disconnected",
    RunnerHeartbeatStale = "runner-heartbeat-stale",
    /// A runner holds the run and waits for a command.
    Idle = "idle",
    Terminal = "terminal",
}

named_enum! {
    /// An action that a client can take now.
    RecoveryAction, "recovery action";
    StartRunner = "start-runner",
    Wait = "wait",
    CancelCommand = "cancel-command",
    CancelRun = "cancel-run",
    SendCommand = "send-command",
    CreateRun = "create-run",
    ReadResult = "read-result",
    AnswerQuestion = "answer-question",
}

impl RecoveryAction {
    /// Returns a description for people.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::StartRunner => "start a runner that serves the run's profile",
            Self::Wait => "wait: it continues automatically",
            Self::CancelCommand => "cancel the command; the run stays open",
            Self::CancelRun => "cancel the run with all its open commands",
            Self::SendCommand => "send the next command; the thread is resumed",
            Self::CreateRun => "create another run in the same session",
            Self::ReadResult => "read the result",
            Self::AnswerQuestion => "answer the question of the agent, if its approval policy lets you",
        }
    }
}

/// The next automatic step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextStep {
    pub description: &'static str,
    pub at: Option<Timestamp>,
}

/// The data that liveness is computed from.
#[derive(Debug, Clone, Copy)]
pub struct LivenessInput<'a> {
    pub run: &'a RunState,
    pub command: Option<&'a CommandState>,
    pub lease: Option<&'a Lease>,
    pub fold: &'a Fold,
    pub now: Timestamp,
    pub grace: SignedDuration,
    /// When the run ends unless a runner claims it.
    pub wait_deadline: Timestamp,
    /// Until when the agent waits for the answer of a person.
    pub asking_until: Option<Timestamp>,
    /// The same for a question whose process has ended.
    pub parked_until: Option<Timestamp>,
}

impl LivenessInput<'_> {
    /// Returns until when a person can answer what the run waits for.
    fn question_until(&self) -> Option<Timestamp> {
        match self.command {
            Some(CommandState::Running { .. }) => self.asking_until,
            Some(CommandState::Pending | CommandState::Ended(_)) => None,
            // Its answer sends the next turn.
            None => self.parked_until,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Liveness {
    pub phase: Phase,
    /// Whether a command is being processed.
    pub active: bool,
    pub next: NextStep,
    pub actions: Vec<RecoveryAction>,
}

/// Computes the phase, the next automatic step and the possible actions.
#[must_use]
pub fn compute_liveness(input: &LivenessInput<'_>) -> Liveness {
    let phase = phase(input);
    Liveness {
        phase,
        active: match phase {
            Phase::WaitingModel
            | Phase::WaitingTool
            | Phase::IdleAfterTool
            | Phase::TransportDisconnected => true,
            Phase::WaitingApproval
            | Phase::QueueTicket
            | Phase::RunnerHeartbeatStale
            | Phase::Idle
            | Phase::Terminal => false,
        },
        next: next(input, phase),
        actions: recovery_actions(input, phase),
    }
}

fn phase(input: &LivenessInput<'_>) -> Phase {
    let ended = input.run.is_ended() || input.command.is_some_and(|command| !command.is_open());
    if ended {
        return Phase::Terminal;
    }
    let Some(lease) = input.lease else {
        let is_parked = input.question_until().filter(|_| input.command.is_none()).is_some();
        return if is_parked { Phase::WaitingApproval } else { Phase::QueueTicket };
    };
    if input.now >= lease.expires_at {
        return Phase::RunnerHeartbeatStale;
    }
    match input.command {
        Some(CommandState::Running { .. }) => {}
        Some(CommandState::Pending | CommandState::Ended(_)) => return Phase::QueueTicket,
        None if input.question_until().is_some() => return Phase::WaitingApproval,
        None => return Phase::Idle,
    }
    if input.fold.disconnected {
        return Phase::TransportDisconnected;
    }
    match input.fold.activity {
        _ if input.question_until().is_some() => Phase::WaitingApproval,
        _ if !input.fold.tools.open.is_empty() => Phase::WaitingTool,
        Activity::ToolEnded => Phase::IdleAfterTool,
        Activity::Tool | Activity::Text | Activity::Other | Activity::None => Phase::WaitingModel,
    }
}

fn next(input: &LivenessInput<'_>, phase: Phase) -> NextStep {
    let lost_at = input.lease.and_then(|lease| lease.expires_at.checked_add(input.grace).ok());
    match phase {
        Phase::Terminal => NextStep { description: "nothing: it has ended", at: None },
        Phase::QueueTicket if input.lease.is_none() => NextStep {
            description: "the run ends automatically unless a runner claims it",
            at: Some(input.wait_deadline),
        },
        Phase::QueueTicket => NextStep {
            description: "the runner takes the command at its next poll; without a heartbeat it is considered lost",
            at: lost_at,
        },
        Phase::RunnerHeartbeatStale => NextStep {
            description: "the runner is considered lost: running commands fail, and the run is offered to another runner",
            at: lost_at,
        },
        Phase::WaitingApproval => {
            NextStep { description: "the question is denied without an answer", at: input.question_until() }
        }
        Phase::Idle => NextStep { description: "the runner waits for the next command", at: lost_at },
        Phase::WaitingModel | Phase::WaitingTool | Phase::IdleAfterTool | Phase::TransportDisconnected => {
            NextStep {
                description: "the runner continues; without a heartbeat it is considered lost",
                at: lost_at,
            }
        }
    }
}

fn recovery_actions(input: &LivenessInput<'_>, phase: Phase) -> Vec<RecoveryAction> {
    match phase {
        Phase::Terminal if input.run.is_ended() => {
            vec![RecoveryAction::ReadResult, RecoveryAction::CreateRun]
        }
        Phase::Terminal => match input.command {
            Some(CommandState::Ended(outcome)) if outcome.status == TerminalStatus::Completed => {
                vec![RecoveryAction::ReadResult]
            }
            Some(_) | None => vec![RecoveryAction::ReadResult, RecoveryAction::SendCommand],
        },
        Phase::QueueTicket if input.lease.is_none() => {
            vec![RecoveryAction::StartRunner, RecoveryAction::CancelRun]
        }
        Phase::QueueTicket | Phase::RunnerHeartbeatStale => {
            vec![RecoveryAction::Wait, RecoveryAction::CancelRun]
        }
        Phase::Idle => vec![RecoveryAction::SendCommand, RecoveryAction::CancelRun],
        Phase::WaitingApproval => vec![
            RecoveryAction::AnswerQuestion,
            if input.command.is_some() { RecoveryAction::CancelCommand } else { RecoveryAction::CancelRun },
        ],
        Phase::WaitingModel | Phase::WaitingTool | Phase::IdleAfterTool | Phase::TransportDisconnected => {
            vec![RecoveryAction::Wait, RecoveryAction::CancelCommand]
        }
    }
}

impl Liveness {
    /// Summarises the liveness in one sentence for people.
    #[must_use]
    pub fn sentence(&self, last_event_age: Option<SignedDuration>) -> String {
        let phase = match self.phase {
            Phase::QueueTicket => "It waits for a runner",
            Phase::WaitingModel => "The model is working",
            Phase::WaitingTool => "A tool is running",
            Phase::WaitingApproval => "The agent has asked a question and waits for the answer of a person",
            Phase::IdleAfterTool => "A tool has ended and the model has not continued yet",
            Phase::TransportDisconnected => "The runner lost its connection to the model and is retrying",
            Phase::RunnerHeartbeatStale => "The runner sends no heartbeats",
            Phase::Idle => "A runner holds the run and waits for a command",
            Phase::Terminal => "It has ended",
        };
        let age =
            last_event_age.map_or(String::new(), |age| format!(" (last event {} s ago)", age.as_secs()));
        let at = self.next.at.map_or(String::new(), |at| format!(" at {at:.0}"));
        let action = self
            .actions
            .first()
            .map_or(String::new(), |action| format!(" You can: {}.", action.description()));
        format!("{phase}{age}; next: {}{at}.{action}", self.next.description)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::TerminalOutcome;
    use super::super::event::EventContent;
    use super::*;
    use crate::ids::RunnerId;
    use crate::journal::{Epoch, Seq};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).expect("in range")
    }

    fn lease_until(second: i64) -> Lease {
        Lease {
            runner: RunnerId::generate(),
            epoch: Epoch::ZERO,
            attempt: None,
            renewed_at: at(second - 30),
            expires_at: at(second),
        }
    }

    fn phase_of(command: Option<&CommandState>, expires: Option<i64>, events: &[EventContent]) -> Phase {
        phase_with_questions(command, expires, events, [None, None])
    }

    /// The last argument is until when the agent asks, and until when a parked question waits.
    fn phase_with_questions(
        command: Option<&CommandState>,
        expires: Option<i64>,
        events: &[EventContent],
        [asking_until, parked_until]: [Option<i64>; 2],
    ) -> Phase {
        let mut fold = Fold::default();
        for (number, content) in (1..).zip(events) {
            fold.apply(Seq::new(number).expect("positive"), content);
        }
        let lease = expires.map(lease_until);
        let input = LivenessInput {
            run: &RunState::Open,
            command,
            lease: lease.as_ref(),
            fold: &fold,
            now: at(0),
            grace: SignedDuration::from_secs(5),
            wait_deadline: at(60),
            asking_until: asking_until.map(at),
            parked_until: parked_until.map(at),
        };
        compute_liveness(&input).phase
    }

    const RUNNING: CommandState = CommandState::Running { epoch: Epoch::ZERO, cancelling: false };

    #[test]
    fn each_phase_is_detected() {
        let started = EventContent::ToolStarted { call: "a".into() };
        let ended = EventContent::ToolEnded { call: "a".into(), status: "completed".into(), exit_code: None };
        let cut = EventContent::Transport { connected: false };
        let done = CommandState::Ended(TerminalOutcome::COMPLETED);
        assert_eq!(phase_of(Some(&CommandState::Pending), None, &[]), Phase::QueueTicket);
        assert_eq!(phase_of(Some(&CommandState::Pending), Some(9), &[]), Phase::QueueTicket);
        assert_eq!(phase_of(Some(&RUNNING), Some(9), &[]), Phase::WaitingModel);
        assert_eq!(phase_of(Some(&RUNNING), Some(9), std::slice::from_ref(&started)), Phase::WaitingTool);
        assert_eq!(phase_of(Some(&RUNNING), Some(9), &[started, ended]), Phase::IdleAfterTool);
        assert_eq!(phase_of(Some(&RUNNING), Some(9), &[cut]), Phase::TransportDisconnected);
        assert_eq!(phase_of(Some(&RUNNING), Some(0), &[]), Phase::RunnerHeartbeatStale);
        assert_eq!(phase_of(None, Some(9), &[]), Phase::Idle);
        assert_eq!(phase_of(Some(&done), Some(9), &[]), Phase::Terminal);
    }

    #[test]
    fn question_of_the_running_turn_or_a_parked_one_is_waited_for() {
        let started = [EventContent::ToolStarted { call: "a".into() }];
        let (asks, parked) = ([Some(9), None], [None, Some(9)]);
        let phase = phase_with_questions;
        assert_eq!(phase(Some(&RUNNING), Some(9), &started, asks), Phase::WaitingApproval);
        assert_eq!(
            phase(Some(&RUNNING), Some(9), &started, parked),
            Phase::WaitingTool,
            "of an earlier turn"
        );
        assert_eq!(phase(Some(&RUNNING), Some(0), &started, asks), Phase::RunnerHeartbeatStale);
        for lease in [None, Some(9)] {
            assert_eq!(phase(None, lease, &[], parked), Phase::WaitingApproval);
            assert_eq!(phase(Some(&CommandState::Pending), lease, &[], parked), Phase::QueueTicket);
        }
    }

    proptest! {
        #[test]
        fn open_command_has_a_next_step_and_an_action(
            pending in any::<bool>(), held in any::<bool>(), expires in -20i64..20, asks in any::<bool>(),
        ) {
            let command = if pending { CommandState::Pending } else { RUNNING };
            let lease = held.then(|| lease_until(expires));
            let input = LivenessInput {
                run: &RunState::Open, command: Some(&command), lease: lease.as_ref(), fold: &Fold::default(),
                now: at(0), grace: SignedDuration::from_secs(5), wait_deadline: at(60),
                asking_until: asks.then(|| at(60)), parked_until: None,
            };
            let liveness = compute_liveness(&input);
            prop_assert!(!liveness.actions.is_empty());
            prop_assert!(liveness.next.at.is_some());
            prop_assert!(!liveness.sentence(None).is_empty());
        }
    }
}
