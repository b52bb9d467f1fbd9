//! Bounds of a tenant's runs, for operators of the installation.

use axum::Json;
use axum::extract::State;
use guildhall_domain::FailureKind;
use guildhall_domain::access::authorized::InstallationOperator;
use guildhall_domain::named_enum::UnknownName;
use guildhall_domain::runs::policy::{
    AllowList, Approval, Network, RunTimeout, Sandbox, TenantBounds, TenantRestrictions,
};
use guildhall_protocol::rest::access::bounds::{
    EffectiveBoundsView, RestrictionsView, SetTenantBounds, TenantBoundsView,
};
use guildhall_service::access::bounds::BoundsDetails;

use crate::App;
use crate::edge::caller::TenantInPath;
use crate::edge::error::ApiError;
use crate::edge::input::Body;
use crate::http::responses::CommonErrors;

/// Get the bounds of a tenant
///
/// For operators.
#[utoipa::path(
    get, path = "/api/v1/tenants/{tenant}/bounds", tag = "tenants", operation_id = "getTenantBounds",
    security(("bearer" = [])), params(("tenant" = String, Path, description = "Id or slug of the tenant")),
    responses((status = 200, description = "The bounds", body = TenantBoundsView), CommonErrors)
)]
pub(crate) async fn get(
    State(app): State<App>,
    caller: InstallationOperator,
    TenantInPath(tenant): TenantInPath,
) -> Result<Json<TenantBoundsView>, ApiError> {
    Ok(Json(view(app.access.bounds.get(&caller, tenant).await?)))
}

/// Set the bounds of a tenant
///
/// For operators. Replaces all restrictions of the tenant. They narrow the bounds of the installation and never widen
/// them. They apply to new runs and sessions; open runs keep their policy.
#[utoipa::path(
    put, path = "/api/v1/tenants/{tenant}/bounds", tag = "tenants", operation_id = "setTenantBounds",
    security(("bearer" = [])), params(("tenant" = String, Path, description = "Id or slug of the tenant")),
    request_body = SetTenantBounds,
    responses((status = 200, description = "The new bounds", body = TenantBoundsView), CommonErrors)
)]
pub(crate) async fn set(
    State(app): State<App>,
    caller: InstallationOperator,
    TenantInPath(tenant): TenantInPath,
    Body(body): Body<SetTenantBounds>,
) -> Result<Json<TenantBoundsView>, ApiError> {
    let restrictions = parse_restrictions(body)?;
    Ok(Json(view(app.access.bounds.set(&caller, tenant, restrictions).await?)))
}

/// Clear the bounds of a tenant
///
/// For operators. Removes all restrictions: the bounds of the installation apply. Idempotent.
#[utoipa::path(
    delete, path = "/api/v1/tenants/{tenant}/bounds", tag = "tenants", operation_id = "clearTenantBounds",
    security(("bearer" = [])), params(("tenant" = String, Path, description = "Id or slug of the tenant")),
    responses((status = 200, description = "The bounds without restrictions", body = TenantBoundsView), CommonErrors)
)]
pub(crate) async fn clear(
    State(app): State<App>,
    caller: InstallationOperator,
    TenantInPath(tenant): TenantInPath,
) -> Result<Json<TenantBoundsView>, ApiError> {
    Ok(Json(view(app.access.bounds.clear(&caller, tenant).await?)))
}

fn parse_restrictions(body: SetTenantBounds) -> Result<TenantRestrictions, ApiError> {
    let timeout = body.timeout_ms.map(RunTimeout::from_millis).transpose();
    Ok(TenantRestrictions {
        projects: parse_list("projects", body.projects)?,
        providers: parse_list("providers", body.providers)?,
        profiles: parse_list("profiles", body.profiles)?,
        directories: parse_list("directories", body.directories)?,
        trace_sinks: parse_list("traceSinks", body.trace_sinks)?,
        sandbox: parse_name("sandbox", body.sandbox, Sandbox::from_name)?,
        approval: parse_name("approval", body.approval, Approval::from_name)?,
        timeout: timeout.map_err(|error| invalid("timeoutMs", &error))?,
        network: parse_name("network", body.network, Network::from_name)?,
    })
}

fn parse_list(field: &'static str, patterns: Option<Vec<String>>) -> Result<Option<AllowList>, ApiError> {
    let Some(patterns) = patterns else { return Ok(None) };
    if patterns.len() > TenantRestrictions::MAX_PATTERNS {
        let max = TenantRestrictions::MAX_PATTERNS;
        return Err(invalid(field, &format!("at most {max} items; use prefixes such as `acme/*`")));
    }
    AllowList::parse(patterns).map(Some).map_err(|error| invalid(field, &error))
}

fn parse_name<T>(
    field: &'static str,
    name: Option<String>,
    parse: impl FnOnce(&str) -> Result<T, UnknownName>,
) -> Result<Option<T>, ApiError> {
    name.map(|name| parse(&name)).transpose().map_err(|error| invalid(field, &error))
}

fn invalid(field: &'static str, error: &dyn std::fmt::Display) -> ApiError {
    ApiError::new(FailureKind::SchemaInvalid, format!("{field}: {error}"))
}

fn view(bounds: BoundsDetails) -> TenantBoundsView {
    let BoundsDetails { tenant, restrictions, effective } = bounds;
    let TenantBounds { projects, providers, profiles, directories, trace_sinks, max_policy } = effective;
    TenantBoundsView {
        tenant_id: tenant.to_string(),
        restrictions: RestrictionsView {
            projects: restrictions.projects.map(Vec::from),
            providers: restrictions.providers.map(Vec::from),
            profiles: restrictions.profiles.map(Vec::from),
            directories: restrictions.directories.map(Vec::from),
            trace_sinks: restrictions.trace_sinks.map(Vec::from),
            sandbox: restrictions.sandbox.map(|sandbox| sandbox.to_string()),
            approval: restrictions.approval.map(|approval| approval.to_string()),
            timeout_ms: restrictions.timeout.map(RunTimeout::as_millis),
            network: restrictions.network.map(|network| network.to_string()),
        },
        effective: EffectiveBoundsView {
            projects: projects.into(),
            providers: providers.into(),
            profiles: profiles.into(),
            directories: directories.into(),
            trace_sinks: trace_sinks.into(),
            sandbox: max_policy.sandbox.to_string(),
            approval: max_policy.approval.to_string(),
            timeout_ms: max_policy.timeout.as_millis(),
            network: max_policy.network.to_string(),
        },
    }
}
