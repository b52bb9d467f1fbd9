//! The script backend, which needs no model.

use std::fs;
use std::path::Path;

use guildhall_domain::FailureKind;
use guildhall_runner::backend::script::ScriptBackend;
use guildhall_runner::backend::{Backend, BackendConfig, BackendFailure, Capabilities, TurnOutcome};
use guildhall_testkit::FakeModel;

use crate::suite::harness::red_image;
use crate::suite::{BackendFixture, Harness, ModelState, behaviour_tests};

behaviour_tests!(crate::script::fixture());

/// The keywords of its prompts.
const KEYWORDS: [&str; 9] = ["run:", "ask:", "big:", "loop:", "slow", "boom", "r401", "r429", "cut"];

pub(crate) fn fixture() -> BackendFixture {
    let capabilities = Capabilities {
        name: "script",
        can_steer: true,
        can_interrupt: true,
        can_resume: true,
        asks_approval: true,
        is_separate_process: false,
    };
    BackendFixture { prompt, received, names_calls: false, ..BackendFixture::new(create, capabilities) }
}

fn create(_base_url: &str, config: BackendConfig) -> Box<dyn Backend> {
    Box::new(ScriptBackend::new(config))
}

fn prompt(prompt: &str, model: ModelState) -> String {
    match model {
        ModelState::Offline => format!("away:{prompt}"),
        ModelState::Online if KEYWORDS.iter().any(|keyword| prompt.starts_with(keyword)) => prompt.to_owned(),
        ModelState::Online => format!("echo:{prompt}"),
    }
}

/// Reads the history of its thread.
fn received(_model: &FakeModel, state: &Path) -> Vec<String> {
    let entries = fs::read_dir(state).into_iter().flatten().flatten().map(|entry| entry.path());
    let threads = entries.filter(|path| path.extension().is_some_and(|it| it == "thread"));
    threads.map(|path| fs::read_to_string(path).expect("read the history")).collect()
}

#[tokio::test]
async fn turn_with_images_fails_in_words() {
    let fixture = fixture();
    let mut harness = Harness::started(&fixture).await;
    let report = harness.turn_with_images("hello", vec![red_image()]).await;
    let message = "this agent takes no images: send the message without them";
    assert_eq!(*report.failure(), BackendFailure::new(FailureKind::InvalidInput, message));
    assert_eq!(harness.turn("hello").await.outcome, TurnOutcome::Completed);
    harness.finish();
}
