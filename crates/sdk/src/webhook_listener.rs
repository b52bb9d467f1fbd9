//! Forwards the events of a listener to a receiver on the developer's machine.

use std::time::{Duration, Instant};

use guildhall_domain::ids::{WebhookEventId, WebhookId};
use guildhall_domain::webhooks::message::{
    ID_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER, signature_header, signed_content,
};
use guildhall_domain::webhooks::url::WebhookUrl;
use guildhall_identity::webhook_secret::WebhookSecret;
use guildhall_protocol::rest::webhooks::listeners::{
    ClaimEvents, ClaimedEventView, ClaimedEventsView, ReportEvent,
};
use jiff::Timestamp;
use reqwest::Method;
use reqwest::redirect::Policy;
use url::Url;

use crate::{Client, ClientError, ClientSetupError};

/// A receiver that has not answered by then has failed, as at the server.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long one request waits for events.
const WAIT: Duration = Duration::from_secs(20);

/// What the receiver has answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForwardedEvent {
    /// None if it could not be reached.
    pub status: Option<u16>,
    pub duration: Duration,
}

/// Sends signed requests to a receiver, as the server does.
#[derive(Debug)]
pub struct WebhookForwarder {
    http: reqwest::Client,
    url: Url,
    secret: WebhookSecret,
}

impl WebhookForwarder {
    /// Creates a forwarder. It follows no redirects, and uses no proxy.
    pub fn new(url: &WebhookUrl, secret: WebhookSecret) -> Result<Self, ClientSetupError> {
        let url = Url::parse(url.as_str()).map_err(|_| ClientSetupError::InvalidUrl)?;
        let mut http =
            reqwest::Client::builder().no_proxy().redirect(Policy::none()).timeout(RESPONSE_TIMEOUT);
        if url.scheme() == "http" {
            // Nothing to verify: works on a machine without root certificates.
            http = http.tls_certs_only([]);
        }
        Ok(Self { http: http.build().map_err(ClientSetupError::Http)?, url, secret })
    }

    /// Sends an event to the receiver.
    pub async fn forward(&self, event: WebhookEventId, body: &str, now: Timestamp) -> ForwardedEvent {
        let signature = self.secret.sign(&signed_content(event, now, body));
        let request = self
            .http
            .post(self.url.clone())
            .header("content-type", "application/json")
            .header(ID_HEADER, event.to_string())
            .header(TIMESTAMP_HEADER, now.as_second().to_string())
            .header(SIGNATURE_HEADER, signature_header(&[signature]))
            .body(body.to_owned());
        let started_at = Instant::now();
        let answer = request.send().await;
        let status = answer.ok().map(|response| response.status().as_u16());
        ForwardedEvent { status, duration: started_at.elapsed() }
    }
}

impl Client {
    /// Waits for events of a listener.
    pub async fn claim_webhook_events(
        &self,
        webhook: WebhookId,
    ) -> Result<Vec<ClaimedEventView>, ClientError> {
        let wait = u64::try_from(WAIT.as_millis()).unwrap_or_default();
        let request = self.request(Method::POST, &["webhooks", &webhook.to_string(), "claim"]);
        let view: ClaimedEventsView = self.call(request.json(&ClaimEvents { wait })).await?;
        Ok(view.events)
    }

    /// Reports what the receiver has answered.
    pub async fn report_webhook_event(
        &self,
        webhook: WebhookId,
        event: &ClaimedEventView,
        forwarded: ForwardedEvent,
    ) -> Result<(), ClientError> {
        let report = ReportEvent {
            event_id: event.event_id.clone(),
            claim: event.claim.clone(),
            status: forwarded.status,
            duration_ms: u64::try_from(forwarded.duration.as_millis()).unwrap_or(u64::MAX),
        };
        let request = self.request(Method::POST, &["webhooks", &webhook.to_string(), "reports"]);
        self.command(request.json(&report)).await
    }
}
