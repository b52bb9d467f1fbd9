//! The events of webhooks: enqueued in order, sent lane by lane, and kept for some time.

mod log;
mod queue;

pub use log::{
    DeliveryPage, delete_excess, delete_of_webhook, delete_old, forget_deleted_webhook, list,
    list_deleted_webhooks, resend,
};
pub use queue::{
    AttemptOutcome, AttemptResult, ClaimLimits, ClaimedLanes, EventToSend, Lane, NewWebhookEvent,
    ReferencedMessage, SentMessageRef, begin_attempts, claim, claim_of_listener, close, find_claimed,
    find_message, finish, has_due_of_listener, insert,
};
