//! A log as it grows.

use std::collections::VecDeque;
use std::time::Duration;

use guildhall_domain::ids::TenantId;
use reqwest::{Method, Response};
use secrecy::ExposeSecret;

use super::AuditEntry;
use super::events::{Decoder, Event};
use crate::{Client, ClientError};

/// The first wait before a new connection; doubled up to the last.
const FIRST_WAIT: Duration = Duration::from_millis(200);
const LAST_WAIT: Duration = Duration::from_secs(5);

/// A server may ask for a longer wait, within reason: a follower that sleeps for hours looks broken.
const LONGEST_ASKED: Duration = Duration::from_secs(60);

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
    failures: u32,
    /// How long the server asked to wait before the next connection.
    asked_to_wait: Duration,
}

#[derive(Debug)]
struct Open {
    response: Response,
    decoder: Decoder,
    events: VecDeque<Event>,
}

impl AuditFollow {
    pub(super) fn new(client: Client, tenant: TenantId, after_seq: i64) -> Self {
        Self {
            client,
            tenant,
            last_seq: after_seq,
            cursor: None,
            open: None,
            failures: 0,
            asked_to_wait: Duration::ZERO,
        }
    }

    /// Waits for the next thing to tell. After an error it is over: trying again would fail again.
    pub async fn next(&mut self) -> Result<Followed, ClientError> {
        loop {
            let event = match self.event().await {
                Ok(Some(event)) => event,
                // Ended in good order, by a server that stops or for a token that has expired.
                Ok(None) => {
                    self.lost();
                    continue;
                }
                Err(error) if error.is_passing() => {
                    self.lost();
                    self.asked_to_wait = error.retry_after().unwrap_or_default().min(LONGEST_ASKED);
                    return Ok(Followed::Away(error));
                }
                Err(error) => return Err(error),
            };
            if let Some(told) = self.take(event)? {
                return Ok(told);
            }
        }
    }

    fn lost(&mut self) {
        self.open = None;
        self.failures = self.failures.saturating_add(1);
    }

    fn take(&mut self, event: Event) -> Result<Option<Followed>, ClientError> {
        match event.kind.as_str() {
            "entry" => {
                let raw = serde_json::value::RawValue::from_string(event.data);
                let entry =
                    raw.and_then(AuditEntry::read).map_err(|error| self.client.not_understood(&error))?;
                self.failures = 0;
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
                self.lost();
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
        tokio::time::sleep(wait_after(self.failures).max(self.asked_to_wait)).await;
        self.asked_to_wait = Duration::ZERO;
        let token = self.client.token().await?;
        let segments = ["tenants", &self.tenant.to_string(), "audit", "stream"];
        let mut request = self.client.request(Method::GET, &segments).bearer_auth(token.expose_secret());
        if let Some(cursor) = &self.cursor {
            request = request.header("last-event-id", cursor);
        }
        self.client.send(request).await
    }
}

/// Returns how long to wait before a connection: longer each time, and never the same for all who lost a server at once.
fn wait_after(failures: u32) -> Duration {
    if failures == 0 {
        return Duration::ZERO;
    }
    let longest = FIRST_WAIT.saturating_mul(1 << failures.min(10)).min(LAST_WAIT);
    let random = getrandom::u32().unwrap_or(u32::MAX);
    longest / 2 + (longest / 2).mul_f64(f64::from(random) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_stay_bounded() {
        assert_eq!(wait_after(0), Duration::ZERO);
        for failures in 1..40 {
            let wait = wait_after(failures);
            assert!(wait >= FIRST_WAIT / 2 && wait <= LAST_WAIT, "{failures}: {wait:?}");
        }
        assert!(wait_after(30) >= LAST_WAIT / 2);
    }
}
