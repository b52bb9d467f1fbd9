//! What webhooks are told.

use crate::named_enum::named_enum;

named_enum! {
    /// The type of an event that is sent to webhooks.
    WebhookEventType, "event type";
    /// An agent asks, and waits for people.
    ApprovalRequested = "approval.requested",
    /// A question that people were asked has its answer, or has expired.
    ApprovalDecided = "approval.decided",
    /// Nobody waits for an answer any more.
    ApprovalWithdrawn = "approval.withdrawn",
    /// A member wants to see whether the receiver works.
    Test = "webhook.test",
}

impl WebhookEventType {
    /// The types that a webhook can be created for.
    pub const SUBSCRIBABLE: &'static [Self] =
        &[Self::ApprovalRequested, Self::ApprovalDecided, Self::ApprovalWithdrawn];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_but_the_test_can_be_subscribed() {
        let others: Vec<_> =
            WebhookEventType::ALL.iter().copied().filter(|kind| *kind != WebhookEventType::Test).collect();
        assert_eq!(others, WebhookEventType::SUBSCRIBABLE);
    }
}
