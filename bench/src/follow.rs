//! Stream latency: from an append of a runner on one replica to the stream of a reader on another, compared with a
//! plain commit and a NATS message.
//!
//! Both sides run in this process, in turns, on one PostgreSQL with fsync on and one NATS. The baseline inserts a row
//! and publishes a message to another connection: the lower bound for storing in PostgreSQL and waking readers over
//! NATS. Guildhall adds two HTTP connections, authorization, the journal and the read of new events.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use guildhall_engines::{Nats, Postgres, RestartPolicy, StateDir};
use guildhall_server::config::Sources;
use guildhall_server::{Config, Server};
use reqwest::{Client, Method, Response};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use crate::commit_and_message::CommitAndMessage;
use crate::percentile::percentile;

const CALLS: usize = 2000;
const CALLS_PER_TURN: usize = 100;
const BODY_BYTES: usize = 1000;
const PASSWORD: &str = "correct horse battery";
const KEK: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

pub(crate) fn run() -> Result<()> {
    let folder = tempfile::Builder::new().prefix("guildhall-bench-").tempdir()?;
    let home = StateDir::open(folder.path())?;
    let postgres = Postgres::start(&home, RestartPolicy::Always)?;
    let nats = Nats::start(&home, RestartPolicy::Always)?;
    let _already_installed = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure(&postgres.url(), &nats.url()))
}

async fn measure(postgres: &SecretString, nats: &SecretString) -> Result<()> {
    let (one, other) = (start(postgres, nats).await?, start(postgres, nats).await?);
    one.create_first_user("operator", &SecretString::from(PASSWORD)).await?;
    let mut guildhall = Guildhall::prepare(&one, &other).await?;
    let mut baseline = CommitAndMessage::prepare(postgres, nats, BODY_BYTES).await?;
    let (mut baseline_times, mut guildhall_times) = (Vec::new(), Vec::new());
    for call in 0..CALLS {
        if (call / CALLS_PER_TURN).is_multiple_of(2) {
            baseline_times.push(baseline.call().await?);
        } else {
            guildhall_times.push(guildhall.call(call).await?);
        }
    }
    let [baseline_p50, baseline_p99] = [50, 99].map(|percent| percentile(&mut baseline_times, percent));
    let [p50, p99] = [50, 99].map(|percent| percentile(&mut guildhall_times, percent));
    println!("plain commit and message:  p50 {baseline_p50:?}, p99 {baseline_p99:?}");
    println!("append to stream delivery: p50 {p50:?}, p99 {p99:?}");
    println!("follow_latency_p99_ratio={:.2}", p99.as_secs_f64() / baseline_p99.as_secs_f64());
    println!("follow_latency_ratio={:.2}", p50.as_secs_f64() / baseline_p50.as_secs_f64());
    for server in [one, other] {
        server.shutdown().await;
    }
    Ok(())
}

async fn start(postgres: &SecretString, nats: &SecretString) -> Result<Server> {
    let flags = vec![
        ("http.listen", "127.0.0.1:0".to_owned()),
        ("http.drain_delay", "0s".to_owned()),
        ("postgres.url", postgres.expose_secret().to_owned()),
        ("nats.url", nats.expose_secret().to_owned()),
        ("identity.key_encryption_key", KEK.to_owned()),
    ];
    let config = Config::load(&Sources { flags, ..Sources::default() })?;
    Ok(Box::pin(Server::start(&config)).await?)
}

/// The Guildhall side: a runner that appends on one replica, and a reader on the other.
struct Guildhall {
    client: Client,
    append: String,
    run_token: String,
    reader: Response,
    text: String,
}

impl Guildhall {
    async fn prepare(one: &Server, other: &Server) -> Result<Self> {
        let client = Client::builder().no_proxy().build()?;
        let (one, other) = (format!("http://{}", one.address()), format!("http://{}", other.address()));
        let post = async |path: &str, bearer: &str, body: Value| {
            send(client.request(Method::POST, format!("{one}{path}")).bearer_auth(bearer).json(&body)).await
        };
        let login = json!({ "name": "operator", "password": PASSWORD });
        let user = text(&post("/api/v1/auth/login", "", login).await?, "accessToken")?;
        let tenant = post("/api/v1/tenants", &user, json!({ "slug": "bench", "name": "bench" })).await?;
        let path = format!("/api/v1/tenants/{}/enrolments", text(&tenant, "id")?);
        let enrolment = text(&post(&path, &user, json!({ "name": "bench" })).await?, "secret")?;
        let request = json!({
            "tenantId": "bench", "projectId": "bench", "workspaceRef": { "kind": "empty" },
            "providerId": "local", "backendProfile": "demo", "traceSink": null,
        });
        let run = text(&post("/api/v1/runs", &user, request).await?, "runId")?;
        let runner = post(
            "/api/v1/runners/register",
            &enrolment,
            json!({ "name": "bench", "backendProfiles": ["demo"] }),
        );
        let runner = text(&runner.await?, "runnerId")?;
        let claim = format!("/api/v1/runs/{run}/claim");
        let run_token = text(&post(&claim, &enrolment, json!({ "runnerId": runner })).await?, "runToken")?;
        let stream = format!("{other}/api/v1/runs/{run}/events/stream");
        let reader = client.get(stream).bearer_auth(user).send().await?.error_for_status()?;
        let mut guildhall = Self {
            client,
            append: format!("{one}/api/v1/runs/{run}/events"),
            run_token,
            reader,
            text: String::new(),
        };
        guildhall.read_until("event: replay_complete").await?;
        Ok(guildhall)
    }

    async fn call(&mut self, call: usize) -> Result<Duration> {
        let id = format!("call-{call}.");
        let payload = json!({ "text": "x".repeat(BODY_BYTES) });
        let body = json!({ "events": [{ "id": id, "type": "command_output", "payload": payload }] });
        let request = self.client.post(&self.append).bearer_auth(&self.run_token).json(&body);
        let began = Instant::now();
        // The reader may get the event before the writer gets its response.
        let (appended, delivered) = tokio::join!(send(request), async {
            self.read_until(&id).await?;
            anyhow::Ok(began.elapsed())
        });
        appended?;
        delivered
    }

    /// Reads the stream until a frame contains a text.
    async fn read_until(&mut self, expected: &str) -> Result<()> {
        loop {
            while let Some((frame, rest)) = self.text.split_once("\n\n") {
                let found = frame.contains(expected);
                self.text = rest.to_owned();
                if found {
                    return Ok(());
                }
            }
            let chunk = self.reader.chunk().await?.context("the stream has ended")?;
            self.text.push_str(&String::from_utf8_lossy(&chunk));
        }
    }
}

async fn send(request: reqwest::RequestBuilder) -> Result<Value> {
    let response = request.send().await?;
    let status = response.status();
    let body = response.text().await?;
    if !status.is_success() {
        bail!("{status}: {body}");
    }
    Ok(serde_json::from_str(&body)?)
}

fn text(body: &Value, name: &str) -> Result<String> {
    Ok(body[name].as_str().with_context(|| format!("no {name} in {body}"))?.to_owned())
}
