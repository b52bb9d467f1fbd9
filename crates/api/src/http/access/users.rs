//! Users, for operators of the installation.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use guildhall_domain::FailureKind;
use guildhall_domain::access::authorized::InstallationOperator;
use guildhall_domain::access::user::{User, UserFilter};
use guildhall_domain::ids::PrincipalId;
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::access::account::EndedLoginsView;
use guildhall_protocol::rest::access::users::{CreateUser, ResetPassword, UserView, UsersQuery, UsersView};
use secrecy::SecretString;

use crate::App;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds, ValidatedQuery, check_limit, check_name, parse};
use crate::http::responses::CommonErrors;

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
        (status = 429, description = "Rate limit exceeded", body = Problem, content_type = CONTENT_TYPE),
        CommonErrors,
    )
)]
pub(crate) async fn create(
    State(app): State<App>,
    caller: InstallationOperator,
    Body(body): Body<CreateUser>,
) -> Result<(StatusCode, Json<UserView>), ApiError> {
    check_name("name", &body.name)?;
    let password = check_password("password", body.password)?;
    let user = app.access.users.create(&caller, &body.name, &password).await?;
    Ok((StatusCode::CREATED, Json(view(user))))
}

/// List users
///
/// For operators.
#[utoipa::path(
    get, path = "/api/v1/users", tag = "users", operation_id = "listUsers", security(("bearer" = [])),
    params(UsersQuery), responses((status = 200, description = "One page, newest first", body = UsersView), CommonErrors)
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: InstallationOperator,
    ValidatedQuery(query): ValidatedQuery<UsersQuery>,
) -> Result<Json<UsersView>, ApiError> {
    let before = query.cursor.as_deref().map(|cursor| parse("cursor", cursor)).transpose()?;
    let limit = check_limit("limit", query.limit, 100)?;
    let users = app.access.users.list(&caller, filter(&query)?, before, limit).await?;
    let is_full = u32::try_from(users.len()).is_ok_and(|count| count >= limit);
    let next_cursor = users.last().filter(|_| is_full).map(|last| last.id.to_string());
    Ok(Json(UsersView { users: users.into_iter().map(view).collect(), next_cursor }))
}

/// Get a user
///
/// For operators.
#[utoipa::path(
    get, path = "/api/v1/users/{principal}", tag = "users", operation_id = "getUser", security(("bearer" = [])),
    params(("principal" = String, Path, description = "Principal id")),
    responses((status = 200, description = "The user", body = UserView), CommonErrors)
)]
pub(crate) async fn get(
    State(app): State<App>,
    caller: InstallationOperator,
    PathIds(user): PathIds<PrincipalId>,
) -> Result<Json<UserView>, ApiError> {
    Ok(Json(view(app.access.users.get(&caller, user).await?)))
}

/// Disable a user
///
/// For operators. Ends the logins and streams of the user on every replica, and refuses new sign-ins. Service keys and
/// enrolments belong to their tenant and stay valid. The last operator cannot be disabled. Idempotent.
#[utoipa::path(
    post, path = "/api/v1/users/{principal}/disable", tag = "users", operation_id = "disableUser",
    security(("bearer" = [])), params(("principal" = String, Path, description = "Principal id")),
    responses((status = 200, description = "The disabled user", body = UserView), CommonErrors)
)]
pub(crate) async fn disable(
    State(app): State<App>,
    caller: InstallationOperator,
    PathIds(user): PathIds<PrincipalId>,
) -> Result<Json<UserView>, ApiError> {
    Ok(Json(view(app.access.users.disable(&caller, user).await?)))
}

/// Enable a disabled user
///
/// For operators. The user signs in again; ended logins stay ended. Idempotent.
#[utoipa::path(
    post, path = "/api/v1/users/{principal}/enable", tag = "users", operation_id = "enableUser",
    security(("bearer" = [])), params(("principal" = String, Path, description = "Principal id")),
    responses((status = 200, description = "The enabled user", body = UserView), CommonErrors)
)]
pub(crate) async fn enable(
    State(app): State<App>,
    caller: InstallationOperator,
    PathIds(user): PathIds<PrincipalId>,
) -> Result<Json<UserView>, ApiError> {
    Ok(Json(view(app.access.users.enable(&caller, user).await?)))
}

/// Unlock a user
///
/// For operators. Clears the failed sign-ins of the user, which ends the lock that they caused. Idempotent.
#[utoipa::path(
    post, path = "/api/v1/users/{principal}/unlock", tag = "users", operation_id = "unlockUser",
    security(("bearer" = [])), params(("principal" = String, Path, description = "Principal id")),
    responses((status = 200, description = "The unlocked user", body = UserView), CommonErrors)
)]
pub(crate) async fn unlock(
    State(app): State<App>,
    caller: InstallationOperator,
    PathIds(user): PathIds<PrincipalId>,
) -> Result<Json<UserView>, ApiError> {
    Ok(Json(view(app.access.users.unlock(&caller, user).await?)))
}

/// Reset the password of a user
///
/// For operators, for other users. Ends the logins of the user on every replica, and a lock after failed sign-ins.
#[utoipa::path(
    put, path = "/api/v1/users/{principal}/password", tag = "users", operation_id = "resetPassword",
    security(("bearer" = [])), request_body = ResetPassword,
    params(("principal" = String, Path, description = "Principal id")),
    responses((status = 200, description = "The user", body = UserView), CommonErrors)
)]
pub(crate) async fn reset_password(
    State(app): State<App>,
    caller: InstallationOperator,
    PathIds(user): PathIds<PrincipalId>,
    Body(body): Body<ResetPassword>,
) -> Result<Json<UserView>, ApiError> {
    let password = check_password("password", body.password)?;
    Ok(Json(view(app.access.users.reset_password(&caller, user, &password).await?)))
}

/// End all logins of a user
///
/// For operators. Revokes tokens and browser sessions on every replica. The user can sign in again.
#[utoipa::path(
    delete, path = "/api/v1/users/{principal}/logins", tag = "users", operation_id = "endUserLogins",
    security(("bearer" = [])), params(("principal" = String, Path, description = "Principal id")),
    responses((status = 200, description = "The logins have ended", body = EndedLoginsView), CommonErrors)
)]
pub(crate) async fn end_logins(
    State(app): State<App>,
    caller: InstallationOperator,
    PathIds(user): PathIds<PrincipalId>,
) -> Result<Json<EndedLoginsView>, ApiError> {
    let ended_logins = app.access.users.end_logins(&caller, user).await?;
    Ok(Json(EndedLoginsView { ended_logins }))
}

fn filter(query: &UsersQuery) -> Result<UserFilter<'_>, ApiError> {
    match (&query.name, &query.name_prefix) {
        (None, None) => Ok(UserFilter::All),
        (Some(name), None) => check_name("name", name).map(|()| UserFilter::Name(name)),
        (None, Some(prefix)) => check_name("namePrefix", prefix).map(|()| UserFilter::NamePrefix(prefix)),
        (Some(_), Some(_)) => {
            Err(ApiError::new(FailureKind::SchemaInvalid, "namePrefix: use it without name"))
        }
    }
}

/// Checks the length of a password before it is hashed.
pub(super) fn check_password(field: &'static str, password: String) -> Result<SecretString, ApiError> {
    if password.chars().count() > MAX_PASSWORD_CHARS {
        let message = format!("{field}: use at most {MAX_PASSWORD_CHARS} characters");
        return Err(ApiError::new(FailureKind::SchemaInvalid, message));
    }
    Ok(password.into())
}

fn view(user: User) -> UserView {
    UserView {
        principal: user.id.to_string(),
        name: user.name,
        operator: user.is_operator,
        has_password: user.has_password,
        created_at: user.created_at,
        disabled_at: user.disabled_at,
        locked_until: user.locked_until,
    }
}
