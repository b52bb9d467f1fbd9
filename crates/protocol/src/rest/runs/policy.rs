//! Execution policies, for the API document.
//!
//! The server parses a policy with `guildhall_domain::runs::policy::PolicyRequest`. The tests below compare the two.

use utoipa::ToSchema;

use crate::rest::profiles::SecretRefView;

/// The execution policy that a run requests. It can be narrower than the tenant's policy, but not wider. Omitted values
/// and null are filled in: sandbox `workspace-write` and network `disabled`, or less if the tenant's policy is narrower;
/// approval and timeout from the tenant's policy; no secrets.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExecutionPolicyRequest {
    pub sandbox: Option<SandboxPolicy>,
    pub approval: Option<ApprovalPolicy>,
    /// Maximum duration of a turn: 1 second to 7 days.
    #[schema(example = 1_800_000, minimum = 1000, maximum = 604_800_000)]
    pub timeout_ms: Option<u64>,
    pub network: Option<NetworkPolicy>,
    pub secret_scope: Option<SecretScopeRequest>,
}

/// The execution policy of a run: requested values, and those that were filled in.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecutionPolicyView {
    pub sandbox: SandboxPolicy,
    pub approval: ApprovalPolicy,
    /// Maximum duration of a turn.
    #[schema(example = 1_800_000)]
    pub timeout_ms: u64,
    pub network: NetworkPolicy,
    pub secret_scope: SecretScopeView,
}

/// File system access of the agent, from the narrowest to the widest. `danger-full-access`: the agent uses no sandbox of
/// its own; the runner contains it regardless.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxPolicy {
    ReadOnly,
    WorkspaceWrite,
    DangerFullAccess,
}

/// When the backend asks for approval, from the narrowest to the widest. `untrusted`: before every action that is not
/// known to be harmless; `on-request`: when the backend decides to.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalPolicy {
    Untrusted,
    OnRequest,
    Never,
}

/// Hosts that the agent and its commands reach, from the narrowest to the widest. `disabled`: only the model provider;
/// `allow-list`: also the hosts that the operator lists; `enabled`: also every host with a public address.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkPolicy {
    Disabled,
    AllowList,
    Enabled,
}

/// The secrets that a run requests, by reference. Omitted secrets are not granted.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecretScopeRequest {
    /// Whether the backend may see credentials in its own output. Logs, events and responses are redacted regardless.
    #[schema(required = false)]
    pub allow_credential_echo: bool,
    /// The credential of the run's backend profile. A profile never uses the credential of another.
    #[schema(required = false, max_items = 16)]
    pub provider_credentials: Vec<SecretRefRequest>,
    #[schema(required = false, max_items = 16)]
    pub tool_credentials: Vec<SecretRefRequest>,
}

/// The secrets of a run, by reference.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretScopeView {
    pub allow_credential_echo: bool,
    pub provider_credentials: Vec<SecretRefView>,
    pub tool_credentials: Vec<SecretRefView>,
}

/// A reference to a secret and to its keys. It never contains a value.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecretRefRequest {
    /// `guildhall-provider-<profile>` or `guildhall-tool-<tool>`; also with a prefix that the operator configured.
    #[schema(
        example = "guildhall-provider-codex",
        max_length = 104,
        pattern = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"
    )]
    pub name: String,
    /// Names of keys, all different.
    #[schema(min_items = 1, max_items = 16)]
    pub keys: Vec<SecretKeyName>,
}

/// The name of a key in a secret.
#[derive(Debug, ToSchema)]
#[schema(example = "auth.json", pattern = "^[A-Za-z0-9._-]{1,64}$")]
pub struct SecretKeyName(pub String);

#[cfg(test)]
mod tests {
    use guildhall_domain::runs::policy::{Approval, ExecutionPolicy, Network, PolicyRequest, Sandbox};
    use guildhall_testkit::schema::SchemaValidator;
    use serde_json::{Value, json};
    use utoipa::PartialSchema;

    use super::*;
    use crate::schema_document::schema_document;

    fn validator<T: ToSchema>() -> SchemaValidator {
        SchemaValidator::new(&schema_document::<T>(), &T::name())
    }

    fn example() -> Value {
        json!({
            "sandbox": "read-only", "approval": "on-request", "timeoutMs": 604_800_000, "network": "allow-list",
            "secretScope": {
                "allowCredentialEcho": false,
                "providerCredentials": [{ "name": "guildhall-provider-codex", "keys": ["auth.json"] }],
                "toolCredentials": [],
            },
        })
    }

    // covers: R4
    #[test]
    fn policies_of_the_domain_fit_the_schemas() {
        let stored: ExecutionPolicy = serde_json::from_value(example()).expect("a policy");
        assert_eq!(validator::<ExecutionPolicyView>().errors(&json!(stored)), Vec::<String>::new());
        let requests = [
            json!({}),
            json!({ "sandbox": null, "approval": null, "timeoutMs": null, "network": null, "secretScope": null }),
            json!({ "timeoutMs": 1000, "secretScope": {} }),
            example(),
        ];
        for request in requests {
            assert_eq!(validator::<ExecutionPolicyRequest>().errors(&request), Vec::<String>::new());
            assert!(serde_json::from_value::<PolicyRequest>(request.clone()).is_ok(), "{request}");
        }
    }

    #[test]
    fn schema_and_domain_reject_the_same_policies() {
        let secret = |name: &str, keys: Value| json!({ "toolCredentials": [{ "name": name, "keys": keys }] });
        for (field, value) in [
            ("sandbox", json!("none")),
            ("approval", json!(7)),
            ("network", json!(true)),
            ("timeoutMs", json!(999)),
            ("timeoutMs", json!(604_800_001)),
            ("privileged", json!(true)),
            ("secretScope", json!([])),
            ("secretScope", json!({ "allowCredentialEcho": null })),
            ("secretScope", json!({ "toolCredentials": null })),
            ("secretScope", json!({ "env": {} })),
            ("secretScope", secret("guildhall-tool-github", json!([]))),
            ("secretScope", secret("guildhall-tool-github", json!(["a b"]))),
            ("secretScope", secret("not a name", json!(["key"]))),
            (
                "secretScope",
                json!({ "toolCredentials": [{ "name": "guildhall-tool-a", "value": "hunter2" }] }),
            ),
        ] {
            let request = json!({ field: value });
            let errors = validator::<ExecutionPolicyRequest>().errors(&request);
            assert_ne!(errors, Vec::<String>::new(), "{request}");
            assert!(serde_json::from_value::<PolicyRequest>(request.clone()).is_err(), "{request}");
        }
    }

    #[test]
    fn values_of_the_schemas_are_those_of_the_domain() {
        fn values<T: PartialSchema>() -> Value {
            serde_json::to_value(T::schema()).expect("JSON")["enum"].clone()
        }
        assert_eq!(values::<SandboxPolicy>(), json!(Sandbox::ALL));
        assert_eq!(values::<ApprovalPolicy>(), json!(Approval::ALL));
        assert_eq!(values::<NetworkPolicy>(), json!(Network::ALL));
    }
}
