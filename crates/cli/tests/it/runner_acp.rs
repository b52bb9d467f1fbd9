//! The runner's program with a real agent of the Agent Client Protocol, from the command line.

use guildhall_domain::profiles::{BackendKind, Profile};

use crate::support::agent::{Camp, dismiss};
use crate::support::user::{stderr, stdout};

const CREDENTIAL: &str = "canary-credential-88bb";

pub(crate) fn qwen(base_url: String) -> Profile {
    let program = guildhall_testkit::qwen().to_string_lossy().into_owned();
    Profile {
        base_url: Some(base_url),
        model: Some("fake-model".to_owned()),
        command: vec![program, "--acp".to_owned()],
        ..Profile::of(BackendKind::Acp)
    }
}

#[test]
fn a_run_of_an_acp_profile_streams_the_answer_and_is_resumed_by_the_next_runner() {
    let camp = Camp::pitch(CREDENTIAL, qwen);
    let runner = camp.runner();
    let run = camp.run();
    let watched = camp.send(&run, "tidy my notes");
    let said = stdout(&watched);
    assert_eq!(watched.status.code(), Some(0), "{said} {}", stderr(&watched));
    assert!(said.contains("Echo: tidy my notes") && said.trim_end().ends_with("completed"), "{said}");
    dismiss(runner);
    let runner = camp.runner();
    let ran = camp.send(&run, "run:echo it was here > made; cat made");
    assert!(stdout(&ran).contains("it was here"), "{} {}", stdout(&ran), stderr(&ran));
    let result = camp.result(&run);
    assert_eq!(result["reply"], "Echo: run:echo it was here > made; cat made", "{result}");
    dismiss(runner);
    let requests = camp.model.requests();
    let last = requests.last().expect("a request");
    assert!(last.body.to_string().contains("tidy my notes"), "the session goes on");
    assert_eq!(last.authorization, Some(format!("Bearer {CREDENTIAL}")));
}
