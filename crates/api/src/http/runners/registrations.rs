//! Runner registration.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use guildhall_domain::FailureKind;
use guildhall_domain::runs::policy::BackendProfile;
use guildhall_protocol::rest::runners::{RegisterRunner, RunnerView};

use crate::App;
use crate::edge::caller::EnrolledRunner;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, check_name, parse};
use crate::http::responses::CommonErrors;

/// Profiles of one runner.
const MAX_PROFILES: usize = 32;

/// The size of a placement as JSON.
const MAX_PLACEMENT_BYTES: usize = 4096;

/// Register a runner
///
/// Requires an enrolment token. The runner may then claim runs of the tenant of the token.
#[utoipa::path(
    post, path = "/api/v1/runners/register", tag = "runners", operation_id = "registerRunner",
    security(("bearer" = [])), request_body = RegisterRunner,
    responses((status = 201, description = "Registered", body = RunnerView), CommonErrors)
)]
pub(crate) async fn register(
    State(app): State<App>,
    EnrolledRunner(enrolment): EnrolledRunner,
    Body(body): Body<RegisterRunner>,
) -> Result<(StatusCode, Json<RunnerView>), ApiError> {
    check_name("name", &body.name)?;
    for profile in &body.backend_profiles {
        let _checked: BackendProfile = parse("backendProfiles", profile)?;
    }
    let mut placement = body.placement;
    guildhall_domain::redact::redact_json(&mut placement);
    if body.backend_profiles.len() > MAX_PROFILES || placement.to_string().len() > MAX_PLACEMENT_BYTES {
        return Err(ApiError::new(
            FailureKind::SchemaInvalid,
            "use at most 32 backendProfiles and a placement of at most 4096 bytes",
        ));
    }
    let runner = app
        .runners
        .registrations
        .register(&enrolment, &body.name, &placement, &body.backend_profiles)
        .await?;
    let view = RunnerView {
        runner_id: runner.id.to_string(),
        tenant_id: runner.tenant.map(|tenant| tenant.to_string()),
        name: runner.name,
        backend_profiles: runner.backend_profiles,
    };
    Ok((StatusCode::CREATED, Json(view)))
}
