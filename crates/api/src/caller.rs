//! Who asks: a handler that names [`Asking`] in its signature is reached only by those with a valid token.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::header;
use axum::http::request::Parts;
use guildhall_domain::FailureKind;
use guildhall_domain::caller::Caller;
use guildhall_domain::ids::TenantId;
use guildhall_service::ServiceError;

use crate::App;
use crate::error::ApiError;

/// The caller, with their role in the tenant that the path names.
#[derive(Debug, Clone)]
pub(crate) struct Asking {
    pub(crate) caller: Caller,
    /// The token, to look at again while a stream is open.
    pub(crate) bearer: Bearer,
}

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
        if holds_token(parts.uri.query().unwrap_or_default()) {
            // Addresses end up in logs and histories. A token that stood in one is burnt.
            let words = "a token must not stand in an address: send it as `Authorization: Bearer …`, and revoke this one";
            return Err(ApiError::new(FailureKind::SchemaInvalid, words));
        }
        let value = parts.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let bearer =
            value.and_then(|value| value.strip_prefix("Bearer ")).ok_or(ServiceError::Unauthenticated)?;
        let bearer = Bearer(bearer.to_owned());
        let tenant = tenant_in_path(parts, app).await;
        let caller = app.auth.caller(bearer.expose(), tenant).await?;
        Ok(Self { caller, bearer })
    }
}

fn holds_token(query: &str) -> bool {
    query.split('&').filter_map(|pair| pair.split('=').next()).any(|name| {
        ["access_token", "token", "bearer", "authorization", "api_key"]
            .contains(&name.to_ascii_lowercase().as_str())
    })
}

/// Returns the tenant that the path names. One that cannot be read is nobody's, and ends as not found.
async fn tenant_in_path(parts: &mut Parts, app: &App) -> Option<TenantId> {
    let params = RawPathParams::from_request_parts(parts, app).await.ok()?;
    params.iter().find(|(name, _)| *name == "tenant").and_then(|(_, value)| value.parse().ok())
}
