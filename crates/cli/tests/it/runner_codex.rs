//! The runner binary with a real Codex, controlled through the CLI.

use guildhall_domain::profiles::{BackendKind, Profile};
use serde_json::{Value, json};

use crate::support::agent::{AgentFixture, stop_runner};
use crate::support::terminal::TerminalSession;
use crate::support::user::{stderr, stdout};

const CREDENTIAL: &str = "canary-credential-77aa";

pub(crate) fn codex_profile(base_url: String) -> Profile {
    Profile {
        base_url: Some(base_url),
        model: Some("fake-model".to_owned()),
        env_key: "FAKE_API_KEY".to_owned(),
        ..Profile::new(BackendKind::Codex)
    }
}

#[test]
fn codex_run_streams_the_reply_of_its_model() {
    let fixture = AgentFixture::start(CREDENTIAL, codex_profile);
    let runner = fixture.start_runner();
    let run = fixture.create_run();
    let watched = fixture.send_and_watch(&run, "tidy my notes");
    let output = stdout(&watched);
    assert_eq!(watched.status.code(), Some(0), "{output} {}", stderr(&watched));
    assert!(output.contains("Echo: tidy my notes") && output.trim_end().ends_with("completed"), "{output}");
    let prompt = "think: run:echo it was here";
    let tool_turn = fixture.send_and_watch(&run, prompt);
    assert!(stdout(&tool_turn).contains("it was here"), "{} {}", stdout(&tool_turn), stderr(&tool_turn));
    let result = fixture.result(&run);
    assert_eq!(result["reply"], format!("Echo: {prompt}"), "{result}");
    assert_eq!(result["toolCallSummary"]["exitCodeCounts"]["0"], 1, "{result}");
    let call = &fixture.payloads(&run, "tool_call")[0];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (command, cwd) = (text(&call["command"]), text(&call["arguments"]["cwd"]));
    assert!(command.ends_with("sh -lc 'echo it was here'"), "{call}");
    assert!(cwd.contains("/.guildhall-runner/workspaces/ses_"), "{call}");
    let arguments = json!({ "command": command, "cwd": cwd });
    fixture.assert_reasoning_and_arguments(&run, prompt, &arguments);
    stop_runner(runner);
    let requests = fixture.model.requests();
    assert!(requests.iter().any(|request| request.authorization == Some(format!("Bearer {CREDENTIAL}"))));
}

#[test]
fn question_of_codex_is_asked_on_the_terminal() {
    let fixture = AgentFixture::start(CREDENTIAL, codex_profile);
    let runner = fixture.start_runner();
    let args =
        ["runs", "create", "ask:touch made", "--profile", "mine", "--approval", "on-request", "--watch"];
    let mut terminal = TerminalSession::start(&fixture.tenant.user.command(&args));
    let question = terminal.wait_for("d shows details: ");
    assert!(question.contains("touch made") && question.contains("sandbox of codex"), "{question}");
    terminal.type_keys("y\n");
    terminal.wait_for("answered: allow by you");
    terminal.wait_for("touch made");
    let (code, output) = terminal.wait();
    assert_eq!(code, Some(0), "{output}");
    assert!(output.contains("completed"), "{output}");
    stop_runner(runner);
}

#[test]
fn missing_profile_fails_the_run_without_a_fallback() {
    let fixture = AgentFixture::start(CREDENTIAL, codex_profile);
    std::fs::remove_dir_all(fixture.folder.path().join("profiles")).expect("removed");
    let mut runner = fixture.start_runner();
    let run = fixture.create_run();
    let watched = fixture.send_and_watch(&run, "hello");
    let output = stdout(&watched);
    assert_eq!(watched.status.code(), Some(1), "{output} {}", stderr(&watched));
    assert!(output.contains("this runner has no profile `mine`"), "{output}");
    assert!(!runner.wait().success());
    let view = fixture.tenant.user.json(&["runs", "show", &run]);
    assert_eq!(view["failureKind"], "secret-unavailable", "{view}");
    assert!(fixture.model.requests().is_empty());
}
