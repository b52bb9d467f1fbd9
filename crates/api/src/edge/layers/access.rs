//! Denies requests for other hosts (DNS rebinding), for routes that a host does not serve, from other origins and, where configured, without authentication.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use guildhall_domain::FailureKind;
use guildhall_service::ServiceError;

use super::trace::route;
use crate::App;
use crate::edge::access_rules::{HostAccess, host_of, loggable_host, loggable_origin};
use crate::edge::credential::has_valid_credential;
use crate::edge::denials::DeniedRequest;
use crate::edge::error::ApiError;

/// Orchestrators probe a replica under any address. Probes reveal nothing and change nothing.
const PROBES: [&str; 2] = ["/health/live", "/health/readiness"];

/// Routes that stay public with `access.require_auth`: probes, sign-in, and the keys and certificates that verify tokens
/// and AIDs (ADR 033).
const PUBLIC_ROUTES: [&str; 20] = [
    "/health/live",
    "/health/readiness",
    "/api/v1/auth/login",
    "/api/v1/auth/browser-session",
    "/api/v1/auth/refresh",
    "/api/v1/auth/oidc/start",
    "/api/v1/auth/oidc/callback",
    "/api/v1/auth/handoff",
    "/sign-in/confirm",
    "/.well-known/jwks.json",
    "/aun",
    "/.well-known/aun-gateway",
    "/pki/chain",
    "/pki/crl.json",
    "/pki/trust-authority.crt",
    "/pki/trust-roots.json",
    "/trust-root.json",
    "/root.crt",
    "/ct/sth",
    "/ct/entries",
];

/// Pages that show a sign-in form to callers without a session, signed URLs, certificates and published agents (ADR 033). Other
/// methods of these paths authenticate their callers themselves.
const PUBLIC_TEMPLATES: [&str; 13] = [
    "/approve/{approval}",
    "/approve/{approval}/sign-in",
    "/consent/{agent}",
    "/consent/{agent}/sign-in",
    "/api/v1/agent/attachments/{attachment}/content",
    "/pki/cert/{aid}",
    "/pki/ocsp/{serial}",
    "/ct/entries/{log_id}",
    "/ct/certs/{serial}",
    "/ct/proof/{tree_size}/{log_id}",
    "/ct/consistency/{first}/{second}",
    "/agents/{agent}",
    "/agents/{agent}/versions/{version}",
];

pub(super) async fn check(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let host = host_of(request.uri(), request.headers());
    if let Err(denied) = check_host(&app, &host, &mut request).await {
        return denied.into_response();
    }
    let origin = text(request.headers(), &header::ORIGIN);
    if let Some(origin) = &origin {
        if !app.access_rules.allows_origin(origin, &host) {
            record_denial(&app, "request.origin_refused", &loggable_origin(origin), route(&request)).await;
            let message = "this origin is not allowed; to allow it, add it to access.allow_origins";
            return ApiError::new(FailureKind::OriginRefused, message).into_response();
        }
        if request.method() == Method::OPTIONS {
            return add_cors_headers(StatusCode::NO_CONTENT.into_response(), origin);
        }
    }
    if app.access_rules.require_auth
        && !PUBLIC_ROUTES.contains(&path.as_str())
        && !PUBLIC_TEMPLATES.contains(&route(&request))
        && !has_valid_credential(&app, request.headers()).await
    {
        return ApiError::from(ServiceError::Unauthenticated).into_response();
    }
    let response = next.run(request).await;
    match origin {
        Some(origin) => add_cors_headers(response, &origin),
        None => response,
    }
}

/// Checks that the host serves the route. Cookies are for hosts that serve all routes: the others get none.
async fn check_host(app: &App, host: &str, request: &mut Request) -> Result<(), ApiError> {
    match app.access_rules.host_access(host) {
        HostAccess::Full => Ok(()),
        HostAccess::Issuer(issuer_host) if issuer_host.serves(route(request)) => {
            request.headers_mut().remove(header::COOKIE);
            Ok(())
        }
        HostAccess::Issuer(_) => Err(ApiError::new(FailureKind::NotFound, "this host has no such route")),
        HostAccess::Denied if PROBES.contains(&request.uri().path()) => Ok(()),
        HostAccess::Denied => {
            record_denial(app, "request.host_refused", &loggable_host(host), route(request)).await;
            let message = "this host name is not allowed; to allow it, add it to access.allow_hosts";
            Err(ApiError::new(FailureKind::HostRefused, message))
        }
    }
}

async fn record_denial(app: &App, action: &'static str, from: &str, route: &str) {
    let denied = DeniedRequest { action, actor: None, from, path: route };
    app.denials.record(&app.access.audit, denied).await;
}

/// Adds the CORS headers for an allowed origin. Cookies are not allowed: a page must send its token.
fn add_cors_headers(mut response: Response, origin: &str) -> Response {
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
