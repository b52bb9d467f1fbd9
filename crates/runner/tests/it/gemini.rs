//! Gemini CLI 0.61.0 over the Agent Client Protocol: turns and approvals.

use std::collections::BTreeMap;
use std::time::Duration;

use guildhall_domain::approvals::question::{OptionEffect, QuestionKind};
use guildhall_domain::runs::policy::Approval;
use guildhall_runner::backend::acp::{AcpBackend, AcpProfile};
use guildhall_runner::backend::{Backend, BackendConfig, ModelApi, ThreadStart, TurnOutcome};
use serde_json::Value;

use crate::suite::harness::CREDENTIAL_VALUE;
use crate::suite::turns::answered_turn;
use crate::suite::{BackendFixture, DenialReaction, Harness, behaviour_tests};

behaviour_tests! { @each crate::gemini::fixture();
    turns: declined_approval_is_reported_and_nothing_is_done,
    turns: interrupt_ends_a_turn_that_waits_for_a_person,
    access: files_and_ports_outside_are_inaccessible,
}

fn fixture() -> BackendFixture {
    BackendFixture { create, after_denial: DenialReaction::GoesOn, ..crate::acp::fixture() }
}

fn create(base_url: &str, mut config: BackendConfig) -> Box<dyn Backend> {
    for (name, _) in &mut config.secrets {
        "GEMINI_API_KEY".clone_into(name);
    }
    let profile = AcpProfile {
        command: vec![guildhall_testkit::gemini_program().to_string_lossy().into_owned(), "--acp".to_owned()],
        model: Some("gemini-2.5-flash".to_owned()),
        api: ModelApi::Chat,
        base_url: Some(format!("{base_url}beta")),
        env: BTreeMap::new(),
        settings: BTreeMap::new(),
        silence_timeout: Duration::from_secs(60),
    };
    Box::new(AcpBackend::new(config, profile))
}

#[tokio::test]
async fn turn_uses_the_credential_of_the_proxy() {
    let fixture = fixture();
    let mut harness = Harness::started(&fixture).await;
    let report = harness.turn("run:env | grep -c canary-cred''ential").await;
    assert_eq!(report.outcome, TurnOutcome::Completed, "{report:?}");
    // grep counts no line that holds the credential.
    let (output, _) = report.tool_output();
    assert!(output.lines().any(|line| line.split_whitespace().next_back() == Some("0")), "{output}");
    assert!(report.streamed_text().starts_with("Echo: run:env"), "{report:?}");
    let requests = harness.model.requests();
    assert!(!requests.is_empty());
    for request in requests {
        assert_eq!(request.authorization, Some(format!("Bearer {CREDENTIAL_VALUE}")), "{}", request.path);
        assert!(!request.body.to_string().contains(CREDENTIAL_VALUE));
    }
    harness.finish();
}

/// The permission request of Gemini CLI has no arguments: only its title says what is executed.
#[tokio::test]
async fn title_of_a_long_command_is_shown_whole() {
    let fixture = fixture();
    let mut harness = Harness::new(&fixture).await;
    harness.config.approval = Approval::OnRequest;
    harness.start(ThreadStart::New).await.expect("start a thread");
    let mut asked = harness.listen_to_questions();
    // Not the same words again and again: Gemini CLI would take the echo of its model for a loop.
    let words: Vec<String> = (0..1000).map(|number| number.to_string()).collect();
    let command = format!("echo {} > made; rm -rf /danger", words.join(" "));
    let prompt = format!("ask:{command}");
    for (effect, is_made) in [(OptionEffect::Deny, false), (OptionEffect::Allow, true)] {
        let (question, report) = answered_turn(&mut harness, &mut asked, &prompt, effect, Value::Null).await;
        assert_eq!(report.outcome, TurnOutcome::Completed, "{report:?}");
        assert_eq!((question.action.kind, &question.action.arguments), (QuestionKind::Command, &None));
        assert_eq!(question.reason.as_deref(), Some(command.as_str()));
        assert_eq!(question.action.digest(), None, "nobody knows what would be executed");
        assert_eq!(harness.path("made").exists(), is_made, "{report:?}");
    }
    harness.finish();
}
