//! Execution policy of a run.

use super::authority::{Approval, Network, Sandbox};
use super::secret_scope::SecretScope;
use super::timeout::RunTimeout;

/// The complete execution policy of a run, as stored and as sent to its runner.
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

/// The execution policy that a caller requests. Omitted values are filled in: sandbox `workspace-write` and network
/// `disabled`, or less if the bounds are narrower; timeout and approval from the bounds. Unknown fields and values are rejected, because their authority is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PolicyRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Sandbox>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    #[serde(rename = "timeoutMs", skip_serializing_if = "Option::is_none")]
    pub timeout: Option<RunTimeout>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_scope: Option<SecretScope>,
}

impl From<ExecutionPolicy> for PolicyRequest {
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
    fn policy_round_trips_through_json() {
        let policy: ExecutionPolicy = serde_json::from_value(example()).expect("a policy");
        assert_eq!(json!(policy), example());
        let request: PolicyRequest = serde_json::from_value(example()).expect("a request");
        assert_eq!(request, policy.into());
    }

    // covers: R5
    #[test]
    fn unknown_fields_and_values_are_rejected() {
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
            let mut request = example();
            request[field] = value;
            assert!(serde_json::from_value::<PolicyRequest>(request.clone()).is_err(), "{request}");
        }
    }
}
