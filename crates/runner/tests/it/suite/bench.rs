use std::path::Path;

use guildhall_runner::backend::{Backend, Capabilities, Setting};
use guildhall_testkit::FakeModel;

/// A backend under test.
pub(crate) struct Bench {
    /// Makes one whose model is the given one, with the credential [`super::desk::CREDENTIAL`] among its secrets.
    pub(crate) make: fn(&str, Setting) -> Box<dyn Backend>,
    /// What it must say of itself.
    pub(crate) capabilities: Capabilities,
    /// How it is told what the suite says. One without a model is told what its model does.
    pub(crate) words: fn(&str, Model) -> String,
    /// Returns all that its model was told, by request, or what it remembers in the place of one.
    pub(crate) told: fn(&FakeModel, &Path) -> Vec<String>,
}

/// Whether there is a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Model {
    Answers,
    IsAway,
}

impl Bench {
    /// A backend with a model behind it.
    pub(crate) fn new(make: fn(&str, Setting) -> Box<dyn Backend>, capabilities: Capabilities) -> Self {
        let told = |model: &FakeModel, _state: &Path| {
            model.requests().iter().map(|request| request.body.to_string()).collect()
        };
        Self { make, capabilities, words: |words, _model| words.to_owned(), told }
    }

    pub(crate) fn backend(&self, model: &FakeModel, setting: Setting) -> Box<dyn Backend> {
        let backend = (self.make)(&model.base_url(), setting);
        assert_eq!(backend.capabilities(), self.capabilities);
        backend
    }
}
