//! Test servers.

pub(crate) mod agent_threads;
pub(crate) mod agent_webhooks;
pub(crate) mod attachments;
pub(crate) mod aun_client;
pub(crate) mod browser;
pub(crate) mod cluster;
pub(crate) mod events;
pub(crate) mod flood;
pub(crate) mod gateway;
pub(crate) mod launcher;
pub(crate) mod manifests;
pub(crate) mod official_receiver;
pub(crate) mod oidc;
pub(crate) mod page;
pub(crate) mod profiles;
pub(crate) mod question_fixture;
pub(crate) mod routes;
pub(crate) mod run_tokens;
pub(crate) mod runs;
pub(crate) mod webhook_fixture;
pub(crate) mod webhook_receiver;

use std::net::SocketAddr;
use std::time::Duration;

use guildhall_server::config::Sources;
use guildhall_server::{Config, Server, StartError};
use guildhall_testkit::{EngineUrls, Stopwatch, TestDb, nats_url, subject_prefix};
use reqwest::{Method, Response, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

/// The key encryption key of all test servers.
pub(crate) const KEK: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

/// The configuration of a test's servers: engines, and settings that differ from the defaults.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    postgres: SecretString,
    nats: SecretString,
    prefix: String,
    flags: Vec<(&'static str, String)>,
}

impl Setup {
    /// Uses a database and the NATS that all tests share. Test processes compete for the cores, so everything may
    /// take longer than the default timeouts. The limits of sign-ins are far above the defaults: all clients of a test
    /// have one address, and many sign in at once.
    pub(crate) fn new(db: &TestDb) -> Self {
        Self::with_default_limits(db).with_high_limits()
    }

    /// Uses the limits of sign-ins that an installation has by default.
    pub(crate) fn with_default_limits(db: &TestDb) -> Self {
        let flags = [
            "postgres.acquire_timeout",
            "postgres.statement_timeout",
            "http.stream_check_timeout",
            "http.request_timeout",
        ]
        .map(|key| (key, "30s".to_owned()))
        .to_vec();
        Self { postgres: db.url(), nats: nats_url(), prefix: subject_prefix(), flags }
    }

    /// Uses a database and the NATS of the test's private engines.
    pub(crate) fn with_private_engines(db: &TestDb, addresses: &EngineUrls) -> Self {
        Self { nats: addresses.nats.clone(), flags: Vec::new(), ..Self::new(db) }.with_high_limits()
    }

    fn with_high_limits(self) -> Self {
        self.with("limits.sign_in", "100000/60s").with("limits.account", "10000/60s")
    }

    /// Uses another URL of PostgreSQL.
    pub(crate) fn with_postgres(mut self, url: String) -> Self {
        self.postgres = SecretString::from(url);
        self
    }

    pub(crate) fn with(mut self, key: &'static str, value: impl ToString) -> Self {
        self.flags.push((key, value.to_string()));
        self
    }

    pub(crate) fn config(&self) -> Config {
        let mut flags = vec![
            ("http.listen", "127.0.0.1:0".to_owned()),
            ("http.drain_delay", "0s".to_owned()),
            ("postgres.url", self.postgres.expose_secret().to_owned()),
            ("nats.url", self.nats.expose_secret().to_owned()),
            ("nats.subject_prefix", self.prefix.clone()),
            ("identity.key_encryption_key", KEK.to_owned()),
        ];
        flags.extend(self.flags.clone());
        Config::load(&Sources { flags, ..Sources::default() }).expect("a configuration")
    }

    pub(crate) async fn try_start(&self) -> Result<TestServer, StartError> {
        let server = Box::pin(Server::start(&self.config())).await?;
        let address = server.address();
        Ok(TestServer { server, client: client(), address })
    }

    pub(crate) async fn start(&self) -> TestServer {
        self.try_start().await.unwrap_or_else(|error| panic!("{error:?}"))
    }

    /// Starts two replicas concurrently.
    pub(crate) async fn start_two(&self) -> (TestServer, TestServer) {
        tokio::join!(self.start(), self.start())
    }
}

/// A running server and a client that talks to it.
#[derive(Debug)]
pub(crate) struct TestServer {
    pub(crate) server: Server,
    pub(crate) client: reqwest::Client,
    pub(crate) address: SocketAddr,
}

/// A response with its whole body.
#[derive(Debug)]
pub(crate) struct TestResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) body: Value,
    pub(crate) text: String,
}

impl TestServer {
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) async fn get(&self, path: &str) -> TestResponse {
        self.request(Method::GET, path).await
    }

    /// Returns the value of a metric without labels; 0 where there is none.
    pub(crate) async fn metric(&self, name: &str) -> u64 {
        let text = self.get("/metrics").await.text;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.map_or(0, |value| value.parse().expect("a number"))
    }

    pub(crate) async fn request(&self, method: Method, path: &str) -> TestResponse {
        let response = self.client.request(method, self.url(path)).send().await.expect("a response");
        read_response(response).await
    }

    /// Repeats a GET until the response meets the condition, at most `within`. Returns the response and the elapsed
    /// time.
    pub(crate) async fn wait_until(
        &self,
        path: &str,
        within: Duration,
        condition: impl Fn(&TestResponse) -> bool,
    ) -> (TestResponse, Duration) {
        let began = Stopwatch::start();
        loop {
            let response = self.get(path).await;
            if condition(&response) {
                return (response, began.elapsed());
            }
            assert!(
                began.elapsed() < within,
                "{path} does not meet the condition after {within:?}: {}",
                response.text
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

pub(crate) async fn read_response(response: Response) -> TestResponse {
    let (status, headers) = (response.status(), response.headers().clone());
    let text = response.text().await.expect("a body");
    let body = serde_json::from_str(&text).unwrap_or(Value::Null);
    TestResponse { status, headers, body, text }
}

impl TestResponse {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// Asserts that this is a well-formed error response with this status and failure kind.
    pub(crate) fn assert_failure(&self, status: u16, kind: &str) {
        assert_eq!(
            (self.status.as_u16(), self.header("content-type")),
            (status, "application/problem+json"),
            "{}",
            self.text
        );
        assert_eq!(self.body["failureKind"], kind, "{}", self.text);
        assert!(self.body["message"].as_str().is_some_and(|message| !message.is_empty()), "{}", self.text);
        let trace_id = self.body["traceId"].as_str().expect("a trace id");
        assert_eq!(trace_id.len(), 32, "{}", self.text);
        assert!(self.header("traceparent").contains(trace_id), "traceparent has another trace id");
    }
}

fn client() -> reqwest::Client {
    // Another test of this process may have installed it.
    let _already_installed = rustls::crypto::aws_lc_rs::default_provider().install_default();
    // No idle connections: after a restart, a request must not use an old connection.
    reqwest::Client::builder()
        .timeout(Duration::from_secs(120))
        .pool_max_idle_per_host(0)
        .no_proxy()
        .build()
        .expect("a client")
}
