//! Sign-in, tokens, tenants, members, projects, service keys, invitations and the audit log.

mod account;
mod audit;
mod auth;
mod bounds;
mod browser_session;
mod confirmation_page;
mod invitations;
mod keys;
mod oidc;
mod projects;
pub(super) mod sign_in_form;
mod signing;
mod subject_tokens;
mod tenants;
mod users;

use axum::Router;
use axum::routing::get;
use guildhall_service::access::oidc::CONFIRMATION_PATH;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::sign_in_form::SIGN_IN_PATH;
use crate::App;

/// Returns the pages of this group. They are HTML, hence not in the API document.
pub(super) fn pages() -> Router<App> {
    let page = get(confirmation_page::show).post(confirmation_page::submit);
    let sign_in = get(sign_in_form::show).post(sign_in_form::submit);
    Router::new().route(CONFIRMATION_PATH, page).route(SIGN_IN_PATH, sign_in)
}

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(auth::login))
        .routes(routes!(browser_session::create, browser_session::get))
        .routes(routes!(auth::refresh))
        .routes(routes!(auth::logout))
        .routes(routes!(oidc::start))
        .routes(routes!(oidc::callback))
        .routes(routes!(oidc::exchange))
        .routes(routes!(auth::whoami))
        .routes(routes!(signing::jwks))
        .routes(routes!(account::change_password))
        .routes(routes!(account::end_logins))
        .routes(routes!(account::get_settings, account::set_settings))
        .routes(routes!(users::create, users::list))
        .routes(routes!(users::get))
        .routes(routes!(users::disable))
        .routes(routes!(users::enable))
        .routes(routes!(users::unlock))
        .routes(routes!(users::reset_password))
        .routes(routes!(users::end_logins))
        .routes(routes!(tenants::create, tenants::list))
        .routes(routes!(tenants::get))
        .routes(routes!(tenants::members, tenants::add_member))
        .routes(routes!(tenants::set_member, tenants::remove_member))
        .routes(routes!(bounds::get, bounds::set, bounds::clear))
        .routes(routes!(invitations::create, invitations::list))
        .routes(routes!(invitations::revoke))
        .routes(routes!(invitations::accept))
        .routes(routes!(keys::create, keys::list))
        .routes(routes!(keys::revoke))
        .routes(routes!(projects::create, projects::list))
        .routes(routes!(projects::get))
        .routes(routes!(projects::set_setup, projects::clear_setup))
        .routes(routes!(subject_tokens::create))
        .routes(routes!(audit::list))
        .routes(routes!(audit::list_installation))
        .routes(routes!(audit::public_key))
        .routes(routes!(audit::follow))
        .routes(routes!(audit::follow_installation))
}
