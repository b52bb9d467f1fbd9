//! Registering a runner.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use guildhall_domain::FailureKind;
use guildhall_domain::runs::policy::BackendProfile;
use guildhall_protocol::rest::runners::{RegisterRunner, RunnerView};

use crate::App;
use crate::edge::caller::Enrolled;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, name, parse};
use crate::http::answers::Usual;

/// Profiles that one runner may name.
const PROFILES_AT_MOST: usize = 32;

/// A placement is a note, not a document.
const PLACEMENT_BYTES: usize = 4096;

/// Register a runner
///
/// With an enrolment token. The runner then claims runs of the tenant that the token belongs to.
#[utoipa::path(
    post, path = "/api/v1/runners/register", tag = "runners", operation_id = "registerRunner",
    security(("bearer" = [])), request_body = RegisterRunner,
    responses((status = 201, description = "Registered", body = RunnerView), Usual)
)]
pub(crate) async fn register(
    State(app): State<App>,
    Enrolled(enrolment): Enrolled,
    Body(body): Body<RegisterRunner>,
) -> Result<(StatusCode, Json<RunnerView>), ApiError> {
    name("name", &body.name)?;
    for profile in &body.backend_profiles {
        let _checked: BackendProfile = parse("backendProfiles", profile)?;
    }
    let mut placement = body.placement;
    guildhall_domain::redact::redact_json(&mut placement);
    if body.backend_profiles.len() > PROFILES_AT_MOST || placement.to_string().len() > PLACEMENT_BYTES {
        return Err(ApiError::new(
            FailureKind::SchemaInvalid,
            "use at most 32 backendProfiles and a placement of at most 4096 bytes",
        ));
    }
    let runner = app.runners.register(&enrolment, &body.name, &placement, &body.backend_profiles).await?;
    let view = RunnerView {
        runner_id: runner.id.to_string(),
        tenant_id: runner.tenant.map(|tenant| tenant.to_string()),
        name: runner.name,
        backend_profiles: runner.backend_profiles,
    };
    Ok((StatusCode::CREATED, Json(view)))
}
