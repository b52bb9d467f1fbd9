//! Follows an audit log over server-sent events.

use std::collections::VecDeque;
use std::time::Duration;

use guildhall_domain::access::audit_checkpoint::AuditLog;
use reqwest::{Method, Response};
use secrecy::ExposeSecret;

use super::entry::AuditEntry;
use super::events::{Decoder, Event};
use crate::backoff::Backoff;
use crate::{Client, ClientError};

/// An item of an audit log stream.
#[derive(Debug)]
pub enum AuditStreamItem {
    Entry(Box<AuditEntry>),
    /// The database was restored: the log starts again, and earlier entries may be missing.
    Restored,
    /// The connection is lost. The next call waits and reconnects.
    Disconnected(ClientError),
}

/// Follows one log. Reconnects automatically, also after server restarts, and yields every entry once.
#[derive(Debug)]
pub struct AuditFollower {
    client: Client,
    log: AuditLog,
    last_seq: i64,
    /// The server's cursor of the last event.
    cursor: Option<String>,
    connection: Option<Connection>,
    backoff: Backoff,
}

#[derive(Debug)]
struct Connection {
    response: Response,
    decoder: Decoder,
    events: VecDeque<Event>,
}

impl AuditFollower {
    pub(super) fn new(client: Client, log: AuditLog, after_seq: i64) -> Self {
        Self { client, log, last_seq: after_seq, cursor: None, connection: None, backoff: Backoff::default() }
    }

    /// Waits for the next item. An error is final: a retry would fail again.
    pub async fn next(&mut self) -> Result<AuditStreamItem, ClientError> {
        loop {
            let event = match self.next_event().await {
                Ok(Some(event)) => event,
                // Closed by the server, because it stops or the token expired.
                Ok(None) => {
                    self.disconnected(None);
                    continue;
                }
                Err(error) if error.is_transient() => {
                    self.disconnected(error.retry_after());
                    return Ok(AuditStreamItem::Disconnected(error));
                }
                Err(error) => return Err(error),
            };
            if let Some(item) = self.handle_event(event)? {
                return Ok(item);
            }
        }
    }

    fn disconnected(&mut self, retry_after: Option<Duration>) {
        self.connection = None;
        self.backoff.record_failure(retry_after);
    }

    fn handle_event(&mut self, event: Event) -> Result<Option<AuditStreamItem>, ClientError> {
        match event.kind.as_str() {
            "entry" => {
                let raw = serde_json::value::RawValue::from_string(event.data);
                let entry =
                    raw.and_then(AuditEntry::parse).map_err(|error| self.client.parse_error(&error))?;
                self.backoff.reset();
                self.cursor = event.id.or(self.cursor.take());
                let new = entry.view.seq > self.last_seq;
                self.last_seq = self.last_seq.max(entry.view.seq);
                Ok(new.then(|| AuditStreamItem::Entry(Box::new(entry))))
            }
            "gap" => {
                self.last_seq = 0;
                self.cursor = None;
                Ok(Some(AuditStreamItem::Restored))
            }
            "closed" => {
                self.disconnected(None);
                Ok(None)
            }
            // An event kind of a newer server.
            _ => Ok(None),
        }
    }

    /// Waits for an event, and connects first if necessary. Returns `None` when the server closes the stream.
    async fn next_event(&mut self) -> Result<Option<Event>, ClientError> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            None => {
                let response = self.connect().await?;
                self.connection.insert(Connection {
                    response,
                    decoder: Decoder::default(),
                    events: VecDeque::new(),
                })
            }
        };
        loop {
            if let Some(event) = connection.events.pop_front() {
                return Ok(Some(event));
            }
            let chunk =
                connection.response.chunk().await.map_err(|source| self.client.unreachable(source))?;
            let Some(chunk) = chunk else { return Ok(None) };
            let events = connection.decoder.push(&chunk);
            connection
                .events
                .extend(events.map_err(|_| self.client.invalid_response("an event is too large"))?);
        }
    }

    async fn connect(&mut self) -> Result<Response, ClientError> {
        tokio::time::sleep(self.backoff.delay()).await;
        let token = self.client.token().await?;
        let log = super::log_segments(self.log);
        let segments: Vec<&str> = log.iter().map(String::as_str).chain(["stream"]).collect();
        let mut request = self.client.request(Method::GET, &segments).bearer_auth(token.expose_secret());
        if let Some(cursor) = &self.cursor {
            request = request.header("last-event-id", cursor);
        }
        self.client.send(request).await
    }
}
