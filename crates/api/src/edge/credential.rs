//! The credential of a request: a bearer token or the cookie of a browser session.

use axum::http::{HeaderMap, header};
use guildhall_service::access::auth::Credential;
use secrecy::ExposeSecret;

use crate::App;
use crate::edge::cookies;

/// Returns the credential of a request. A bearer token, even an invalid one, wins over a cookie.
pub(super) fn credential(headers: &HeaderMap) -> Option<Credential> {
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let token = value.to_str().ok()?.strip_prefix("Bearer ")?;
        return Some(Credential::Bearer(token.into()));
    }
    cookies::find(headers, cookies::SESSION).map(Credential::Cookie)
}

/// Returns whether a request has a valid credential, of a caller or of a runner.
pub(crate) async fn has_valid_credential(app: &App, headers: &HeaderMap) -> bool {
    match credential(headers) {
        Some(credential) => is_valid_credential(app, &credential).await,
        None => false,
    }
}

async fn is_valid_credential(app: &App, credential: &Credential) -> bool {
    if app.access.auth.authenticate(credential, None).await.is_ok() {
        return true;
    }
    match credential {
        Credential::Bearer(token) => {
            let (tokens, bearer) = (&app.runners.tokens, token.expose_secret());
            tokens.enrolment(bearer).await.is_ok() || tokens.verify(bearer).await.is_ok()
        }
        Credential::Cookie(_) => false,
    }
}
