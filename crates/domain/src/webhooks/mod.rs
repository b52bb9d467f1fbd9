//! Webhooks: a tenant, or the developer of one of its agents, is told about events by HTTP requests to own endpoints.
//!
//! - [`url`]: where an endpoint may be.
//! - [`event`]: what an endpoint can be told.
//! - [`agent_message`]: what an endpoint of an agent is told about a message.
//! - [`message`]: the body, the headers and the signed content of a request, as Standard Webhooks defines them.
//! - [`delivery`]: what the response of a receiver means.
//! - [`schedule`]: when an event is sent again, and when its endpoint is disabled.
//! - [`log`]: what became of events.

pub mod agent_message;
pub mod delivery;
pub mod event;
pub mod log;
pub mod message;
pub mod schedule;
pub mod url;

use jiff::{SignedDuration, Timestamp};

use self::event::{WebhookEventType, WebhookScope};
use self::url::WebhookUrl;
use crate::ids::{AgentId, PrincipalId, TenantId, WebhookEventId, WebhookId};
use crate::named_enum::named_enum;

/// Webhooks of one tenant, without those of its agents. Each question of an agent is sent to every one of them.
pub const MAX_WEBHOOKS: usize = 20;

/// Webhooks of one agent. Each message to it is sent to every one of them.
pub const MAX_AGENT_WEBHOOKS: usize = 10;

/// All webhooks of one tenant. A list has no pages.
pub const MAX_ALL_WEBHOOKS: usize = 500;

/// The length of a description, in characters.
pub const MAX_DESCRIPTION_CHARS: usize = 200;

/// How long the previous secret signs after a rotation, so that receivers can be changed one by one.
pub const ROTATION_OVERLAP: SignedDuration = SignedDuration::from_hours(24);

/// An endpoint of a tenant that is told about events. Without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    pub id: WebhookId,
    pub tenant: TenantId,
    /// The agent whose messages it is told about; none for a webhook of the tenant.
    pub agent: Option<AgentId>,
    pub sender: WebhookSender,
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
    /// Since when every attempt has failed.
    pub failing_since: Option<Timestamp>,
}

named_enum! {
    /// Who sends the events of a webhook.
    WebhookSender, "sender";
    Server = "server",
    /// A program of a developer that asks the server for them. The server never calls the URL.
    Listener = "listener",
}

impl Webhook {
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.disabled.is_none()
    }

    /// Returns whether it is told about an event of its tenant or agent. A disabled one misses it. A test is sent to the webhook
    /// that it was requested for.
    #[must_use]
    pub fn is_told_about(&self, event: WebhookEventType) -> bool {
        match event {
            WebhookEventType::Test => true,
            WebhookEventType::WebhookDisabled => self.agent.is_none(),
            WebhookEventType::ApprovalRequested
            | WebhookEventType::ApprovalDecided
            | WebhookEventType::ApprovalWithdrawn
            | WebhookEventType::MessageNew
            | WebhookEventType::ArtifactResponse
            | WebhookEventType::ReauthRequired => self.events.contains(&event),
        }
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
    /// Every attempt has failed for days.
    Failing = "failing",
    /// Somebody has disabled it.
    Manual = "manual",
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
    #[error("a webhook of a tenant can have the types {}", names(WebhookScope::Tenant))]
    NotOfTenant,
    #[error("a webhook of an agent can have the types {}", names(WebhookScope::Agent))]
    NotOfAgent,
}

fn names(scope: WebhookScope) -> String {
    let names: Vec<&str> = WebhookEventType::subscribable(scope).iter().map(|event| event.as_str()).collect();
    names.join(", ")
}

/// Checks the event types that a webhook is to be told about.
pub fn check_events(scope: WebhookScope, events: &[WebhookEventType]) -> Result<(), InvalidEvents> {
    if events.is_empty() {
        return Err(InvalidEvents::Empty);
    }
    if !events.iter().all(|event| WebhookEventType::subscribable(scope).contains(event)) {
        return Err(match scope {
            WebhookScope::Tenant => InvalidEvents::NotOfTenant,
            WebhookScope::Agent => InvalidEvents::NotOfAgent,
        });
    }
    let is_repeated = |(index, event)| events[..index].contains(event);
    if events.iter().enumerate().any(is_repeated) { Err(InvalidEvents::Repeated) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn webhook(events: Vec<WebhookEventType>, agent: Option<AgentId>) -> Webhook {
        Webhook {
            id: WebhookId::generate(),
            tenant: TenantId::generate(),
            agent,
            sender: WebhookSender::Server,
            url: WebhookUrl::parse("https://example.org/hook").expect("a URL"),
            events,
            description: String::new(),
            created_by: PrincipalId::generate(),
            created_at: Timestamp::UNIX_EPOCH,
            disabled: None,
            previous_secret_ends_at: None,
            last_success_at: None,
            last_failure: None,
            failing_since: None,
        }
    }

    proptest! {
        #[test]
        fn webhook_is_told_about_its_events_and_tests(
            events in proptest::sample::subsequence(WebhookEventType::ALL, 0..=3),
            event in proptest::sample::select(WebhookEventType::ALL),
            is_of_agent in any::<bool>(),
        ) {
            let is_told = event == WebhookEventType::Test
                || (event == WebhookEventType::WebhookDisabled && !is_of_agent)
                || (event != WebhookEventType::WebhookDisabled && events.contains(&event));
            let webhook = webhook(events, is_of_agent.then(AgentId::generate));
            prop_assert_eq!(webhook.is_told_about(event), is_told);
        }

        #[test]
        fn valid_events_are_a_non_empty_set_of_their_scope(
            events in prop::collection::vec(proptest::sample::select(WebhookEventType::ALL), 0..4),
            scope in proptest::sample::select(&[WebhookScope::Tenant, WebhookScope::Agent][..]),
        ) {
            let distinct: std::collections::BTreeSet<_> = events.iter().collect();
            let is_valid = !events.is_empty()
                && distinct.len() == events.len()
                && events.iter().all(|event| WebhookEventType::subscribable(scope).contains(event));
            prop_assert_eq!(check_events(scope, &events).is_ok(), is_valid);
        }
    }
}
