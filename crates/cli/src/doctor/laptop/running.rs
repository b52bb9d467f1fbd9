//! The engines and the server of a developer's machine: those that run, or started to see whether they start.

use guildhall_engines::{Home, Nats, Postgres, Restart, look};
use guildhall_server::checkup::{self, PostgresLook};
use secrecy::SecretString;
use tempfile::TempDir;

use super::aside::{aside, engine};
use super::{Laptop, NATS_WITHIN, not_seen};
use crate::dev::is_set;
use crate::doctor::check::{Finding, Trouble};
use crate::doctor::engines::{migrations, no_postgres};
use crate::doctor::http::ready;

impl Laptop {
    pub(super) async fn postgres(&mut self) -> Finding {
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

    pub(super) async fn nats(&mut self) -> Finding {
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

    pub(super) async fn migrations(&mut self) -> Finding {
        migrations(self.postgres_look.as_mut().ok_or_else(not_seen)?).await
    }

    pub(super) async fn server(&mut self) -> Finding {
        match self.url() {
            Some(url) => ready(&url).await,
            None if self.runs => Err(Trouble::new(
                "`guildhall dev` has not begun to serve",
                "guildhall doctor   # in a moment",
            )),
            None => Ok("none runs; `guildhall dev` starts one".to_owned()),
        }
    }
}
