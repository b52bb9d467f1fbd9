//! What Codex asks for, and how we say no. Nothing is granted until there are approvals.

use serde_json::{Value, json};

use super::wire;
use crate::backend::BackendEvent;
use crate::backend::unknown::bounded;

/// Returns the line that declines a request, and the event that tells of it.
pub(super) fn decline(id: &Value, method: &str, params: Value) -> (String, BackendEvent) {
    let (what, no) = match method {
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
    let line = no.map_or_else(|| wire::refusal(id), |no| wire::answer(id, &no));
    (line, BackendEvent::Declined { what: what.to_owned(), detail: bounded(params) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 5] = [
        "item/commandExecution/requestApproval",
        "item/fileChange/requestApproval",
        "item/permissions/requestApproval",
        "item/tool/requestUserInput",
        "mcpServer/elicitation/request",
    ];

    #[test]
    fn no_answer_grants_anything() {
        for method in KNOWN {
            let (line, event) = decline(&json!(7), method, json!({ "itemId": "i" }));
            assert!(!line.contains("accept") && line.contains("\"id\":7"), "{line}");
            assert!(matches!(event, BackendEvent::Declined { .. }), "{event:?}");
        }
    }

    #[test]
    fn what_we_do_not_know_is_refused_with_an_error() {
        for method in
            ["execCommandApproval", "item/tool/call", "account/chatgptAuthTokens/refresh", "new/power"]
        {
            let (line, event) = decline(&json!("a"), method, Value::Null);
            let read: Value = serde_json::from_str(&line).expect("JSON");
            assert!(read["error"]["code"].is_i64() && read.get("result").is_none(), "{line}");
            assert_eq!(event, BackendEvent::Declined { what: method.to_owned(), detail: Value::Null });
        }
    }
}
