//! From a runner's append on one replica to a reader's stream on another, beside a bare commit and a message over NATS.
//!
//! Both sides run in this process, in turns, on one PostgreSQL with fsync on and one NATS. The bare side inserts a row,
//! then publishes a message that another connection waits for: nobody who keeps facts in PostgreSQL and wakes readers
//! over NATS can be below it. Ours adds two HTTP connections, authority, the journal and the reading of what is new.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use guildhall_bus::{Bus, BusOptions, Hints};
use guildhall_domain::ids::EntryId;
use guildhall_domain::journal::Journal;
use guildhall_engines::{Home, Nats, Postgres, Restart};
use guildhall_server::config::Sources;
use guildhall_server::{Config, Server};
use reqwest::{Client, Method, Response};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

const CALLS: usize = 2000;
const TURN: usize = 100;
const BODY_BYTES: usize = 1000;
const PASSWORD: &str = "correct horse battery";
const KEK: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

const BARE: &str =
    "INSERT INTO journal_entries (journal, owner, seq, id, kind, body) VALUES ($1, $2, $3, $4, $5, $6)";

pub(crate) fn run() -> Result<()> {
    let folder = tempfile::Builder::new().prefix("guildhall-bench-").tempdir()?;
    let home = Home::open(folder.path())?;
    let postgres = Postgres::start(&home, Restart::Always)?;
    let nats = Nats::start(&home, Restart::Always)?;
    let _first = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure(&postgres.url(), &nats.url()))
}

async fn measure(postgres: &SecretString, nats: &SecretString) -> Result<()> {
    let (one, other) = (start(postgres, nats).await?, start(postgres, nats).await?);
    one.create_first_user("operator", &SecretString::from(PASSWORD)).await?;
    let mut ours = Ours::prepare(&one, &other).await?;
    let mut bare = Bare::prepare(postgres, nats).await?;
    let (mut bare_times, mut our_times) = (Vec::new(), Vec::new());
    for call in 0..CALLS {
        if (call / TURN).is_multiple_of(2) {
            bare_times.push(bare.call(call).await?);
        } else {
            our_times.push(ours.call(call).await?);
        }
    }
    let (bare, ours) = (Percentiles::of(bare_times), Percentiles::of(our_times));
    println!("bare commit and message:   p50 {:?}, p99 {:?}", bare.p50, bare.p99);
    println!("append to stream delivery: p50 {:?}, p99 {:?}", ours.p50, ours.p99);
    println!("follow_latency_p99_ratio={:.2}", ours.p99.as_secs_f64() / bare.p99.as_secs_f64());
    println!("follow_latency_ratio={:.2}", ours.p50.as_secs_f64() / bare.p50.as_secs_f64());
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

/// A row into the same table over a connection of its own, and a message to another connection.
struct Bare {
    sql: PgConnection,
    says: Bus,
    hears: Hints,
    owner: Uuid,
}

impl Bare {
    async fn prepare(postgres: &SecretString, nats: &SecretString) -> Result<Self> {
        let options = BusOptions { url: nats.clone(), subject_prefix: "bench".to_owned() };
        let (says, listens) = (Bus::connect(&options).await?, Bus::connect(&options).await?);
        let hears = listens.subscribe("bare").await?;
        // What was published before the subscription has arrived is lost.
        listens.round_trip(Duration::from_secs(5)).await?;
        let sql = PgConnection::connect(postgres.expose_secret()).await?;
        Ok(Self { sql, says, hears, owner: Uuid::now_v7() })
    }

    async fn call(&mut self, call: usize) -> Result<Duration> {
        let began = Instant::now();
        #[expect(clippy::disallowed_methods, reason = "the bare side: what anyone would write without us")]
        sqlx::query(BARE)
            .bind(Journal::Audit.number())
            .bind(self.owner)
            .bind(i64::try_from(call)? + 1)
            .bind(EntryId::generate().as_uuid())
            .bind("bench")
            .bind("x".repeat(BODY_BYTES))
            .execute(&mut self.sql)
            .await?;
        self.says.publish("bare", call.to_string().into_bytes()).await;
        self.hears.next().await.context("NATS has gone")?;
        Ok(began.elapsed())
    }
}

/// A run with a runner that writes on one replica, and a reader on the other.
struct Ours {
    client: Client,
    append: String,
    run_token: String,
    reader: Response,
    text: String,
}

impl Ours {
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
        let ask = json!({
            "tenantId": "bench", "projectId": "bench", "workspaceRef": { "kind": "empty" },
            "providerId": "local", "backendProfile": "demo", "traceSink": null,
        });
        let run = text(&post("/api/v1/runs", &user, ask).await?, "runId")?;
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
        let mut ours = Self {
            client,
            append: format!("{one}/api/v1/runs/{run}/events"),
            run_token,
            reader,
            text: String::new(),
        };
        ours.until("event: replay_complete").await?;
        Ok(ours)
    }

    async fn call(&mut self, call: usize) -> Result<Duration> {
        let id = format!("call-{call}.");
        let payload = json!({ "text": "x".repeat(BODY_BYTES) });
        let body = json!({ "events": [{ "id": id, "type": "command_output", "payload": payload }] });
        let request = self.client.post(&self.append).bearer_auth(&self.run_token).json(&body);
        let began = Instant::now();
        // The reader may well have it before the writer is told.
        let (appended, delivered) = tokio::join!(send(request), async {
            self.until(&id).await?;
            anyhow::Ok(began.elapsed())
        });
        appended?;
        delivered
    }

    /// Reads the stream until a frame that says this has come.
    async fn until(&mut self, word: &str) -> Result<()> {
        loop {
            while let Some((frame, rest)) = self.text.split_once("\n\n") {
                let found = frame.contains(word);
                self.text = rest.to_owned();
                if found {
                    return Ok(());
                }
            }
            let piece = self.reader.chunk().await?.context("the stream has ended")?;
            self.text.push_str(&String::from_utf8_lossy(&piece));
        }
    }
}

async fn send(request: reqwest::RequestBuilder) -> Result<Value> {
    let answer = request.send().await?;
    let status = answer.status();
    let body = answer.text().await?;
    if !status.is_success() {
        bail!("{status}: {body}");
    }
    Ok(serde_json::from_str(&body)?)
}

fn text(body: &Value, name: &str) -> Result<String> {
    Ok(body[name].as_str().with_context(|| format!("no {name} in {body}"))?.to_owned())
}

struct Percentiles {
    p50: Duration,
    p99: Duration,
}

impl Percentiles {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort();
        let at = |hundredth: usize| times.get(times.len() * hundredth / 100).copied().unwrap_or_default();
        Self { p50: at(50), p99: at(99) }
    }
}
