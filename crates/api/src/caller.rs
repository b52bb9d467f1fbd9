//! Who asks: a handler that names [`Asking`] in its signature is reached only by those with a valid token or session.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use guildhall_domain::FailureKind;
use guildhall_domain::caller::Caller;
use guildhall_domain::ids::TenantId;
use guildhall_service::{ServiceError, browser};
use secrecy::{ExposeSecret, SecretString};

use crate::access::host_of;
use crate::error::ApiError;
use crate::refusals::{Refused, note};
use crate::{App, cookies};

/// Carries the CSRF token of a browser session.
pub(crate) const CSRF_HEADER: &str = "x-guildhall-csrf";

/// The caller, with their role in the tenant that the path names.
#[derive(Debug, Clone)]
pub(crate) struct Asking {
    pub(crate) caller: Caller,
    /// What they proved it with, to look at again while a stream is open.
    pub(crate) credential: Credential,
}

/// What a caller proves who they are with. Does not print.
#[derive(Debug, Clone)]
pub(crate) enum Credential {
    Bearer(SecretString),
    /// A browser session. Pages of other sites can make a browser send it, so it alone changes nothing.
    Cookie(SecretString),
}

impl Credential {
    /// Finds the caller behind it, as things stand now.
    pub(crate) async fn caller(&self, app: &App, tenant: Option<TenantId>) -> Result<Caller, ServiceError> {
        match self {
            Self::Bearer(token) => app.auth.caller(token.expose_secret(), tenant).await,
            Self::Cookie(cookie) => app.auth.browser_caller(cookie, tenant).await,
        }
    }
}

impl FromRequestParts<App> for Asking {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let tenant = tenant_in_path(parts, app).await;
        let credential = credential(&parts.headers).ok_or(ServiceError::Unauthenticated)?;
        let caller = credential.caller(app, tenant).await?;
        match &credential {
            Credential::Bearer(_) => refuse_two_callers(parts, app, &caller).await?,
            Credential::Cookie(cookie) => refuse_other_pages(parts, app, &caller, cookie).await?,
        }
        Ok(Self { caller, credential })
    }
}

/// Returns what a request proves its caller with. A token wins over a cookie, also one that is not valid.
pub(crate) fn credential(headers: &HeaderMap) -> Option<Credential> {
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let token = value.to_str().ok()?.strip_prefix("Bearer ")?;
        return Some(Credential::Bearer(token.into()));
    }
    cookies::find(headers, cookies::SESSION).map(Credential::Cookie)
}

/// Refuses a token of one principal beside the session of another: one of the two does not know what it is used for.
async fn refuse_two_callers(parts: &Parts, app: &App, caller: &Caller) -> Result<(), ApiError> {
    let Some(cookie) = cookies::find(&parts.headers, cookies::SESSION) else { return Ok(()) };
    match app.auth.browser_caller(&cookie, None).await {
        Ok(other) if other.principal != caller.principal => {}
        Ok(_) | Err(ServiceError::Unauthenticated) => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    refused(parts, app, caller, "request.two_callers_refused", "a token and a session").await;
    let words = "the token and the browser session are of two different principals: send one of them";
    Err(ApiError::new(FailureKind::SchemaInvalid, words))
}

/// Refuses a cookie that a page of another origin made a browser send, also of one that may call with tokens; and every
/// change by cookie that does not prove that a page of this very server asks for it (CSRF).
async fn refuse_other_pages(
    parts: &Parts,
    app: &App,
    caller: &Caller,
    cookie: &SecretString,
) -> Result<(), ApiError> {
    let only_reads = [Method::GET, Method::HEAD].contains(&parts.method);
    let text = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let host = host_of(&parts.uri, &parts.headers);
    let origin = parts.headers.get(header::ORIGIN).map(|origin| origin.to_str().unwrap_or("[not text]"));
    // Browsers leave the origin out where a page reads from its own server, and say it with every change.
    if !origin.map_or(only_reads, |origin| app.access.is_own_origin(origin, &host)) {
        refused(parts, app, caller, "request.csrf_refused", origin.unwrap_or("no origin")).await;
        let words = "a browser session is for pages of this server alone, and the request does not say that it comes \
                     from one (`Origin`)";
        return Err(ApiError::new(FailureKind::CsrfRefused, words));
    }
    if only_reads {
        return Ok(());
    }
    if !text(CSRF_HEADER).is_some_and(|token| browser::is_csrf_token(token, cookie)) {
        refused(parts, app, caller, "request.csrf_refused", "no token, or a wrong one").await;
        let words =
            "send the session's csrfToken as `X-Guildhall-CSRF`; GET /api/v1/auth/browser-session shows it";
        return Err(ApiError::new(FailureKind::CsrfRefused, words));
    }
    Ok(())
}

async fn refused(parts: &Parts, app: &App, caller: &Caller, action: &'static str, from: &str) {
    note(app, Refused { action, actor: Some(caller.principal), from, path: parts.uri.path() }).await;
}

/// Returns the tenant that the path names. One that cannot be read is nobody's, and ends as not found.
async fn tenant_in_path(parts: &mut Parts, app: &App) -> Option<TenantId> {
    let params = RawPathParams::from_request_parts(parts, app).await.ok()?;
    params.iter().find(|(name, _)| *name == "tenant").and_then(|(_, value)| value.parse().ok())
}
