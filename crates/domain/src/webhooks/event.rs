//! What webhooks are told.

use serde_json::{Value, json};

use crate::ids::WebhookId;
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
    /// A message has reached the AID of an agent.
    MessageNew = "message.new",
    /// The answer to a tool call of an agent has reached it.
    ArtifactResponse = "artifact_response",
    /// A new manifest of an agent needs a new consent of its users.
    ReauthRequired = "h2a.reauth_required",
    /// Another webhook of the tenant was disabled.
    WebhookDisabled = "webhook.disabled",
    /// A member wants to see whether the receiver works.
    Test = "webhook.test",
}

/// What a webhook is told about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebhookScope {
    /// The questions of all agents of its tenant.
    Tenant,
    /// The messages to one agent, and its manifest.
    Agent,
}

impl WebhookEventType {
    /// The types that a webhook of a tenant can be created for.
    pub const OF_TENANT: &'static [Self] =
        &[Self::ApprovalRequested, Self::ApprovalDecided, Self::ApprovalWithdrawn];

    /// The types that a webhook of an agent can be created for.
    pub const OF_AGENT: &'static [Self] = &[Self::MessageNew, Self::ArtifactResponse, Self::ReauthRequired];

    /// Returns the types that a webhook can be created for.
    #[must_use]
    pub const fn subscribable(scope: WebhookScope) -> &'static [Self] {
        match scope {
            WebhookScope::Tenant => Self::OF_TENANT,
            WebhookScope::Agent => Self::OF_AGENT,
        }
    }

    /// Returns the data of a sample event. It is marked as one, and nothing in it exists.
    #[must_use]
    pub fn sample(self, webhook: WebhookId) -> Value {
        let mut data = match self {
            Self::ApprovalRequested | Self::ApprovalDecided | Self::ApprovalWithdrawn => json!({
                "approvalId": "apr_00000000000000000000000000000000",
                "runId": "run_00000000000000000000000000000000",
                "sessionId": "ses_00000000000000000000000000000000",
                "kind": "command",
                "tool": "shell",
                "expiresAt": "2030-01-01T00:00:00Z",
            }),
            Self::MessageNew => sample_message(&json!({ "type": "text", "text": "a sample" })),
            Self::ArtifactResponse => sample_message(&json!({
                "type": "artifact",
                "msg_subtype": "artifact_response",
                "artifact": { "subtype": "tool_response", "call_id": "call_sample", "status": "ok", "result": {} },
            })),
            Self::ReauthRequired => json!({
                "agent_id": "agt_00000000000000000000000000000000",
                "new_manifest_version": 2,
                "new_manifest_hash": "0".repeat(64),
                "scopes_requiring_reauth": ["filesystem:read"],
            }),
            Self::WebhookDisabled => json!({ "reason": "failing", "host": "hooks.example.org" }),
            Self::Test => json!({}),
        };
        match self {
            Self::ApprovalRequested => data["escalated"] = json!(false),
            Self::ApprovalDecided => {
                data["optionId"] = json!("yes");
                data["effect"] = json!("allow");
                data["decidedBy"] = json!([]);
            }
            Self::ApprovalWithdrawn => data["endReason"] = json!("turn-ended"),
            Self::MessageNew
            | Self::ArtifactResponse
            | Self::ReauthRequired
            | Self::WebhookDisabled
            | Self::Test => {}
        }
        data["webhookId"] = json!(webhook);
        data["test"] = json!(true);
        data
    }
}

fn sample_message(envelope: &Value) -> Value {
    json!({
        "agentId": "agt_00000000000000000000000000000000",
        "agentAid": "agent.example.org",
        "from": "sender.example.org",
        "conversationId": null,
        "messageId": "sample",
        "seq": 1,
        "sentAt": "2030-01-01T00:00:00Z",
        "sealed": false,
        "envelope": envelope,
        "envelopeState": "included",
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_type_but_those_about_webhooks_can_be_subscribed() {
        let subscribable: BTreeSet<_> =
            WebhookEventType::OF_TENANT.iter().chain(WebhookEventType::OF_AGENT).copied().collect();
        let others: Vec<_> =
            WebhookEventType::ALL.iter().copied().filter(|kind| !subscribable.contains(kind)).collect();
        assert_eq!(others, [WebhookEventType::WebhookDisabled, WebhookEventType::Test]);
        assert_eq!(subscribable.len(), WebhookEventType::OF_TENANT.len() + WebhookEventType::OF_AGENT.len());
    }

    #[test]
    fn every_sample_is_marked_as_a_test() {
        let webhook = WebhookId::generate();
        for event in WebhookEventType::ALL {
            let sample = event.sample(webhook);
            assert_eq!((&sample["test"], &sample["webhookId"]), (&json!(true), &json!(webhook)), "{event}");
        }
    }
}
