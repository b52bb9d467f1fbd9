//! PostgreSQL and NATS of `guildhall dev`: started by it, or external.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::Result;
use guildhall_engines::{Nats, Postgres, RestartPolicy, StateDir};
use guildhall_identity::seal::Kek;
use guildhall_server::Config;
use secrecy::{ExposeSecret, SecretString};
use tempfile::TempDir;

use super::DevArgs;
use crate::engine_url::is_configured;

/// The engines and the state directory. Dropping it stops the engines that it started.
pub(super) struct DevEngines {
    pub(super) postgres: Option<Postgres>,
    pub(super) nats: Option<Nats>,
    pg_url: Option<String>,
    nats_url: Option<String>,
    state_dir: StateDir,
    _temporary: Option<TempDir>,
}

impl DevEngines {
    pub(super) fn start(args: &DevArgs, config: &Config) -> Result<Self> {
        let temporary = args
            .ephemeral
            .then(|| tempfile::Builder::new().prefix("guildhall-dev-").tempdir())
            .transpose()?;
        let path = temporary.as_ref().map_or_else(|| args.state_dir(), |dir| dir.path().to_owned());
        let state_dir = StateDir::open(&path)?;
        exclude_from_git(state_dir.folder())?;
        let external_postgres = args.pg_url.is_some() || is_configured("postgres.url", &config.postgres.url);
        let external_nats = args.nats_url.is_some() || is_configured("nats.url", &config.nats.url);
        let postgres =
            (!external_postgres).then(|| Postgres::start(&state_dir, RestartPolicy::Always)).transpose()?;
        let nats = (!external_nats).then(|| Nats::start(&state_dir, RestartPolicy::Always)).transpose()?;
        let (pg_url, nats_url) = (args.pg_url.clone(), args.nats_url.clone());
        Ok(Self { postgres, nats, pg_url, nats_url, state_dir, _temporary: temporary })
    }

    /// Returns a secret from the state directory; creates it on the first start.
    pub(super) fn secret(&self, file: &str) -> Result<SecretString> {
        load_or_create_secret(&self.state_dir.folder().join(file))
    }

    /// Returns the settings with the URLs of these engines.
    pub(super) fn settings(&self) -> Vec<(&'static str, String)> {
        let started = self.postgres.as_ref().map(|postgres| postgres.url().expose_secret().to_owned());
        let postgres = self.pg_url.clone().or(started).map(|url| ("postgres.url", url));
        let started = self.nats.as_ref().map(|nats| nats.url().expose_secret().to_owned());
        let nats = self.nats_url.clone().or(started).map(|url| ("nats.url", url));
        postgres.into_iter().chain(nats).collect()
    }

    pub(super) fn folder(&self) -> &Path {
        self.state_dir.folder()
    }
}

fn load_or_create_secret(path: &Path) -> Result<SecretString> {
    match std::fs::read_to_string(path) {
        Ok(secret) => Ok(secret.into()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let secret = Kek::generate().to_hex();
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
            file.write_all(secret.expose_secret().as_bytes())?;
            Ok(secret)
        }
        Err(error) => Err(error.into()),
    }
}

/// Excludes the state directory from Git: it contains passwords and data.
fn exclude_from_git(folder: &Path) -> Result<()> {
    let file = folder.join(".gitignore");
    if !file.exists() {
        std::fs::write(file, "*\n")?;
    }
    Ok(())
}
