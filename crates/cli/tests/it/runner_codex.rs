//! The runner's program with a real Codex, from the command line.

use guildhall_domain::profiles::{BackendKind, Profile};

use crate::support::agent::{Camp, dismiss};
use crate::support::user::{stderr, stdout};

const CREDENTIAL: &str = "canary-credential-77aa";

fn codex(base_url: String) -> Profile {
    Profile {
        base_url: Some(base_url),
        model: Some("fake-model".to_owned()),
        env_key: "FAKE_API_KEY".to_owned(),
        ..Profile::of(BackendKind::Codex)
    }
}

#[test]
fn a_run_of_a_codex_profile_streams_the_answer_of_its_model() {
    let camp = Camp::pitch(CREDENTIAL, codex);
    let runner = camp.runner();
    let run = camp.run();
    let watched = camp.send(&run, "tidy my notes");
    let said = stdout(&watched);
    assert_eq!(watched.status.code(), Some(0), "{said} {}", stderr(&watched));
    assert!(said.contains("Echo: tidy my notes") && said.trim_end().ends_with("completed"), "{said}");
    let ran = camp.send(&run, "run:echo it was here");
    assert!(stdout(&ran).contains("it was here"), "{} {}", stdout(&ran), stderr(&ran));
    let result = camp.result(&run);
    assert_eq!(result["reply"], "Echo: run:echo it was here", "{result}");
    assert_eq!(result["toolCallSummary"]["exitCodeCounts"]["0"], 1, "{result}");
    dismiss(runner);
    let requests = camp.model.requests();
    assert!(requests.iter().any(|request| request.authorization == Some(format!("Bearer {CREDENTIAL}"))));
}

#[test]
fn a_profile_that_the_runner_does_not_have_fails_the_run_and_nothing_takes_its_place() {
    let camp = Camp::pitch(CREDENTIAL, codex);
    std::fs::remove_dir_all(camp.folder.path().join("profiles")).expect("removed");
    let mut runner = camp.runner();
    let run = camp.run();
    let watched = camp.send(&run, "hello");
    let said = stdout(&watched);
    assert_eq!(watched.status.code(), Some(1), "{said} {}", stderr(&watched));
    assert!(said.contains("this runner has no profile `mine`"), "{said}");
    assert!(!runner.wait().success());
    let shown = camp.yard.user.json(&["runs", "show", &run]);
    assert_eq!(shown["failureKind"], "secret-unavailable", "{shown}");
    assert!(camp.model.requests().is_empty());
}
