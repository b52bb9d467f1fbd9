//! Who asks: a handler that names [`Asking`], [`Enrolled`] or [`Holding`] in its signature is reached only by those with
//! a valid token of that kind, and [`Asking`] not more often than their rate allows. A valid token of another kind is
//! answered like none.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::header;
use axum::http::request::Parts;
use guildhall_domain::FailureKind;
use guildhall_domain::caller::Caller;
use guildhall_domain::ids::TenantId;
use guildhall_domain::rate::Key;
use guildhall_domain::runner::Enrolment;
use guildhall_service::ServiceError;
use guildhall_service::runner_tokens::Held;

use crate::App;
use crate::error::ApiError;
use crate::rates;

/// The caller, with their role in the tenant that the path names.
#[derive(Debug, Clone)]
pub(crate) struct Asking {
    pub(crate) caller: Caller,
    /// The token, to look at again while a stream is open.
    pub(crate) bearer: Bearer,
}

/// A runner that came with an enrolment token: it may register and claim.
#[derive(Debug, Clone)]
pub(crate) struct Enrolled(pub(crate) Enrolment);

/// A runner that came with a run token: it may serve the run that is named in it, as long as the epoch is the run's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Holding(pub(crate) Held);

/// A token that does not print.
#[derive(Clone)]
pub(crate) struct Bearer(String);

impl Bearer {
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Bearer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[redacted]")
    }
}

impl FromRequestParts<App> for Asking {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let bearer = bearer(parts)?;
        let tenant = tenant_in_path(parts, app).await?;
        let caller = app.auth.caller(bearer.expose(), tenant).await?;
        rates::count(parts, app, rates::tier_of(parts), Key::Principal(caller.principal)).await?;
        Ok(Self { caller, bearer })
    }
}

impl Asking {
    /// Returns the caller with their role in a tenant that the request names elsewhere than in its path.
    pub(crate) async fn within(self, app: &App, tenant: TenantId) -> Result<Self, ApiError> {
        let caller = app.auth.caller(self.bearer.expose(), Some(tenant)).await?;
        Ok(Self { caller, ..self })
    }
}

impl FromRequestParts<App> for Enrolled {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        Ok(Self(app.auth.enrolment(bearer(parts)?.expose()).await?))
    }
}

impl FromRequestParts<App> for Holding {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        Ok(Self(app.auth.grant(bearer(parts)?.expose()).await?))
    }
}

/// Takes the token from its header, the one place where it may stand.
fn bearer(parts: &Parts) -> Result<Bearer, ApiError> {
    if holds_token(parts.uri.query().unwrap_or_default()) {
        // Addresses end up in logs and histories. A token that stood in one is burnt.
        let words =
            "a token must not stand in an address: send it as `Authorization: Bearer …`, and revoke this one";
        return Err(ApiError::new(FailureKind::SchemaInvalid, words));
    }
    let value = parts.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bearer =
        value.and_then(|value| value.strip_prefix("Bearer ")).ok_or(ServiceError::Unauthenticated)?;
    Ok(Bearer(bearer.to_owned()))
}

fn holds_token(query: &str) -> bool {
    query.split('&').filter_map(|pair| pair.split('=').next()).any(|name| {
        ["access_token", "token", "bearer", "authorization", "api_key"]
            .contains(&name.to_ascii_lowercase().as_str())
    })
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
