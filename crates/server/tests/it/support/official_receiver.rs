//! Receivers of webhooks that verify each request with an official library of Standard Webhooks.

use std::time::{Duration, Instant};

use guildhall_testkit::{NodeProcess, NodeScript};
use serde_json::{Value, json};

use super::runs::text;

/// A receiver that uses an official library.
pub(crate) struct OfficialReceiver {
    pub(crate) url: String,
    client: reqwest::Client,
    _process: NodeProcess,
}

impl OfficialReceiver {
    /// Starts a receiver with the library for JavaScript or for Python.
    pub(crate) fn start(library: NodeScript) -> Self {
        let process = NodeProcess::start(library, &json!({}));
        let client = reqwest::Client::builder().no_proxy().build().expect("a client");
        Self { url: text(&process.output, "url"), client, _process: process }
    }

    pub(crate) async fn set_secret(&self, secret: &str) {
        let request = self.client.put(format!("{}/secret", self.url)).body(secret.to_owned());
        assert_eq!(request.send().await.expect("a response").status(), 204);
    }

    /// Waits until this many requests have come.
    pub(crate) async fn wait_for(&self, count: usize) -> Vec<Value> {
        let deadline = Instant::now() + Duration::from_secs(120);
        loop {
            let response =
                self.client.get(format!("{}/received", self.url)).send().await.expect("a response");
            let text = response.text().await.expect("a body");
            let received: Vec<Value> = serde_json::from_str(&text).expect("JSON");
            if received.len() >= count {
                return received;
            }
            assert!(Instant::now() < deadline, "{} of {count} requests came", received.len());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
