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

/// What a stream says of itself while nothing is wrong; most tests are about the rest.
const USUAL_NOTICES: [&str; 3] = ["hello", "replay_complete", "slow_client_warning"];

/// An open stream.
pub(crate) struct Events {
    pub(crate) response: Response,
    text: String,
}

impl TestServer {
    pub(crate) async fn events(&self, path: &str, bearer: &str, last_event_id: Option<&str>) -> Events {
        let response = self.try_events(path, bearer, last_event_id).await.expect("an answer");
        if response.status() != 200 {
            panic!("no stream: {}", response.text().await.expect("a body"));
        }
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Events::of(response)
    }

    pub(crate) async fn try_events(
        &self,
        path: &str,
        bearer: &str,
        last_event_id: Option<&str>,
    ) -> Result<Response, reqwest::Error> {
        // A stream has no end by itself; each wait for a piece of it has.
        let request = self.client.get(self.url(path)).bearer_auth(bearer);
        let mut request = request.timeout(Duration::from_secs(600));
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        request.send().await
    }
}

impl Events {
    pub(crate) fn of(response: Response) -> Self {
        Self { response, text: String::new() }
    }

    /// Waits for the next event that is not a usual notice; none when the server has closed the stream.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            let frame = self.frame().await?;
            if !USUAL_NOTICES.contains(&frame.kind.as_str()) {
                return Some(frame);
            }
        }
    }

    /// Waits for so many facts.
    pub(crate) async fn facts(&mut self, count: usize) -> Vec<Event> {
        let mut facts = Vec::new();
        while facts.len() < count {
            let event = self.next().await.expect("an open stream");
            assert!(event.id.is_some(), "{event:?}");
            facts.push(event);
        }
        facts
    }

    /// Waits for the next frame of any kind; none when the server has closed the stream.
    pub(crate) async fn frame(&mut self) -> Option<Event> {
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
