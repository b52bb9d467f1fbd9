//! Events that a replica of an earlier version has put into the outbox: they join the queue.

use futures::FutureExt;
use futures::future::BoxFuture;
use guildhall_domain::ids::{WebhookEventId, WebhookId};
use guildhall_domain::ops::outbox::FailureClass;
use guildhall_domain::webhooks::event::WebhookEventType;
use guildhall_store::webhook_events::{self, NewWebhookEvent};
use guildhall_store::{Store, StoreError};
use serde::Deserialize;

use crate::ops::outbox::{EffectAttempt, EffectError, Handler};

/// The body of such an effect.
#[derive(Debug, Deserialize)]
struct EarlierEvent {
    webhook: WebhookId,
    event: WebhookEventId,
    body: String,
}

/// The part of a request that tells what it is.
#[derive(Debug, Deserialize)]
struct TypeOfBody {
    #[serde(rename = "type")]
    event_type: WebhookEventType,
}

/// Moves events from the outbox to the queue.
#[derive(Debug)]
pub struct MoveEarlierEvents {
    pub store: Store,
}

impl MoveEarlierEvents {
    async fn move_event(&self, effect: &EffectAttempt) -> Result<(), EffectError> {
        let unreadable =
            |_error| failed(FailureClass::Permanent, "the stored event cannot be read".to_owned());
        let earlier: EarlierEvent = serde_json::from_str(&effect.body).map_err(unreadable)?;
        let TypeOfBody { event_type } = serde_json::from_str(&earlier.body).map_err(unreadable)?;
        let EarlierEvent { webhook, event, body } = earlier;
        let row = NewWebhookEvent { event, event_type, lane: None, body, message: None };
        let moved = async {
            let mut tx = self.store.begin().await?;
            // The same event a second time is the same row.
            webhook_events::insert(&mut tx, webhook, &[row]).await?;
            tx.commit().await
        };
        moved.await.map_err(|error: StoreError| failed(FailureClass::Transient, error.to_string()))
    }
}

fn failed(class: FailureClass, message: String) -> EffectError {
    EffectError { class, message, pause: None }
}

impl Handler for MoveEarlierEvents {
    fn kind(&self) -> &'static str {
        "webhook.deliver"
    }

    fn perform<'a>(&'a self, effect: &'a EffectAttempt) -> BoxFuture<'a, Result<(), EffectError>> {
        self.move_event(effect).boxed()
    }
}
