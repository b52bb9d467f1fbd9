//! `guildhall runs explain` in every phase of a run.

use std::time::{Duration, Instant};

use guildhall_domain::runs::TerminalOutcome;
use guildhall_domain::runs::liveness::Phase;
use serde_json::json;

use crate::support::runner::TenantFixture;
use crate::support::user::{DevServer, stdout};

/// Long enough to check a phase, short enough to wait for its expiry.
const LEASE: (&str, &str) = ("GUILDHALL_RUNS_LEASE", "6s");
const GRACE: (&str, &str) = ("GUILDHALL_RUNS_LEASE_GRACE", "1h");

struct PhaseChecker<'a> {
    fixture: &'a TenantFixture,
    run: &'a str,
    checked: Vec<&'static str>,
}

impl PhaseChecker<'_> {
    fn phase(&self) -> String {
        let value = self.fixture.user.json(&["runs", "explain", self.run]);
        let liveness = &value["liveness"];
        assert!(liveness["recoveryActions"].as_array().is_some_and(|actions| !actions.is_empty()), "{value}");
        assert!(liveness["nextStep"].is_string() && liveness["active"].is_boolean(), "{value}");
        liveness["phase"].as_str().expect("a phase").to_owned()
    }

    /// Checks the JSON and the text output.
    fn expect(&mut self, phase: Phase, sentence: &str, next: &str) {
        assert_eq!(self.phase(), phase.as_str());
        let text = stdout(&self.fixture.user.run(&["runs", "explain", self.run]));
        let mut lines = text.lines();
        assert!(
            lines.next().is_some_and(|line| line.starts_with(sentence) && line.contains("You can: ")),
            "{text}"
        );
        assert!(
            lines.next().is_some_and(|line| line.starts_with(&format!("  next: guildhall {next} "))),
            "{text}"
        );
        self.checked.push(phase.as_str());
    }
}

// covers: R18
#[test]
fn explain_prints_a_sentence_and_a_next_command_per_phase() {
    let server = DevServer::ephemeral_with(&[LEASE, GRACE]);
    let fixture = TenantFixture::new(&server);
    let created = fixture.create_run(None);
    let mut checker = PhaseChecker { fixture: &fixture, run: &created.run, checked: Vec::new() };
    checker.expect(Phase::QueueTicket, "It waits for a runner", "runs cancel");
    let mut runner = fixture.claim_run(&server, &created.run);
    checker.expect(Phase::Idle, "A runner holds the run and waits for a command", "runs send");
    let sent = fixture.user.json(&["runs", "send", &created.run, "go"]);
    let turn = sent["commandId"].as_str().expect("an id").to_owned();
    runner.renew_lease();
    checker.expect(
        Phase::QueueTicket,
        "It waits for a runner; next: the runner takes the command",
        "runs events",
    );
    runner.ack(&turn);
    checker.expect(Phase::WaitingModel, "The model is working", "runs events");
    runner.renew_lease();
    runner.append_event(&turn, "tool_call", json!({ "callId": "a", "toolName": "shell" }));
    checker.expect(Phase::WaitingTool, "A tool is running", "runs events");
    runner.renew_lease();
    let asked = runner.ask(&turn, "touch a");
    checker.expect(Phase::WaitingApproval, "The agent has asked a question", "approvals ls");
    fixture.user.json(&["approvals", "deny", &asked]);
    runner.renew_lease();
    runner.append_event(&turn, "tool_call", json!({ "callId": "a", "status": "completed" }));
    checker.expect(Phase::IdleAfterTool, "A tool has ended", "runs events");
    runner.renew_lease();
    runner.append_event(&turn, "backend_status", json!({ "phase": "transport-disconnected" }));
    checker.expect(Phase::TransportDisconnected, "The runner lost its connection", "runs events");
    let deadline = Instant::now() + Duration::from_secs(120);
    while checker.phase() == Phase::TransportDisconnected.as_str() {
        assert!(Instant::now() < deadline, "the lease does not expire");
        std::thread::sleep(Duration::from_millis(100));
    }
    checker.expect(Phase::RunnerHeartbeatStale, "The runner sends no heartbeats", "runs events");
    runner.renew_lease();
    runner.finish_command(&turn, &TerminalOutcome::COMPLETED);
    fixture.user.json(&["runs", "cancel", &created.run]);
    checker.expect(Phase::Terminal, "It has ended", "runs result");
    let mut all: Vec<&str> = Phase::ALL.iter().map(|phase| phase.as_str()).collect();
    (checker.checked, all) = (sorted(checker.checked), sorted(all));
    assert_eq!(checker.checked, all, "a phase was not checked");
}

fn sorted(mut phases: Vec<&'static str>) -> Vec<&'static str> {
    phases.sort_unstable();
    phases.dedup();
    phases
}
