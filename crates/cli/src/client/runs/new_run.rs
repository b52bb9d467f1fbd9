//! Creates runs, with the execution policy of their arguments.

use guildhall_domain::FailureKind;
use guildhall_domain::named_enum::UnknownName;
use guildhall_domain::runs::policy::{Approval, BackendProfile, RequestField, Sandbox, SecretRef};
use guildhall_protocol::rest::runs::{CreateRun, RunView};
use guildhall_sdk::{Client, ClientError};
use serde_json::{Value, json};

/// What a run may do.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestedPolicy {
    /// `None`: the default of the tenant.
    pub(super) sandbox: Option<Sandbox>,
    pub(super) approval: RequestedApproval,
}

/// When people are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestedApproval {
    /// The user wants this policy, and no other.
    Exactly(Approval),
    /// At least this often; more often if the tenant wants that.
    AtLeast(Approval),
    /// The maximum of the tenant.
    OfTenant,
}

impl RequestedApproval {
    /// Returns the policy that was given, or else the default of a user who is there to answer.
    pub(super) fn with_default(given: Option<Approval>, can_answer: bool) -> Self {
        match given {
            Some(approval) => Self::Exactly(approval),
            None if can_answer => Self::AtLeast(Approval::OnRequest),
            None => Self::OfTenant,
        }
    }

    const fn value(self) -> Option<Approval> {
        match self {
            Self::Exactly(approval) | Self::AtLeast(approval) => Some(approval),
            Self::OfTenant => None,
        }
    }
}

pub(super) fn parse_approval(text: &str) -> Result<Approval, UnknownName> {
    Approval::from_name(text)
}

/// Creates a run with a policy.
pub(super) async fn create_run(
    client: &Client,
    request: CreateRun,
    policy: RequestedPolicy,
    idempotency_key: Option<&str>,
) -> Result<RunView, ClientError> {
    let with = |approval| CreateRun {
        execution_policy: execution_policy(&request.backend_profile, policy.sandbox, approval),
        ..request.clone()
    };
    match client.create_run(&with(policy.approval.value()), idempotency_key).await {
        // Only a tenant that asks more often has a lower maximum.
        Err(error)
            if matches!(policy.approval, RequestedApproval::AtLeast(_))
                && violates(&error, RequestField::Approval) =>
        {
            client.create_run(&with(None), idempotency_key).await
        }
        created => created,
    }
}

/// Returns whether the bounds of the tenant do not allow a field of the request.
pub(super) fn violates(error: &ClientError, field: RequestField) -> bool {
    let field = format!("{field}:");
    error.kind() == Some(FailureKind::TenantPolicyDenied) && error.to_string().starts_with(&field)
}

/// Returns the execution policy: the sandbox, the approval policy, and permission to use the credential of the profile if
/// it needs one.
fn execution_policy(profile: &str, sandbox: Option<Sandbox>, approval: Option<Approval>) -> Option<Value> {
    let profile: Option<BackendProfile> = profile.parse().ok();
    let credentials = profile.filter(BackendProfile::needs_credential).map(|profile| {
        let credential = json!({ "name": SecretRef::provider_name(&profile), "keys": ["credential"] });
        ("secretScope".to_owned(), json!({ "providerCredentials": [credential] }))
    });
    let sandbox = sandbox.map(|sandbox| ("sandbox".to_owned(), json!(sandbox)));
    let approval = approval.map(|approval| ("approval".to_owned(), json!(approval)));
    let parts: serde_json::Map<_, _> = sandbox.into_iter().chain(approval).chain(credentials).collect();
    (!parts.is_empty()).then_some(Value::Object(parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_asks_only_where_somebody_can_answer() {
        let given = Some(Approval::Never);
        assert_eq!(RequestedApproval::with_default(given, true), RequestedApproval::Exactly(Approval::Never));
        assert_eq!(
            RequestedApproval::with_default(None, true),
            RequestedApproval::AtLeast(Approval::OnRequest)
        );
        assert_eq!(RequestedApproval::with_default(None, false), RequestedApproval::OfTenant);
    }

    #[test]
    fn policy_names_the_credential_of_its_profile() {
        assert_eq!(execution_policy("demo", None, None), None);
        assert_eq!(
            execution_policy("codex", Some(Sandbox::ReadOnly), Some(Approval::OnRequest)),
            Some(json!({
                "sandbox": "read-only", "approval": "on-request",
                "secretScope": { "providerCredentials": [{ "name": "guildhall-provider-codex", "keys": ["credential"] }] },
            }))
        );
    }
}
