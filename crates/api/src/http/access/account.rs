//! The account of the caller.

use axum::Json;
use axum::extract::State;
use guildhall_domain::FailureKind;
use guildhall_domain::front::time_zone::TimeZoneName;
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::access::account::{AccountSettings, ChangePassword, EndedLoginsView};
use guildhall_service::access::account::{self, PasswordChange};

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

/// Get your settings
#[utoipa::path(
    get, path = "/api/v1/account/settings", tag = "auth", operation_id = "getAccountSettings", security(("bearer" = [])),
    responses((status = 200, description = "The settings of the caller", body = AccountSettings), CommonErrors)
)]
pub(crate) async fn get_settings(
    State(app): State<App>,
    caller: AuthenticatedCaller,
) -> Result<Json<AccountSettings>, ApiError> {
    Ok(Json(settings_view(app.access.account.settings(&caller.caller).await?)))
}

/// Change your settings
///
/// The time zone is that of the turns of clients that send no `client_time`.
#[utoipa::path(
    put, path = "/api/v1/account/settings", tag = "auth", operation_id = "setAccountSettings", security(("bearer" = [])),
    request_body = AccountSettings,
    responses((status = 200, description = "The settings have changed", body = AccountSettings), CommonErrors)
)]
pub(crate) async fn set_settings(
    State(app): State<App>,
    caller: AuthenticatedCaller,
    Body(body): Body<AccountSettings>,
) -> Result<Json<AccountSettings>, ApiError> {
    let parse = |name: String| {
        let invalid = |error| ApiError::new(FailureKind::SchemaInvalid, format!("timeZone: {error}"));
        TimeZoneName::parse(&name).map_err(invalid)
    };
    let settings = account::PrincipalSettings { time_zone: body.time_zone.map(parse).transpose()? };
    app.access.account.set_settings(&caller.caller, &settings).await?;
    Ok(Json(settings_view(settings)))
}

fn settings_view(settings: account::PrincipalSettings) -> AccountSettings {
    AccountSettings { time_zone: settings.time_zone.map(|zone| zone.to_string()) }
}
