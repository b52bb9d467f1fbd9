//! Codex 0.166.0, on the suite and on what is its own.

use std::fs;

use guildhall_domain::FailureKind;
use guildhall_domain::runs::policy::{Network, Sandbox};
use guildhall_runner::backend::codex::{Codex, Profile};
use guildhall_runner::backend::{Backend, Begin, Capabilities, Setting, TurnEnd};

use crate::suite::desk::{CREDENTIAL, CREDENTIAL_VALUE};
use crate::suite::{Bench, Desk, behaviours};

behaviours!(crate::codex::bench());

fn bench() -> Bench {
    let capabilities = Capabilities {
        name: "codex",
        steers: true,
        interrupts: true,
        resumes: true,
        asks: true,
        unplugs: true,
        lives_apart: true,
    };
    Bench::new(make, capabilities)
}

fn make(base_url: &str, setting: Setting) -> Box<dyn Backend> {
    let profile = Profile {
        program: guildhall_testkit::codex(),
        model: Some("fake-model".to_owned()),
        base_url: base_url.to_owned(),
        credential: Some(CREDENTIAL.to_owned()),
        retries: 1,
    };
    Box::new(Codex::new(setting, profile))
}

#[tokio::test]
async fn the_credential_reaches_the_model_and_no_command_of_the_agent() {
    let bench = bench();
    let mut desk = Desk::ready(&bench).await;
    let report =
        desk.turn("run:env; cat /proc/[0-9]*/environ | tr '\\0' '\\n'; cat ../state/codex/config.toml").await;
    assert_eq!(report.end, TurnEnd::Completed, "{report:?}");
    let printed = report.printed().0;
    assert!(printed.contains("PATH=") && printed.contains(CREDENTIAL), "{printed}");
    assert!(!format!("{report:?}").contains(CREDENTIAL_VALUE), "{report:?}");
    for request in desk.model.requests() {
        assert_eq!(request.authorization, Some(format!("Bearer {CREDENTIAL_VALUE}")));
        assert!(!request.body.to_string().contains(CREDENTIAL_VALUE));
    }
    desk.leave();
}

#[tokio::test]
async fn a_workspace_cannot_tell_the_agent_what_to_run() {
    let bench = bench();
    let mut desk = Desk::set(&bench).await;
    let evil = desk.setting.workspace.join("evil");
    fs::create_dir(desk.path(".codex")).expect("a folder");
    let text = format!("[mcp_servers.evil]\ncommand = \"/usr/bin/touch\"\nargs = [\"{}\"]\n", evil.display());
    fs::write(desk.path(".codex/config.toml"), text).expect("written");
    desk.begin(Begin::New).await.expect("a new thread");
    assert_eq!(desk.turn("hello").await.end, TurnEnd::Completed);
    assert!(!evil.exists(), "the workspace's own configuration was obeyed");
    desk.leave();
}

#[tokio::test]
async fn a_sandbox_that_may_only_read_does_not_write() {
    let bench = bench();
    let mut desk = Desk::set(&bench).await;
    desk.setting.sandbox = Sandbox::ReadOnly;
    desk.begin(Begin::New).await.expect("a new thread");
    let report = desk.turn("run:touch made").await;
    assert_eq!(report.end, TurnEnd::Completed, "{report:?}");
    assert!(!desk.path("made").exists());
    desk.leave();
}

#[tokio::test]
async fn commands_reach_the_network_only_when_they_may() {
    let bench = bench();
    for (network, reached) in [(Network::Disabled, false), (Network::Enabled, true)] {
        let mut desk = Desk::set(&bench).await;
        desk.setting.network = network;
        desk.begin(Begin::New).await.expect("a new thread");
        let address = desk.model.base_url().replace("http://", "").replace("/v1", "").replace(':', "/");
        let report = desk.turn(&format!("run:bash -c ': < /dev/tcp/{address}' && echo reached it")).await;
        assert_eq!(report.printed().0.contains("reached it"), reached, "{network:?} {report:?}");
        desk.leave();
    }
}

#[tokio::test]
async fn a_policy_that_cannot_be_kept_is_refused() {
    let bench = bench();
    let mut desk = Desk::set(&bench).await;
    desk.setting.sandbox = Sandbox::DangerFullAccess;
    let failure = desk.begin(Begin::New).await.expect_err("nothing keeps it off the network");
    assert_eq!(failure.kind, FailureKind::TenantPolicyDenied);
    desk.leave();
}

#[tokio::test]
async fn a_program_that_is_not_there_is_a_failure() {
    let missing = |base_url: &str, setting: Setting| -> Box<dyn Backend> {
        let profile = Profile {
            program: "/nonexistent/codex".into(),
            model: Some("fake-model".to_owned()),
            base_url: base_url.to_owned(),
            credential: Some(CREDENTIAL.to_owned()),
            retries: 1,
        };
        Box::new(Codex::new(setting, profile))
    };
    let bench = Bench { make: missing, ..bench() };
    let mut desk = Desk::set(&bench).await;
    let failure = desk.begin(Begin::New).await.expect_err("there is none");
    assert_eq!((failure.kind, failure.died), (FailureKind::BackendFailed, true));
    assert_eq!(failure.message, "cannot start codex: entity not found");
    desk.leave();
}
