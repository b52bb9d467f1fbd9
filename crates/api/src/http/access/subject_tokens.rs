//! Tokens for external subjects.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::SubjectsVouch;
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::access::subject_tokens::{MintSubjectToken, SubjectTokenView};
use secrecy::ExposeSecret;

use crate::App;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, check_name, parse};

/// Create a token for an external subject
///
/// For service keys. The application authenticates its own user. With `agentId` the user talks to that agent in
/// conversations of their own; without it the token only identifies the user. It expires after 15 minutes, and is revoked
/// with the key.
#[utoipa::path(
    post, path = "/api/v1/tenants/{tenant}/subject-tokens", tag = "subjects", operation_id = "createSubjectToken",
    security(("bearer" = [])), request_body = MintSubjectToken,
    params(("tenant" = String, Path, description = "Id or slug of the tenant")),
    responses(
        (status = 201, description = "Created", body = SubjectTokenView),
        (status = 400, description = "Invalid request", body = Problem, content_type = CONTENT_TYPE),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Missing permission, or not a service key", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "Not found, or you have no access", body = Problem, content_type = CONTENT_TYPE),
        (status = 413, description = "Request body too large", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn create(
    State(app): State<App>,
    caller: Authorized<SubjectsVouch>,
    Body(body): Body<MintSubjectToken>,
) -> Result<(StatusCode, Json<SubjectTokenView>), ApiError> {
    let subject = parse("subject", &body.subject)?;
    let display_name = body.name.as_deref();
    display_name.map_or(Ok(()), |text| check_name("name", text))?;
    let agent = body.agent_id.as_deref().map(|agent| parse("agentId", agent)).transpose()?;
    let created = app.access.auth.mint_subject_token(&caller, &subject, display_name, agent.as_ref()).await?;
    let view = SubjectTokenView {
        principal: created.principal.to_string(),
        access_token: created.access.expose_secret().to_owned(),
        access_expires_at: created.access_expires_at,
    };
    Ok((StatusCode::CREATED, Json(view)))
}
