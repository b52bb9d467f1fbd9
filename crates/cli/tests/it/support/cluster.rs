//! Two replicas on private engines, with fault injection.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use guildhall_testkit::{PrivateEngines, Rounds, TestDb, subject_prefix};
use reqwest::{Method, RequestBuilder};
use rustix::process::Signal;
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::outage_progress::OutageProgress;
use super::{ChildProcess, guildhall};

pub(crate) const PASSWORD: &str = "correct horse battery";

/// Number of kills by component.
pub(crate) type KillCounts = BTreeMap<&'static str, usize>;

pub(crate) struct Cluster {
    pub(crate) db: TestDb,
    pub(crate) client: reqwest::Client,
    engines: Arc<PrivateEngines>,
    prefix: String,
    ports: [u16; 2],
    servers: [Mutex<Option<ChildProcess>>; 2],
    environment: Vec<(&'static str, String)>,
    /// The address on which both replicas listen.
    host: String,
    downtime: Mutex<Downtime>,
    /// Whether PostgreSQL was killed and is not restarted yet.
    is_postgres_down: AtomicBool,
    /// Requests that failed while PostgreSQL was down.
    failed_without_postgres: AtomicU64,
    /// What clients are told while a server or NATS is down.
    pub(crate) progress: OutageProgress,
}

/// What is killed. The deck holds each kind at least once.
#[derive(Debug, Clone, Copy)]
enum KillKind {
    Server,
    Postgres,
    Nats,
}

const KILL_DECK: [KillKind; 5] =
    [KillKind::Server, KillKind::Postgres, KillKind::Nats, KillKind::Server, KillKind::Postgres];

/// An engine stays down for at most this long; PostgreSQL also until a client has noticed it.
const MAX_ENGINE_OUTAGE: Duration = Duration::from_millis(800);

/// A request fails within some seconds without PostgreSQL.
const MAX_UNNOTICED_OUTAGE: Duration = Duration::from_secs(30);

/// Total downtime: from each kill until both replicas are ready again.
#[derive(Debug, Default)]
struct Downtime {
    total: Duration,
    since: Option<Instant>,
}

impl Cluster {
    /// Starts both replicas with additional settings and waits until they are ready.
    pub(crate) async fn start(environment: &[(&'static str, &'static str)]) -> Self {
        Self::start_on("127.0.0.1", environment).await
    }

    /// Starts both replicas on a given local address.
    pub(crate) async fn start_on(host: &str, environment: &[(&'static str, &'static str)]) -> Self {
        let environment = environment.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        let cluster = Self::prepare(host, environment).await;
        cluster.start_replicas().await;
        cluster
    }

    /// Starts both replicas of an issuer of AIDs where everybody may register, with additional settings. A folder gets the
    /// keys of the issuer.
    pub(crate) async fn start_issuer(
        issuer: &str,
        secrets: &Path,
        environment: &[(&'static str, &'static str)],
    ) -> Self {
        let mut settings = vec![
            ("GUILDHALL_AUN_ISSUER", issuer.to_owned()),
            ("GUILDHALL_AUN_REGISTRATION", "open".to_owned()),
            ("GUILDHALL_SECRETS_FOLDER", secrets.display().to_string()),
        ];
        settings.extend(environment.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let cluster = Self::prepare("127.0.0.1", settings).await;
        // Creates the keys too.
        create_operator(cluster.with_settings(guildhall()));
        cluster.start_replicas().await;
        cluster
    }

    /// Starts the engines.
    async fn prepare(host: &str, environment: Vec<(&'static str, String)>) -> Self {
        let engines = PrivateEngines::start();
        let db = TestDb::migrated(engines.urls()).await;
        let free_port =
            || std::net::TcpListener::bind((host, 0)).and_then(|l| l.local_addr()).expect("a port").port();
        let _already_installed = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let client = reqwest::Client::builder()
            .timeout(Duration::from_secs(30))
            .pool_max_idle_per_host(0)
            .no_proxy()
            .build()
            .expect("a client");
        Self {
            db,
            client,
            engines: Arc::new(engines),
            prefix: subject_prefix(),
            ports: [free_port(), free_port()],
            servers: Default::default(),
            environment,
            host: host.to_owned(),
            downtime: Mutex::default(),
            is_postgres_down: AtomicBool::new(false),
            failed_without_postgres: AtomicU64::new(0),
            progress: OutageProgress::default(),
        }
    }

    /// Starts both replicas and waits until they are ready.
    async fn start_replicas(&self) {
        for replica in 0..2 {
            self.start_replica(replica);
        }
        self.wait_ready().await;
    }

    fn start_replica(&self, replica: usize) {
        let mut command = self.with_settings(guildhall());
        command.args(["serve", "--listen", &format!("{}:{}", self.host, self.ports[replica])]);
        *self.servers[replica].lock().expect("the lock is not poisoned") =
            Some(ChildProcess::start(&mut command));
    }

    fn with_settings(&self, mut command: Command) -> Command {
        command
            .env("GUILDHALL_POSTGRES_URL", self.db.url().expose_secret())
            .env("GUILDHALL_NATS_URL", self.engines.nats.url().expose_secret())
            .env("GUILDHALL_NATS_SUBJECT_PREFIX", &self.prefix)
            .env("GUILDHALL_TELEMETRY_LOG_FILTER", "off")
            .env("GUILDHALL_IDENTITY_KEY_ENCRYPTION_KEY", "0".repeat(64))
            .envs(self.environment.iter().map(|(name, value)| (*name, value)));
        command
    }

    /// Kills a replica. It stays down until it is restarted.
    pub(crate) fn kill_replica(&self, replica: usize) {
        let process = self.servers[replica].lock().expect("the lock is not poisoned").take();
        if let Some(process) = process {
            process.signal(Signal::KILL);
        }
    }

    /// Waits until a killed replica refuses connections.
    pub(crate) async fn wait_until_refused(&self, replica: usize) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.client.get(self.url(replica, "/health/live")).send().await.is_ok() {
            assert!(Instant::now() < deadline, "replica {replica} still responds");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Restarts a killed replica on the same port and waits until it is ready.
    pub(crate) async fn restart_replica(&self, replica: usize) {
        self.start_replica(replica);
        self.wait_ready().await;
    }

    /// Kills PostgreSQL, starts it again, and waits until both replicas are ready.
    pub(crate) async fn kill_and_restart_postgres(&self) {
        let engines = Arc::clone(&self.engines);
        run_blocking(move || {
            engines.postgres.kill();
            engines.postgres.restart().expect("recovered");
        })
        .await;
        self.wait_ready().await;
    }

    async fn wait_ready(&self) {
        for replica in 0..2 {
            let deadline = Instant::now() + Duration::from_secs(120);
            loop {
                let response = self.client.get(self.url(replica, "/health")).send().await;
                if response.is_ok_and(|response| response.status() == 200) {
                    break;
                }
                assert!(Instant::now() < deadline, "replica {replica} is not ready after 120 s");
                // A replica cannot start while PostgreSQL is down; start it again.
                if self.servers[replica]
                    .lock()
                    .expect("the lock is not poisoned")
                    .as_mut()
                    .is_none_or(ChildProcess::has_exited)
                {
                    self.start_replica(replica);
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }

    pub(crate) fn url(&self, replica: usize, path: &str) -> String {
        format!("http://{}:{}{path}", self.host, self.ports[replica % 2])
    }

    pub(crate) fn request(&self, replica: usize, method: Method, path: &str, bearer: &str) -> RequestBuilder {
        self.client.request(method, self.url(replica, path)).bearer_auth(bearer)
    }

    /// Creates a resource. Returns `None` if the replica does not confirm it with a 201.
    pub(crate) async fn create(
        &self,
        replica: usize,
        path: &str,
        bearer: &str,
        key: &str,
        body: &Value,
    ) -> Option<Value> {
        let request = self.request(replica, Method::POST, path, bearer).header("idempotency-key", key);
        let created = async {
            let response = request.json(body).send().await.ok()?;
            if response.status() == 201 { response.json().await.ok() } else { None }
        };
        let created = created.await;
        if created.is_none() {
            self.record_failed_request();
        }
        created
    }

    /// Creates the first user, signs in and returns the access token.
    pub(crate) async fn create_operator(&self) -> String {
        create_first_user(&self.db);
        self.sign_in().await
    }

    /// Signs the first user in and returns the access token.
    pub(crate) async fn sign_in(&self) -> String {
        let sign_in = json!({ "name": "operator", "password": PASSWORD });
        let request = self.client.post(self.url(0, "/api/v1/auth/login")).json(&sign_in);
        let tokens: Value = request.send().await.expect("a response").json().await.expect("tokens");
        tokens["accessToken"].as_str().expect("a token").to_owned()
    }

    /// Creates a tenant and a service key with the operator role. Returns the tenant id and the key's secret.
    pub(crate) async fn create_tenant(&self, access: &str, slug: &str) -> (String, String) {
        let body = json!({ "slug": slug, "name": "T" });
        let created = self.create(0, "/api/v1/tenants", access, slug, &body).await.expect("created");
        let id = created["id"].as_str().expect("an id").to_owned();
        let body = json!({ "name": "writer", "role": "operator" });
        let path = format!("/api/v1/tenants/{id}/keys");
        let key = self.create(0, &path, access, &format!("key-{slug}"), &body).await.expect("created");
        (id, key["secret"].as_str().expect("a secret").to_owned())
    }

    /// Kills and restarts components in random order, once per round, with a pause before each kill. Each kind is
    /// killed at least once. Clients must run on tasks of their own: they send while an engine is down.
    pub(crate) async fn kill_at_random(&self, rounds: &mut Rounds) -> KillCounts {
        let mut counts = KillCounts::new();
        for kind in rounds.shuffled_deck(&KILL_DECK) {
            let pause = Duration::from_millis(200) + rounds.random_duration(Duration::from_millis(800));
            tokio::time::sleep(pause).await;
            self.downtime.lock().expect("the lock is not poisoned").since = Some(Instant::now());
            *counts.entry(self.kill_one(kind, rounds).await).or_default() += 1;
            self.wait_ready().await;
            let mut downtime = self.downtime.lock().expect("the lock is not poisoned");
            let duration = downtime.since.take().map_or(Duration::ZERO, |since| since.elapsed());
            downtime.total += duration;
        }
        let kinds: Vec<_> = counts.keys().copied().collect();
        assert_eq!(kinds, ["NATS", "PostgreSQL", "a server"], "seed {}", rounds.seed());
        counts
    }

    async fn kill_one(&self, kind: KillKind, rounds: &mut Rounds) -> &'static str {
        let outage = rounds.random_duration(MAX_ENGINE_OUTAGE);
        let engines = Arc::clone(&self.engines);
        match kind {
            KillKind::Server => {
                let replica = rounds.random_index(2);
                self.kill_replica(replica);
                self.progress.begin();
                self.progress.wait_for_confirmed().await;
                self.progress.end("a server");
                self.start_replica(replica);
                "a server"
            }
            KillKind::Postgres => {
                self.is_postgres_down.store(true, Ordering::SeqCst);
                let killed = Arc::clone(&engines);
                run_blocking(move || killed.postgres.kill()).await;
                tokio::time::sleep(outage).await;
                self.wait_for_failed_request().await;
                run_blocking(move || engines.postgres.restart().expect("recovered")).await;
                self.is_postgres_down.store(false, Ordering::SeqCst);
                "PostgreSQL"
            }
            KillKind::Nats => {
                let killed = Arc::clone(&engines);
                run_blocking(move || killed.nats.kill()).await;
                self.progress.begin();
                tokio::time::sleep(outage).await;
                self.progress.wait_for_confirmed().await;
                self.progress.end("NATS");
                run_blocking(move || engines.nats.restart().expect("started")).await;
                "NATS"
            }
        }
    }

    /// Waits until a client has met the outage of PostgreSQL: all of them may be connecting again, or wait for something else.
    async fn wait_for_failed_request(&self) {
        let (before, limit) = (self.failed_without_postgres.load(Ordering::SeqCst), Instant::now());
        while self.failed_without_postgres.load(Ordering::SeqCst) == before {
            assert!(limit.elapsed() < MAX_UNNOTICED_OUTAGE, "no client sends while PostgreSQL is down");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Records that a request failed.
    pub(crate) fn record_failed_request(&self) {
        if self.is_postgres_down.load(Ordering::SeqCst) {
            self.failed_without_postgres.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Returns the total downtime since the start.
    pub(crate) fn downtime(&self) -> Duration {
        let downtime = self.downtime.lock().expect("the lock is not poisoned");
        downtime.total + downtime.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

/// Runs blocking work on a thread of its own, so that it stops no client of the test.
pub(crate) async fn run_blocking(work: impl FnOnce() + Send + 'static) {
    tokio::task::spawn_blocking(work).await.expect("the work does not panic");
}

/// Creates the user `operator` with [`PASSWORD`].
pub(crate) fn create_first_user(db: &TestDb) {
    let mut command = guildhall();
    command.env("GUILDHALL_POSTGRES_URL", db.url().expose_secret());
    create_operator(command);
}

fn create_operator(mut command: Command) {
    let output = command
        .args(["init", "--name", "operator", "--password-stdin"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .and_then(|mut child| {
            child.stdin.as_mut().expect("piped").write_all(PASSWORD.as_bytes())?;
            child.wait_with_output()
        })
        .expect("guildhall init runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
