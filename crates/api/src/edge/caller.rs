//! Who asks: a handler that names [`Asking`] in its signature is reached only by those with a valid token or session, and
//! not more often than their rate allows; [`Enrolled`] and [`Holding`] only by runners with a token of that kind. A valid
//! token of another kind is answered like none.

use axum::extract::{FromRequestParts, MatchedPath, RawPathParams};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use guildhall_domain::FailureKind;
use guildhall_domain::access::caller::Caller;
use guildhall_domain::ids::TenantId;
use guildhall_domain::ops::rate::Key;
use guildhall_domain::runners::enrolment::Enrolment;
use guildhall_service::ServiceError;
pub(crate) use guildhall_service::access::auth::Credential;
use guildhall_service::access::browser;
use guildhall_service::runners::tokens::Held;
use secrecy::{ExposeSecret, SecretString};

use crate::App;
use crate::edge::access::host_of;
use crate::edge::error::ApiError;
use crate::edge::refusals::{Refused, note};
use crate::edge::{cookies, rates};

/// Carries the CSRF token of a browser session.
pub(crate) const CSRF_HEADER: &str = "x-guildhall-csrf";

/// The caller, with their role in the tenant that the path names.
#[derive(Debug, Clone)]
pub(crate) struct Asking {
    pub(crate) caller: Caller,
    /// What they proved it with, to look at again while a stream is open.
    pub(crate) credential: Credential,
}

/// A runner that came with an enrolment token: it may register and claim.
#[derive(Debug, Clone)]
pub(crate) struct Enrolled(pub(crate) Enrolment);

/// A runner that came with a run token: it may serve the run that is named in it, as long as the epoch is the run's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Holding(pub(crate) Held);

/// The same for what comes many times a second: whether the token still holds was looked up lately, not now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HoldingLately(pub(crate) Held);

impl FromRequestParts<App> for Asking {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let tenant = tenant_in_path(parts, app).await?;
        let credential = credential(&parts.headers).ok_or(ServiceError::Unauthenticated)?;
        let caller = app.auth.caller_of(&credential, tenant).await?;
        match &credential {
            Credential::Bearer(_) => refuse_two_callers(parts, app, &caller).await?,
            Credential::Cookie(cookie) => refuse_other_pages(parts, app, &caller, cookie).await?,
        }
        rates::count(parts, app, rates::tier_of(parts), Key::Principal(caller.principal)).await?;
        Ok(Self { caller, credential })
    }
}

impl Asking {
    /// Returns the caller with their role in a tenant that the request names elsewhere than in its path.
    pub(crate) async fn within(self, app: &App, tenant: TenantId) -> Result<Self, ApiError> {
        let caller = app.auth.caller_of(&self.credential, Some(tenant)).await?;
        Ok(Self { caller, ..self })
    }
}

impl FromRequestParts<App> for Enrolled {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        Ok(Self(app.auth.enrolment(bearer(parts)?.expose_secret()).await?))
    }
}

impl FromRequestParts<App> for Holding {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        Ok(Self(app.auth.grant(bearer(parts)?.expose_secret()).await?))
    }
}

impl FromRequestParts<App> for HoldingLately {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        Ok(Self(app.auth.grant_lately(bearer(parts)?.expose_secret()).await?))
    }
}

/// Takes a runner's token from its header. Runners have no browser sessions.
fn bearer(parts: &Parts) -> Result<SecretString, ServiceError> {
    match credential(&parts.headers) {
        Some(Credential::Bearer(token)) => Ok(token),
        Some(Credential::Cookie(_)) | None => Err(ServiceError::Unauthenticated),
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
    // As we wrote it: a caller can put nothing into it.
    let route = parts.extensions.get::<MatchedPath>().map_or("none", MatchedPath::as_str);
    note(app, Refused { action, actor: Some(caller.principal), from, path: route }).await;
}

/// Returns the tenant of what the path names. What cannot be read or found is nobody's, and ends as not found.
async fn tenant_in_path(parts: &mut Parts, app: &App) -> Result<Option<TenantId>, ApiError> {
    let Ok(params) = RawPathParams::from_request_parts(parts, app).await else { return Ok(None) };
    for (name, value) in &params {
        let tenant = match name {
            "tenant" => Ok(value.parse().ok()),
            "run" => of(value, |id| app.runs.tenant_of(id)).await,
            "command" => of(value, |id| app.runs.tenant_of_command(id)).await,
            "session" => of(value, |id| app.runs.tenant_of_session(id)).await,
            _ => continue,
        };
        return Ok(tenant?);
    }
    Ok(None)
}

async fn of<I: std::str::FromStr, F>(
    text: &str,
    find: impl FnOnce(I) -> F,
) -> Result<Option<TenantId>, ServiceError>
where
    F: Future<Output = Result<Option<TenantId>, ServiceError>>,
{
    match text.parse() {
        Ok(id) => find(id).await,
        Err(_) => Ok(None),
    }
}
