//! The approval policy of a tenant.

use std::num::NonZeroU8;

use axum::Json;
use axum::extract::State;
use guildhall_domain::FailureKind;
use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::{TenantManage, TenantRead};
use guildhall_domain::approvals::policy::{ApprovalPolicy, ExpiryEffect, Mediation};
use guildhall_protocol::rest::approvals::policy::{ApprovalPolicyView, SetApprovalPolicy};
use jiff::SignedDuration;

use crate::App;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, parse};
use crate::http::responses::CommonErrors;

/// Get the approval policy of a tenant
#[utoipa::path(
    get, path = "/api/v1/tenants/{tenant}/approval-policy", tag = "approvals", operation_id = "getApprovalPolicy",
    security(("bearer" = [])), params(("tenant" = String, Path, description = "Id or slug of the tenant")),
    responses((status = 200, description = "The policy", body = ApprovalPolicyView), CommonErrors)
)]
pub(crate) async fn get(
    State(app): State<App>,
    caller: Authorized<TenantRead>,
) -> Result<Json<ApprovalPolicyView>, ApiError> {
    Ok(Json(view(&app.approvals.policies.get(&caller).await?)))
}

/// Set the approval policy of a tenant
///
/// For owners. It applies to questions that are asked from now on; answers that were not delivered under the earlier
/// policy are asked again.
#[utoipa::path(
    put, path = "/api/v1/tenants/{tenant}/approval-policy", tag = "approvals", operation_id = "setApprovalPolicy",
    security(("bearer" = [])), params(("tenant" = String, Path, description = "Id or slug of the tenant")),
    request_body = SetApprovalPolicy,
    responses((status = 200, description = "The new policy", body = ApprovalPolicyView), CommonErrors)
)]
pub(crate) async fn set(
    State(app): State<App>,
    caller: Authorized<TenantManage>,
    Body(body): Body<SetApprovalPolicy>,
) -> Result<Json<ApprovalPolicyView>, ApiError> {
    let expected = body.expected_version;
    let policy = parse_policy(body)?;
    Ok(Json(view(&app.approvals.policies.set(&caller, policy, expected).await?)))
}

fn parse_policy(body: SetApprovalPolicy) -> Result<ApprovalPolicy, ApiError> {
    let defaults = ApprovalPolicy::default();
    let on_expiry = body.on_expiry.as_deref().map(ExpiryEffect::from_name).transpose();
    let millis = |name: &'static str, value: Option<u64>, default: SignedDuration| match value {
        Some(value) => {
            i64::try_from(value).map(SignedDuration::from_millis).map_err(|_| invalid(name, "too long"))
        }
        None => Ok(default),
    };
    Ok(ApprovalPolicy {
        mediation: parse_mediation(&body)?,
        expires_after: millis("expiresAfterMs", body.expires_after_ms, defaults.expires_after)?,
        on_expiry: on_expiry
            .map_err(|error| invalid("onExpiry", &error.to_string()))?
            .unwrap_or(defaults.on_expiry),
        hold_for: millis("holdForMs", body.hold_for_ms, defaults.hold_for)?,
        reuse_within: millis("reuseWithinMs", body.reuse_within_ms, defaults.reuse_within)?,
        ..defaults
    })
}

fn parse_mediation(body: &SetApprovalPolicy) -> Result<Mediation, ApiError> {
    let approver = body.approver_id.as_deref().map(|approver| parse("approverId", approver)).transpose()?;
    let (has_quorum, has_approver) = (body.quorum.is_some() || body.veto.is_some(), approver.is_some());
    let mediation = match body.mode.as_str() {
        "first-responder" => Mediation::FirstResponder,
        "local-only" => Mediation::LocalOnly,
        "designated" => Mediation::Designated { approver },
        "consensus" => {
            let quorum = body.quorum.and_then(|quorum| NonZeroU8::new(u8::try_from(quorum).ok()?));
            let quorum = quorum.ok_or_else(|| invalid("quorum", "consensus needs a number from 1 to 255"))?;
            Mediation::Consensus { quorum, veto: body.veto.unwrap_or(false) }
        }
        _ => return Err(invalid("mode", "use first-responder, designated, consensus or local-only")),
    };
    if has_approver && body.mode != "designated" {
        return Err(invalid("approverId", "only for the mode designated"));
    }
    if has_quorum && body.mode != "consensus" {
        return Err(invalid("quorum, veto", "only for the mode consensus"));
    }
    Ok(mediation)
}

fn invalid(field: &str, message: &str) -> ApiError {
    ApiError::new(FailureKind::SchemaInvalid, format!("{field}: {message}"))
}

fn view(policy: &ApprovalPolicy) -> ApprovalPolicyView {
    let (approver, quorum, veto) = match policy.mediation {
        Mediation::FirstResponder | Mediation::LocalOnly => (None, None, None),
        Mediation::Designated { approver } => (approver, None, None),
        Mediation::Consensus { quorum, veto } => (None, Some(u32::from(quorum.get())), Some(veto)),
    };
    let millis = |duration: SignedDuration| u64::try_from(duration.as_millis()).unwrap_or(0);
    ApprovalPolicyView {
        version: policy.version,
        mode: policy.mediation.name().to_owned(),
        approver_id: approver.map(|approver| approver.to_string()),
        quorum,
        veto,
        expires_after_ms: millis(policy.expires_after),
        on_expiry: policy.on_expiry.to_string(),
        hold_for_ms: millis(policy.hold_for),
        reuse_within_ms: millis(policy.reuse_within),
    }
}
