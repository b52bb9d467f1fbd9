//! Two replicas share one rate limit, and one of them is killed.

use std::io::Write;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;
use guildhall_testkit::{TestDb, nats_url, subject_prefix};
use rustix::process::Signal;
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use crate::support::{ChildProcess, guildhall};

const LIMIT: u32 = 320;
/// Permits that a replica borrows from a window at a time; a killed replica loses fewer than this.
const BLOCK: u32 = 20;
const CALLERS: u32 = 6;
const PASSWORD: &str = "correct horse battery";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rate_limit_holds_when_a_replica_is_killed() {
    let mut fixture = RateFixture::start().await;
    let accepted = AtomicU32::new(0);
    let callers = join_all((0..CALLERS).map(|number| fixture.send_until_limited(number, &accepted)));
    let killing = async {
        let deadline = Instant::now() + Duration::from_secs(120);
        while accepted.load(Ordering::SeqCst) < LIMIT / 3 {
            assert!(Instant::now() < deadline, "a third of the limit was not reached within 60 s");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        fixture.servers[0].signal(Signal::KILL);
    };
    tokio::join!(callers, killing);
    let accepted_total = accepted.load(Ordering::SeqCst);
    assert!(accepted_total > LIMIT / 3, "the other replica stopped serving");

    // The permits of the killed replica are lost: neither replica may hand them out again.
    fixture.servers[0] = fixture.start_replica(0);
    fixture.wait_ready(0).await;
    for replica in [0, 1] {
        assert_eq!(fixture.request(replica).await, Some(429), "replica {replica} handed out another permit");
    }
    assert_eq!(accepted.load(Ordering::SeqCst), accepted_total);
    let handed_out =
        fixture.db.sql().await.number("SELECT sum(handed_out) FROM rate_windows WHERE tier = 3").await;
    assert_eq!(handed_out, i64::from(LIMIT));
    assert!(accepted_total <= LIMIT, "{accepted_total} requests were accepted");
    // Besides its block, the killed replica lost the responses to requests in flight.
    let minimum = LIMIT - BLOCK - CALLERS;
    assert!(
        accepted_total >= minimum,
        "only {accepted_total} requests were accepted, expected at least {minimum}"
    );
}

struct RateFixture {
    db: TestDb,
    prefix: String,
    ports: [u16; 2],
    servers: Vec<ChildProcess>,
    client: reqwest::Client,
    access: String,
}

impl RateFixture {
    async fn start() -> Self {
        let free_port = || {
            std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port()
        };
        let _already_installed = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let client = reqwest::Client::builder()
            .timeout(Duration::from_secs(15))
            .pool_max_idle_per_host(0)
            .no_proxy()
            .build()
            .expect("a client");
        let (db, prefix, ports) = (TestDb::new().await, subject_prefix(), [free_port(), free_port()]);
        let mut fixture = Self { db, prefix, ports, servers: Vec::new(), client, access: String::new() };
        fixture.create_operator();
        for replica in 0..2 {
            let process = fixture.start_replica(replica);
            fixture.servers.push(process);
            fixture.wait_ready(replica).await;
        }
        fixture.access = fixture.sign_in().await;
        fixture
    }

    fn start_replica(&self, replica: usize) -> ChildProcess {
        let mut command = guildhall();
        command
            .args(["serve", "--listen", &format!("127.0.0.1:{}", self.ports[replica])])
            .env("GUILDHALL_POSTGRES_URL", self.db.url().expose_secret())
            .env("GUILDHALL_NATS_URL", nats_url().expose_secret())
            .env("GUILDHALL_NATS_SUBJECT_PREFIX", &self.prefix)
            .env("GUILDHALL_TELEMETRY_LOG_FILTER", "off")
            .env("GUILDHALL_LIMITS_READ", format!("{LIMIT}/24h"))
            .env("GUILDHALL_IDENTITY_KEY_ENCRYPTION_KEY", "0".repeat(64));
        ChildProcess::start(&mut command)
    }

    fn create_operator(&self) {
        let mut child = guildhall()
            .args(["init", "--name", "operator", "--password-stdin"])
            .env("GUILDHALL_POSTGRES_URL", self.db.url().expose_secret())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("the command starts");
        child.stdin.take().expect("piped").write_all(PASSWORD.as_bytes()).expect("written");
        assert!(child.wait().expect("the command exits").success());
    }

    async fn sign_in(&self) -> String {
        let body = json!({ "name": "operator", "password": PASSWORD });
        let response = self.client.post(self.url(0, "/api/v1/auth/login")).json(&body).send().await;
        let tokens: Value = response.expect("a response").json().await.expect("tokens");
        tokens["accessToken"].as_str().expect("a token").to_owned()
    }

    fn url(&self, replica: usize, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.ports[replica])
    }

    async fn wait_ready(&self, replica: usize) {
        let deadline = Instant::now() + Duration::from_secs(120);
        while !self.client.get(self.url(replica, "/health")).send().await.is_ok_and(|it| it.status() == 200) {
            assert!(Instant::now() < deadline, "replica {replica} is not ready after 120 s");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Sends a request to one replica. Returns `None` if it is down.
    async fn request(&self, replica: usize) -> Option<u16> {
        let request = self.client.get(self.url(replica, "/api/v1/whoami")).bearer_auth(&self.access);
        request.send().await.ok().map(|response| response.status().as_u16())
    }

    /// Sends requests to both replicas in turn until neither accepts any.
    async fn send_until_limited(&self, number: u32, accepted: &AtomicU32) {
        let mut rejected_in_a_row = 0;
        for turn in number..number + 4 * LIMIT {
            match self.request(usize::from(turn % 2 == 0)).await {
                Some(200) => {
                    accepted.fetch_add(1, Ordering::SeqCst);
                    rejected_in_a_row = 0;
                }
                Some(429) | None => rejected_in_a_row += 1,
                Some(other) => panic!("unexpected status {other}"),
            }
            if rejected_in_a_row == 4 {
                return;
            }
        }
        panic!("never rate limited");
    }
}
