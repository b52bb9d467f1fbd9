//! `guildhall runs explain`, in every phase that a run can be in.

use std::time::{Duration, Instant};

use guildhall_domain::runs::Ending;
use guildhall_domain::runs::liveness::Phase;
use serde_json::json;

use crate::support::runner::Yard;
use crate::support::user::{Server, stdout};

/// Long enough for a phase to be looked at, short enough to wait for its end.
const LEASE: (&str, &str) = ("GUILDHALL_RUNS_LEASE", "6s");
const GRACE: (&str, &str) = ("GUILDHALL_RUNS_LEASE_GRACE", "1h");

struct Looking<'a> {
    yard: &'a Yard,
    run: &'a str,
    seen: Vec<&'static str>,
}

impl Looking<'_> {
    fn phase(&self) -> String {
        let value = self.yard.user.json(&["runs", "explain", self.run]);
        let liveness = &value["liveness"];
        assert!(liveness["recoveryActions"].as_array().is_some_and(|actions| !actions.is_empty()), "{value}");
        assert!(liveness["nextStep"].is_string() && liveness["active"].is_boolean(), "{value}");
        liveness["phase"].as_str().expect("a phase").to_owned()
    }

    /// Looks as a program and as a person.
    fn expect(&mut self, phase: Phase, sentence: &str, next: &str) {
        assert_eq!(self.phase(), phase.as_str());
        let words = stdout(&self.yard.user.run(&["runs", "explain", self.run]));
        let mut lines = words.lines();
        assert!(
            lines.next().is_some_and(|line| line.starts_with(sentence) && line.contains("You can: ")),
            "{words}"
        );
        assert!(
            lines.next().is_some_and(|line| line.starts_with(&format!("  next: guildhall runs {next} "))),
            "{words}"
        );
        self.seen.push(phase.as_str());
    }
}

// covers: R18
#[test]
fn every_phase_is_explained_in_a_sentence_and_a_command_to_type() {
    let server = Server::ephemeral_with(&[LEASE, GRACE]);
    let yard = Yard::new(&server);
    let made = yard.run(None);
    let mut looking = Looking { yard: &yard, run: &made.run, seen: Vec::new() };
    looking.expect(Phase::WaitingRunner, "It waits for a runner", "cancel");
    let mut played = yard.claim(&server, &made.run);
    looking.expect(Phase::Idle, "A runner holds it and waits for a command", "send");
    let sent = yard.user.json(&["runs", "send", &made.run, "go"]);
    let turn = sent["commandId"].as_str().expect("an id").to_owned();
    played.renew();
    looking.expect(
        Phase::WaitingRunner,
        "It waits for a runner; next: the runner takes the command",
        "events",
    );
    played.take(&turn);
    looking.expect(Phase::WaitingModel, "The model is at work", "events");
    played.renew();
    played.report(&turn, "tool_call", json!({ "callId": "a", "toolName": "shell" }));
    looking.expect(Phase::WaitingTool, "A tool is at work", "events");
    played.renew();
    played.report(&turn, "tool_call", json!({ "callId": "a", "status": "completed" }));
    looking.expect(Phase::IdleAfterTool, "A tool has ended", "events");
    played.renew();
    played.report(&turn, "backend_status", json!({ "phase": "transport-disconnected" }));
    looking.expect(Phase::TransportDisconnected, "The runner lost its connection", "events");
    let deadline = Instant::now() + Duration::from_secs(20);
    while looking.phase() == Phase::TransportDisconnected.as_str() {
        assert!(Instant::now() < deadline, "the lease does not run out");
        std::thread::sleep(Duration::from_millis(100));
    }
    looking.expect(Phase::RunnerHeartbeatStale, "The runner gives no sign of life", "events");
    played.renew();
    played.finish(&turn, &Ending::COMPLETED);
    yard.user.json(&["runs", "cancel", &made.run]);
    looking.expect(Phase::Terminal, "It has ended", "result");
    let mut all: Vec<&str> = Phase::ALL.iter().map(|phase| phase.as_str()).collect();
    (looking.seen, all) = (sorted(looking.seen), sorted(all));
    assert_eq!(looking.seen, all, "a phase was not looked at");
}

fn sorted(mut phases: Vec<&'static str>) -> Vec<&'static str> {
    phases.sort_unstable();
    phases.dedup();
    phases
}
