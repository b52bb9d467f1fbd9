//! The runner binary with a real Agent Client Protocol agent, controlled through the CLI.

use guildhall_domain::profiles::{BackendKind, Profile};
use serde_json::json;

use crate::support::agent::{AgentFixture, stop_runner};
use crate::support::user::{stderr, stdout};

const CREDENTIAL: &str = "canary-credential-88bb";

pub(crate) fn qwen_profile(base_url: String) -> Profile {
    let program = guildhall_testkit::qwen_program().to_string_lossy().into_owned();
    Profile {
        base_url: Some(base_url),
        model: Some("fake-model".to_owned()),
        command: vec![program, "--acp".to_owned()],
        ..Profile::new(BackendKind::Acp)
    }
}

#[test]
fn acp_run_streams_the_reply_and_the_next_runner_resumes_it() {
    let fixture = AgentFixture::start(CREDENTIAL, qwen_profile);
    let runner = fixture.start_runner();
    let run = fixture.create_run();
    let watched = fixture.send_and_watch(&run, "tidy my notes");
    let output = stdout(&watched);
    assert_eq!(watched.status.code(), Some(0), "{output} {}", stderr(&watched));
    assert!(output.contains("Echo: tidy my notes") && output.trim_end().ends_with("completed"), "{output}");
    stop_runner(runner);
    let runner = fixture.start_runner();
    let prompt = "think: run:echo it was here > made; cat made";
    let tool_turn = fixture.send_and_watch(&run, prompt);
    assert!(stdout(&tool_turn).contains("it was here"), "{} {}", stdout(&tool_turn), stderr(&tool_turn));
    let result = fixture.result(&run);
    assert_eq!(result["reply"], format!("Echo: {prompt}"), "{result}");
    let command = "echo it was here > made; cat made";
    let arguments = json!({
        "command": command, "description": "requested by the test", "is_background": false, "kind": "execute",
        "title": format!("{command} (requested by the test)"),
    });
    fixture.assert_reasoning_and_arguments(&run, prompt, &arguments);
    stop_runner(runner);
    let requests = fixture.model.requests();
    let last = requests.last().expect("a request");
    assert!(last.body.to_string().contains("tidy my notes"), "the next runner resumed the session");
    assert_eq!(last.authorization, Some(format!("Bearer {CREDENTIAL}")));
}
