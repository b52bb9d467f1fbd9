//! The PostgreSQL and NATS that tests use.
//!
//! `cargo xtask test` starts one of each for all tests and passes their URLs in the environment. Without it each test
//! process starts its own, which is slower but needs no setup. A test that kills an engine always starts its own.

use std::env;
use std::path::Path;
use std::sync::OnceLock;

use guildhall_engines::{Nats, Postgres, RestartPolicy, StateDir};
use secrecy::SecretString;
use tempfile::TempDir;

const FOLDER_PREFIX: &str = "guildhall-test-";

/// Connection URLs of PostgreSQL and NATS.
#[derive(Debug, Clone)]
pub struct EngineUrls {
    /// PostgreSQL with the server's role; the database in the URL is not used.
    pub postgres: SecretString,
    /// PostgreSQL with the superuser role.
    pub postgres_admin: SecretString,
    pub nats: SecretString,
}

impl EngineUrls {
    /// Returns the URLs of the shared engines.
    pub(crate) fn shared() -> Self {
        Self::from_environment().unwrap_or_else(|| process_engines().urls())
    }

    fn from_environment() -> Option<Self> {
        let read = |name: &str| env::var_os(name)?.into_string().ok().map(SecretString::from);
        Some(Self {
            postgres: read("GUILDHALL_TEST_PG_URL")?,
            postgres_admin: read("GUILDHALL_TEST_PG_ADMIN_URL")?,
            nats: read("GUILDHALL_TEST_NATS_URL")?,
        })
    }
}

/// Returns the URL of the shared NATS.
#[must_use]
pub fn nats_url() -> SecretString {
    EngineUrls::shared().nats
}

/// Returns a unique NATS subject prefix.
#[must_use]
pub fn subject_prefix() -> String {
    format!("t{}", uuid::Uuid::now_v7().simple())
}

/// Engines of one test, which it may kill and restart.
#[derive(Debug)]
pub struct PrivateEngines {
    pub postgres: Postgres,
    pub nats: Nats,
    _home: StateDir,
    _folder: TempDir,
}

impl PrivateEngines {
    #[must_use]
    pub fn start() -> Self {
        let folder = tempfile::Builder::new().prefix(FOLDER_PREFIX).tempdir().expect("a temporary folder");
        let home = StateDir::open(folder.path()).expect("a new folder is not locked");
        let postgres =
            Postgres::start(&home, RestartPolicy::OnDemand).unwrap_or_else(|error| panic!("{error}"));
        let nats = Nats::start(&home, RestartPolicy::OnDemand).unwrap_or_else(|error| panic!("{error}"));
        Self { postgres, nats, _home: home, _folder: folder }
    }

    #[must_use]
    pub fn urls(&self) -> EngineUrls {
        EngineUrls {
            postgres: self.postgres.url(),
            postgres_admin: self.postgres.admin_url("postgres"),
            nats: self.nats.url(),
        }
    }
}

/// Returns the engines of this process. They exit with it; the next test process removes their folder.
fn process_engines() -> &'static PrivateEngines {
    static ENGINES: OnceLock<PrivateEngines> = OnceLock::new();
    ENGINES.get_or_init(|| {
        remove_stale_folders(&env::temp_dir());
        PrivateEngines::start()
    })
}

/// Removes the folders of test processes that have exited.
fn remove_stale_folders(parent: &Path) {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    for folder in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(FOLDER_PREFIX)) {
        // A running process holds the lock; a folder whose lock is free is stale.
        if folder.path().join("lock").exists() && StateDir::open(&folder.path()).is_ok() {
            let _busy_or_gone = std::fs::remove_dir_all(folder.path());
        }
    }
}
