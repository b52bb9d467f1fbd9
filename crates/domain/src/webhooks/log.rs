//! The log of deliveries: the events of a webhook, and what became of each attempt to send one.

use jiff::Timestamp;

use super::event::WebhookEventType;
use crate::ids::WebhookEventId;
use crate::named_enum::named_enum;

/// Attempts of one event that a page shows, the newest ones.
pub const MAX_SHOWN_ATTEMPTS: u32 = 20;

/// Events that one request sends again.
pub const MAX_RESENT: u32 = 10_000;

named_enum! {
    /// What became of an event.
    DeliveryState, "state";
    /// It is to be sent, or sent again.
    Waiting = "waiting",
    /// The receiver has accepted it.
    Delivered = "delivered",
    /// It was given up, or its webhook was disabled.
    Missed = "missed",
}

/// An event of a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookDelivery {
    /// Its place among the events of all webhooks.
    pub number: i64,
    pub event: WebhookEventId,
    /// None for a type that a newer version has stored.
    pub event_type: Option<WebhookEventType>,
    pub state: DeliveryState,
    pub created_at: Timestamp,
    pub finished_at: Option<Timestamp>,
    /// None while it is sent, while it waits for an earlier one, and after its end.
    pub next_attempt_at: Option<Timestamp>,
    /// The newest attempts, oldest first.
    pub attempts: Vec<DeliveryAttempt>,
}

/// An attempt to send an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryAttempt {
    /// Its number since the event was enqueued or requested again.
    pub attempt: u32,
    pub at: Timestamp,
    /// None without an answer.
    pub status: Option<u16>,
    pub duration_ms: u64,
    /// Names the host at most. None if the receiver has accepted it.
    pub error: Option<String>,
}

/// Which events are sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResendSelection {
    /// One event, whatever its state.
    Event(WebhookEventId),
    /// Those that were created in a window.
    Window { since: Timestamp, until: Timestamp, only: ResendStates },
}

named_enum! {
    /// Which events of a window are sent again.
    ResendStates, "selection";
    /// Those that the receiver has not accepted.
    Failed = "failed",
    All = "all",
}

impl ResendSelection {
    /// Returns the states of events that are sent again. One that waits is tried at once.
    #[must_use]
    pub const fn states(self) -> &'static [DeliveryState] {
        match self {
            Self::Window { only: ResendStates::Failed, .. } => {
                &[DeliveryState::Waiting, DeliveryState::Missed]
            }
            Self::Event(_) | Self::Window { only: ResendStates::All, .. } => DeliveryState::ALL,
        }
    }
}
