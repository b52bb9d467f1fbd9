use std::path::Path;

use guildhall_runner::backend::{Backend, BackendConfig, Capabilities};
use guildhall_testkit::FakeModel;

/// A backend under test.
pub(crate) struct BackendFixture {
    /// Creates a backend for the model at a URL. Its secrets contain [`super::harness::CREDENTIAL`].
    pub(crate) create: fn(&str, BackendConfig) -> Box<dyn Backend>,
    /// The capabilities that it must declare.
    pub(crate) capabilities: Capabilities,
    /// Converts a prompt of the suite. A backend without a model is told what the model would do.
    pub(crate) prompt: fn(&str, ModelState) -> String,
    /// Returns what its model received, by request; or its own history, for a backend without a model.
    pub(crate) received: fn(&FakeModel, &Path) -> Vec<String>,
    pub(crate) after_denial: DenialReaction,
    /// Whether it starts a tool call before it asks about it.
    pub(crate) names_calls: bool,
}

/// What an agent does when its request is denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DenialReaction {
    /// It tells its model, and goes on.
    GoesOn,
    /// It ends the turn.
    EndsTheTurn,
}

/// Whether the model responds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModelState {
    Online,
    Offline,
}

impl BackendFixture {
    /// A backend with a model.
    pub(crate) fn new(
        create: fn(&str, BackendConfig) -> Box<dyn Backend>,
        capabilities: Capabilities,
    ) -> Self {
        let received = |model: &FakeModel, _state: &Path| {
            model.requests().iter().map(|request| request.body.to_string()).collect()
        };
        let prompt = |prompt: &str, _model| prompt.to_owned();
        let after_denial = DenialReaction::GoesOn;
        Self { create, capabilities, prompt, received, after_denial, names_calls: true }
    }

    pub(crate) fn backend(&self, model: &FakeModel, config: BackendConfig) -> Box<dyn Backend> {
        let backend = (self.create)(&model.base_url(), config);
        assert_eq!(backend.capabilities(), self.capabilities);
        backend
    }
}
