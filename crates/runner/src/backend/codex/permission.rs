//! Declines the requests of Codex that people are not asked about.

use serde_json::{Value, json};

use crate::backend::BackendEvent;
use crate::backend::jsonl::Reply;
use crate::backend::passthrough::bound_payload;

/// Returns the reply that declines a request, and the event that reports it.
pub(super) fn decline(method: &str, params: Value) -> (Reply, BackendEvent) {
    let (what, reply) = match method {
        "item/commandExecution/requestApproval" => ("command", Some(json!({ "decision": "decline" }))),
        "item/fileChange/requestApproval" => ("file change", Some(json!({ "decision": "decline" }))),
        "item/permissions/requestApproval" => {
            ("permissions", Some(json!({ "permissions": {}, "scope": "turn" })))
        }
        "item/tool/requestUserInput" => ("answers", Some(json!({ "answers": {} }))),
        "mcpServer/elicitation/request" => {
            ("elicitation", Some(json!({ "action": "decline", "content": null, "_meta": null })))
        }
        other => (other, None),
    };
    let event = BackendEvent::ApprovalDeclined { what: what.to_owned(), detail: bound_payload(params) };
    (reply.map_or(Reply::MethodNotFound, Reply::Result), event)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN_METHODS: [&str; 5] = [
        "item/commandExecution/requestApproval",
        "item/fileChange/requestApproval",
        "item/permissions/requestApproval",
        "item/tool/requestUserInput",
        "mcpServer/elicitation/request",
    ];

    #[test]
    fn known_requests_are_declined() {
        for method in KNOWN_METHODS {
            let (reply, event) = decline(method, json!({ "itemId": "i" }));
            assert!(
                matches!(&reply, Reply::Result(result) if !result.to_string().contains("accept")),
                "{reply:?}"
            );
            assert!(matches!(event, BackendEvent::ApprovalDeclined { .. }), "{event:?}");
        }
    }

    #[test]
    fn unknown_requests_get_an_error() {
        for method in
            ["execCommandApproval", "item/tool/call", "account/chatgptAuthTokens/refresh", "new/power"]
        {
            let (reply, event) = decline(method, Value::Null);
            assert_eq!(reply, Reply::MethodNotFound, "{method}");
            let expected = BackendEvent::ApprovalDeclined { what: method.to_owned(), detail: Value::Null };
            assert_eq!(event, expected);
        }
    }
}
