//! A log as it grows.

use std::collections::VecDeque;
use std::time::Duration;

use guildhall_domain::ids::TenantId;
use reqwest::{Method, Response};
use secrecy::ExposeSecret;

use super::AuditEntry;
use super::events::{Decoder, Event};
use crate::backoff::Backoff;
use crate::{Client, ClientError};

/// What a follower sees.
#[derive(Debug)]
pub enum Followed {
    Entry(Box<AuditEntry>),
    /// The database was restored meanwhile: the log begins anew, and what stood in the old one may be gone.
    Restored,
    /// The connection is lost. The next call waits and connects again.
    Away(ClientError),
}

/// Follows one log. Connects again by itself, also across restarts of the server, and yields no entry twice.
#[derive(Debug)]
pub struct AuditFollow {
    client: Client,
    tenant: TenantId,
    last_seq: i64,
    /// The server's cursor of the last event, to go on after.
    cursor: Option<String>,
    open: Option<Open>,
    backoff: Backoff,
}

#[derive(Debug)]
struct Open {
    response: Response,
    decoder: Decoder,
    events: VecDeque<Event>,
}

impl AuditFollow {
    pub(super) fn new(client: Client, tenant: TenantId, after_seq: i64) -> Self {
        Self { client, tenant, last_seq: after_seq, cursor: None, open: None, backoff: Backoff::default() }
    }

    /// Waits for the next thing to tell. After an error it is over: trying again would fail again.
    pub async fn next(&mut self) -> Result<Followed, ClientError> {
        loop {
            let event = match self.event().await {
                Ok(Some(event)) => event,
                // Ended in good order, by a server that stops or for a token that has expired.
                Ok(None) => {
                    self.lost(None);
                    continue;
                }
                Err(error) if error.is_passing() => {
                    self.lost(error.retry_after());
                    return Ok(Followed::Away(error));
                }
                Err(error) => return Err(error),
            };
            if let Some(told) = self.take(event)? {
                return Ok(told);
            }
        }
    }

    fn lost(&mut self, asked_to_wait: Option<Duration>) {
        self.open = None;
        self.backoff.failed(asked_to_wait);
    }

    fn take(&mut self, event: Event) -> Result<Option<Followed>, ClientError> {
        match event.kind.as_str() {
            "entry" => {
                let raw = serde_json::value::RawValue::from_string(event.data);
                let entry =
                    raw.and_then(AuditEntry::read).map_err(|error| self.client.not_understood(&error))?;
                self.backoff.succeeded();
                self.cursor = event.id.or(self.cursor.take());
                let new = entry.view.seq > self.last_seq;
                self.last_seq = self.last_seq.max(entry.view.seq);
                Ok(new.then(|| Followed::Entry(Box::new(entry))))
            }
            "gap" => {
                self.last_seq = 0;
                self.cursor = None;
                Ok(Some(Followed::Restored))
            }
            "closed" => {
                self.lost(None);
                Ok(None)
            }
            // Something newer than this client.
            _ => Ok(None),
        }
    }

    /// Waits for an event on the open connection, or on a new one. None is the connection's end.
    async fn event(&mut self) -> Result<Option<Event>, ClientError> {
        let open = match &mut self.open {
            Some(open) => open,
            None => {
                let response = self.connect().await?;
                self.open.insert(Open { response, decoder: Decoder::default(), events: VecDeque::new() })
            }
        };
        loop {
            if let Some(event) = open.events.pop_front() {
                return Ok(Some(event));
            }
            let piece = open.response.chunk().await.map_err(|source| self.client.unreachable(source))?;
            let Some(piece) = piece else { return Ok(None) };
            let events = open.decoder.push(&piece);
            open.events.extend(events.map_err(|_| self.client.bad_answer("an event of it is too large"))?);
        }
    }

    async fn connect(&mut self) -> Result<Response, ClientError> {
        tokio::time::sleep(self.backoff.wait()).await;
        let token = self.client.token().await?;
        let segments = ["tenants", &self.tenant.to_string(), "audit", "stream"];
        let mut request = self.client.request(Method::GET, &segments).bearer_auth(token.expose_secret());
        if let Some(cursor) = &self.cursor {
            request = request.header("last-event-id", cursor);
        }
        self.client.send(request).await
    }
}
