//! Under which authority a run runs.

use super::authority::{Approval, Network, Sandbox};
use super::secret_scope::SecretScope;
use super::timeout::RunTimeout;

/// The authority of a run, complete: this is what is stored and what a runner gets.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExecutionPolicy {
    pub sandbox: Sandbox,
    pub approval: Approval,
    #[serde(rename = "timeoutMs")]
    pub timeout: RunTimeout,
    pub network: Network,
    pub secret_scope: SecretScope,
}

/// The authority that a caller asks for. What is left out is filled in from the tenant's bounds; a field or a word that
/// is not known is refused, because nobody can say how much it would grant.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PolicyAsk {
    pub sandbox: Option<Sandbox>,
    pub approval: Option<Approval>,
    #[serde(rename = "timeoutMs")]
    pub timeout: Option<RunTimeout>,
    pub network: Option<Network>,
    pub secret_scope: Option<SecretScope>,
}

impl From<ExecutionPolicy> for PolicyAsk {
    fn from(policy: ExecutionPolicy) -> Self {
        let ExecutionPolicy { sandbox, approval, timeout, network, secret_scope } = policy;
        Self {
            sandbox: Some(sandbox),
            approval: Some(approval),
            timeout: Some(timeout),
            network: Some(network),
            secret_scope: Some(secret_scope),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn example() -> Value {
        json!({
            "sandbox": "workspace-write",
            "approval": "never",
            "timeoutMs": 1_800_000,
            "network": "enabled",
            "secretScope": {
                "allowCredentialEcho": false,
                "providerCredentials": [{ "name": "guildhall-provider-codex", "keys": ["auth.json"] }],
                "toolCredentials": [],
            },
        })
    }

    // covers: R4
    #[test]
    fn a_policy_is_written_as_it_was_read() {
        let policy: ExecutionPolicy = serde_json::from_value(example()).expect("a policy");
        assert_eq!(json!(policy), example());
        let ask: PolicyAsk = serde_json::from_value(example()).expect("an ask");
        assert_eq!(ask, policy.into());
    }

    // covers: R5
    #[test]
    fn a_field_or_word_that_is_not_known_is_refused() {
        for (field, value) in [
            ("sandbox", json!("none")),
            ("approval", json!("always")),
            ("network", json!(true)),
            ("timeoutMs", json!(-1)),
            ("timeoutMs", json!(0)),
            ("secretScope", json!([])),
            ("timeout", json!(1000)),
            ("privileged", json!(true)),
        ] {
            let mut ask = example();
            ask[field] = value;
            assert!(serde_json::from_value::<PolicyAsk>(ask.clone()).is_err(), "{ask}");
        }
    }
}
