//! Retention of tenants, for operators of the installation.

use axum::Json;
use axum::extract::State;
use guildhall_domain::FailureKind;
use guildhall_domain::access::authorized::InstallationOperator;
use guildhall_domain::retention::HistoryDays;
use guildhall_protocol::rest::retention::{
    RetentionPlanQuery, RetentionPlanView, RetentionView, SetRetention, TechnicalPlanView, TenantPlanView,
};
use guildhall_service::ServiceError;
use guildhall_service::retention::{PlannedTenant, RetentionDetails, RetentionPlan, TenantPlan};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::App;
use crate::edge::caller::TenantInPath;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, ValidatedQuery};
use crate::http::responses::CommonErrors;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get, set, clear)).routes(routes!(plan))
}

/// Get the retention of a tenant
///
/// For operators.
#[utoipa::path(
    get, path = "/api/v1/tenants/{tenant}/retention", tag = "tenants", operation_id = "getRetention",
    security(("bearer" = [])), params(("tenant" = String, Path, description = "Id or slug of the tenant")),
    responses((status = 200, description = "The retention", body = RetentionView), CommonErrors)
)]
pub(crate) async fn get(
    State(app): State<App>,
    caller: InstallationOperator,
    TenantInPath(tenant): TenantInPath,
) -> Result<Json<RetentionView>, ApiError> {
    Ok(Json(view(app.retention.retention.get(&caller, tenant).await?)))
}

/// Set the retention of a tenant
///
/// For operators. Sessions that were last used before that many days are erased for good, with their runs, events and
/// approvals; the audit log stays. The next round of the server does it, on any replica.
#[utoipa::path(
    put, path = "/api/v1/tenants/{tenant}/retention", tag = "tenants", operation_id = "setRetention",
    security(("bearer" = [])), params(("tenant" = String, Path, description = "Id or slug of the tenant")),
    request_body = SetRetention,
    responses((status = 200, description = "The new retention", body = RetentionView), CommonErrors)
)]
pub(crate) async fn set(
    State(app): State<App>,
    caller: InstallationOperator,
    TenantInPath(tenant): TenantInPath,
    Body(body): Body<SetRetention>,
) -> Result<Json<RetentionView>, ApiError> {
    let days = parse_days(body.history_days)?;
    Ok(Json(view(app.retention.retention.set(&caller, tenant, days).await?)))
}

/// Keep the history of a tenant for good
///
/// For operators. Idempotent.
#[utoipa::path(
    delete, path = "/api/v1/tenants/{tenant}/retention", tag = "tenants", operation_id = "clearRetention",
    security(("bearer" = [])), params(("tenant" = String, Path, description = "Id or slug of the tenant")),
    responses((status = 200, description = "The retention without a limit", body = RetentionView), CommonErrors)
)]
pub(crate) async fn clear(
    State(app): State<App>,
    caller: InstallationOperator,
    TenantInPath(tenant): TenantInPath,
) -> Result<Json<RetentionView>, ApiError> {
    Ok(Json(view(app.retention.retention.clear(&caller, tenant).await?)))
}

/// Show what retention would erase now
///
/// For operators. It changes nothing. With `tenant` and `historyDays` it shows what a setting would erase.
#[utoipa::path(
    get, path = "/api/v1/retention/plan", tag = "tenants", operation_id = "planRetention",
    security(("bearer" = [])), params(RetentionPlanQuery),
    responses((status = 200, description = "What would be erased", body = RetentionPlanView), CommonErrors)
)]
pub(crate) async fn plan(
    State(app): State<App>,
    caller: InstallationOperator,
    ValidatedQuery(query): ValidatedQuery<RetentionPlanQuery>,
) -> Result<Json<RetentionPlanView>, ApiError> {
    let history_days = query.history_days.map(parse_days).transpose()?;
    let planned = match query.tenant {
        Some(named) => {
            let tenant = app.access.tenants.resolve(&named).await?.ok_or(ServiceError::NOT_FOUND)?;
            Some(PlannedTenant { tenant, history_days })
        }
        None if history_days.is_some() => {
            let message = "historyDays: name a tenant too";
            return Err(ApiError::new(FailureKind::SchemaInvalid, message));
        }
        None => None,
    };
    let RetentionPlan { technical, tenants } = app.retention.retention.plan(&caller, planned).await?;
    Ok(Json(RetentionPlanView {
        technical: TechnicalPlanView {
            jobs: technical.jobs,
            enrolments: technical.enrolments,
            runners: technical.runners,
            logins: technical.logins,
        },
        tenants: tenants.into_iter().map(plan_view).collect(),
    }))
}

fn parse_days(days: u32) -> Result<HistoryDays, ApiError> {
    HistoryDays::new(days)
        .map_err(|error| ApiError::new(FailureKind::SchemaInvalid, format!("historyDays: {error}")))
}

fn view(details: RetentionDetails) -> RetentionView {
    RetentionView { tenant_id: details.tenant.to_string(), history_days: number(details.history_days) }
}

fn plan_view(plan: TenantPlan) -> TenantPlanView {
    TenantPlanView {
        tenant_id: plan.tenant.to_string(),
        history_days: number(plan.history_days),
        sessions: plan.count.sessions,
        runs: plan.count.runs,
        events: plan.count.events,
    }
}

fn number(days: Option<HistoryDays>) -> Option<u32> {
    days.map(|days| u32::from(days.get()))
}
