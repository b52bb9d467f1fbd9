//! What an agent asks leave for, and what we say.
//!
//! An agent names its own answers; their kinds are the protocol's, so the kind decides. Nothing is ever allowed for
//! longer than once: an agent that remembers would not ask in the next turn, under another policy.

use guildhall_domain::runs::policy::Approval;
use serde_json::{Value, json};

/// What becomes of a request for leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Granted,
    Declined,
}

/// Returns the answer to a request for leave, and whether it grants.
pub(super) fn decide(approval: Approval, options: &Value, is_stopping: bool) -> (Value, Verdict) {
    let grants = match approval {
        // Nobody shall be asked: what the run may do is bounded by its sandbox.
        Approval::Never => !is_stopping,
        Approval::OnRequest | Approval::Untrusted => false,
    };
    let chosen =
        if is_stopping { None } else { option(options, if grants { "allow_once" } else { "reject_once" }) };
    match chosen {
        Some(id) => {
            let verdict = if grants { Verdict::Granted } else { Verdict::Declined };
            (json!({ "outcome": { "outcome": "selected", "optionId": id } }), verdict)
        }
        None => (json!({ "outcome": { "outcome": "cancelled" } }), Verdict::Declined),
    }
}

fn option<'a>(options: &'a Value, kind: &str) -> Option<&'a str> {
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
    fn the_kind_of_an_option_decides_and_not_its_name() {
        assert_eq!(decide(Approval::Never, &options(), false), (selected("b"), Verdict::Granted));
        for approval in [Approval::OnRequest, Approval::Untrusted] {
            assert_eq!(decide(approval, &options(), false), (selected("c"), Verdict::Declined));
        }
    }

    #[test]
    fn without_an_option_for_once_nothing_is_granted() {
        let cancelled = json!({ "outcome": { "outcome": "cancelled" } });
        let always = json!([{ "optionId": "a", "name": "Always", "kind": "allow_always" }]);
        for options in
            [always, json!([]), Value::Null, json!("allow_once"), json!([{ "kind": "allow_once" }])]
        {
            assert_eq!(decide(Approval::Never, &options, false), (cancelled.clone(), Verdict::Declined));
        }
        assert_eq!(decide(Approval::Never, &options(), true), (cancelled, Verdict::Declined));
    }
}
