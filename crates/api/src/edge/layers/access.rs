//! Turns away requests for other hosts (DNS rebinding), from other web pages, and, where configured, from strangers.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use guildhall_domain::FailureKind;
use guildhall_service::ServiceError;
use secrecy::ExposeSecret;

use super::trace::route;
use crate::App;
use crate::edge::access::{host_of, shown_host, shown_origin};
use crate::edge::caller::{Credential, credential};
use crate::edge::error::ApiError;
use crate::edge::refusals::{self, Refused};

/// Probes come from orchestrators, which call a replica by whatever address it has. They show nothing and do nothing.
const PROBES: [&str; 2] = ["/health/live", "/health/readiness"];

/// What stays open where everyone must sign in: liveness, how to sign in, and the keys that check tokens.
const OPEN: [&str; 8] = [
    "/health/live",
    "/api/v1/auth/login",
    "/api/v1/auth/browser-session",
    "/api/v1/auth/refresh",
    "/api/v1/auth/oidc/start",
    "/api/v1/auth/oidc/callback",
    "/api/v1/auth/handoff",
    "/.well-known/jwks.json",
];

pub(super) async fn check(State(app): State<App>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let host = host_of(request.uri(), request.headers());
    if !PROBES.contains(&path.as_str()) && !app.access.allows_host(&host) {
        note(&app, "request.host_refused", &shown_host(&host), route(&request)).await;
        let words =
            "this server is not reached under that name; add it to access.allow_hosts if it should be";
        return ApiError::new(FailureKind::HostRefused, words).into_response();
    }
    let origin = text(request.headers(), &header::ORIGIN);
    if let Some(origin) = &origin {
        if !app.access.allows_origin(origin, &host) {
            note(&app, "request.origin_refused", &shown_origin(origin), route(&request)).await;
            let words = "web pages of this origin may not call this server; add it to access.allow_origins if it should";
            return ApiError::new(FailureKind::OriginRefused, words).into_response();
        }
        if request.method() == Method::OPTIONS {
            return permit(StatusCode::NO_CONTENT.into_response(), origin);
        }
    }
    if app.access.require_auth && !OPEN.contains(&path.as_str()) && !is_known(&app, request.headers()).await {
        return ApiError::from(ServiceError::Unauthenticated).into_response();
    }
    let response = next.run(request).await;
    match origin {
        Some(origin) => permit(response, &origin),
        None => response,
    }
}

async fn is_known(app: &App, headers: &HeaderMap) -> bool {
    match credential(headers) {
        // Runners are known too, by tokens of their own.
        Some(Credential::Bearer(token)) => app.auth.is_known(token.expose_secret()).await,
        Some(cookie @ Credential::Cookie(_)) => app.auth.caller_of(&cookie, None).await.is_ok(),
        None => false,
    }
}

async fn note(app: &App, action: &'static str, from: &str, route: &str) {
    refusals::note(app, Refused { action, actor: None, from, path: route }).await;
}

/// Lets a web page of an allowed origin read the answer. No cookies: a page must bring its token.
fn permit(mut response: Response, origin: &str) -> Response {
    let headers = response.headers_mut();
    if let Ok(origin) = HeaderValue::from_str(origin) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    }
    headers.insert(header::VARY, HeaderValue::from_static("origin"));
    let methods = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE");
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    let names =
        "authorization, content-type, idempotency-key, last-event-id, traceparent, x-guildhall-client-id";
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(names));
    let names = "retry-after, traceparent, x-guildhall-client-id, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset";
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(names));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
    response
}

fn text(headers: &HeaderMap, name: &header::HeaderName) -> Option<String> {
    headers.get(name).map(|value| value.to_str().unwrap_or("[not text]").to_owned())
}
