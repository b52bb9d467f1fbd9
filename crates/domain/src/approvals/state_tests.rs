//! Model-based tests: random operations on one approval, as crashes and races produce them.

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use serde_json::json;

use super::digest::ActionDigest;
use super::question::{AnswerOption, OptionEffect};
use super::state::*;
use crate::ids::{ApprovalId, ApprovalRuleId, PrincipalId, SessionId};

const PARKED: ApprovalState = ApprovalState::Pending { is_parked: true };
const PENDING: ApprovalState = ApprovalState::Pending { is_parked: false };

fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).expect("in range")
}

fn option(effect: OptionEffect) -> AnswerOption {
    AnswerOption { id: effect.to_string(), label: String::new(), effect, changes_mode: false }
}

fn decision(effect: OptionEffect) -> Decision {
    let by = DecidedBy::People(vec![PrincipalId::generate()]);
    Decision::new(&option(effect), by, now()).expect("a person decides")
}

#[derive(Debug, Clone)]
enum Op {
    Decide(OptionEffect, DecidedBy),
    Park,
    Withdraw,
    Take(DeliveryCheck),
    Confirm,
    Settle,
    AskerGone(EndReason),
    Reuse,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let by = prop_oneof![
        Just(DecidedBy::People(vec![PrincipalId::generate()])),
        Just(DecidedBy::People(Vec::new())),
        Just(DecidedBy::Rule(ApprovalRuleId::generate())),
        Just(DecidedBy::EarlierApproval(ApprovalId::generate())),
        Just(DecidedBy::Expiry),
        Just(DecidedBy::UnreachableQuorum),
        Just(DecidedBy::DisabledTool),
    ];
    let reason = prop_oneof![
        Just(EndReason::TurnEnded),
        Just(EndReason::Cancelled),
        Just(EndReason::WithdrawnByAgent),
        Just(EndReason::RunnerLost),
    ];
    let check = any::<(bool, bool)>().prop_map(|(approvers_may_decide, is_policy_unchanged)| DeliveryCheck {
        approvers_may_decide,
        is_policy_unchanged,
    });
    let op = prop_oneof![
        4 => (proptest::sample::select(OptionEffect::ALL), by).prop_map(|(effect, by)| Op::Decide(effect, by)),
        1 => Just(Op::Park),
        1 => Just(Op::Withdraw),
        4 => check.prop_map(Op::Take),
        3 => Just(Op::Confirm),
        3 => Just(Op::Settle),
        1 => reason.prop_map(Op::AskerGone),
        2 => Just(Op::Reuse),
    ];
    proptest::collection::vec(op, 0..40)
}

/// Executes an operation. Returns the new state, or none if it is refused or changes nothing.
fn execute(state: &ApprovalState, op: &Op) -> Option<ApprovalState> {
    match op {
        Op::Decide(effect, by) => {
            let decision = Decision::new(&option(*effect), by.clone(), now()).ok()?;
            state.decide(decision).ok()
        }
        Op::Park => state.park().ok(),
        Op::Withdraw => state.withdraw().ok(),
        Op::Take(check) => state.take(*check).ok().map(|decided| match decided {
            DeliveryDecision::Deliver(state) | DeliveryDecision::AskAgain(state) => state,
        }),
        Op::Confirm => state.confirm().ok(),
        Op::Settle => state.settle().ok(),
        Op::AskerGone(reason) => state.asker_gone(*reason),
        Op::Reuse => state.reuse().ok(),
    }
}

proptest! {
    #[test]
    fn one_decision_is_used_at_most_once_and_a_person_allows(ops in ops()) {
        let (mut state, mut uses, mut first) = (PENDING, 0, None);
        for op in &ops {
            let Some(next) = execute(&state, op) else { continue };
            if matches!(next.status(), ApprovalStatus::Delivering | ApprovalStatus::Reused) {
                uses += 1;
            }
            // Values that were erased cannot be given to anybody.
            let is_used = matches!(next.status(), ApprovalStatus::Delivering | ApprovalStatus::Reused);
            if is_used && next.decision().is_some_and(|decision| decision.effect() == OptionEffect::Answer) {
                prop_assert!(state.needs_content(), "erased before its use: {:?}", state);
            }
            if let Some(decision) = next.decision() {
                prop_assert_eq!(first.get_or_insert_with(|| decision.clone()), decision, "it never changes");
                let allows = decision.effect() != OptionEffect::Deny;
                prop_assert!(!allows || decision.by().is_human(), "{:?}", decision);
            } else {
                prop_assert!(first.is_none(), "a decision was lost: {:?}", op);
            }
            state = next;
        }
        prop_assert!(uses <= 1, "delivered or reused {} times", uses);
    }

    #[test]
    fn uncertain_and_final_states_never_change(ops in ops()) {
        for last in [
            ApprovalState::Settled(decision(OptionEffect::Allow)),
            ApprovalState::Uncertain(decision(OptionEffect::Allow)),
            ApprovalState::Reused(decision(OptionEffect::Allow)),
            ApprovalState::Withdrawn(EndReason::Cancelled),
            ApprovalState::Withdrawn(EndReason::WithdrawnByPerson),
        ] {
            for op in &ops {
                prop_assert_eq!(execute(&last, op), None, "{:?} {:?}", last, op);
            }
        }
    }
}

#[test]
fn second_decision_is_refused_with_the_state() {
    let decided = PENDING.decide(decision(OptionEffect::Deny)).expect("pending");
    let refused = decided.decide(decision(OptionEffect::Allow));
    assert_eq!(refused, Err(WrongState { status: ApprovalStatus::Decided }));
}

#[test]
fn withdrawn_question_has_no_answer_and_takes_none() {
    for pending in [PENDING, PARKED] {
        let withdrawn = pending.withdraw().expect("pending");
        assert_eq!(withdrawn, ApprovalState::Withdrawn(EndReason::WithdrawnByPerson));
        assert_eq!((withdrawn.decision(), withdrawn.continues_turn()), (None, false));
        let late = withdrawn.decide(decision(OptionEffect::Allow));
        assert_eq!(late, Err(WrongState { status: ApprovalStatus::Withdrawn }));
    }
    let decided = ApprovalState::Decided(decision(OptionEffect::Allow));
    assert_eq!(decided.withdraw(), Err(WrongState { status: ApprovalStatus::Decided }));
}

#[test]
fn nothing_but_a_person_or_a_rule_allows() {
    for by in [
        DecidedBy::Expiry,
        DecidedBy::UnreachableQuorum,
        DecidedBy::DisabledTool,
        DecidedBy::People(Vec::new()),
    ] {
        for effect in [OptionEffect::Allow, OptionEffect::Answer] {
            assert_eq!(Decision::new(&option(effect), by.clone(), now()), Err(DecisionError), "{by:?}");
        }
        assert!(Decision::new(&option(OptionEffect::Deny), by, now()).is_ok());
    }
}

#[test]
fn lost_runner_leaves_a_parked_question_and_an_uncertain_delivery() {
    let allow = decision(OptionEffect::Allow);
    let lost = EndReason::RunnerLost;
    assert_eq!(PENDING.asker_gone(lost), Some(ApprovalState::Withdrawn(lost)));
    assert_eq!(PARKED.asker_gone(lost), None);
    assert_eq!(PARKED.asker_gone(EndReason::Cancelled), Some(ApprovalState::Withdrawn(EndReason::Cancelled)));
    let decided = ApprovalState::Decided(allow.clone());
    assert_eq!(decided.asker_gone(lost), Some(ApprovalState::Void(allow.clone(), lost)));
    let delivering = ApprovalState::Delivering(allow.clone());
    assert_eq!(delivering.asker_gone(lost), Some(ApprovalState::Uncertain(allow.clone())));
    assert_eq!(ApprovalState::Delivered(allow).asker_gone(lost), None);
}

#[test]
fn only_an_undelivered_answer_of_people_continues_a_parked_turn() {
    let by_people = decision(OptionEffect::Deny);
    for (state, continues) in [
        (PARKED, false),
        (ApprovalState::Decided(by_people.clone()), true),
        (ApprovalState::Void(by_people.clone(), EndReason::TurnEnded), true),
        (ApprovalState::Void(by_people.clone(), EndReason::Cancelled), false),
        (ApprovalState::Void(by_people.clone(), EndReason::ApproverRevoked), false),
        (ApprovalState::Reused(by_people.clone()), false),
        (ApprovalState::Settled(by_people), false),
    ] {
        assert_eq!(state.continues_turn(), continues, "{state:?}");
    }
    let expiry = Decision::new(&option(OptionEffect::Deny), DecidedBy::Expiry, now()).expect("a denial");
    let expired = PARKED.decide(expiry).expect("pending");
    let void = expired.asker_gone(EndReason::TurnEnded).expect("the turn has ended");
    assert!(!expired.continues_turn() && !void.continues_turn());
}

#[test]
fn revoked_approver_or_changed_policy_voids_an_allowance_but_no_denial() {
    let (allow, deny) = (decision(OptionEffect::Allow), decision(OptionEffect::Deny));
    for (check, reason) in [
        (
            DeliveryCheck { approvers_may_decide: false, is_policy_unchanged: true },
            EndReason::ApproverRevoked,
        ),
        (DeliveryCheck { approvers_may_decide: true, is_policy_unchanged: false }, EndReason::PolicyChanged),
    ] {
        let voided = ApprovalState::Void(allow.clone(), reason);
        let taken = ApprovalState::Decided(allow.clone()).take(check);
        assert_eq!(taken, Ok(DeliveryDecision::AskAgain(voided.clone())));
        assert!(voided.reuse().is_err(), "{reason:?}");
        let taken = ApprovalState::Decided(deny.clone()).take(check);
        assert_eq!(taken, Ok(DeliveryDecision::Deliver(ApprovalState::Delivering(deny.clone()))));
    }
}

fn identity(command: &str) -> ActionIdentity {
    ActionIdentity {
        session: SessionId::from_uuid(uuid::Uuid::from_u128(1)),
        policy_version: 1,
        action: Some(ActionDigest::of(&json!(command))),
    }
}

fn earlier(state: ApprovalState) -> EarlierApproval {
    let id = ApprovalId::generate();
    EarlierApproval { id, identity: identity("touch a"), state, is_of_this_turn: true }
}

const WINDOW: SignedDuration = SignedDuration::from_hours(1);

#[test]
fn unspent_allowance_answers_the_same_action_once() {
    let void = ApprovalState::Void(decision(OptionEffect::Allow), EndReason::RunnerLost);
    let approval = earlier(void.clone());
    let answer = |question| answer_repeated(question, std::slice::from_ref(&approval), WINDOW, now());
    assert_eq!(answer(identity("touch a")), RepeatedQuestion::Reuse(approval.id));
    assert_eq!(answer(identity("touch b")), RepeatedQuestion::Ask);
    assert_eq!(answer(ActionIdentity { policy_version: 2, ..identity("touch a") }), RepeatedQuestion::Ask);
    assert_eq!(
        answer(ActionIdentity { session: SessionId::generate(), ..identity("touch a") }),
        RepeatedQuestion::Ask
    );
    assert_eq!(answer(ActionIdentity { action: None, ..identity("touch a") }), RepeatedQuestion::Ask);
    let late = now() + WINDOW + SignedDuration::from_secs(1);
    let after_window = answer_repeated(identity("touch a"), std::slice::from_ref(&approval), WINDOW, late);
    assert_eq!(after_window, RepeatedQuestion::Ask);
    let reused = EarlierApproval { state: void.reuse().expect("once"), ..approval };
    assert_eq!(answer_repeated(identity("touch a"), &[reused], WINDOW, now()), RepeatedQuestion::Ask);
}

#[test]
fn uncertain_allowance_is_asked_again() {
    let uncertain = earlier(ApprovalState::Uncertain(decision(OptionEffect::Allow)));
    assert_eq!(answer_repeated(identity("touch a"), &[uncertain], WINDOW, now()), RepeatedQuestion::Ask);
}

#[test]
fn denied_action_is_denied_again_and_then_ends_the_turn() {
    let denied = || earlier(ApprovalState::Settled(decision(OptionEffect::Deny)));
    let once = [denied()];
    assert_eq!(
        answer_repeated(identity("touch a"), &once, WINDOW, now()),
        RepeatedQuestion::Deny(once[0].id)
    );
    let twice = [denied(), denied()];
    assert_eq!(answer_repeated(identity("touch a"), &twice, WINDOW, now()), RepeatedQuestion::Interrupt);
    let earlier_turn = [EarlierApproval { is_of_this_turn: false, ..denied() }];
    assert_eq!(answer_repeated(identity("touch a"), &earlier_turn, WINDOW, now()), RepeatedQuestion::Ask);
}
