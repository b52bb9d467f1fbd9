//! The engines of a developer's machine: started here, or somebody else's.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::Result;
use guildhall_engines::{Home, Nats, Postgres, Restart};
use guildhall_identity::seal::Kek;
use guildhall_server::Config;
use guildhall_server::config::default_of;
use secrecy::{ExposeSecret, SecretString};
use tempfile::TempDir;

use super::DevArgs;

/// What `guildhall dev` runs beside the server. Dropping it ends the engines it started.
pub(super) struct Parts {
    pub(super) postgres: Option<Postgres>,
    pub(super) nats: Option<Nats>,
    pg_url: Option<String>,
    nats_url: Option<String>,
    home: Home,
    _temporary: Option<TempDir>,
}

impl Parts {
    pub(super) fn start(args: &DevArgs, config: &Config) -> Result<Self> {
        let temporary = args
            .ephemeral
            .then(|| tempfile::Builder::new().prefix("guildhall-dev-").tempdir())
            .transpose()?;
        let home = Home::open(temporary.as_ref().map_or(args.state.as_path(), TempDir::path))?;
        ignore_in_git(home.folder())?;
        let own_postgres = args.pg_url.is_some() || is_set("postgres.url", &config.postgres.url);
        let own_nats = args.nats_url.is_some() || is_set("nats.url", &config.nats.url);
        let postgres = (!own_postgres).then(|| Postgres::start(&home, Restart::Always)).transpose()?;
        let nats = (!own_nats).then(|| Nats::start(&home, Restart::Always)).transpose()?;
        let (pg_url, nats_url) = (args.pg_url.clone(), args.nats_url.clone());
        Ok(Self { postgres, nats, pg_url, nats_url, home, _temporary: temporary })
    }

    /// Returns a secret of this installation that the state folder keeps, made on the first start.
    pub(super) fn secret(&self, file: &str) -> Result<SecretString> {
        keep_secret(&self.home.folder().join(file))
    }

    /// Returns the settings by which the server finds these engines.
    pub(super) fn flags(&self) -> Vec<(&'static str, String)> {
        let started = self.postgres.as_ref().map(|postgres| postgres.url().expose_secret().to_owned());
        let postgres = self.pg_url.clone().or(started).map(|url| ("postgres.url", url));
        let started = self.nats.as_ref().map(|nats| nats.url().expose_secret().to_owned());
        let nats = self.nats_url.clone().or(started).map(|url| ("nats.url", url));
        postgres.into_iter().chain(nats).collect()
    }

    pub(super) fn folder(&self) -> &Path {
        self.home.folder()
    }
}

fn keep_secret(path: &Path) -> Result<SecretString> {
    match std::fs::read_to_string(path) {
        Ok(kept) => Ok(kept.into()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let made = Kek::generate().to_hex();
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
            file.write_all(made.expose_secret().as_bytes())?;
            Ok(made)
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns whether a file or the environment names an engine: then none is started.
pub(crate) fn is_set(key: &str, url: &SecretString) -> bool {
    default_of(key).is_some_and(|default| default != format!("\"{}\"", url.expose_secret()))
}

/// The state folder holds passwords and data: it must not be committed by accident.
fn ignore_in_git(folder: &Path) -> Result<()> {
    let file = folder.join(".gitignore");
    if !file.exists() {
        std::fs::write(file, "*\n")?;
    }
    Ok(())
}
