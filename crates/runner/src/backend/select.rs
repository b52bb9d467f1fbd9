//! Selects the backend of a run by its profile. There is no fallback to another profile.
//!
//! A profile is a directory with its name: `profile.toml` says what to run, `credential` holds the provider's key.
//! Only the demo profile needs no directory.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_domain::profiles::agent_package::install_command;
use guildhall_domain::profiles::{BackendKind, Profile, ProfileError, WireApi};
use guildhall_domain::runs::policy::BackendProfile;
use secrecy::SecretString;

use super::acp::{AcpBackend, AcpProfile};
use super::codex::{CodexBackend, CodexProfile};
use super::script::ScriptBackend;
use super::{Backend, BackendConfig, ModelApi};
use crate::credential_file::{self, CredentialFileError};
use crate::sandbox::resolve_node_link;

const MAX_PROFILE_BYTES: u64 = 64 * 1024;

/// How often Codex retries a request to its provider.
const CODEX_RETRIES: u32 = 4;

/// An agent that sends nothing for this long, while no tool runs, waits for a model that does not respond. Models can
/// think for minutes without output.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(300);

/// The backends that a runner can start.
#[derive(Debug, Clone, Default)]
pub struct BackendCatalog {
    /// Directory of the profiles. Without it only the demo profile exists.
    pub profiles: Option<PathBuf>,
    /// Path of the Codex program; without it, `codex` on the search path.
    pub codex: Option<PathBuf>,
}

/// A selected backend that is not built yet.
#[derive(Debug)]
pub struct SelectedBackend {
    profile: Profile,
    credential: Option<SecretString>,
    program: PathBuf,
}

/// Why there is no backend for a profile. Messages never contain the credential.
#[derive(Debug, thiserror::Error)]
pub enum BackendSelectionError {
    #[error("invalid profile name")]
    InvalidName,
    #[error("this runner has no profile `{0}`")]
    UnknownProfile(BackendProfile),
    #[error("cannot read the profile `{0}`: {1}")]
    UnreadableProfile(BackendProfile, io::ErrorKind),
    #[error("the profile `{0}` is invalid: {1}")]
    InvalidProfile(BackendProfile, ProfileError),
    #[error("cannot read the credential of the profile `{0}`: {1}")]
    UnreadableCredential(BackendProfile, CredentialFileError),
    #[error(
        "codex is not installed on the runner's machine: install it there (npm install -g @openai/codex), or name its path \
         with the option --codex of guildhall-runner"
    )]
    CodexNotFound,
    #[error(
        "`{program}`, the agent of the profile `{profile}`, is not installed on the runner's machine: install it there{}, in \
         a directory of the PATH",
        install_command(program).map_or_else(String::new, |command| format!(" ({command})"))
    )]
    ProgramNotFound { profile: BackendProfile, program: String },
}

impl BackendSelectionError {
    #[must_use]
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::UnknownProfile(_) | Self::UnreadableCredential(..) => FailureKind::SecretUnavailable,
            Self::InvalidName
            | Self::UnreadableProfile(..)
            | Self::InvalidProfile(..)
            | Self::CodexNotFound
            | Self::ProgramNotFound { .. } => FailureKind::InfraFailed,
        }
    }
}

impl BackendCatalog {
    /// Reads the profile and finds its program.
    pub fn select(&self, slug: &str) -> Result<SelectedBackend, BackendSelectionError> {
        let slug: BackendProfile = slug.parse().map_err(|_| BackendSelectionError::InvalidName)?;
        let (profile, credential) = match self.profiles.as_ref().map(|dir| dir.join(slug.as_str())) {
            Some(dir) if dir.is_dir() => {
                let unreadable = |error| BackendSelectionError::UnreadableCredential(slug.clone(), error);
                let credential = credential_file::read(&dir.join("credential")).map_err(unreadable)?;
                (read_profile(&slug, &dir)?, credential)
            }
            Some(_) | None if !slug.needs_credential() => (Profile::new(BackendKind::Script), None),
            Some(_) | None => return Err(BackendSelectionError::UnknownProfile(slug)),
        };
        let program = match profile.backend {
            BackendKind::Codex => self
                .codex
                .clone()
                .or_else(|| find_on_path("codex"))
                .ok_or(BackendSelectionError::CodexNotFound)?,
            BackendKind::Script => PathBuf::new(),
            BackendKind::Acp => {
                let not_found = || BackendSelectionError::ProgramNotFound {
                    profile: slug,
                    program: profile.agent().to_owned(),
                };
                find_program(&profile).ok_or_else(not_found)?
            }
        };
        Ok(SelectedBackend { profile, credential, program: resolve_node_link(program) })
    }
}

impl SelectedBackend {
    /// Returns the secrets for the agent's environment.
    #[must_use]
    pub fn secrets(&self) -> Vec<(String, SecretString)> {
        self.credential.iter().map(|value| (self.profile.env_key.clone(), value.clone())).collect()
    }

    /// Builds the backend. Its process starts with its thread.
    #[must_use]
    pub fn build(self, config: BackendConfig) -> Box<dyn Backend> {
        let Self { profile, credential, program } = self;
        match profile.backend {
            BackendKind::Codex => {
                let profile = CodexProfile {
                    program,
                    model: profile.model,
                    base_url: profile.base_url.unwrap_or_else(|| Profile::OPENAI_URL.to_owned()),
                    credential: credential.map(|_| profile.env_key),
                    retries: CODEX_RETRIES,
                };
                Box::new(CodexBackend::new(config, profile))
            }
            BackendKind::Acp => {
                let arguments = profile.command.into_iter().skip(1);
                let profile = AcpProfile {
                    command: [program.to_string_lossy().into_owned()].into_iter().chain(arguments).collect(),
                    model: profile.model,
                    api: match profile.wire_api {
                        Some(WireApi::Responses) => ModelApi::Responses,
                        Some(WireApi::Chat) | None => ModelApi::Chat,
                    },
                    base_url: profile.base_url,
                    env: profile.env,
                    settings: profile.settings,
                    silence_timeout: SILENCE_TIMEOUT,
                };
                Box::new(AcpBackend::new(config, profile))
            }
            BackendKind::Script => Box::new(ScriptBackend::new(config)),
        }
    }
}

fn read_profile(slug: &BackendProfile, dir: &Path) -> Result<Profile, BackendSelectionError> {
    let text = read_bounded(&dir.join("profile.toml"), MAX_PROFILE_BYTES)
        .map_err(|error| BackendSelectionError::UnreadableProfile(slug.clone(), error.kind()))?;
    Profile::parse(&text).map_err(|error| BackendSelectionError::InvalidProfile(slug.clone(), error))
}

fn read_bounded(path: &Path, max_bytes: u64) -> io::Result<String> {
    let mut text = String::new();
    let read = fs::File::open(path)?.take(max_bytes + 1).read_to_string(&mut text)?;
    if read as u64 > max_bytes { Err(io::ErrorKind::InvalidData.into()) } else { Ok(text) }
}

/// Finds the program of an ACP agent before it starts, so that a program of the same name in the workspace is not
/// used.
fn find_program(profile: &Profile) -> Option<PathBuf> {
    let program = Path::new(profile.command.first()?);
    if program.is_absolute() {
        program.is_file().then(|| program.to_owned())
    } else {
        find_on_path(program.to_str()?)
    }
}

/// Finds a program on the search path.
fn find_on_path(name: &str) -> Option<PathBuf> {
    let is_executable = |path: &PathBuf| {
        fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(&std::env::var_os("PATH")?).map(|dir| dir.join(name)).find(is_executable)
}

#[cfg(test)]
#[path = "select_tests.rs"]
mod tests;
