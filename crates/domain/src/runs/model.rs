//! The rules of runs, played through: a run in memory, and whatever may be asked of it in any order.

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::command::{self, CancelCommand, CommandKind, CommandState};
use super::lease::{self, Before, Claim, Lease};
use super::{Cancel, Ending, Lost, RunState, TerminalStatus, after_command, cancel, lost};
use crate::FailureKind;
use crate::ids::RunnerId;
use crate::journal::{Epoch, Fence, Head, Placed, Seq, admit};

const GRACE: SignedDuration = SignedDuration::from_secs(5);
const HOLD: SignedDuration = SignedDuration::from_secs(30);

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
struct World {
    now: Timestamp,
    runners: [(RunnerId, Option<Epoch>); 3],
    state: RunState,
    head: Head,
    lease: Option<Lease>,
    commands: Vec<(CommandKind, CommandState)>,
}

impl World {
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

    fn end(&mut self, ending: Ending) {
        for (_, state) in &mut self.commands {
            if let Some(ending) = command::ended_with_run(state, &ending) {
                *state = CommandState::Ended(ending);
            }
        }
        self.state = RunState::Ended(ending);
        self.lease = None;
        self.head.epoch = self.head.epoch.next();
    }

    fn end_what_ran(&mut self) {
        for (_, state) in &mut self.commands {
            if let Some(ending) = command::lost(state) {
                *state = CommandState::Ended(ending);
            }
        }
        self.lease = None;
    }

    fn lose_runner(&mut self) {
        self.end_what_ran();
        self.head.epoch = self.head.epoch.next();
        match lost(&self.state) {
            Some(Lost::Ends(ending)) => self.end(ending),
            Some(Lost::Reoffered) | None => {}
        }
    }

    fn holds(&self, runner: usize) -> Option<Epoch> {
        self.runners[runner].1.filter(|epoch| lease::holds(self.head.epoch, *epoch, &self.state))
    }

    fn play(&mut self, op: &Op) {
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
                if self.holds(*runner).is_some()
                    && let Some(lease) = &mut self.lease
                {
                    lease.expires_at = self.now.checked_add(HOLD).expect("in range");
                }
            }
            Op::Release(runner) => {
                if self.holds(*runner).is_some() && !self.states().iter().any(CommandState::is_running) {
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
                    CancelCommand::Ends(ending) => *state = CommandState::Ended(ending),
                    CancelCommand::Requested(next) => *state = next,
                    CancelCommand::Already(_) => {}
                }
            }
            Op::CancelRun => match cancel(&self.state, &self.states()) {
                Cancel::Ends(ending) => self.end(ending),
                Cancel::Requested => self.state = RunState::Cancelling,
                Cancel::Already(_) => {}
            },
            Op::EndRun(runner) => {
                if self.holds(*runner).is_some() {
                    self.end(Ending::failed(FailureKind::BackendFailed, "cannot go on"));
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
        let before = self.lease.as_ref().map_or(Before::Nobody, Before::Holds);
        let decided = lease::claim(&self.state, self.head.epoch, before, id, self.now, GRACE);
        let Ok(claim) = decided else { return };
        if let Claim::Recovered { .. } = claim {
            self.end_what_ran();
        }
        self.head.epoch = claim.epoch();
        self.runners[runner].1 = Some(self.head.epoch);
        let expires_at = self.now.checked_add(HOLD).expect("in range");
        self.lease = Some(Lease { runner: id, epoch: self.head.epoch, expires_at });
    }

    fn append(&mut self, runner: usize, events: usize) {
        let Some(epoch) = self.runners[runner].1 else { return };
        let ids: Vec<_> = (0..events).map(|_| crate::ids::EntryId::generate()).collect();
        let before = self.head;
        match admit(self.head, Fence::Holder(epoch), &ids, &std::collections::BTreeMap::new()) {
            Ok(admission) => {
                assert_eq!(epoch, before.epoch, "a runner that lost the run has written to it");
                let expected: Vec<_> = (before.last_seq.get() + 1..)
                    .take(events)
                    .map(|number| Placed::New(Seq::new(number).expect("positive")))
                    .collect();
                assert_eq!(admission.placed, expected, "a gap or a double");
                self.head = admission.head;
            }
            Err(_) => assert_ne!(epoch, before.epoch),
        }
    }

    fn ack(&mut self, runner: usize, at: usize) {
        let Some(epoch) = self.holds(runner) else { return };
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
        let Some(epoch) = self.holds(runner) else { return };
        let ending = match status {
            TerminalStatus::Completed => Ending::COMPLETED,
            TerminalStatus::Cancelled => Ending::cancelled("interrupted"),
            TerminalStatus::Failed | TerminalStatus::Blocked => {
                Ending { status, ..Ending::failed(FailureKind::BackendFailed, "broke") }
            }
        };
        let Some((_, state)) = self.commands.get_mut(at) else { return };
        if let Ok(Some(next)) = command::finish(state, epoch, ending) {
            *state = next;
        }
        if let Some(ending) = after_command(&self.state, &self.states()) {
            self.end(ending);
        }
    }

    fn check(&self, before: &Snapshot) {
        let turns =
            self.commands.iter().filter(|(kind, state)| *kind == CommandKind::Turn && state.is_running());
        assert!(turns.count() <= 1, "two turns run at once");
        for (state, was) in self.states().iter().zip(&before.commands) {
            if let CommandState::Ended(_) = was {
                assert_eq!(state, was, "a command came back from its end");
            }
        }
        if let RunState::Ended(_) = before.state {
            assert_eq!(self.state, before.state, "a run came back from its end");
            assert_eq!(self.head.last_seq, before.head.last_seq, "an ended run was written to");
        }
        if self.state.is_ended() {
            assert!(self.lease.is_none(), "an ended run is held");
            assert!(self.states().iter().all(|state| !state.is_open()), "an ended run has an open command");
        }
        let may_write: Vec<_> = (0..3).filter(|runner| self.holds(*runner).is_some()).collect();
        assert!(may_write.len() <= 1, "two runners may write");
        assert!(self.head.epoch >= before.head.epoch);
        let running = self.states().iter().any(CommandState::is_running);
        assert!(!running || self.lease.is_some(), "a command runs and nobody holds the run");
        assert!(
            self.state != RunState::Cancelling || running,
            "a run waits for a cancel that nobody will do"
        );
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
    fn whatever_is_asked_in_any_order_the_rules_of_runs_hold(ops in ops()) {
        let mut world = World::new();
        for op in &ops {
            let before = Snapshot { state: world.state.clone(), head: world.head, commands: world.states() };
            world.play(op);
            world.check(&before);
        }
    }

    #[test]
    fn to_cancel_again_changes_nothing(ops in ops()) {
        let mut world = World::new();
        for op in &ops {
            world.play(op);
        }
        world.play(&Op::CancelRun);
        let once = (world.state.clone(), world.states(), world.head);
        world.play(&Op::CancelRun);
        prop_assert_eq!(once, (world.state.clone(), world.states(), world.head));
    }

    #[test]
    fn a_finished_command_leaves_an_open_run_open(status in proptest::sample::select(TerminalStatus::ALL)) {
        let mut world = World::new();
        for op in [Op::Submit(CommandKind::Turn), Op::Claim(0), Op::Ack(0, 0), Op::Finish(0, 0, status)] {
            world.play(&op);
        }
        prop_assert_eq!(&world.state, &RunState::Open);
        prop_assert!(!world.commands[0].1.is_open());
    }
}
