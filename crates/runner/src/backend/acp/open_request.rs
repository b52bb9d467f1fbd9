//! Requests of an agent that wait for the answer of a person.

use guildhall_domain::approvals::form::AnswerContent;
use guildhall_domain::runs::policy::Approval;
use serde_json::{Value, json};

use super::permission::{self, PermissionDecision};
use super::user_question;
use crate::backend::elicitation;

/// A request that waits for the answer of a person.
pub(super) struct OpenRequest {
    pub(super) id: Value,
    pub(super) kind: RequestKind,
}

/// What a request wants, with what its reply needs.
pub(super) enum RequestKind {
    Permission(Value),
    /// A permission request whose answer has values.
    UserQuestion(Value),
    Elicitation,
}

impl RequestKind {
    /// Returns the reply for a chosen option, and what was declined.
    pub(super) fn reply(
        &self,
        option: Option<&str>,
        content: Option<AnswerContent>,
        is_stopping: bool,
    ) -> (Value, Option<String>) {
        let denied = |what: &str| format!("{what} (denied)");
        match self {
            Self::Permission(params) => {
                let (response, decision) = permission::choose(params, option, is_stopping);
                let is_declined = decision == PermissionDecision::Declined;
                (response, is_declined.then(|| denied(tool_kind(params))))
            }
            Self::Elicitation if is_stopping => (json!({ "action": "cancel" }), None),
            Self::UserQuestion(params) => match user_question::reply(params, option, content) {
                Some(response) if !is_stopping => (response, None),
                Some(_) | None => {
                    let (response, _) = permission::decide(Approval::OnRequest, params, is_stopping);
                    (response, Some(denied("question")))
                }
            },
            Self::Elicitation => {
                let response = elicitation::reply(option, content);
                let is_declined = response["action"] != "accept";
                (response, is_declined.then(|| denied("elicitation")))
            }
        }
    }
}

/// Returns the kind of tool that a permission request is about.
pub(super) fn tool_kind(request: &Value) -> &str {
    request["toolCall"]["kind"].as_str().unwrap_or("permission")
}
