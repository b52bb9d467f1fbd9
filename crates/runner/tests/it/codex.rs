//! Codex 0.166.0: the suite and its own tests.

use std::fs;
use std::path::PathBuf;

use guildhall_domain::FailureKind;
use guildhall_domain::runs::policy::{Network, Sandbox};
use guildhall_runner::backend::codex::{CodexBackend, CodexProfile};
use guildhall_runner::backend::{Backend, BackendConfig, Capabilities, ThreadStart, TurnOutcome};
use guildhall_runner::sandbox::PROXY_PORT;

use crate::suite::harness::{CREDENTIAL, CREDENTIAL_VALUE, RED_PNG_BASE64, red_image};
use crate::suite::{BackendFixture, Harness, behaviour_tests};

behaviour_tests!(crate::codex::fixture());

pub(crate) fn fixture() -> BackendFixture {
    let capabilities = Capabilities {
        name: "codex",
        can_steer: true,
        can_interrupt: true,
        can_resume: true,
        asks_approval: true,
        is_separate_process: true,
    };
    BackendFixture::new(create, capabilities)
}

pub(crate) fn profile(program: PathBuf, base_url: &str) -> CodexProfile {
    CodexProfile {
        program,
        model: Some("fake-model".to_owned()),
        base_url: base_url.to_owned(),
        credential: Some(CREDENTIAL.to_owned()),
        retries: 1,
    }
}

fn create(base_url: &str, config: BackendConfig) -> Box<dyn Backend> {
    Box::new(CodexBackend::new(config, profile(guildhall_testkit::codex_program(), base_url)))
}

#[tokio::test]
async fn credential_reaches_the_model_and_no_command() {
    let fixture = fixture();
    let mut harness = Harness::started(&fixture).await;
    let report = harness
        .turn("run:env; cat /proc/[0-9]*/environ | tr '\\0' '\\n'; cat ../state/codex/config.toml")
        .await;
    assert_eq!(report.outcome, TurnOutcome::Completed, "{report:?}");
    let output = report.tool_output().0;
    assert!(output.contains("PATH=") && output.contains(CREDENTIAL), "{output}");
    assert!(!format!("{report:?}").contains(CREDENTIAL_VALUE), "{report:?}");
    for request in harness.model.requests() {
        assert_eq!(request.authorization, Some(format!("Bearer {CREDENTIAL_VALUE}")));
        assert!(!request.body.to_string().contains(CREDENTIAL_VALUE));
    }
    harness.finish();
}

#[tokio::test]
async fn workspace_configuration_is_not_applied() {
    let fixture = fixture();
    let mut harness = Harness::new(&fixture).await;
    let evil = harness.config.workspace.join("evil");
    fs::create_dir(harness.path(".codex")).expect("create directory");
    let text = format!("[mcp_servers.evil]\ncommand = \"/usr/bin/touch\"\nargs = [\"{}\"]\n", evil.display());
    fs::write(harness.path(".codex/config.toml"), text).expect("write file");
    harness.start(ThreadStart::New).await.expect("start a thread");
    assert_eq!(harness.turn("hello").await.outcome, TurnOutcome::Completed);
    assert!(!evil.exists(), "the configuration of the workspace was applied");
    harness.finish();
}

#[tokio::test]
async fn read_only_sandbox_blocks_writes() {
    let fixture = fixture();
    let mut harness = Harness::new(&fixture).await;
    harness.config.sandbox = Sandbox::ReadOnly;
    harness.start(ThreadStart::New).await.expect("start a thread");
    let report = harness.turn("run:touch made").await;
    assert_eq!(report.outcome, TurnOutcome::Completed, "{report:?}");
    assert!(!harness.path("made").exists());
    harness.finish();
}

#[tokio::test]
async fn commands_reach_the_proxy_only_when_network_is_enabled() {
    let fixture = fixture();
    for (network, reached) in [(Network::Disabled, false), (Network::Enabled, true)] {
        let mut harness = Harness::new(&fixture).await;
        harness.config.network = network;
        harness.start(ThreadStart::New).await.expect("start a thread");
        let connect = format!("run:bash -c ': < /dev/tcp/127.0.0.1/{PROXY_PORT}' && echo reached it");
        let report = harness.turn(&connect).await;
        assert_eq!(report.tool_output().0.contains("reached it"), reached, "{network:?} {report:?}");
        harness.finish();
    }
}

#[tokio::test]
async fn missing_program_is_a_failure() {
    let missing = |base_url: &str, config: BackendConfig| -> Box<dyn Backend> {
        Box::new(CodexBackend::new(config, profile("/nonexistent/codex".into(), base_url)))
    };
    let fixture = BackendFixture { create: missing, ..fixture() };
    let mut harness = Harness::new(&fixture).await;
    let failure = harness.start(ThreadStart::New).await.expect_err("the program is missing");
    assert_eq!((failure.kind, failure.died), (FailureKind::BackendFailed, true));
    assert_eq!(failure.message, "cannot start codex: entity not found");
    harness.finish();
}

#[tokio::test]
async fn image_reaches_the_model_and_stays_in_the_thread_without_its_file() {
    let fixture = fixture();
    let mut harness = Harness::new(&fixture).await;
    let thread = harness.start(ThreadStart::New).await.expect("start a thread");
    let report = harness.turn_with_images("what is it?", vec![red_image()]).await;
    assert_eq!(report.outcome, TurnOutcome::Completed, "{report:?}");
    assert_eq!(harness.received_images(), [RED_PNG_BASE64], "{:?}", harness.model.requests().last());
    let files = harness.config.state.join("codex/guildhall-images");
    assert!(!files.exists(), "removed after the turn");
    harness.start(ThreadStart::Resume(thread)).await.expect("resume the thread");
    let report = harness.turn("and now?").await;
    assert_eq!(report.outcome, TurnOutcome::Completed, "{report:?}");
    assert_eq!(harness.received_images(), [RED_PNG_BASE64], "the thread has the image");
    harness.finish();
}
