//! The official clients of the AUN network that `.ci/setup` installs.

use std::path::PathBuf;

use crate::agents::tools_folder;

/// An official client, unmodified. `interop/aun` pins its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AunClient {
    /// The current one: fastaun 0.5.
    Fastaun,
    /// The last one with the first version of end-to-end encryption: fastaun 0.2.
    Fastaun02,
    /// The one of the time of the specification.
    AunCore,
}

impl AunClient {
    pub const ALL: [Self; 3] = [Self::Fastaun, Self::Fastaun02, Self::AunCore];

    /// Returns the Python that has the client. Panics with an instruction if it is not installed.
    #[must_use]
    pub fn python(self) -> PathBuf {
        let folder = match self {
            Self::Fastaun => "aun-fastaun",
            Self::Fastaun02 => "aun-fastaun-0-2",
            Self::AunCore => "aun-core",
        };
        let python = tools_folder().join(folder).join("bin/python");
        assert!(python.is_file(), "no {self:?} client at {}: run .ci/setup", python.display());
        python
    }
}
