//! Sends one signed request to the receiver of a webhook.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use guildhall_domain::ids::WebhookEventId;
use guildhall_domain::webhooks::Webhook;
use guildhall_domain::webhooks::delivery::{self, ReceiverAnswer};
use guildhall_domain::webhooks::message::{
    ID_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER, signature_header, signed_content,
};
use guildhall_egress::{Egress, EgressError, EgressOptions, Request, ResponseHead};
use guildhall_identity::payload_seal::PayloadSealer;
use guildhall_runtime::Clock;
use guildhall_store::webhook_events::AttemptResult;
use guildhall_store::webhooks::{self as rows, SealedSecrets};
use guildhall_store::{Store, StoreError};

/// A receiver that has not answered by then has failed.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);

/// The stored length of an error message.
const MAX_MESSAGE_CHARS: usize = 300;

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) answer: ReceiverAnswer,
    pub(super) result: AttemptResult,
    /// How long the receiver wants no other attempt.
    pub(super) pause: Option<Duration>,
}

/// Sends requests to receivers.
pub struct Sender {
    store: Store,
    clock: Clock,
    sealer: Arc<PayloadSealer>,
    options: EgressOptions,
    /// Created with the first event: a server without webhooks needs no root certificates.
    egress: OnceLock<Egress>,
}

impl Sender {
    /// Creates a sender. It has its own time limit for a call: no caller waits for it.
    #[must_use]
    pub fn new(store: Store, clock: Clock, sealer: Arc<PayloadSealer>, options: EgressOptions) -> Self {
        let options = EgressOptions { request_timeout: RESPONSE_TIMEOUT, ..options };
        Self { store, clock, sealer, options, egress: OnceLock::new() }
    }

    /// Sends with another client, for tests with their own resolver.
    #[must_use]
    pub fn with_egress(self, egress: Egress) -> Self {
        Self { egress: egress.into(), ..self }
    }

    /// Makes one attempt. None if the webhook was deleted just now.
    pub(super) async fn send(
        &self,
        webhook: &Webhook,
        event: WebhookEventId,
        body: &str,
    ) -> Result<Option<Sent>, StoreError> {
        let found = rows::find_secrets(&self.store, webhook.tenant, webhook.id).await?;
        let Some(secrets) = found else { return Ok(None) };
        let started_at = Instant::now();
        let head = match self.request(webhook, &secrets, event, body) {
            Ok(request) => self.call(request).await.map_err(|error| error.to_string()),
            Err(message) => Err(message),
        };
        Ok(Some(self.sent(head, started_at.elapsed())))
    }

    fn sent(&self, head: Result<ResponseHead, String>, duration: Duration) -> Sent {
        let failed = |status: Option<u16>, message: &str, pause: Option<Duration>| {
            let error = Some(message.chars().take(MAX_MESSAGE_CHARS).collect());
            Sent {
                answer: status.map_or(ReceiverAnswer::Failed, ReceiverAnswer::of_status),
                result: AttemptResult { status, duration, error },
                pause,
            }
        };
        match head {
            Err(message) => failed(None, &message, None),
            Ok(ResponseHead { status, retry_after }) => {
                let status = status.as_u16();
                match ReceiverAnswer::of_status(status) {
                    ReceiverAnswer::Accepted => Sent {
                        answer: ReceiverAnswer::Accepted,
                        result: AttemptResult { status: Some(status), duration, error: None },
                        pause: None,
                    },
                    ReceiverAnswer::Gone | ReceiverAnswer::Failed => {
                        let pause =
                            retry_after.and_then(|header| delivery::retry_after(&header, self.clock.now()));
                        failed(Some(status), &format!("the receiver answered {status}"), pause)
                    }
                }
            }
        }
    }

    /// Builds the signed request of this attempt.
    fn request(
        &self,
        webhook: &Webhook,
        secrets: &SealedSecrets,
        event: WebhookEventId,
        body: &str,
    ) -> Result<Request, String> {
        let now = self.clock.now();
        let signatures = self.sign(webhook, secrets, &signed_content(event, now, body))?;
        Request::post(webhook.url.as_str(), body)
            .and_then(|request| request.header("content-type", "application/json"))
            .and_then(|request| request.header(ID_HEADER, &event.to_string()))
            .and_then(|request| request.header(TIMESTAMP_HEADER, &now.as_second().to_string()))
            .and_then(|request| request.header(SIGNATURE_HEADER, &signature_header(&signatures)))
            .map_err(|error| error.to_string())
    }

    /// Signs with the current secret, and with the previous one until its end.
    fn sign(&self, webhook: &Webhook, secrets: &SealedSecrets, content: &str) -> Result<Vec<String>, String> {
        let now = self.clock.now();
        let previous =
            secrets.previous.iter().filter(|(_, ends_at)| now < *ends_at).map(|(sealed, _)| sealed);
        let sealed = std::iter::once(&secrets.current).chain(previous);
        let signatures = sealed.map(|sealed| {
            let secret = self.sealer.open_webhook_secret(webhook.id.as_uuid(), sealed);
            secret.map(|secret| secret.sign(content)).map_err(|error| format!("the signing secret: {error}"))
        });
        signatures.collect()
    }

    async fn call(&self, request: Request) -> Result<ResponseHead, EgressError> {
        let egress = match self.egress.get() {
            Some(egress) => egress,
            None => {
                let created = Egress::new(&self.options)?;
                self.egress.get_or_init(|| created)
            }
        };
        egress.send_for_head(request).await
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("options", &self.options).finish_non_exhaustive()
    }
}
