//! Decides the permission requests of an agent.
//!
//! An agent chooses the ids of its options; their kinds are defined by the protocol, so the kind decides. Permission
//! is granted once at most: an agent that remembers it would not ask in the next turn, under another policy.

use guildhall_domain::runs::policy::Approval;
use serde_json::{Value, json};

/// The decision on a permission request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PermissionDecision {
    Granted,
    Declined,
}

/// Returns the response to a permission request, and its decision.
pub(super) fn decide(approval: Approval, options: &Value, is_stopping: bool) -> (Value, PermissionDecision) {
    let is_granted = match approval {
        // The run needs no approvals: its sandbox limits what it can do.
        Approval::Never => !is_stopping,
        Approval::OnRequest | Approval::Untrusted => false,
    };
    let kind = if is_granted { "allow_once" } else { "reject_once" };
    let option = if is_stopping { None } else { option_id(options, kind) };
    match option {
        Some(id) => {
            let decision =
                if is_granted { PermissionDecision::Granted } else { PermissionDecision::Declined };
            (json!({ "outcome": { "outcome": "selected", "optionId": id } }), decision)
        }
        None => (json!({ "outcome": { "outcome": "cancelled" } }), PermissionDecision::Declined),
    }
}

fn option_id<'a>(options: &'a Value, kind: &str) -> Option<&'a str> {
    options.as_array()?.iter().find(|option| option["kind"] == kind)?["optionId"].as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Value {
        json!([
            { "optionId": "a", "name": "Always", "kind": "allow_always" },
            { "optionId": "b", "name": "Reject", "kind": "allow_once" },
            { "optionId": "c", "name": "Allow", "kind": "reject_once" },
            { "optionId": "d", "name": "Allow", "kind": "reject_always" },
        ])
    }

    fn selected(id: &str) -> Value {
        json!({ "outcome": { "outcome": "selected", "optionId": id } })
    }

    #[test]
    fn option_is_selected_by_kind_and_not_by_name() {
        let granted = (selected("b"), PermissionDecision::Granted);
        assert_eq!(decide(Approval::Never, &options(), false), granted);
        for approval in [Approval::OnRequest, Approval::Untrusted] {
            let declined = (selected("c"), PermissionDecision::Declined);
            assert_eq!(decide(approval, &options(), false), declined);
        }
    }

    #[test]
    fn permission_is_declined_without_an_allow_once_option() {
        let cancelled = (json!({ "outcome": { "outcome": "cancelled" } }), PermissionDecision::Declined);
        let always = json!([{ "optionId": "a", "name": "Always", "kind": "allow_always" }]);
        for options in
            [always, json!([]), Value::Null, json!("allow_once"), json!([{ "kind": "allow_once" }])]
        {
            assert_eq!(decide(Approval::Never, &options, false), cancelled);
        }
        assert_eq!(decide(Approval::Never, &options(), true), cancelled);
    }
}
