//! Requests to the replicas in turn, until one answers.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use reqwest::{Method, RequestBuilder, Response};
use serde_json::Value;

/// A stopped replica accepts connections and does not respond.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// Far longer than any fault.
const MAX_RETRY_TIME: Duration = Duration::from_secs(240);

/// An answer that tells the client nothing useful: an internal error, or an overload without `Retry-After`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct UnexpectedAnswer {
    status: u16,
    has_retry_after: bool,
    pub(super) body: Value,
}

pub(super) struct Api {
    client: reqwest::Client,
    ports: Vec<u16>,
    next: AtomicUsize,
    pub(super) requests: AtomicU64,
    /// Requests that were not answered: refused, cut or without response.
    pub(super) unanswered: AtomicU64,
    /// Answers 503 with `Retry-After`.
    pub(super) overloaded: AtomicU64,
    /// Answers 401, of a replica whose clock is wrong.
    pub(super) unauthenticated: AtomicU64,
    /// Failures other than those.
    pub(super) unexpected: Mutex<Vec<UnexpectedAnswer>>,
}

impl Api {
    pub(super) fn new(ports: Vec<u16>) -> Self {
        let _already_installed = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let client =
            reqwest::Client::builder().pool_max_idle_per_host(0).no_proxy().build().expect("a client");
        Self {
            client,
            ports,
            next: AtomicUsize::new(0),
            requests: AtomicU64::new(0),
            unanswered: AtomicU64::new(0),
            overloaded: AtomicU64::new(0),
            unauthenticated: AtomicU64::new(0),
            unexpected: Mutex::default(),
        }
    }

    pub(super) fn url(&self, replica: usize, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.ports[replica % self.ports.len()])
    }

    /// Returns a request to one replica, without a time limit.
    pub(super) fn request(&self, replica: usize, method: Method, path: &str, bearer: &str) -> RequestBuilder {
        self.client.request(method, self.url(replica, path)).bearer_auth(bearer)
    }

    /// Returns another replica at each call.
    pub(super) fn next_replica(&self) -> usize {
        self.next.fetch_add(1, Ordering::SeqCst)
    }

    /// Sends a request once. Returns `None` if it was not processed: the caller may repeat it.
    pub(super) async fn try_send(&self, request: RequestBuilder) -> Option<(u16, Value)> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        let Ok(response) = request.timeout(REQUEST_TIMEOUT).send().await else {
            self.unanswered.fetch_add(1, Ordering::SeqCst);
            return None;
        };
        let (status, has_retry_after) = (response.status().as_u16(), has_retry_after(&response));
        let Ok(body) = response.json::<Value>().await else {
            self.unanswered.fetch_add(1, Ordering::SeqCst);
            return None;
        };
        match status {
            503 | 429 if has_retry_after => {
                self.overloaded.fetch_add(1, Ordering::SeqCst);
                None
            }
            401 => {
                self.unauthenticated.fetch_add(1, Ordering::SeqCst);
                Some((status, body))
            }
            // The time limit of a request: the client does not know whether it was processed.
            504 => None,
            429 | 500.. => {
                let answer = UnexpectedAnswer { status, has_retry_after, body };
                self.unexpected.lock().expect("the lock is not poisoned").push(answer);
                None
            }
            _ => Some((status, body)),
        }
    }

    /// Repeats a request on the replicas in turn until one answers.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        bearer: &str,
        key: Option<&str>,
        body: &Value,
    ) -> (u16, Value) {
        let (started, mut refusals) = (Instant::now(), 0);
        loop {
            let mut request = self.request(self.next_replica(), method.clone(), path, bearer);
            if let Some(key) = key {
                request = request.header("idempotency-key", key);
            }
            if !body.is_null() {
                request = request.json(body);
            }
            match self.try_send(request).await {
                // The clock of the replica is wrong, so that a token seems to be expired. Another replica accepts it,
                // unless the one with the wrong clock issued it.
                Some((401, _)) if refusals < 2 * self.ports.len() => refusals += 1,
                Some(answer) => return answer,
                None => {}
            }
            assert!(started.elapsed() < MAX_RETRY_TIME, "no answer to {method} {path}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Creates a resource with an idempotency key.
    pub(super) async fn create(&self, path: &str, bearer: &str, key: &str, body: &Value) -> Value {
        let (status, created) = self.send(Method::POST, path, bearer, Some(key), body).await;
        assert_eq!(status, 201, "{path}: {created}");
        created
    }
}

fn has_retry_after(response: &Response) -> bool {
    let value = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
    value.and_then(|value| value.parse::<u32>().ok()).is_some_and(|seconds| seconds >= 1)
}
