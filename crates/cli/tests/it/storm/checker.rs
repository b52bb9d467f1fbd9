//! Compares what clients were told with what the database holds. Its tests plant one violation of each class.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use guildhall_domain::ids::{EntryId, RunId};
use guildhall_domain::journal::Stream;
use guildhall_testkit::{EntryPosition, History, HistoryViolation};
use serde_json::Value;

use super::followers::RUN_BOUND;
use crate::support::run_events::EventPositions;

/// What a client knows about a run with one command.
#[derive(Debug, Clone)]
pub(super) struct RunRecord {
    pub(super) run: RunId,
    pub(super) command: String,
    /// Events that were confirmed to the simulated runner.
    pub(super) acknowledged: Vec<EntryPosition>,
    /// Events that the follower received, up to the end of the command. A failover starts a new delivery: the follower
    /// is told that its position is void, and reads the log again.
    pub(super) deliveries: Vec<Vec<EntryPosition>>,
    /// The answer, if a real runner served the run.
    pub(super) expected_text: Option<String>,
    pub(super) text: String,
    pub(super) outcome: Option<String>,
    /// Time until the end, not counting outages.
    pub(super) waited: Duration,
}

/// What a follower of an audit log received, with a new delivery after each failover.
#[derive(Debug, Clone)]
pub(super) struct AuditRecord {
    pub(super) stream: Stream,
    pub(super) deliveries: Vec<Vec<EntryPosition>>,
}

/// What all clients know, and what the database holds.
#[derive(Debug, Clone, Default)]
pub(super) struct StormHistory {
    pub(super) runs: Vec<RunRecord>,
    pub(super) run_log: Vec<EntryPosition>,
    pub(super) stored_runs: BTreeSet<RunId>,
    pub(super) stored_commands: BTreeSet<String>,
    pub(super) keys: Vec<EntryId>,
    /// The keys in the audit logs of all tenants.
    pub(super) stored_keys: BTreeSet<EntryId>,
    /// The audit logs that are followed.
    pub(super) audit_log: Vec<EntryPosition>,
    pub(super) audit: Vec<AuditRecord>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Violation {
    Run(RunId, HistoryViolation),
    Audit(HistoryViolation),
    /// A confirmed run is not stored.
    LostRun(RunId),
    /// A run is stored that no client was told: a repeated request created a second one.
    SecondRun(RunId),
    LostCommand(String),
    SecondCommand(String),
    LostKey(EntryId),
    /// The answer of a completed command is not complete, or that of a failed one is not its beginning.
    Text {
        run: RunId,
        expected: String,
        found: String,
    },
    /// The command did not end in its bound.
    Stuck {
        run: RunId,
        waited: Duration,
    },
}

impl RunRecord {
    pub(super) fn new(run: RunId, command: String) -> Self {
        Self {
            run,
            command,
            acknowledged: Vec::new(),
            deliveries: vec![Vec::new()],
            expected_text: None,
            text: String::new(),
            outcome: None,
            waited: Duration::ZERO,
        }
    }

    /// Records an event as the API shows it.
    pub(super) fn add_event(&mut self, positions: &mut EventPositions, view: &Value) {
        let position = positions.of_view(self.run, view);
        self.deliveries.last_mut().expect("one delivery").push(position);
        let payload = &view["payload"];
        if view["type"] == "assistant_delta" {
            self.text.push_str(payload["text"].as_str().unwrap_or_default());
        }
        if view["type"] == "terminal_status" && view["commandId"] == *self.command {
            let status = payload["terminalStatus"].as_str().expect("a status");
            let kind = payload["failureKind"].as_str().map(|kind| format!(" ({kind})")).unwrap_or_default();
            self.outcome = Some(format!("{status}{kind}"));
        }
    }

    fn violations(&self, log: &[EntryPosition]) -> Vec<Violation> {
        let whole = History { acknowledged: self.acknowledged.clone(), log: log.to_vec(), observed: vec![] };
        let of_deliveries = self.deliveries.iter().flat_map(|delivery| delivery_violations(delivery, log));
        let violations = whole.violations().into_iter().chain(of_deliveries);
        let mut violations: Vec<_> = violations.map(|it| Violation::Run(self.run, it)).collect();
        violations.extend(self.text_violation());
        if self.outcome.is_none() || self.waited > RUN_BOUND {
            violations.push(Violation::Stuck { run: self.run, waited: self.waited });
        }
        violations
    }

    fn text_violation(&self) -> Option<Violation> {
        let expected = self.expected_text.as_ref()?;
        let is_right = if self.outcome.as_deref() == Some("completed") {
            self.text == *expected
        } else {
            expected.starts_with(&self.text)
        };
        (!is_right).then(|| Violation::Text {
            run: self.run,
            expected: expected.clone(),
            found: self.text.clone(),
        })
    }
}

/// Compares a delivery with the log up to its last entry.
fn delivery_violations(delivery: &[EntryPosition], log: &[EntryPosition]) -> Vec<HistoryViolation> {
    let last = delivery.iter().map(|(_, seq, _)| *seq).max().unwrap_or_default();
    let log = log.iter().filter(|(_, seq, _)| *seq <= last).copied().collect();
    History { acknowledged: vec![], log, observed: vec![delivery.to_vec()] }.violations()
}

impl StormHistory {
    /// Returns the violations, at most 100.
    pub(super) fn violations(&self) -> Vec<Violation> {
        let mut logs = BTreeMap::<Stream, Vec<EntryPosition>>::new();
        self.run_log.iter().for_each(|entry| logs.entry(entry.0).or_default().push(*entry));
        let logs: BTreeMap<_, _> = logs.into_iter().map(|(stream, log)| (stream.owner, log)).collect();
        let of_runs = self
            .runs
            .iter()
            .flat_map(|record| record.violations(logs.get(&record.run.as_uuid()).map_or(&[], Vec::as_slice)));
        let mut violations: Vec<_> = of_runs.collect();
        violations.extend(self.creation_violations());
        violations.extend(self.audit.iter().flat_map(|record| self.audit_violations(record)));
        violations.truncate(100);
        violations
    }

    fn audit_violations(&self, record: &AuditRecord) -> Vec<Violation> {
        let log = self.audit_log.iter().filter(|(stream, _, _)| *stream == record.stream);
        let log: Vec<_> = log.copied().collect();
        let of_deliveries = record.deliveries.iter().flat_map(|delivery| delivery_violations(delivery, &log));
        // The last delivery is complete.
        let observed = record.deliveries.last().cloned().into_iter().collect();
        let whole = History { acknowledged: vec![], log: log.clone(), observed };
        let mut violations: Vec<_> = of_deliveries.chain(whole.violations()).map(Violation::Audit).collect();
        violations.dedup();
        violations
    }

    /// Every confirmed resource is stored, and no other.
    fn creation_violations(&self) -> Vec<Violation> {
        let runs: BTreeSet<RunId> = self.runs.iter().map(|record| record.run).collect();
        let commands: BTreeSet<String> = self.runs.iter().map(|record| record.command.clone()).collect();
        let lost = runs.difference(&self.stored_runs).map(|run| Violation::LostRun(*run));
        let second = self.stored_runs.difference(&runs).map(|run| Violation::SecondRun(*run));
        let lost_commands =
            commands.difference(&self.stored_commands).map(|it| Violation::LostCommand(it.clone()));
        let second_commands =
            self.stored_commands.difference(&commands).map(|it| Violation::SecondCommand(it.clone()));
        let lost_keys = self.keys.iter().filter(|key| !self.stored_keys.contains(key));
        let lost_keys = lost_keys.map(|key| Violation::LostKey(*key));
        lost.chain(second).chain(lost_commands).chain(second_commands).chain(lost_keys).collect()
    }
}
