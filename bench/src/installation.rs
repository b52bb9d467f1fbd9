//! The system under test: PostgreSQL, NATS, a server in a separate process, and claimed runs.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, Command, Stdio};

use anyhow::{Context, Result, bail};
use guildhall_engines::{Nats, Postgres, RestartPolicy, StateDir};
use guildhall_server::config::Sources;
use guildhall_server::{Config, Server, create_issuer};
use reqwest::Method;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The argument with which this program starts itself as the server.
pub(crate) const SERVER: &str = "as-server";

/// The key-encryption key of the server.
pub(crate) const KEK: &str = "0000000000000000000000000000000000000000000000000000000000000000";

const PASSWORD: &str = "correct horse battery";

/// A server with its engines. All processes end on drop.
pub(crate) struct Installation {
    pub(crate) base: String,
    pub(crate) client: reqwest::Client,
    pub(crate) postgres: Postgres,
    pub(crate) nats: Nats,
    server: ServerProcess,
    _home: StateDir,
    _folder: TempDir,
}

/// A tenant, an access token of its owner and an enrolment token for runners.
pub(crate) struct Tenant {
    pub(crate) access: String,
    pub(crate) id: String,
    pub(crate) enrolment: String,
}

/// A claimed run with a running command.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(crate) struct RunClaim {
    pub(crate) run: String,
    pub(crate) command: String,
    pub(crate) token: String,
    pub(crate) epoch: i64,
}

impl Installation {
    pub(crate) fn start() -> Result<Self> {
        Self::start_with(|_| Ok(()))
    }

    /// Starts the server after PostgreSQL was prepared.
    pub(crate) fn start_with(prepare: impl FnOnce(&Postgres) -> Result<()>) -> Result<Self> {
        Self::start_prepared(prepare, &[])
    }

    /// Starts the server with environment variables.
    pub(crate) fn start_with_settings(settings: &[(&str, String)]) -> Result<Self> {
        Self::start_prepared(|_| Ok(()), settings)
    }

    fn start_prepared(
        prepare: impl FnOnce(&Postgres) -> Result<()>,
        settings: &[(&str, String)],
    ) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("guildhall-bench-").tempdir()?;
        let home = StateDir::open(folder.path())?;
        let postgres = Postgres::start(&home, RestartPolicy::Always)?;
        prepare(&postgres)?;
        let nats = Nats::start(&home, RestartPolicy::Always)?;
        let server = ServerProcess::start(&postgres, &nats, settings)?;
        let client = client()?;
        Ok(Self { base: server.base.clone(), client, postgres, nats, server, _home: home, _folder: folder })
    }

    /// Starts another server with the same engines.
    pub(crate) fn start_replica(&self, settings: &[(&str, String)]) -> Result<ServerProcess> {
        ServerProcess::start(&self.postgres, &self.nats, settings)
    }

    pub(crate) fn server_pid(&self) -> u32 {
        self.server.child.id()
    }

    pub(crate) async fn request(
        &self,
        method: Method,
        path: &str,
        bearer: &str,
        body: Value,
    ) -> Result<Value> {
        let mut request = self.client.request(method, format!("{}{path}", self.base));
        if !bearer.is_empty() {
            request = request.bearer_auth(bearer);
        }
        let response = request.json(&body).send().await?;
        let (status, body) = (response.status(), response.json().await?);
        if !status.is_success() {
            bail!("{path}: {status} {body}");
        }
        Ok(body)
    }

    async fn post(&self, path: &str, bearer: &str, body: Value) -> Result<Value> {
        self.request(Method::POST, path, bearer, body).await
    }

    /// Signs in, and returns an access token that is valid for some minutes.
    pub(crate) async fn sign_in(&self) -> Result<String> {
        let sign_in = json!({ "name": "bench", "password": PASSWORD });
        text(&self.post("/api/v1/auth/login", "", sign_in).await?, "accessToken")
    }

    pub(crate) async fn create_tenant(&self) -> Result<Tenant> {
        let access = self.sign_in().await?;
        let body = json!({ "slug": "bench", "name": "bench" });
        let id = text(&self.post("/api/v1/tenants", &access, body).await?, "id")?;
        let path = format!("/api/v1/tenants/{id}/enrolments");
        let enrolment = text(&self.post(&path, &access, json!({ "name": "bench" })).await?, "secret")?;
        Ok(Tenant { access, id, enrolment })
    }

    pub(crate) async fn create_run(&self, tenant: &Tenant) -> Result<String> {
        let request = json!({
            "tenantId": tenant.id, "projectId": "bench", "workspaceRef": { "kind": "empty" }, "providerId": "local",
            "backendProfile": "demo", "executionPolicy": { "sandbox": "read-only" }, "traceSink": null,
        });
        text(&self.post("/api/v1/runs", &tenant.access, request).await?, "runId")
    }

    /// Creates a run with a command, claims the run and starts the command.
    pub(crate) async fn start_command(&self, tenant: &Tenant) -> Result<RunClaim> {
        let run = self.create_run(tenant).await?;
        let turn = json!({ "type": "turn", "payload": { "prompt": "go" } });
        let commands = format!("/api/v1/runs/{run}/commands");
        let command = text(&self.post(&commands, &tenant.access, turn).await?, "commandId")?;
        let runner = json!({ "name": "bench", "backendProfiles": ["demo"] });
        let runner =
            text(&self.post("/api/v1/runners/register", &tenant.enrolment, runner).await?, "runnerId")?;
        let claim = format!("/api/v1/runs/{run}/claim");
        let granted = self.post(&claim, &tenant.enrolment, json!({ "runnerId": runner })).await?;
        let (token, epoch) =
            (text(&granted, "runToken")?, granted["epoch"].as_i64().context("no epoch in the claim")?);
        self.post(&format!("/api/v1/commands/{command}/ack"), &token, json!({})).await?;
        Ok(RunClaim { run, command, token, epoch })
    }
}

/// A server in a process of its own, which ends on drop.
pub(crate) struct ServerProcess {
    pub(crate) base: String,
    child: Child,
    _stdin: Option<ChildStdin>,
}

impl ServerProcess {
    fn start(postgres: &Postgres, nats: &Nats, settings: &[(&str, String)]) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg(SERVER)
            .env("GUILDHALL_POSTGRES_URL", postgres.url().expose_secret())
            .env("GUILDHALL_NATS_URL", nats.url().expose_secret())
            .envs(settings.iter().map(|(name, value)| (*name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = child.stdout.take();
        let mut server = Self { base: String::new(), _stdin: child.stdin.take(), child };
        BufReader::new(stdout.context("piped")?).read_line(&mut server.base)?;
        server.base.truncate(server.base.trim_end().len());
        if server.base.is_empty() {
            bail!("the server did not start");
        }
        Ok(server)
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _already_exited = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// The server process: prints its URL and shuts down when its stdin is closed.
pub(crate) fn serve() -> Result<()> {
    install_tls();
    let flags = [
        ("http.listen", "127.0.0.1:0".to_owned()),
        ("http.drain_delay", "0s".to_owned()),
        ("identity.key_encryption_key", KEK.to_owned()),
        // The benchmarks do not renew leases.
        ("runs.lease", "1h".to_owned()),
    ];
    let config = Config::load(&Sources::from_process(None, flags.to_vec()))?;
    create_issuer(&config)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let server = runtime.block_on(async {
        let server = Box::pin(Server::start(&config)).await?;
        server.create_first_user("bench", &SecretString::from(PASSWORD)).await?;
        anyhow::Ok(server)
    })?;
    println!("http://{}", server.address());
    std::io::stdin().lines().map_while(Result::ok).for_each(drop);
    runtime.block_on(server.shutdown());
    Ok(())
}

pub(crate) fn client() -> Result<reqwest::Client> {
    install_tls();
    Ok(reqwest::Client::builder().no_proxy().build()?)
}

fn install_tls() {
    let _already_installed = rustls::crypto::aws_lc_rs::default_provider().install_default();
}

pub(crate) fn text(value: &Value, name: &str) -> Result<String> {
    Ok(value[name].as_str().with_context(|| format!("no {name} in {value}"))?.to_owned())
}
