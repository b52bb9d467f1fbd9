//! Webhooks: a tenant is told about events by HTTP requests to its own endpoints.
//!
//! - [`url`]: where an endpoint may be.
//! - [`event`]: what an endpoint can be told.
//! - [`message`]: the body, the headers and the signed content of a request, as Standard Webhooks defines them.
//! - [`delivery`]: what the response of a receiver means.

pub mod delivery;
pub mod event;
pub mod message;
pub mod url;

use jiff::{SignedDuration, Timestamp};

use self::event::WebhookEventType;
use self::url::WebhookUrl;
use crate::ids::{PrincipalId, TenantId, WebhookEventId, WebhookId};
use crate::named_enum::named_enum;

/// Webhooks of one tenant. Each question of an agent is sent to every one of them.
pub const MAX_WEBHOOKS: usize = 20;

/// The length of a description, in characters.
pub const MAX_DESCRIPTION_CHARS: usize = 200;

/// How long the previous secret signs after a rotation, so that receivers can be changed one by one.
pub const ROTATION_OVERLAP: SignedDuration = SignedDuration::from_hours(24);

/// An endpoint of a tenant that is told about events. Without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    pub id: WebhookId,
    pub tenant: TenantId,
    pub url: WebhookUrl,
    /// Types that it is told about, each once.
    pub events: Vec<WebhookEventType>,
    pub description: String,
    pub created_by: PrincipalId,
    pub created_at: Timestamp,
    /// None while it is enabled.
    pub disabled: Option<DisabledWebhook>,
    /// When the previous secret stops to sign; none if there is no previous one.
    pub previous_secret_ends_at: Option<Timestamp>,
    pub last_success_at: Option<Timestamp>,
    pub last_failure: Option<FailedDelivery>,
}

impl Webhook {
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.disabled.is_none()
    }

    /// Returns whether an event is sent to this webhook. A test is sent to the webhook that it was requested for.
    #[must_use]
    pub fn receives(&self, event: WebhookEventType) -> bool {
        let is_subscribed = match event {
            WebhookEventType::Test => true,
            WebhookEventType::ApprovalRequested
            | WebhookEventType::ApprovalDecided
            | WebhookEventType::ApprovalWithdrawn => self.events.contains(&event),
        };
        self.is_enabled() && is_subscribed
    }
}

/// When and why a webhook was disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DisabledWebhook {
    pub at: Timestamp,
    pub reason: DisableReason,
}

named_enum! {
    /// Why a webhook is disabled.
    DisableReason, "reason";
    /// The receiver answered 410.
    Gone = "gone",
}

/// The last failed attempt to send an event to a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedDelivery {
    pub at: Timestamp,
    pub event: WebhookEventId,
    /// Number of the failed attempt, from 1.
    pub attempt: u32,
    /// Names the host at most: the rest of the URL may hold a secret.
    pub message: String,
    /// Whether the event is not sent again.
    pub is_final: bool,
}

/// A list of event types that no webhook can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidEvents {
    #[error("name at least one event type")]
    Empty,
    #[error("each event type can be named once")]
    Repeated,
    #[error("the type webhook.test is sent on request only")]
    Test,
}

/// Checks the event types that a webhook is to be told about.
pub fn check_events(events: &[WebhookEventType]) -> Result<(), InvalidEvents> {
    if events.is_empty() {
        return Err(InvalidEvents::Empty);
    }
    if events.contains(&WebhookEventType::Test) {
        return Err(InvalidEvents::Test);
    }
    let is_repeated = |(index, event)| events[..index].contains(event);
    if events.iter().enumerate().any(is_repeated) { Err(InvalidEvents::Repeated) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn webhook(events: Vec<WebhookEventType>, is_enabled: bool) -> Webhook {
        let reason = DisableReason::Gone;
        Webhook {
            id: WebhookId::generate(),
            tenant: TenantId::generate(),
            url: WebhookUrl::parse("https://example.org/hook").expect("a URL"),
            events,
            description: String::new(),
            created_by: PrincipalId::generate(),
            created_at: Timestamp::UNIX_EPOCH,
            disabled: (!is_enabled).then_some(DisabledWebhook { at: Timestamp::UNIX_EPOCH, reason }),
            previous_secret_ends_at: None,
            last_success_at: None,
            last_failure: None,
        }
    }

    proptest! {
        #[test]
        fn webhook_receives_its_events_and_tests_while_enabled(
            events in proptest::sample::subsequence(WebhookEventType::SUBSCRIBABLE, 0..=2),
            event in proptest::sample::select(WebhookEventType::ALL),
            is_enabled in any::<bool>(),
        ) {
            let is_subscribed = event == WebhookEventType::Test || events.contains(&event);
            prop_assert_eq!(webhook(events, is_enabled).receives(event), is_enabled && is_subscribed);
        }

        #[test]
        fn valid_events_are_a_non_empty_set_without_tests(
            events in prop::collection::vec(proptest::sample::select(WebhookEventType::ALL), 0..4),
        ) {
            let distinct: std::collections::BTreeSet<_> = events.iter().collect();
            let is_valid = !events.is_empty()
                && distinct.len() == events.len()
                && !events.contains(&WebhookEventType::Test);
            prop_assert_eq!(check_events(&events).is_ok(), is_valid);
        }
    }
}
