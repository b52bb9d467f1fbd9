//! Two server processes under one limit, and a SIGKILL to one of them in the middle.

use std::io::Write;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;
use guildhall_testkit::{TestDb, nats_url, subject_prefix};
use rustix::process::Signal;
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use crate::support::{Running, guildhall};

const LIMIT: u32 = 320;
/// What a replica borrows of a whole window of that limit: a killed one takes less than that with it.
const BLOCK: u32 = 20;
const CALLERS: u32 = 6;
const PASSWORD: &str = "correct horse battery";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_more_than_the_limit_gets_through_although_a_replica_is_killed() {
    let mut world = World::start().await;
    let through = AtomicU32::new(0);
    let callers = join_all((0..CALLERS).map(|number| world.ask_until_refused(number, &through)));
    let killing = async {
        let deadline = Instant::now() + Duration::from_secs(60);
        while through.load(Ordering::SeqCst) < LIMIT / 3 {
            assert!(Instant::now() < deadline, "a third of the limit is not reached after 60 s");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        world.servers[0].signal(Signal::KILL);
    };
    tokio::join!(callers, killing);
    let while_one_was_dead = through.load(Ordering::SeqCst);
    assert!(while_one_was_dead > LIMIT / 3, "the other replica went on");

    // What the dead one held is not handed out again, neither to the other nor to its successor.
    world.servers[0] = world.serve(0);
    world.wait_ready(0).await;
    for replica in [0, 1] {
        assert_eq!(world.ask(replica).await, Some(429), "replica {replica} found another permit");
    }
    assert_eq!(through.load(Ordering::SeqCst), while_one_was_dead);
    let handed_out = world.db.sql().await.number("SELECT sum(handed_out) FROM rate_windows").await;
    assert_eq!(handed_out, i64::from(LIMIT));
    assert!(while_one_was_dead <= LIMIT, "{while_one_was_dead} got through");
    // Beside its block, the answers to requests that were under way went with the dead replica.
    let at_least = LIMIT - BLOCK - CALLERS;
    assert!(while_one_was_dead >= at_least, "only {while_one_was_dead} got through, of at least {at_least}");
}

struct World {
    db: TestDb,
    prefix: String,
    ports: [u16; 2],
    servers: Vec<Running>,
    client: reqwest::Client,
    access: String,
}

impl World {
    async fn start() -> Self {
        let free = || {
            std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port()
        };
        let _already_there = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let client = reqwest::Client::builder()
            .timeout(Duration::from_secs(15))
            .pool_max_idle_per_host(0)
            .no_proxy()
            .build()
            .expect("a client");
        let (db, prefix, ports) = (TestDb::new().await, subject_prefix(), [free(), free()]);
        let mut world = Self { db, prefix, ports, servers: Vec::new(), client, access: String::new() };
        world.make_operator();
        for replica in 0..2 {
            let running = world.serve(replica);
            world.servers.push(running);
            world.wait_ready(replica).await;
        }
        world.access = world.sign_in().await;
        world
    }

    fn serve(&self, replica: usize) -> Running {
        let mut command = guildhall();
        command
            .args(["serve", "--listen", &format!("127.0.0.1:{}", self.ports[replica])])
            .env("GUILDHALL_POSTGRES_URL", self.db.url().expose_secret())
            .env("GUILDHALL_NATS_URL", nats_url().expose_secret())
            .env("GUILDHALL_NATS_SUBJECT_PREFIX", &self.prefix)
            .env("GUILDHALL_TELEMETRY_LOG_FILTER", "off")
            .env("GUILDHALL_LIMITS_READ", format!("{LIMIT}/24h"))
            .env("GUILDHALL_IDENTITY_KEY_ENCRYPTION_KEY", "0".repeat(64));
        Running::start(&mut command)
    }

    fn make_operator(&self) {
        let mut child = guildhall()
            .args(["init", "--name", "operator", "--password-stdin"])
            .env("GUILDHALL_POSTGRES_URL", self.db.url().expose_secret())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("runs");
        child.stdin.take().expect("piped").write_all(PASSWORD.as_bytes()).expect("written");
        assert!(child.wait().expect("ran").success());
    }

    async fn sign_in(&self) -> String {
        let body = json!({ "name": "operator", "password": PASSWORD });
        let answer = self.client.post(self.url(0, "/api/v1/auth/login")).json(&body).send().await;
        let tokens: Value = answer.expect("an answer").json().await.expect("tokens");
        tokens["accessToken"].as_str().expect("a token").to_owned()
    }

    fn url(&self, replica: usize, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.ports[replica])
    }

    async fn wait_ready(&self, replica: usize) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !self.client.get(self.url(replica, "/health")).send().await.is_ok_and(|it| it.status() == 200) {
            assert!(Instant::now() < deadline, "replica {replica} is not ready after 30 s");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Asks one replica; none when it is dead.
    async fn ask(&self, replica: usize) -> Option<u16> {
        let request = self.client.get(self.url(replica, "/api/v1/whoami")).bearer_auth(&self.access);
        request.send().await.ok().map(|answer| answer.status().as_u16())
    }

    /// Asks both replicas in turn until neither lets anything through.
    async fn ask_until_refused(&self, number: u32, through: &AtomicU32) {
        let mut in_vain = 0;
        for turn in number..number + 4 * LIMIT {
            match self.ask(usize::from(turn % 2 == 0)).await {
                Some(200) => {
                    through.fetch_add(1, Ordering::SeqCst);
                    in_vain = 0;
                }
                Some(429) | None => in_vain += 1,
                Some(other) => panic!("answered {other}"),
            }
            if in_vain == 4 {
                return;
            }
        }
        panic!("never refused");
    }
}
