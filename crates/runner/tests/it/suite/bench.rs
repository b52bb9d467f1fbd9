use guildhall_runner::backend::{Backend, Capabilities, Setting};
use guildhall_testkit::FakeModel;

/// A backend under test.
pub(crate) struct Bench {
    /// Makes one whose model is the given one, with the credential [`super::desk::CREDENTIAL`] among its secrets.
    pub(crate) make: fn(&str, Setting) -> Box<dyn Backend>,
    /// What it must say of itself.
    pub(crate) capabilities: Capabilities,
}

impl Bench {
    pub(crate) fn backend(&self, model: &FakeModel, setting: Setting) -> Box<dyn Backend> {
        let backend = (self.make)(&model.base_url(), setting);
        assert_eq!(backend.capabilities(), self.capabilities);
        backend
    }
}
