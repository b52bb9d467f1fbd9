//! Histories with one planted violation each.

use std::time::Duration;

use guildhall_domain::ids::{EntryId, RunId};
use guildhall_domain::journal::{Journal, Seq, Stream};
use guildhall_testkit::{EntryPosition, HistoryViolation};
use serde_json::{Value, json};
use uuid::Uuid;

use super::checker::{AuditRecord, RunRecord, StormHistory, Violation};
use super::followers::RUN_BOUND;
use crate::support::run_events::{EventPositions, runner_event};

const COMMAND: &str = "cmd_1";

fn run() -> RunId {
    RunId::from_uuid(Uuid::from_u128(7))
}

/// The events of a run with three words.
fn views() -> Vec<Value> {
    let server = |seq: i64, kind: &str, command: Option<&str>, payload: Value| json!({ "seq": seq, "type": kind, "eventId": null, "commandId": command, "payload": payload });
    let word = |seq: i64, text: &str| {
        let payload = json!({ "itemId": "answer", "text": text });
        json!({ "seq": seq, "type": "assistant_delta", "eventId": format!("1-{seq}"), "commandId": COMMAND, "payload": payload })
    };
    vec![
        server(1, "run_status", None, json!({ "status": "pending" })),
        server(2, "command_status", Some(COMMAND), json!({ "status": "running" })),
        word(3, "a "),
        word(4, "b "),
        word(5, "c"),
        server(6, "terminal_status", Some(COMMAND), json!({ "terminalStatus": "completed" })),
    ]
}

fn record_of(views: &[Value]) -> RunRecord {
    let (mut record, mut positions) = (RunRecord::new(run(), COMMAND.to_owned()), EventPositions::default());
    views.iter().for_each(|view| record.add_event(&mut positions, view));
    record.expected_text = Some("a b c".to_owned());
    record
}

fn audit_entry(number: u32) -> EntryPosition {
    let stream = Stream { journal: Journal::Audit, owner: Uuid::from_u128(1) };
    let seq = Seq::new(i64::from(number)).expect("positive");
    (stream, seq, EntryId::from_uuid(Uuid::from_u128(u128::from(number))))
}

fn valid_history() -> StormHistory {
    let mut record = record_of(&views());
    record.acknowledged =
        (3..=5).map(|seq| runner_event(run(), Some(seq), Some(&format!("1-{seq}")))).collect();
    let audit_log: Vec<_> = (1..=3).map(audit_entry).collect();
    StormHistory {
        run_log: record.deliveries[0].clone(),
        runs: vec![record],
        stored_runs: [run()].into(),
        stored_commands: [COMMAND.to_owned()].into(),
        keys: vec![audit_entry(2).2],
        stored_keys: [audit_entry(2).2].into(),
        audit: vec![AuditRecord { stream: audit_log[0].0, deliveries: vec![audit_log.clone()] }],
        audit_log,
    }
}

/// Replaces what the follower received.
fn with_received(views: &[Value]) -> StormHistory {
    let mut history = valid_history();
    history.runs = vec![RunRecord { acknowledged: vec![], ..record_of(views) }];
    history
}

#[test]
fn valid_storm_history_has_no_violation() {
    assert_eq!(valid_history().violations(), vec![]);
}

#[test]
fn lost_event_is_found() {
    let mut history = valid_history();
    let lost = history.run_log.remove(3);
    let found = history.violations();
    assert!(found.contains(&Violation::Run(run(), HistoryViolation::Lost(lost))), "{found:?}");
}

#[test]
fn lost_run_command_and_key_are_found() {
    let mut history = valid_history();
    history.stored_runs.clear();
    history.stored_commands.clear();
    history.keys.push(audit_entry(9).2);
    let expected = [
        Violation::LostRun(run()),
        Violation::LostCommand(COMMAND.to_owned()),
        Violation::LostKey(audit_entry(9).2),
    ];
    assert_eq!(history.violations(), expected);
}

#[test]
fn doubled_event_is_found() {
    let mut history = valid_history();
    let (stream, _, id) = history.run_log[2];
    let seq = Seq::new(7).expect("positive");
    history.run_log.push((stream, seq, id));
    let found = history.violations();
    assert!(
        found.iter().any(|it| matches!(it, Violation::Run(_, HistoryViolation::Duplicate { .. }))),
        "{found:?}"
    );
}

#[test]
fn run_created_twice_by_a_retry_is_found() {
    let mut history = valid_history();
    let second = RunId::from_uuid(Uuid::from_u128(8));
    history.stored_runs.insert(second);
    assert_eq!(history.violations(), [Violation::SecondRun(second)]);
}

#[test]
fn doubled_delivery_is_found() {
    let mut views = views();
    views.insert(4, views[3].clone());
    let found = with_received(&views).violations();
    assert!(
        found.iter().any(|it| matches!(it, Violation::Run(_, HistoryViolation::Repeated { .. }))),
        "{found:?}"
    );
}

#[test]
fn reordered_delivery_is_found() {
    let mut views = views();
    views.swap(2, 3);
    let found = with_received(&views).violations();
    assert!(
        found.iter().any(|it| matches!(it, Violation::Run(_, HistoryViolation::OutOfOrder { .. }))),
        "{found:?}"
    );
    assert!(found.iter().any(|it| matches!(it, Violation::Text { .. })), "{found:?}");
}

#[test]
fn events_stored_in_another_order_than_confirmed_are_found() {
    let mut history = valid_history();
    (history.run_log[2].2, history.run_log[3].2) = (history.run_log[3].2, history.run_log[2].2);
    history.runs[0].deliveries = vec![history.run_log.clone()];
    let found = history.violations();
    assert!(
        found.iter().any(|it| matches!(it, Violation::Run(_, HistoryViolation::Renumbered { .. }))),
        "{found:?}"
    );
}

#[test]
fn incomplete_answer_of_a_completed_command_is_found() {
    let mut history = valid_history();
    history.runs[0].text = "a b ".to_owned();
    assert!(matches!(history.violations()[..], [Violation::Text { .. }]));
    history.runs[0].outcome = Some("failed".to_owned());
    assert_eq!(history.violations(), vec![]);
}

#[test]
fn command_without_an_end_and_a_late_one_are_found() {
    let mut history = valid_history();
    let late = RUN_BOUND + Duration::from_secs(1);
    history.runs[0].waited = late;
    assert_eq!(history.violations(), [Violation::Stuck { run: run(), waited: late }]);
    history.runs[0].waited = Duration::ZERO;
    history.runs[0].outcome = None;
    assert_eq!(history.violations(), [Violation::Stuck { run: run(), waited: Duration::ZERO }]);
}

#[test]
fn lost_audit_entry_is_found() {
    let mut history = valid_history();
    history.audit_log.pop();
    let expected = Violation::Audit(HistoryViolation::Unknown { follower: 0, entry: audit_entry(3) });
    assert!(history.violations().contains(&expected));
}

#[test]
fn event_lost_by_a_failover_is_found() {
    let mut history = valid_history();
    let complete = history.runs[0].deliveries[0].clone();
    history.runs[0].deliveries = vec![complete[..4].to_vec(), complete];
    assert_eq!(history.violations(), vec![]);
    // The follower had received another event before the failover.
    history.runs[0].deliveries[0][3].2 = audit_entry(9).2;
    let found = history.violations();
    assert!(
        found.iter().any(|it| matches!(it, Violation::Run(_, HistoryViolation::Unknown { .. }))),
        "{found:?}"
    );
}
