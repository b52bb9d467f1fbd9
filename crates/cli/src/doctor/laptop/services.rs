//! Checks of the engines and the server. Engines that are not running are started for the check.

use guildhall_engines::{Nats, Postgres, RestartPolicy, StateDir, inspect};
use guildhall_server::engine_checks::{self, PostgresCheck};
use secrecy::SecretString;
use tempfile::TempDir;

use super::blocking::{engine_problem, run_on_thread};
use super::{Laptop, NATS_TIMEOUT};
use crate::doctor::check::CheckResult;
use crate::doctor::engines::{check_migrations, connection_problem};
use crate::doctor::http::check_readiness;
use crate::doctor::problem::Problem;
use crate::engine_url::is_configured;

impl Laptop {
    pub(super) async fn postgres(&mut self) -> CheckResult {
        let (url, detail) = match self.postgres_url().await? {
            Some(url) => (url, "PostgreSQL responds"),
            None => (self.start_postgres().await?, "PostgreSQL starts and responds"),
        };
        let connected = PostgresCheck::connect(&url).await.map_err(|error| connection_problem(&error))?;
        self.postgres_check = Some(connected);
        Ok(detail.to_owned())
    }

    /// Returns the URL of a running PostgreSQL, or `None` if one must be started.
    async fn postgres_url(&self) -> Result<Option<SecretString>, Problem> {
        let url = &self.loaded_config()?.postgres.url;
        if is_configured("postgres.url", url) {
            return Ok(Some(url.clone()));
        }
        let Some(state) = self.state.clone().filter(|_| self.is_running) else { return Ok(None) };
        let running = run_on_thread(move || inspect::running_postgres(&state)).await?;
        let not_running = || {
            Problem::new(
                "the PostgreSQL of the running `guildhall dev` does not respond",
                self.log_command("postgres/postgres.log"),
            )
        };
        running.map(Some).ok_or_else(not_running)
    }

    /// Starts PostgreSQL on the existing data, or else on a temporary database.
    async fn start_postgres(&mut self) -> Result<SecretString, Problem> {
        let log = self.log_command("postgres/postgres.log");
        let state_dir = self.open_state_dir()?;
        let (state_dir, started) = run_on_thread(move || {
            let started = Postgres::start(&state_dir.0, RestartPolicy::OnDemand);
            (state_dir, started)
        })
        .await?;
        self.state_dir = Some(state_dir);
        let postgres = started.map_err(|error| engine_problem(&error, &log))?;
        Ok(self.postgres.insert(postgres).url())
    }

    fn open_state_dir(&mut self) -> Result<(StateDir, Option<TempDir>), Problem> {
        if let Some(state_dir) = self.state_dir.take() {
            return Ok(state_dir);
        }
        let existing = self.state.as_deref().filter(|state| inspect::has_data(state));
        let temporary = match existing {
            Some(_) => None,
            None => {
                Some(tempfile::Builder::new().prefix("guildhall-doctor-").tempdir().map_err(|error| {
                    Problem::new(format!("cannot create a temporary directory: {error}"), "df -h /tmp")
                })?)
            }
        };
        let folder =
            existing.or_else(|| temporary.as_ref().map(TempDir::path)).ok_or_else(Problem::missing_input)?;
        let state_dir = StateDir::open(folder).map_err(|error| engine_problem(&error, "guildhall doctor"))?;
        Ok((state_dir, temporary))
    }

    pub(super) async fn nats(&mut self) -> CheckResult {
        let mut config = self.loaded_config()?.clone();
        if !is_configured("nats.url", &config.nats.url) {
            let Some(state) = self.state.clone().filter(|_| self.is_running) else {
                return self.start_nats().await;
            };
            let running = inspect::running_nats(&state);
            config.nats.url = running.ok_or_else(|| {
                Problem::new(
                    "the NATS of the running `guildhall dev` does not respond",
                    self.log_command("nats/nats.log"),
                )
            })?;
        }
        let nats = engine_checks::connect_nats(&config, NATS_TIMEOUT).await;
        let nats =
            nats.map_err(|error| Problem::new(error.to_string(), self.log_command("nats/nats.log")))?;
        let reply = nats.round_trip(NATS_TIMEOUT).await;
        reply.map_err(|error| Problem::new(error.to_string(), self.log_command("nats/nats.log")))?;
        Ok("NATS responds".to_owned())
    }

    async fn start_nats(&mut self) -> CheckResult {
        let log = self.log_command("nats/nats.log");
        let state_dir = self.open_state_dir()?;
        let (state_dir, started) = run_on_thread(move || {
            let started = Nats::start(&state_dir.0, RestartPolicy::OnDemand);
            (state_dir, started)
        })
        .await?;
        self.state_dir = Some(state_dir);
        self.nats = Some(started.map_err(|error| engine_problem(&error, &log))?);
        Ok("NATS starts and responds".to_owned())
    }

    pub(super) async fn migrations(&mut self) -> CheckResult {
        check_migrations(self.postgres_check.as_mut().ok_or_else(Problem::missing_input)?).await
    }

    pub(super) async fn server(&mut self) -> CheckResult {
        match self.url() {
            Some(url) => check_readiness(&url).await,
            None if self.is_running => Err(Problem::new(
                "`guildhall dev` is still starting",
                "guildhall doctor   # try again in a moment",
            )),
            None => Ok("not running; `guildhall dev` starts it".to_owned()),
        }
    }
}
