//! Positions of run events, for the history checker.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use guildhall_domain::ids::{EntryId, RunId};
use guildhall_domain::journal::{Journal, Seq, Stream};
use guildhall_domain::runs::event;
use guildhall_testkit::{EntryPosition, SqlConnection};
use serde_json::Value;
use uuid::Uuid;

/// Gives every event of a run an id that does not depend on its sequence number, so that the checker notices an event
/// that is repeated or renumbered. Use one value for each reader, from the first event on.
#[derive(Debug, Default)]
pub(crate) struct EventPositions {
    /// Events of the server that belong to no command, by content. The same content may occur again.
    occurrences: BTreeMap<EntryId, i64>,
}

impl EventPositions {
    /// Returns the position of an event as the API shows it.
    pub(crate) fn of_view(&mut self, run: RunId, view: &Value) -> EntryPosition {
        let content = (&view["type"], &view["commandId"], &view["payload"]);
        self.position(run, view["seq"].as_i64(), view["eventId"].as_str(), content)
    }

    fn position(
        &mut self,
        run: RunId,
        seq: Option<i64>,
        runner_event_id: Option<&str>,
        (kind, command, payload): (&Value, &Value, &Value),
    ) -> EntryPosition {
        if runner_event_id.is_some() {
            return runner_event(run, seq, runner_event_id);
        }
        let content = format!("{kind} {command} {payload}");
        let mut id = event::server_entry_id(run, &content, Uuid::nil(), 0);
        if command.is_null() {
            let occurrence = self.occurrences.entry(id).or_default();
            *occurrence += 1;
            id = event::server_entry_id(run, &content, Uuid::nil(), *occurrence);
        }
        (stream(run), seq.and_then(Seq::new).expect("a number"), id)
    }
}

/// Returns the position of an event of a runner, as a runner is told it.
pub(crate) fn runner_event(run: RunId, seq: Option<i64>, runner_event_id: Option<&str>) -> EntryPosition {
    let id = runner_event_id.and_then(|id| event::entry_id(run, id).ok()).expect("an id");
    (stream(run), seq.and_then(Seq::new).expect("a number"), id)
}

fn stream(run: RunId) -> Stream {
    Stream { journal: Journal::Run, owner: run.as_uuid() }
}

/// Reads the events of all runs from the database.
pub(crate) async fn read_log(sql: &mut SqlConnection) -> Vec<EntryPosition> {
    let query = "SELECT json_build_object('run', owner, 'seq', seq, 'kind', kind, 'body', body::json)::text \
                 FROM journal_entries WHERE journal = 2 ORDER BY owner, seq";
    let mut positions = EventPositions::default();
    let rows = sql.texts(query).await;
    rows.iter()
        .map(|row| {
            let row: Value = serde_json::from_str(row).expect("JSON");
            let run = row["run"].as_str().and_then(|owner| owner.parse().ok()).expect("a run");
            let body = &row["body"];
            let content = (&row["kind"], &body["commandId"], &body["payload"]);
            positions.position(RunId::from_uuid(run), row["seq"].as_i64(), body["id"].as_str(), content)
        })
        .collect()
}

/// Asserts that no lease and no running command is left, that no command ended twice, and that the folds match the log.
pub(crate) async fn assert_nothing_hangs(sql: &mut SqlConnection, timeout: Duration) {
    let deadline = Instant::now() + timeout;
    while sql.number("SELECT count(*) FROM leases").await > 0 {
        assert!(Instant::now() < deadline, "a lease is left without a runner");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let running = "SELECT count(*) FROM commands WHERE state = 'running'";
    assert_eq!(sql.number(running).await, 0, "a command is running without a runner");
    let duplicate_ends = "SELECT count(*) FROM (SELECT FROM journal_entries WHERE kind = 'terminal_status' \
                 GROUP BY owner, body::json ->> 'commandId' HAVING count(*) > 1) AS ended";
    assert_eq!(sql.number(duplicate_ends).await, 0, "a command or run ended twice");
    let wrong_folds = "SELECT count(*) FROM run_folds AS kept WHERE scope = '00000000-0000-0000-0000-000000000000' \
                      AND (fold::json ->> 'n')::bigint <> (SELECT count(*) FROM journal_entries AS entry \
                      WHERE entry.journal = 2 AND entry.owner = kept.run)";
    assert_eq!(sql.number(wrong_folds).await, 0, "a stored fold does not match the log");
}

#[cfg(test)]
mod tests {
    use guildhall_testkit::{History, HistoryViolation};
    use serde_json::json;

    use super::*;

    fn views() -> Vec<Value> {
        let view = |seq: i64, kind: &str, command: Option<&str>, text: &str| json!({ "seq": seq, "type": kind, "eventId": null, "commandId": command, "payload": { "s": text } });
        vec![
            view(1, "run_status", None, "pending"),
            view(2, "command_status", Some("cmd_1"), "running"),
            view(3, "terminal_status", Some("cmd_1"), "completed"),
            view(4, "run_status", None, "pending"),
        ]
    }

    fn positions(run: RunId, views: &[Value]) -> Vec<EntryPosition> {
        let mut positions = EventPositions::default();
        views.iter().map(|view| positions.of_view(run, view)).collect()
    }

    fn violations(log: &[Value], received: &[Value]) -> Vec<HistoryViolation> {
        let run = RunId::from_uuid(Uuid::from_u128(7));
        let observed = vec![positions(run, received)];
        History { acknowledged: vec![], log: positions(run, log), observed }.violations()
    }

    #[test]
    fn server_events_in_order_have_no_violation() {
        assert_eq!(violations(&views(), &views()), vec![]);
    }

    #[test]
    fn server_event_of_a_command_that_is_written_twice_is_reported() {
        let mut log = views();
        let mut second = log[2].clone();
        second["seq"] = json!(5);
        log.push(second);
        let found = violations(&log, &log);
        assert!(found.iter().any(|it| matches!(it, HistoryViolation::Duplicate { .. })), "{found:?}");
    }

    #[test]
    fn renumbered_server_events_are_reported() {
        let mut log = views();
        (log[1]["seq"], log[2]["seq"]) = (json!(3), json!(2));
        let found = violations(&log, &views());
        assert!(found.iter().any(|it| matches!(it, HistoryViolation::Unknown { .. })), "{found:?}");
    }
}
