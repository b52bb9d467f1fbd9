//! Engines, a server in a process of its own, and runs that are held: what a benchmark over HTTP measures.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, Command, Stdio};

use anyhow::{Context, Result, bail};
use guildhall_engines::{Home, Nats, Postgres, Restart};
use guildhall_server::config::Sources;
use guildhall_server::{Config, Server};
use reqwest::Method;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The name under which this program starts itself as the server.
pub(crate) const SERVER: &str = "as-server";

const PASSWORD: &str = "correct horse battery";

/// A server under measurement. Its engines and its process end with it.
pub(crate) struct Installation {
    pub(crate) base: String,
    pub(crate) client: reqwest::Client,
    pub(crate) postgres: Postgres,
    server: Child,
    _until_dropped: Option<ChildStdin>,
    _nats: Nats,
    _home: Home,
    _folder: TempDir,
}

/// Somebody who may make runs in a tenant, and the token with which runners come.
pub(crate) struct Tenant {
    pub(crate) access: String,
    pub(crate) id: String,
    pub(crate) enrolment: String,
}

/// A run that is held, with a command that was taken.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(crate) struct Held {
    pub(crate) run: String,
    pub(crate) command: String,
    pub(crate) token: String,
    pub(crate) epoch: i64,
}

impl Installation {
    pub(crate) fn start() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("guildhall-bench-").tempdir()?;
        let home = Home::open(folder.path())?;
        let postgres = Postgres::start(&home, Restart::Always)?;
        let nats = Nats::start(&home, Restart::Always)?;
        let mut server = Command::new(std::env::current_exe()?)
            .arg(SERVER)
            .env("GUILDHALL_POSTGRES_URL", postgres.url().expose_secret())
            .env("GUILDHALL_NATS_URL", nats.url().expose_secret())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut base = String::new();
        BufReader::new(server.stdout.take().context("piped")?).read_line(&mut base)?;
        if base.is_empty() {
            bail!("the server did not start");
        }
        let _until_dropped = server.stdin.take();
        let client = client()?;
        Ok(Self {
            base: base.trim().to_owned(),
            client,
            postgres,
            server,
            _until_dropped,
            _nats: nats,
            _home: home,
            _folder: folder,
        })
    }

    pub(crate) fn server_pid(&self) -> u32 {
        self.server.id()
    }

    pub(crate) async fn ask(&self, method: Method, path: &str, bearer: &str, body: Value) -> Result<Value> {
        let mut request = self.client.request(method, format!("{}{path}", self.base));
        if !bearer.is_empty() {
            request = request.bearer_auth(bearer);
        }
        let answer = request.json(&body).send().await?;
        let (status, said) = (answer.status(), answer.json().await?);
        if !status.is_success() {
            bail!("{path}: {status} {said}");
        }
        Ok(said)
    }

    async fn post(&self, path: &str, bearer: &str, body: Value) -> Result<Value> {
        self.ask(Method::POST, path, bearer, body).await
    }

    pub(crate) async fn tenant(&self) -> Result<Tenant> {
        let sign_in = json!({ "name": "bench", "password": PASSWORD });
        let access = text(&self.post("/api/v1/auth/login", "", sign_in).await?, "accessToken")?;
        let made = self.post("/api/v1/tenants", &access, json!({ "slug": "bench", "name": "bench" })).await?;
        let id = text(&made, "id")?;
        let path = format!("/api/v1/tenants/{id}/enrolments");
        let enrolment = text(&self.post(&path, &access, json!({ "name": "bench" })).await?, "secret")?;
        Ok(Tenant { access, id, enrolment })
    }

    /// Makes a run.
    pub(crate) async fn run(&self, tenant: &Tenant) -> Result<String> {
        let ask = json!({
            "tenantId": tenant.id, "projectId": "bench", "workspaceRef": { "kind": "empty" }, "providerId": "local",
            "backendProfile": "demo", "executionPolicy": { "sandbox": "read-only" }, "traceSink": null,
        });
        text(&self.post("/api/v1/runs", &tenant.access, ask).await?, "runId")
    }

    /// Makes a run with a command, claims it and takes the command.
    pub(crate) async fn held(&self, tenant: &Tenant) -> Result<Held> {
        let run = self.run(tenant).await?;
        let turn = json!({ "type": "turn", "payload": { "prompt": "go" } });
        let commands = format!("/api/v1/runs/{run}/commands");
        let command = text(&self.post(&commands, &tenant.access, turn).await?, "commandId")?;
        let runner = json!({ "name": "bench", "backendProfiles": ["demo"] });
        let runner =
            text(&self.post("/api/v1/runners/register", &tenant.enrolment, runner).await?, "runnerId")?;
        let claim = format!("/api/v1/runs/{run}/claim");
        let granted = self.post(&claim, &tenant.enrolment, json!({ "runnerId": runner })).await?;
        let (token, epoch) = (text(&granted, "runToken")?, granted["epoch"].as_i64().context("an epoch")?);
        self.post(&format!("/api/v1/commands/{command}/ack"), &token, json!({})).await?;
        Ok(Held { run, command, token, epoch })
    }
}

impl Drop for Installation {
    fn drop(&mut self) {
        let _already_gone = self.server.kill();
        let _reaped = self.server.wait();
    }
}

/// The other process: a server as it is, which says where it listens and ends with its input.
pub(crate) fn serve() -> Result<()> {
    install_tls();
    let flags = [
        ("http.listen", "127.0.0.1:0".to_owned()),
        ("http.drain_delay", "0s".to_owned()),
        ("identity.key_encryption_key", "0".repeat(64)),
        // Nobody renews between two rounds.
        ("runs.lease", "1h".to_owned()),
    ];
    let config = Config::load(&Sources::from_process(None, flags.to_vec()))?;
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
    let _already_there = rustls::crypto::aws_lc_rs::default_provider().install_default();
}

pub(crate) fn text(value: &Value, name: &str) -> Result<String> {
    Ok(value[name].as_str().with_context(|| format!("no {name} in {value}"))?.to_owned())
}
