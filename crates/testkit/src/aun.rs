//! The official clients of the AUN network that `.ci/setup` installs.

use std::path::PathBuf;

use crate::agents::tools_folder;

/// An official client, unmodified. `interop/aun` pins its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AunClient {
    /// The current one.
    Fastaun,
    /// The one of the time of the specification.
    AunCore,
}

impl AunClient {
    pub const ALL: [Self; 2] = [Self::Fastaun, Self::AunCore];

    /// Returns the Python that has the client. Panics with an instruction if it is not installed.
    #[must_use]
    pub fn python(self) -> PathBuf {
        let folder = match self {
            Self::Fastaun => "aun-fastaun",
            Self::AunCore => "aun-core",
        };
        let python = tools_folder().join(folder).join("bin/python");
        assert!(python.is_file(), "no {self:?} client at {}: run .ci/setup", python.display());
        python
    }
}
