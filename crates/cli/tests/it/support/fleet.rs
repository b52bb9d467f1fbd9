//! Two replicas on engines of their own, and somebody who kills them all.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::Stdio;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use guildhall_testkit::{PrivateEngines, Rounds, TestDb, subject_prefix};
use reqwest::{Method, RequestBuilder};
use rustix::process::Signal;
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::{Running, guildhall};

const PASSWORD: &str = "correct horse battery";

/// How often each thing was killed.
pub(crate) type Killed = BTreeMap<&'static str, usize>;

pub(crate) struct Fleet {
    pub(crate) db: TestDb,
    pub(crate) client: reqwest::Client,
    engines: PrivateEngines,
    prefix: String,
    ports: [u16; 2],
    servers: [Mutex<Option<Running>>; 2],
    environment: Vec<(&'static str, &'static str)>,
    /// The address that both listen on.
    host: String,
    downtime: Mutex<Downtime>,
}

/// How long something was not as it should be: from each kill until both replicas answer again.
#[derive(Debug, Default)]
struct Downtime {
    over: Duration,
    since: Option<Instant>,
}

impl Fleet {
    /// Starts both replicas with further settings, and waits until they are ready.
    pub(crate) async fn start(environment: &[(&'static str, &'static str)]) -> Self {
        Self::start_on("127.0.0.1", environment).await
    }

    /// Starts them on an address of this machine.
    pub(crate) async fn start_on(host: &str, environment: &[(&'static str, &'static str)]) -> Self {
        let engines = PrivateEngines::start();
        let db = TestDb::migrated(engines.addresses()).await;
        let free =
            || std::net::TcpListener::bind((host, 0)).and_then(|l| l.local_addr()).expect("a port").port();
        let _already_there = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let client = reqwest::Client::builder()
            .timeout(Duration::from_secs(5))
            .pool_max_idle_per_host(0)
            .no_proxy()
            .build()
            .expect("a client");
        let fleet = Self {
            db,
            client,
            engines,
            prefix: subject_prefix(),
            ports: [free(), free()],
            servers: Default::default(),
            environment: environment.to_vec(),
            host: host.to_owned(),
            downtime: Mutex::default(),
        };
        for replica in 0..2 {
            fleet.serve(replica);
        }
        fleet.wait_ready().await;
        fleet
    }

    fn serve(&self, replica: usize) {
        let mut command = guildhall();
        command
            .args(["serve", "--listen", &format!("{}:{}", self.host, self.ports[replica])])
            .env("GUILDHALL_POSTGRES_URL", self.db.url().expose_secret())
            .env("GUILDHALL_NATS_URL", self.engines.nats.url().expose_secret())
            .env("GUILDHALL_NATS_SUBJECT_PREFIX", &self.prefix)
            .env("GUILDHALL_TELEMETRY_LOG_FILTER", "off")
            .env("GUILDHALL_IDENTITY_KEY_ENCRYPTION_KEY", "0".repeat(64))
            .envs(self.environment.iter().copied());
        *self.servers[replica].lock().expect("one holder") = Some(Running::start(&mut command));
    }

    /// Kills a replica. It is away until it is started again.
    pub(crate) fn kill_server(&self, replica: usize) {
        let running = self.servers[replica].lock().expect("one holder").take();
        if let Some(running) = running {
            running.signal(Signal::KILL);
        }
    }

    /// Starts a replica that was killed, on the same port, and waits until it is ready.
    pub(crate) async fn start_server(&self, replica: usize) {
        self.serve(replica);
        self.wait_ready().await;
    }

    async fn wait_ready(&self) {
        for replica in 0..2 {
            let deadline = Instant::now() + Duration::from_secs(30);
            loop {
                let answer = self.client.get(self.url(replica, "/health")).send().await;
                if answer.is_ok_and(|answer| answer.status() == 200) {
                    break;
                }
                assert!(Instant::now() < deadline, "replica {replica} is not ready after 30 s");
                // A server that was killed together with PostgreSQL could not start; it is started again.
                if self.servers[replica].lock().expect("one holder").as_mut().is_none_or(Running::has_ended) {
                    self.serve(replica);
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

    /// Makes something; none where nobody says that it is made.
    pub(crate) async fn make(
        &self,
        replica: usize,
        path: &str,
        bearer: &str,
        key: &str,
        body: &Value,
    ) -> Option<Value> {
        let request = self.request(replica, Method::POST, path, bearer).header("idempotency-key", key);
        let answer = request.json(body).send().await.ok()?;
        if answer.status() != 201 {
            return None;
        }
        answer.json().await.ok()
    }

    /// Makes the first user and signs in: returns an access token.
    pub(crate) async fn operator(&self) -> String {
        let output = guildhall()
            .args(["init", "--name", "operator", "--password-stdin"])
            .env("GUILDHALL_POSTGRES_URL", self.db.url().expose_secret())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .and_then(|mut child| {
                child.stdin.as_mut().expect("piped").write_all(PASSWORD.as_bytes())?;
                child.wait_with_output()
            })
            .expect("ran");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let sign_in = json!({ "name": "operator", "password": PASSWORD });
        let request = self.client.post(self.url(0, "/api/v1/auth/login")).json(&sign_in);
        let tokens: Value = request.send().await.expect("an answer").json().await.expect("tokens");
        tokens["accessToken"].as_str().expect("a token").to_owned()
    }

    /// Makes a tenant with a service key of the role operator: returns both its id and the key's secret.
    pub(crate) async fn tenant(&self, access: &str, slug: &str) -> (String, String) {
        let body = json!({ "slug": slug, "name": "T" });
        let made = self.make(0, "/api/v1/tenants", access, slug, &body).await.expect("made");
        let id = made["id"].as_str().expect("an id").to_owned();
        let body = json!({ "name": "writer", "role": "operator" });
        let path = format!("/api/v1/tenants/{id}/keys");
        let key = self.make(0, &path, access, &format!("key-{slug}"), &body).await.expect("made");
        (id, key["secret"].as_str().expect("a secret").to_owned())
    }

    /// Kills something, brings it back, and rests for a moment; as often as the test is long.
    pub(crate) async fn kill_at_random(&self, rounds: &mut Rounds) -> Killed {
        let mut killed = Killed::new();
        for _ in 0..rounds.size() {
            let rest = Duration::from_millis(200) + rounds.random_duration(Duration::from_millis(800));
            tokio::time::sleep(rest).await;
            self.downtime.lock().expect("one holder").since = Some(Instant::now());
            *killed.entry(self.kill_one(rounds)).or_default() += 1;
            self.wait_ready().await;
            let mut downtime = self.downtime.lock().expect("one holder");
            let lasted = downtime.since.take().map_or(Duration::ZERO, |since| since.elapsed());
            downtime.over += lasted;
        }
        killed
    }

    fn kill_one(&self, rounds: &mut Rounds) -> &'static str {
        match rounds.random() % 5 {
            0 | 1 => {
                let replica = usize::try_from(rounds.random() % 2).unwrap_or(0);
                self.kill_server(replica);
                self.serve(replica);
                "a server"
            }
            2 | 3 => {
                self.engines.postgres.kill();
                self.engines.postgres.up().expect("recovered");
                "PostgreSQL"
            }
            _ => {
                self.engines.nats.kill();
                self.engines.nats.up().expect("started");
                "NATS"
            }
        }
    }

    /// Returns for how long something was down since the beginning.
    pub(crate) fn downtime(&self) -> Duration {
        let downtime = self.downtime.lock().expect("one holder");
        downtime.over + downtime.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}
