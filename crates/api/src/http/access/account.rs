//! The account of the caller.

use axum::Json;
use axum::extract::State;
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::access::account::{ChangePassword, EndedLoginsView};
use guildhall_service::access::account::PasswordChange;

use super::users::check_password;
use crate::App;
use crate::edge::caller::AuthenticatedCaller;
use crate::edge::client_address::ClientAddress;
use crate::edge::error::ApiError;
use crate::edge::input::Body;
use crate::http::responses::CommonErrors;

/// Change your password
///
/// Ends your other logins on every replica. A wrong current password counts as a failed sign-in.
#[utoipa::path(
    put, path = "/api/v1/auth/password", tag = "auth", operation_id = "changePassword", security(("bearer" = [])),
    request_body = ChangePassword,
    responses(
        (status = 200, description = "The password has changed", body = EndedLoginsView),
        (status = 429, description = "Too many failed attempts", body = Problem, content_type = CONTENT_TYPE),
        CommonErrors,
    )
)]
pub(crate) async fn change_password(
    State(app): State<App>,
    caller: AuthenticatedCaller,
    ClientAddress(client): ClientAddress,
    Body(body): Body<ChangePassword>,
) -> Result<Json<EndedLoginsView>, ApiError> {
    let current = check_password("currentPassword", body.current_password)?;
    let new = check_password("newPassword", body.new_password)?;
    let change = PasswordChange { current, new, client };
    let ended_logins = app.access.account.change_password(&caller.caller, change).await?;
    Ok(Json(EndedLoginsView { ended_logins }))
}

/// End all your logins
///
/// Revokes your tokens and browser sessions on every replica, including those of this request.
#[utoipa::path(
    delete, path = "/api/v1/auth/logins", tag = "auth", operation_id = "endLogins", security(("bearer" = [])),
    responses((status = 200, description = "The logins have ended", body = EndedLoginsView), CommonErrors)
)]
pub(crate) async fn end_logins(
    State(app): State<App>,
    caller: AuthenticatedCaller,
) -> Result<Json<EndedLoginsView>, ApiError> {
    let ended_logins = app.access.account.end_logins(&caller.caller).await?;
    Ok(Json(EndedLoginsView { ended_logins }))
}
