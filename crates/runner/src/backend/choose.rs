//! Which backend serves a run: the one of its profile, and never another in its place.
//!
//! A profile is a folder with its name: `profile.toml` says what to run, `credential` holds the provider's key. Only the
//! demonstration needs no folder.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_domain::profiles::{BackendKind, Profile, ProfileError};
use guildhall_domain::runs::policy::BackendProfile;
use secrecy::SecretString;

use super::acp::{self, Acp};
use super::codex::{self, Codex};
use super::script::Script;
use super::{Backend, Setting};

/// Longer than any key, shorter than what somebody put there by mistake.
const CREDENTIAL_BYTES_AT_MOST: u64 = 16 * 1024;
const PROFILE_BYTES_AT_MOST: u64 = 64 * 1024;

/// How often Codex asks its provider again before it gives up.
const CODEX_RETRIES: u32 = 4;

/// An agent that says nothing for so long, and runs nothing, waits for a model that does not come. Models think for
/// minutes, and some without a word.
const SILENT_AT_MOST: Duration = Duration::from_secs(300);

/// The provider that Codex means when nobody says otherwise.
const OPENAI: &str = "https://api.openai.com/v1";

/// What a runner has to choose from.
#[derive(Debug, Clone, Default)]
pub struct Backends {
    /// Where the profiles lie, a folder each. Without it there is the demonstration alone.
    pub profiles: Option<PathBuf>,
    /// The program of Codex; without it the one on the search path.
    pub codex: Option<PathBuf>,
}

/// A backend that was chosen and is not made yet.
#[derive(Debug)]
pub struct Chosen {
    profile: Profile,
    credential: Option<SecretString>,
    program: PathBuf,
}

/// Why there is no backend for a profile. Of the credential nothing is told.
#[derive(Debug, thiserror::Error)]
pub enum ChooseError {
    #[error("the name of the profile is none")]
    Name,
    #[error("this runner has no profile `{0}`")]
    Unknown(BackendProfile),
    #[error("the profile `{0}` cannot be read: {1}")]
    Unreadable(BackendProfile, io::ErrorKind),
    #[error("the profile `{0}` is broken: {1}")]
    Broken(BackendProfile, ProfileError),
    #[error("the credential of the profile `{0}` cannot be read: {1}")]
    Credential(BackendProfile, &'static str),
    #[error("there is no codex on this machine: name its program with --codex")]
    NoCodex,
    #[error("the program of the profile `{0}` is not on this machine")]
    NoProgram(BackendProfile),
}

impl ChooseError {
    #[must_use]
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Unknown(_) | Self::Credential(..) => FailureKind::SecretUnavailable,
            Self::Name | Self::Unreadable(..) | Self::Broken(..) | Self::NoCodex | Self::NoProgram(_) => {
                FailureKind::InfraFailed
            }
        }
    }
}

impl Backends {
    /// Reads the profile and finds its program.
    pub fn choose(&self, slug: &str) -> Result<Chosen, ChooseError> {
        let slug: BackendProfile = slug.parse().map_err(|_| ChooseError::Name)?;
        let (profile, credential) = match self.profiles.as_ref().map(|folder| folder.join(slug.as_str())) {
            Some(folder) if folder.is_dir() => (read(&slug, &folder)?, credential(&slug, &folder)?),
            Some(_) | None if !slug.needs_credential() => (Profile::of(BackendKind::Script), None),
            Some(_) | None => return Err(ChooseError::Unknown(slug)),
        };
        let program = match profile.backend {
            BackendKind::Codex => {
                self.codex.clone().or_else(|| on_path("codex")).ok_or(ChooseError::NoCodex)?
            }
            BackendKind::Script => PathBuf::new(),
            BackendKind::Acp => program(&profile).ok_or(ChooseError::NoProgram(slug))?,
        };
        Ok(Chosen { profile, credential, program })
    }
}

impl Chosen {
    /// Returns what goes into the agent's environment and nowhere else.
    #[must_use]
    pub fn secrets(&self) -> Vec<(String, SecretString)> {
        self.credential.iter().map(|value| (self.profile.env_key.clone(), value.clone())).collect()
    }

    /// Makes the backend. Its process starts with its thread.
    #[must_use]
    pub fn make(self, setting: Setting) -> Box<dyn Backend> {
        let Self { profile, credential, program } = self;
        match profile.backend {
            BackendKind::Codex => {
                let profile = codex::Profile {
                    program,
                    model: profile.model,
                    base_url: profile.base_url.unwrap_or_else(|| OPENAI.to_owned()),
                    credential: credential.map(|_| profile.env_key),
                    retries: CODEX_RETRIES,
                };
                Box::new(Codex::new(setting, profile))
            }
            BackendKind::Acp => {
                let arguments = profile.command.into_iter().skip(1);
                let profile = acp::Profile {
                    command: [program.to_string_lossy().into_owned()].into_iter().chain(arguments).collect(),
                    model: profile.model,
                    base_url: profile.base_url,
                    env: profile.env,
                    settings: profile.settings,
                    silent_at_most: SILENT_AT_MOST,
                };
                Box::new(Acp::new(setting, profile))
            }
            BackendKind::Script => Box::new(Script::new(setting)),
        }
    }
}

fn read(slug: &BackendProfile, folder: &Path) -> Result<Profile, ChooseError> {
    let text = bounded(&folder.join("profile.toml"), PROFILE_BYTES_AT_MOST)
        .map_err(|error| ChooseError::Unreadable(slug.clone(), error.kind()))?;
    Profile::parse(&text).map_err(|error| ChooseError::Broken(slug.clone(), error))
}

/// Reads the credential beside a profile, if there is one. One that everybody on the machine can read is none.
fn credential(slug: &BackendProfile, folder: &Path) -> Result<Option<SecretString>, ChooseError> {
    let failed = |why| ChooseError::Credential(slug.clone(), why);
    let path = folder.join("credential");
    let found = match fs::metadata(&path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(_) => return Err(failed("it is not accessible")),
    };
    if found.permissions().mode() & 0o007 != 0 {
        return Err(failed("everybody can read it; let its owner alone read it (mode 0600)"));
    }
    let text = bounded(&path, CREDENTIAL_BYTES_AT_MOST).map_err(|_| failed("it is not a short text"))?;
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    match (lines.next(), lines.next()) {
        (Some(key), None) => Ok(Some(SecretString::from(key))),
        (None, _) => Err(failed("it is empty")),
        (Some(_), Some(_)) => Err(failed("it has more than one line")),
    }
}

fn bounded(path: &Path, at_most: u64) -> io::Result<String> {
    let mut text = String::new();
    let read = fs::File::open(path)?.take(at_most + 1).read_to_string(&mut text)?;
    if read as u64 > at_most { Err(io::ErrorKind::InvalidData.into()) } else { Ok(text) }
}

/// Finds the program of an ACP agent, before the workspace could have one of the same name.
fn program(profile: &Profile) -> Option<PathBuf> {
    let named = Path::new(profile.command.first()?);
    if named.is_absolute() { named.is_file().then(|| named.to_owned()) } else { on_path(named.to_str()?) }
}

/// Finds a program as a shell would.
fn on_path(name: &str) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(name)).find(is_program)
}

#[cfg(test)]
#[path = "choose_tests.rs"]
mod tests;
