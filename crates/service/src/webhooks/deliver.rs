//! Sends events to webhooks: the handler of the outbox.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use guildhall_domain::ops::outbox::{FailureClass, RetryDecision};
use guildhall_domain::webhooks::delivery::{self, ReceiverAnswer};
use guildhall_domain::webhooks::message::{
    ID_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER, signature_header, signed_content,
};
use guildhall_domain::webhooks::{DisableReason, Webhook};
use guildhall_egress::{Egress, EgressError, EgressOptions, Request, ResponseHead};
use guildhall_identity::payload_seal::PayloadSealer;
use guildhall_runtime::Clock;
use guildhall_store::webhooks::{self as rows, NewFailure, SealedSecrets};
use guildhall_store::{Store, StoreError};
use serde_json::json;

use super::events::{DELIVER, Delivery};
use crate::ServiceError;
use crate::access::audit::{self, AuditEvent, AuditLog};
use crate::ops::outbox::{EffectAttempt, EffectError, Handler};

/// A receiver that has not answered by then has failed. Shorter than an attempt of the outbox, so that the failure is
/// stored with the webhook.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);

/// The stored length of an error message.
const MAX_MESSAGE_CHARS: usize = 300;

/// Sends events to webhooks.
pub struct DeliverWebhooks {
    store: Store,
    clock: Clock,
    sealer: Arc<PayloadSealer>,
    options: EgressOptions,
    /// Created with the first event: a server without webhooks needs no root certificates.
    egress: OnceLock<Egress>,
}

impl DeliverWebhooks {
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

    async fn deliver(&self, effect: &EffectAttempt) -> Result<(), EffectError> {
        let delivery: Delivery =
            serde_json::from_str(&effect.body).map_err(|_| permanent("the stored event cannot be read"))?;
        let found = rows::find(&self.store, delivery.tenant, delivery.webhook).await;
        // It may have been deleted or disabled since the event was enqueued.
        let Some(webhook) = found.map_err(store_failed)?.filter(Webhook::is_enabled) else { return Ok(()) };
        let Some(request) = self.request(&webhook, &delivery).await? else { return Ok(()) };
        let ResponseHead { status, retry_after } = match self.send(request).await {
            Ok(head) => head,
            Err(error) => return self.fail(effect, &delivery, error.to_string(), None).await,
        };
        match ReceiverAnswer::of_status(status.as_u16()) {
            ReceiverAnswer::Accepted => {
                rows::set_success(&self.store, webhook.tenant, webhook.id).await.map_err(store_failed)
            }
            ReceiverAnswer::Gone => self.disable(&webhook).await.map_err(|error| transient(&error)),
            ReceiverAnswer::Failed => {
                let pause = retry_after.and_then(|header| delivery::retry_after(&header, self.clock.now()));
                let message = format!("the receiver answered {}", status.as_u16());
                self.fail(effect, &delivery, message, pause).await
            }
        }
    }

    /// Builds the signed request of this attempt. None if the webhook was deleted just now.
    async fn request(&self, webhook: &Webhook, delivery: &Delivery) -> Result<Option<Request>, EffectError> {
        let secrets = rows::find_secrets(&self.store, webhook.tenant, webhook.id).await;
        let Some(secrets) = secrets.map_err(store_failed)? else { return Ok(None) };
        let now = self.clock.now();
        let content = signed_content(delivery.event, now, &delivery.body);
        let signatures = self.sign(webhook, &secrets, &content)?;
        let request = Request::post(webhook.url.as_str(), delivery.body.as_str())
            .and_then(|request| request.header("content-type", "application/json"))
            .and_then(|request| request.header(ID_HEADER, &delivery.event.to_string()))
            .and_then(|request| request.header(TIMESTAMP_HEADER, &now.as_second().to_string()))
            .and_then(|request| request.header(SIGNATURE_HEADER, &signature_header(&signatures)))
            .map_err(|error| permanent(&error.to_string()))?;
        Ok(Some(request))
    }

    /// Signs with the current secret, and with the previous one until its end.
    fn sign(
        &self,
        webhook: &Webhook,
        secrets: &SealedSecrets,
        content: &str,
    ) -> Result<Vec<String>, EffectError> {
        let now = self.clock.now();
        let previous =
            secrets.previous.iter().filter(|(_, ends_at)| now < *ends_at).map(|(sealed, _)| sealed);
        let sealed = std::iter::once(&secrets.current).chain(previous);
        let signatures = sealed.map(|sealed| {
            let secret = self.sealer.open_webhook_secret(webhook.id.as_uuid(), sealed);
            secret.map(|secret| secret.sign(content)).map_err(|error| transient(&error))
        });
        signatures.collect()
    }

    async fn send(&self, request: Request) -> Result<ResponseHead, EgressError> {
        let egress = match self.egress.get() {
            Some(egress) => egress,
            None => {
                let created = Egress::new(&self.options)?;
                self.egress.get_or_init(|| created)
            }
        };
        egress.send_for_head(request).await
    }

    /// Stores a failed attempt where members see it, and returns it to the outbox.
    async fn fail(
        &self,
        effect: &EffectAttempt,
        delivery: &Delivery,
        message: String,
        pause: Option<Duration>,
    ) -> Result<(), EffectError> {
        let message: String = message.chars().take(MAX_MESSAGE_CHARS).collect();
        let class = FailureClass::Transient;
        let next = RetryDecision::decide(effect.id, effect.attempt, class);
        let failure = NewFailure {
            event: delivery.event,
            attempt: effect.attempt,
            message: &message,
            is_final: next == RetryDecision::GiveUp,
        };
        rows::set_failure(&self.store, delivery.tenant, delivery.webhook, &failure)
            .await
            .map_err(store_failed)?;
        Err(EffectError { class, message, pause })
    }

    /// Disables a webhook whose receiver wants no further events.
    async fn disable(&self, webhook: &Webhook) -> Result<(), ServiceError> {
        let mut tx = self.store.begin().await?;
        let reason = DisableReason::Gone;
        if rows::disable(&mut tx, webhook.tenant, webhook.id, reason).await? {
            let event = AuditEvent {
                log: AuditLog::Tenant(webhook.tenant),
                action: "webhook.disabled",
                actor: None,
                object: webhook.id.to_string(),
                detail: json!({ "host": webhook.url.authority(), "reason": reason }),
            };
            audit::record(&mut tx, &event).await?;
        }
        Ok(tx.commit().await?)
    }
}

impl Handler for DeliverWebhooks {
    fn kind(&self) -> &'static str {
        DELIVER
    }

    fn perform<'a>(&'a self, effect: &'a EffectAttempt) -> BoxFuture<'a, Result<(), EffectError>> {
        self.deliver(effect).boxed()
    }
}

impl fmt::Debug for DeliverWebhooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeliverWebhooks").field("options", &self.options).finish_non_exhaustive()
    }
}

fn permanent(message: &str) -> EffectError {
    EffectError { class: FailureClass::Permanent, message: message.to_owned(), pause: None }
}

fn transient(error: &dyn std::error::Error) -> EffectError {
    EffectError { class: FailureClass::Transient, message: error.to_string(), pause: None }
}

fn store_failed(error: StoreError) -> EffectError {
    transient(&error)
}
