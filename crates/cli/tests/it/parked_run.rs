//! `guildhall run` on a terminal while the question of its agent is parked.

use std::time::{Duration, Instant};

use guildhall_testkit::FakeModel;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::launched_runners::set_key;
use crate::own_repository::OwnRepository;
use crate::support::runner::string_field;
use crate::support::terminal::TerminalSession;

const TIMEOUT: Duration = Duration::from_secs(120);

/// Waits until a command prints JSON that meets a condition.
fn wait_for(repository: &OwnRepository, args: &[&str], condition: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let found = repository.user.json(args);
        if condition(&found) {
            return found;
        }
        assert!(Instant::now() < deadline, "{args:?}: {found}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The runner and its Codex have ended when the person answers. The same terminal shows the turn that continues the work.
#[test]
fn terminal_follows_a_parked_turn_to_the_one_that_continues_it() {
    let repository = OwnRepository::start();
    let runtime = Runtime::new().expect("a runtime");
    let model = runtime.block_on(FakeModel::start());
    set_key(&repository.user, &model.base_url());
    // The shortest time that an agent waits with its process.
    repository.user.json(&["approvals", "policy", "set", "first-responder", "--hold-for", "10s"]);
    let mut terminal = TerminalSession::start(&repository.run_command(&["ask:echo 42 > answer"]));
    terminal.wait_for("d shows details: ");
    let parked = wait_for(&repository, &["approvals", "ls"], |list| list["approvals"][0]["parked"] == true);
    let parked = &parked["approvals"][0];
    let (run, turn) = (string_field(parked, "runId"), string_field(parked, "commandId"));
    wait_for(&repository, &["runs", "show", &run], |run| run["lease"].is_null());
    let blocked = repository.user.json(&["runs", "result", &run]);
    assert_eq!(blocked["terminalStatus"], "blocked", "{blocked}");

    terminal.type_keys("y\n");
    terminal.wait_for("answered: allow by you");
    let changes = terminal.wait_for("Apply these changes? [y/N] ");
    assert!(changes.contains("completed") && changes.contains("-41\r\n+42\r\n"), "{changes}");
    terminal.type_keys("y\n");
    let (code, output) = terminal.wait();
    assert_eq!((code, repository.read("answer").as_str()), (Some(0), "42\n"), "{output}");
    let history = repository.user.json(&["runs", "history", &run]);
    let turns: Vec<Value> = history["commands"]
        .as_array()
        .expect("turns")
        .iter()
        .map(|command| json!([command["terminalStatus"], command["payload"]["continues"]]))
        .collect();
    assert_eq!(turns, [json!(["blocked", null]), json!(["completed", turn])], "{history}");
}
