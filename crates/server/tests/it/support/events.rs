//! Reading a stream of server-sent events.

use std::time::Duration;

use reqwest::Response;
use serde_json::Value;

use super::TestServer;

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) kind: String,
    pub(crate) data: Value,
}

/// An open stream.
pub(crate) struct Events {
    response: Response,
    text: String,
}

impl TestServer {
    pub(crate) async fn events(&self, path: &str, bearer: &str, last_event_id: Option<&str>) -> Events {
        let mut request = self.client.get(self.url(path)).bearer_auth(bearer);
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        let response = request.send().await.expect("an answer");
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Events { response, text: String::new() }
    }
}

impl Events {
    /// Waits for the next event; none when the server has closed the stream.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.text = rest;
                let field = |name: &str| {
                    event
                        .lines()
                        .find_map(|line| line.strip_prefix(name)?.strip_prefix(": ").map(str::to_owned))
                };
                // A comment keeps the connection alive and is no event.
                let Some(kind) = field("event") else { continue };
                let data = serde_json::from_str(&field("data").unwrap_or_default()).unwrap_or(Value::Null);
                return Some(Event { id: field("id"), kind, data });
            }
            let waited = tokio::time::timeout(Duration::from_secs(20), self.response.chunk()).await;
            let chunk = waited.expect("something within 20 s").ok()??;
            self.text.push_str(&String::from_utf8_lossy(&chunk));
        }
    }
}
