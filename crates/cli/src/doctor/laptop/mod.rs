//! Checks of a developer machine: whether `guildhall dev` can run here, or runs.

mod blocking;
mod services;
mod tls;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use guildhall_domain::ops::checks::CheckSpec;
use guildhall_engines::inspect::{self, LockHolder};
use guildhall_engines::{Nats, Package, Postgres, StateDir};
use guildhall_server::Config;
use guildhall_server::config::{LauncherKind, Sources};
use guildhall_server::engine_checks::PostgresCheck;
use tempfile::TempDir;

use super::check::{CHECK_TIMEOUT, Check, CheckFuture, CheckResult};
use super::http::{PortState, probe_port};
use super::problem::Problem;
use super::sandbox::{SANDBOX_TIMEOUT, check_sandbox};
use crate::engine_url::is_configured;
use blocking::{program_problem, run_on_thread};

/// A new database uses 40 MB, and its write-ahead log may grow by 80 MB at once.
const MIN_FREE_BYTES: u64 = 256 * 1024 * 1024;

/// Timeout of an engine start, including a new database or crash recovery.
const START_TIMEOUT: Duration = Duration::from_secs(30);

const NATS_TIMEOUT: Duration = Duration::from_secs(3);

pub(super) const CHECKS: &[Check<Laptop>] = &[
    check("config", &[], CHECK_TIMEOUT, |laptop| Box::pin(async { laptop.config() })),
    check("state-folder", &[], CHECK_TIMEOUT, |laptop| Box::pin(async { laptop.state_folder() })),
    check("state-lock", &["state-folder"], CHECK_TIMEOUT, |laptop| Box::pin(async { laptop.state_lock() })),
    check("disk-space", &["state-folder"], CHECK_TIMEOUT, |laptop| Box::pin(async { laptop.disk_space() })),
    check("postgres-program", &["config"], CHECK_TIMEOUT, |laptop| Box::pin(laptop.postgres_program())),
    check("nats-program", &["config"], CHECK_TIMEOUT, |laptop| Box::pin(laptop.nats_program())),
    check("sandbox", &["config"], SANDBOX_TIMEOUT, |laptop| Box::pin(laptop.sandbox())),
    check("port", &["config", "state-lock"], CHECK_TIMEOUT, |laptop| Box::pin(laptop.port())),
    check("postgres", &["state-lock", "disk-space", "postgres-program"], START_TIMEOUT, |laptop| {
        Box::pin(laptop.postgres())
    }),
    check("nats", &["state-lock", "nats-program"], START_TIMEOUT, |laptop| Box::pin(laptop.nats())),
    check("migrations", &["postgres"], CHECK_TIMEOUT, |laptop| Box::pin(laptop.migrations())),
    check("server", &["migrations", "nats"], CHECK_TIMEOUT, |laptop| Box::pin(laptop.server())),
    check("tls", &["state-lock"], CHECK_TIMEOUT, |laptop| Box::pin(laptop.tls())),
];

const fn check(
    id: &'static str,
    needs: &'static [&'static str],
    timeout: Duration,
    run: for<'a> fn(&'a mut Laptop) -> CheckFuture<'a>,
) -> Check<Laptop> {
    Check { spec: CheckSpec { id, needs }, timeout, run }
}

/// The results so far. Dropping it stops the engines that the checks started.
pub(super) struct Laptop {
    state: Option<PathBuf>,
    listen: Option<SocketAddr>,
    sources: Sources,
    config: Option<Config>,
    /// Whether a `guildhall dev` is running here.
    is_running: bool,
    postgres_check: Option<PostgresCheck>,
    postgres: Option<Postgres>,
    nats: Option<Nats>,
    state_dir: Option<(StateDir, Option<TempDir>)>,
}

impl Laptop {
    pub(super) fn new(state: Option<PathBuf>, listen: Option<SocketAddr>, sources: Sources) -> Self {
        Self {
            state,
            listen,
            sources,
            config: None,
            is_running: false,
            postgres_check: None,
            postgres: None,
            nats: None,
            state_dir: None,
        }
    }

    fn config(&mut self) -> CheckResult {
        let config = Config::load(&self.sources).map_err(|error| Problem::invalid_config(&error))?;
        self.config = Some(config);
        Ok("valid".to_owned())
    }

    fn loaded_config(&self) -> Result<&Config, Problem> {
        self.config.as_ref().ok_or_else(Problem::missing_input)
    }

    async fn sandbox(&mut self) -> CheckResult {
        let config = self.loaded_config()?;
        let is_local = config.launcher.kind == LauncherKind::Local;
        check_sandbox(config, is_local || guildhall_server::default_runner_path().exists()).await
    }

    fn state_folder(&mut self) -> CheckResult {
        let Some(state) = &self.state else { return Ok("not used: the state is temporary".to_owned()) };
        let path_text = state.display();
        let dir = nearest_existing(state);
        let written = tempfile::Builder::new().prefix(".doctor-").tempfile_in(dir);
        written.map_err(|error| {
            let detail = format!("{} is not writable: {}", dir.display(), error.kind());
            Problem::new(detail, format!("sudo chown -R \"$USER\" {}   # or --state DIR", dir.display()))
        })?;
        Ok(if state.is_dir() {
            format!("{path_text} is writable")
        } else {
            format!("{path_text} can be created")
        })
    }

    fn state_lock(&mut self) -> CheckResult {
        let Some(state) = &self.state else { return Ok("not used: the state is temporary".to_owned()) };
        let path_text = state.display();
        let holder = inspect::holder(state).map_err(|error| {
            Problem::new(format!("cannot read {path_text}/lock: {error}"), format!("ls -l {path_text}/lock"))
        })?;
        match holder {
            LockHolder::Unlocked => Ok("no `guildhall dev` is running here".to_owned()),
            LockHolder::Alive { pid } => {
                self.is_running = true;
                Ok(format!("a `guildhall dev` is running here (pid {pid})"))
            }
            LockHolder::Dead { pid } => Err(Problem::new(
                format!(
                    "{path_text} is locked by a leftover process; the `guildhall dev` that locked it (pid {}) has exited",
                    pid.trim()
                ),
                format!("fuser -k {path_text}/lock"),
            )),
        }
    }

    fn disk_space(&mut self) -> CheckResult {
        let dir =
            self.state.as_deref().map_or_else(std::env::temp_dir, |state| nearest_existing(state).to_owned());
        let free = inspect::free_bytes(&dir).map_err(|error| {
            Problem::new(format!("cannot read the free space of {}: {error}", dir.display()), "df -h")
        })?;
        let mib = free / (1024 * 1024);
        if free < MIN_FREE_BYTES {
            let detail = format!("only {mib} MiB are free in {}; 256 MiB are required", dir.display());
            return Err(Problem::new(
                detail,
                format!("du -xh {} | sort -h | tail   # then delete files", dir.display()),
            ));
        }
        Ok("enough free space".to_owned())
    }

    async fn postgres_program(&mut self) -> CheckResult {
        if is_configured("postgres.url", &self.loaded_config()?.postgres.url) {
            return Ok("not needed: postgres.url is set".to_owned());
        }
        let found = run_on_thread(inspect::postgres_program).await?;
        let found = found.map_err(|error| program_problem(&error, Package::Postgres))?;
        Ok(format!("PostgreSQL {} at {}", found.version, found.path.display()))
    }

    async fn nats_program(&mut self) -> CheckResult {
        if is_configured("nats.url", &self.loaded_config()?.nats.url) {
            return Ok("not needed: nats.url is set".to_owned());
        }
        let found = run_on_thread(inspect::nats_program).await?;
        let found = found.map_err(|error| program_problem(&error, Package::Nats))?;
        Ok(format!("NATS {} at {}", found.version, found.path.display()))
    }

    async fn port(&mut self) -> CheckResult {
        let address = self.listen.unwrap_or(self.loaded_config()?.http.listen);
        let use_free_port = || format!("guildhall dev --listen {}:0", address.ip());
        match probe_port(address).await {
            PortState::Free => Ok(format!("{address} is free")),
            PortState::UsedByGuildhall(_)
                if self.url().is_some_and(|url| url == format!("http://{address}")) =>
            {
                Ok(format!("{address} is used by this installation"))
            }
            PortState::UsedByGuildhall(_) => {
                Err(Problem::new(format!("{address} is used by another Guildhall server"), use_free_port()))
            }
            PortState::UsedByOther => {
                Err(Problem::new(format!("{address} is used by another program"), use_free_port()))
            }
            PortState::Unavailable(error) => {
                Err(Problem::new(format!("cannot listen on {address}: {}", error.kind()), use_free_port()))
            }
        }
    }

    /// Returns the URL of the server that is running here.
    fn url(&self) -> Option<String> {
        let state = self.state.as_deref().filter(|_| self.is_running)?;
        std::fs::read_to_string(state.join("url")).ok()
    }

    /// Returns the command that shows the log of an engine.
    fn log_command(&self, file: &str) -> String {
        match &self.state {
            Some(state) => format!("tail -n 20 {}", state.join(file).display()),
            None => "guildhall dev --log debug".to_owned(),
        }
    }
}

/// Returns the directory, or its nearest parent that exists.
fn nearest_existing(dir: &Path) -> &Path {
    let existing = dir.ancestors().find(|parent| parent.exists());
    existing.filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
