//! Users.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use guildhall_domain::FailureKind;
use guildhall_domain::access::authorized::InstallationOperator;
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::access::users::{CreateUser, UserView};
use secrecy::SecretString;

use crate::App;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, check_name};

/// Far below the limit of the password hash.
const MAX_PASSWORD_CHARS: usize = 256;

/// Create a user
///
/// For operators.
#[utoipa::path(
    post, path = "/api/v1/users", tag = "users", operation_id = "createUser", security(("bearer" = [])),
    request_body = CreateUser,
    responses(
        (status = 201, description = "Created", body = UserView),
        (status = 400, description = "Invalid request", body = Problem, content_type = CONTENT_TYPE),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "Not found, or you have no access", body = Problem, content_type = CONTENT_TYPE),
        (status = 409, description = "Conflict with the current state", body = Problem, content_type = CONTENT_TYPE),
        (status = 413, description = "Request body too large", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "Rate limit exceeded", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn create(
    State(app): State<App>,
    caller: InstallationOperator,
    Body(body): Body<CreateUser>,
) -> Result<(StatusCode, Json<UserView>), ApiError> {
    check_name("name", &body.name)?;
    if body.password.chars().count() > MAX_PASSWORD_CHARS {
        return Err(ApiError::new(FailureKind::SchemaInvalid, "password: use at most 256 characters"));
    }
    let principal = app.access.users.create(&caller, &body.name, &SecretString::from(body.password)).await?;
    Ok((StatusCode::CREATED, Json(UserView { principal: principal.to_string() })))
}
