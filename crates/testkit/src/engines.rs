//! Which engines a test talks to.
//!
//! `cargo xtask test` starts one PostgreSQL and one NATS for all tests and says where they are in the
//! environment. Without it a test process starts its own; slower, and nothing to set up. A test that kills an
//! engine always has its own.

use std::env;
use std::path::Path;
use std::sync::OnceLock;

use guildhall_engines::{Home, Nats, Postgres, Restart};
use secrecy::SecretString;
use tempfile::TempDir;

const FOLDER_PREFIX: &str = "guildhall-test-";

/// Where engines are to be found.
#[derive(Debug, Clone)]
pub struct Addresses {
    /// PostgreSQL as the server's role; the database in it is not used.
    pub postgres: SecretString,
    /// PostgreSQL with every right.
    pub postgres_admin: SecretString,
    pub nats: SecretString,
}

impl Addresses {
    /// Returns the engines that tests share.
    pub(crate) fn shared() -> Self {
        Self::from_environment().unwrap_or_else(|| of_this_process().addresses())
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

/// Returns the address of the NATS that tests share.
#[must_use]
pub fn nats_url() -> SecretString {
    Addresses::shared().nats
}

/// Returns a subject prefix that no other test uses.
#[must_use]
pub fn subject_prefix() -> String {
    format!("t{}", uuid::Uuid::now_v7().simple())
}

/// Engines of one test, to kill and to start again.
#[derive(Debug)]
pub struct PrivateEngines {
    pub postgres: Postgres,
    pub nats: Nats,
    _home: Home,
    _folder: TempDir,
}

impl PrivateEngines {
    #[must_use]
    pub fn start() -> Self {
        let folder = tempfile::Builder::new().prefix(FOLDER_PREFIX).tempdir().expect("a temporary folder");
        let home = Home::open(folder.path()).expect("a folder of our own is free");
        let postgres = Postgres::start(&home, Restart::WhenAsked).unwrap_or_else(|error| panic!("{error}"));
        let nats = Nats::start(&home, Restart::WhenAsked).unwrap_or_else(|error| panic!("{error}"));
        Self { postgres, nats, _home: home, _folder: folder }
    }

    #[must_use]
    pub fn addresses(&self) -> Addresses {
        Addresses {
            postgres: self.postgres.url(),
            postgres_admin: self.postgres.admin_url("postgres"),
            nats: self.nats.url(),
        }
    }
}

/// The engines of this process. They end with it; their folder is swept by the next process that needs one.
fn of_this_process() -> &'static PrivateEngines {
    static ENGINES: OnceLock<PrivateEngines> = OnceLock::new();
    ENGINES.get_or_init(|| {
        sweep(&env::temp_dir());
        PrivateEngines::start()
    })
}

/// Removes the folders of test processes that are gone.
fn sweep(parent: &Path) {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    for folder in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(FOLDER_PREFIX)) {
        // Whoever lives holds the lock; a folder that can be taken belongs to nobody.
        if folder.path().join("lock").exists() && Home::open(&folder.path()).is_ok() {
            let _busy_or_gone = std::fs::remove_dir_all(folder.path());
        }
    }
}
