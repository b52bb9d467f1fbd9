//! Validating a provider profile.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use guildhall_domain::access::role::rights::{ProfilesManage, TenantRead};
use guildhall_domain::ids::ValidationId;
use guildhall_domain::profiles::validation::{Validation, ValidationOutcome};
use guildhall_domain::runs::policy::BackendProfile;
use guildhall_protocol::rest::profiles::{ProfilesQuery, ValidationView};

use crate::App;
use crate::edge::caller::PendingAuthorization;
use crate::edge::error::ApiError;
use crate::edge::input::{PathIds, ValidatedQuery, idempotency_key};
use crate::http::headers::IdempotencyKeyHeader;
use crate::http::responses::CommonErrors;

/// Validate a provider profile
///
/// Starts a run with one short turn, which the provider bills as usual. With an `Idempotency-Key`, a repeated request
/// returns the same validation.
#[utoipa::path(
    post, path = "/api/v1/provider-profiles/{profile}/validate", tag = "profiles", operation_id = "validateProfile",
    security(("bearer" = [])), params(("profile" = String, Path, description = "Profile slug"), ProfilesQuery, IdempotencyKeyHeader),
    responses((status = 202, description = "Validation started", body = ValidationView), CommonErrors)
)]
pub(crate) async fn start(
    State(app): State<App>,
    caller: PendingAuthorization<ProfilesManage>,
    PathIds(profile): PathIds<BackendProfile>,
    ValidatedQuery(query): ValidatedQuery<ProfilesQuery>,
    headers: HeaderMap,
) -> Result<(StatusCode, Json<ValidationView>), ApiError> {
    let key = idempotency_key(&headers)?;
    let caller = caller.in_named_tenant(&app, query.tenant_id.as_deref()).await?;
    let started = app.profiles.validations.start(&caller, &profile, key.as_ref()).await?;
    Ok((StatusCode::ACCEPTED, Json(view(&started))))
}

/// Get a validation of a provider profile
#[utoipa::path(
    get, path = "/api/v1/provider-profiles/{profile}/validations/{validation}", tag = "profiles",
    operation_id = "getProfileValidation", security(("bearer" = [])),
    params(
        ("profile" = String, Path, description = "Profile slug"),
        ("validation" = String, Path, description = "Validation id"),
        ProfilesQuery,
    ),
    responses((status = 200, description = "The validation", body = ValidationView), CommonErrors)
)]
pub(crate) async fn get(
    State(app): State<App>,
    caller: PendingAuthorization<TenantRead>,
    PathIds((profile, validation)): PathIds<(BackendProfile, ValidationId)>,
    ValidatedQuery(query): ValidatedQuery<ProfilesQuery>,
) -> Result<Json<ValidationView>, ApiError> {
    let caller = caller.in_named_tenant(&app, query.tenant_id.as_deref()).await?;
    let found = app.profiles.validations.get(&caller, &profile, validation).await?;
    Ok(Json(view(&found)))
}

pub(super) fn view(validation: &Validation) -> ValidationView {
    let (status, failure) = match &validation.outcome {
        None => ("pending", None),
        Some(ValidationOutcome::Ok) => ("ok", None),
        Some(ValidationOutcome::Failed(failure)) => ("failed", Some(failure)),
    };
    ValidationView {
        validation_id: validation.id.to_string(),
        profile: validation.profile.clone(),
        status: status.to_owned(),
        failure_kind: failure.map(|failure| failure.kind.to_string()),
        message: failure.map(|failure| failure.message.clone()),
        run_id: validation.run.to_string(),
        command_id: validation.command.to_string(),
        resource_version: validation.resource_version.clone(),
        created_at: validation.created_at,
        deadline_at: validation.deadline_at,
        settled_at: validation.settled_at,
    }
}
