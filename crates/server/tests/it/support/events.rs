//! A client for server-sent events.

use std::time::Duration;

use reqwest::Response;
use serde_json::Value;

use super::TestServer;

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StreamEvent {
    pub(crate) id: Option<String>,
    pub(crate) kind: String,
    pub(crate) data: Value,
}

/// Notices of every healthy stream. Most tests skip them.
const ROUTINE_NOTICES: [&str; 3] = ["hello", "replay_complete", "slow_client_warning"];

/// An open stream.
pub(crate) struct EventStream {
    pub(crate) response: Response,
    text: String,
}

impl TestServer {
    pub(crate) async fn open_stream(
        &self,
        path: &str,
        bearer: &str,
        last_event_id: Option<&str>,
    ) -> EventStream {
        let response = self.try_open_stream(path, bearer, last_event_id).await.expect("a response");
        if response.status() != 200 {
            panic!("cannot open the stream: {}", response.text().await.expect("a body"));
        }
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        EventStream::new(response)
    }

    pub(crate) async fn try_open_stream(
        &self,
        path: &str,
        bearer: &str,
        last_event_id: Option<&str>,
    ) -> Result<Response, reqwest::Error> {
        // A stream does not end by itself. Each read has its own timeout.
        let request = self.client.get(self.url(path)).bearer_auth(bearer);
        let mut request = request.timeout(Duration::from_secs(600));
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        request.send().await
    }
}

impl EventStream {
    pub(crate) fn new(response: Response) -> Self {
        Self { response, text: String::new() }
    }

    /// Waits for the next event, without routine notices. Returns none when the server has closed the stream.
    pub(crate) async fn next(&mut self) -> Option<StreamEvent> {
        loop {
            let frame = self.next_frame().await?;
            if !ROUTINE_NOTICES.contains(&frame.kind.as_str()) {
                return Some(frame);
            }
        }
    }

    /// Waits for a number of events that have an id.
    pub(crate) async fn next_events(&mut self, count: usize) -> Vec<StreamEvent> {
        let mut events = Vec::new();
        while events.len() < count {
            let event = self.next().await.expect("an open stream");
            assert!(event.id.is_some(), "{event:?}");
            events.push(event);
        }
        events
    }

    /// Waits for the next frame of any kind. Returns none when the server has closed the stream.
    pub(crate) async fn next_frame(&mut self) -> Option<StreamEvent> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.text = rest;
                let field = |name: &str| {
                    event
                        .lines()
                        .find_map(|line| line.strip_prefix(name)?.strip_prefix(": ").map(str::to_owned))
                };
                // A comment line is a heartbeat, not an event.
                let Some(kind) = field("event") else { continue };
                let data = serde_json::from_str(&field("data").unwrap_or_default()).unwrap_or(Value::Null);
                return Some(StreamEvent { id: field("id"), kind, data });
            }
            let read = tokio::time::timeout(Duration::from_secs(120), self.response.chunk()).await;
            let chunk = read.expect("data within 20 s").ok()??;
            self.text.push_str(&String::from_utf8_lossy(&chunk));
        }
    }
}
