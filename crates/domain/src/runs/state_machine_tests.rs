//! Model-based tests: an in-memory run that executes random operations in any order.

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::command::{self, CommandCancellation, CommandKind, CommandState};
use super::lease::{self, ClaimDecision, Lease, PreviousHolder};
use super::{
    LostRunnerAction, RunCancellation, RunState, TerminalOutcome, TerminalStatus, action_after_runner_loss,
    cancel, outcome_after_command,
};
use crate::FailureKind;
use crate::ids::RunnerId;
use crate::journal::{AppendedEntry, Epoch, Fence, Head, Seq, plan_append};

const GRACE: SignedDuration = SignedDuration::from_secs(5);
const LEASE: SignedDuration = SignedDuration::from_secs(30);

#[derive(Debug, Clone)]
enum Op {
    Submit(CommandKind),
    Claim(usize),
    Renew(usize),
    Release(usize),
    Append(usize, usize),
    Ack(usize, usize),
    Finish(usize, usize, TerminalStatus),
    CancelCommand(usize),
    CancelRun,
    EndRun(usize),
    Sweep,
    Wait(i64),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let (runner, at) = (0usize..3, 0usize..6);
    let op = prop_oneof![
        3 => proptest::sample::select(CommandKind::ALL).prop_map(Op::Submit),
        3 => runner.clone().prop_map(Op::Claim),
        1 => runner.clone().prop_map(Op::Renew),
        1 => runner.clone().prop_map(Op::Release),
        4 => (runner.clone(), 1usize..4).prop_map(|(runner, events)| Op::Append(runner, events)),
        4 => (runner.clone(), at.clone()).prop_map(|(runner, at)| Op::Ack(runner, at)),
        4 => (runner.clone(), at.clone(), proptest::sample::select(TerminalStatus::ALL))
            .prop_map(|(runner, at, status)| Op::Finish(runner, at, status)),
        1 => at.prop_map(Op::CancelCommand),
        1 => Just(Op::CancelRun),
        1 => runner.prop_map(Op::EndRun),
        2 => Just(Op::Sweep),
        2 => (1i64..50).prop_map(Op::Wait),
    ];
    proptest::collection::vec(op, 0..80)
}

#[derive(Debug)]
struct RunModel {
    now: Timestamp,
    runners: [(RunnerId, Option<Epoch>); 3],
    state: RunState,
    head: Head,
    lease: Option<Lease>,
    commands: Vec<(CommandKind, CommandState)>,
}

impl RunModel {
    fn new() -> Self {
        Self {
            now: Timestamp::from_second(1_800_000_000).expect("in range"),
            runners: std::array::from_fn(|_| (RunnerId::generate(), None)),
            state: RunState::Open,
            head: Head::default(),
            lease: None,
            commands: Vec::new(),
        }
    }

    fn states(&self) -> Vec<CommandState> {
        self.commands.iter().map(|(_, state)| state.clone()).collect()
    }

    fn end(&mut self, outcome: TerminalOutcome) {
        for (_, state) in &mut self.commands {
            if let Some(outcome) = command::outcome_with_run(state, &outcome) {
                *state = CommandState::Ended(outcome);
            }
        }
        self.state = RunState::Ended(outcome);
        self.lease = None;
        self.head.epoch = self.head.epoch.next();
    }

    fn end_running_commands(&mut self) {
        for (_, state) in &mut self.commands {
            if let Some(outcome) = command::outcome_after_runner_loss(state) {
                *state = CommandState::Ended(outcome);
            }
        }
        self.lease = None;
    }

    fn lose_runner(&mut self) {
        self.end_running_commands();
        self.head.epoch = self.head.epoch.next();
        match action_after_runner_loss(&self.state) {
            Some(LostRunnerAction::End(outcome)) => self.end(outcome),
            Some(LostRunnerAction::Reoffer) | None => {}
        }
    }

    fn held_epoch(&self, runner: usize) -> Option<Epoch> {
        self.runners[runner].1.filter(|epoch| lease::may_write(self.head.epoch, *epoch, &self.state))
    }

    fn execute(&mut self, op: &Op) {
        match op {
            Op::Submit(kind) => {
                let turn_open =
                    self.commands.iter().any(|(kind, state)| *kind == CommandKind::Turn && state.is_open());
                if command::submit(&self.state, *kind, turn_open).is_ok() {
                    self.commands.push((*kind, CommandState::Pending));
                }
            }
            Op::Claim(runner) => self.claim(*runner),
            Op::Renew(runner) => {
                if self.held_epoch(*runner).is_some()
                    && let Some(lease) = &mut self.lease
                {
                    lease.expires_at = self.now.checked_add(LEASE).expect("in range");
                }
            }
            Op::Release(runner) => {
                if self.held_epoch(*runner).is_some() && !self.states().iter().any(CommandState::is_running) {
                    self.lease = None;
                    self.head.epoch = self.head.epoch.next();
                }
            }
            Op::Append(runner, events) => self.append(*runner, *events),
            Op::Ack(runner, at) => self.ack(*runner, *at),
            Op::Finish(runner, at, status) => self.finish(*runner, *at, *status),
            Op::CancelCommand(at) => {
                let Some((_, state)) = self.commands.get_mut(*at) else { return };
                match command::cancel(state) {
                    CommandCancellation::EndsNow(outcome) => *state = CommandState::Ended(outcome),
                    CommandCancellation::Requested(next) => *state = next,
                    CommandCancellation::AlreadyEnded(_) => {}
                }
            }
            Op::CancelRun => match cancel(&self.state, &self.states()) {
                RunCancellation::EndsNow(outcome) => self.end(outcome),
                RunCancellation::Requested => self.state = RunState::Cancelling,
                RunCancellation::AlreadyEnded(_) => {}
            },
            Op::EndRun(runner) => {
                if self.held_epoch(*runner).is_some() {
                    self.end(TerminalOutcome::failed(FailureKind::BackendFailed, "cannot continue"));
                }
            }
            Op::Sweep => {
                if self.lease.as_ref().is_some_and(|lease| !lease.is_live(self.now, GRACE)) {
                    self.lose_runner();
                }
            }
            Op::Wait(seconds) => {
                self.now = self.now.checked_add(SignedDuration::from_secs(*seconds)).expect("in range");
            }
        }
    }

    fn claim(&mut self, runner: usize) {
        let id = self.runners[runner].0;
        let previous = self.lease.as_ref().map_or(PreviousHolder::None, PreviousHolder::Active);
        let decision = lease::claim(&self.state, self.head.epoch, previous, id, self.now, GRACE);
        let Ok(claim) = decision else { return };
        if let ClaimDecision::Recovered { .. } = claim {
            self.end_running_commands();
        }
        self.head.epoch = claim.epoch();
        self.runners[runner].1 = Some(self.head.epoch);
        let expires_at = self.now.checked_add(LEASE).expect("in range");
        let (epoch, renewed_at) = (self.head.epoch, self.now);
        self.lease = Some(Lease { runner: id, epoch, attempt: None, renewed_at, expires_at });
    }

    fn append(&mut self, runner: usize, events: usize) {
        let Some(epoch) = self.runners[runner].1 else { return };
        let ids: Vec<_> = (0..events).map(|_| crate::ids::EntryId::generate()).collect();
        let before = self.head;
        match plan_append(self.head, Fence::Holder(epoch), &ids, &std::collections::BTreeMap::new()) {
            Ok(append_plan) => {
                assert_eq!(epoch, before.epoch, "a runner without the lease wrote to the run");
                let expected: Vec<_> = (before.last_seq.get() + 1..)
                    .take(events)
                    .map(|number| AppendedEntry::New(Seq::new(number).expect("positive")))
                    .collect();
                assert_eq!(append_plan.entries, expected, "a gap or a duplicate");
                self.head = append_plan.head;
            }
            Err(_) => assert_ne!(epoch, before.epoch),
        }
    }

    fn ack(&mut self, runner: usize, at: usize) {
        let Some(epoch) = self.held_epoch(runner) else { return };
        let another_turn_runs =
            self.commands.iter().enumerate().any(|(other, (kind, state))| {
                other != at && *kind == CommandKind::Turn && state.is_running()
            });
        let Some((kind, state)) = self.commands.get_mut(at) else { return };
        if let Ok(next) = command::ack(state, *kind, epoch, another_turn_runs) {
            *state = next;
        }
    }

    fn finish(&mut self, runner: usize, at: usize, status: TerminalStatus) {
        let Some(epoch) = self.held_epoch(runner) else { return };
        let outcome = match status {
            TerminalStatus::Completed => TerminalOutcome::COMPLETED,
            TerminalStatus::Cancelled => TerminalOutcome::cancelled("interrupted"),
            TerminalStatus::Failed | TerminalStatus::Blocked => {
                TerminalOutcome { status, ..TerminalOutcome::failed(FailureKind::BackendFailed, "failed") }
            }
        };
        let Some((_, state)) = self.commands.get_mut(at) else { return };
        if let Ok(Some(next)) = command::finish(state, epoch, outcome) {
            *state = next;
        }
        if let Some(outcome) = outcome_after_command(&self.state, &self.states()) {
            self.end(outcome);
        }
    }

    fn check(&self, before: &Snapshot) {
        let turns =
            self.commands.iter().filter(|(kind, state)| *kind == CommandKind::Turn && state.is_running());
        assert!(turns.count() <= 1, "two turns run concurrently");
        for (state, was) in self.states().iter().zip(&before.commands) {
            if let CommandState::Ended(_) = was {
                assert_eq!(state, was, "an ended command changed");
            }
        }
        if let RunState::Ended(_) = before.state {
            assert_eq!(self.state, before.state, "an ended run changed");
            assert_eq!(self.head.last_seq, before.head.last_seq, "an ended run got new entries");
        }
        if self.state.is_ended() {
            assert!(self.lease.is_none(), "an ended run is held");
            assert!(self.states().iter().all(|state| !state.is_open()), "an ended run has an open command");
        }
        let may_write: Vec<_> = (0..3).filter(|runner| self.held_epoch(*runner).is_some()).collect();
        assert!(may_write.len() <= 1, "two runners can write");
        assert!(self.head.epoch >= before.head.epoch);
        let running = self.states().iter().any(CommandState::is_running);
        assert!(!running || self.lease.is_some(), "a command runs without a lease on the run");
        assert!(self.state != RunState::Cancelling || running, "a cancelling run has no running command");
    }
}

#[derive(Debug, Clone)]
struct Snapshot {
    state: RunState,
    head: Head,
    commands: Vec<CommandState>,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, ..ProptestConfig::default() })]
    #[test]
    fn random_operations_keep_the_invariants_of_runs(ops in ops()) {
        let mut model = RunModel::new();
        for op in &ops {
            let before = Snapshot { state: model.state.clone(), head: model.head, commands: model.states() };
            model.execute(op);
            model.check(&before);
        }
    }

    #[test]
    fn repeated_cancel_has_no_effect(ops in ops()) {
        let mut model = RunModel::new();
        for op in &ops {
            model.execute(op);
        }
        model.execute(&Op::CancelRun);
        let once = (model.state.clone(), model.states(), model.head);
        model.execute(&Op::CancelRun);
        prop_assert_eq!(once, (model.state.clone(), model.states(), model.head));
    }

    #[test]
    fn finished_command_leaves_the_run_open(status in proptest::sample::select(TerminalStatus::ALL)) {
        let mut model = RunModel::new();
        for op in [Op::Submit(CommandKind::Turn), Op::Claim(0), Op::Ack(0, 0), Op::Finish(0, 0, status)] {
            model.execute(&op);
        }
        prop_assert_eq!(&model.state, &RunState::Open);
        prop_assert!(!model.commands[0].1.is_open());
    }
}
