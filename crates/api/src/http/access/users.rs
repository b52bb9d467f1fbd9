//! People who can sign in.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use guildhall_domain::FailureKind;
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::access::users::{CreateUser, UserView};
use secrecy::SecretString;

use crate::App;
use crate::edge::caller::Asking;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, name};

/// Longer than any that is typed or made, and far below what the hash takes.
const PASSWORD_AT_MOST: usize = 256;

/// Make a user
///
/// For those who operate the installation.
#[utoipa::path(
    post, path = "/api/v1/users", tag = "users", operation_id = "createUser", security(("bearer" = [])),
    request_body = CreateUser,
    responses(
        (status = 201, description = "Made", body = UserView),
        (status = 400, description = "Not of this form", body = Problem, content_type = CONTENT_TYPE),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "No such object, or not yours to know of", body = Problem, content_type = CONTENT_TYPE),
        (status = 409, description = "Does not go together with what is there", body = Problem, content_type = CONTENT_TYPE),
        (status = 413, description = "Too large", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "More requests than you may send in this time", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn create(
    State(app): State<App>,
    asking: Asking,
    Body(body): Body<CreateUser>,
) -> Result<(StatusCode, Json<UserView>), ApiError> {
    name("name", &body.name)?;
    if body.password.chars().count() > PASSWORD_AT_MOST {
        return Err(ApiError::new(FailureKind::SchemaInvalid, "password: use at most 256 characters"));
    }
    let principal = app.users.create(&asking.caller, &body.name, &SecretString::from(body.password)).await?;
    Ok((StatusCode::CREATED, Json(UserView { principal: principal.to_string() })))
}
