//! Rejects requests with a token in the query. URLs end up in logs and histories, so such a token counts as leaked.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use guildhall_domain::FailureKind;
use url::form_urlencoded;

use super::trace::route;
use crate::App;
use crate::edge::denials::DeniedRequest;
use crate::edge::error::ApiError;

/// Query parameters that contain a token.
const TOKEN_PARAMETERS: [&str; 6] =
    ["access_token", "refresh_token", "token", "bearer", "authorization", "api_key"];

/// Prefixes of our long-lived secrets: keys, refresh tokens, enrolment tokens, browser sessions.
const TOKEN_PREFIXES: [&str; 4] = ["ghk_", "ghr_", "ghe_", "ghb_"];

pub(super) async fn reject(State(app): State<App>, request: Request, next: Next) -> Response {
    let Some(found) = find_token(request.uri().query().unwrap_or_default()) else {
        return next.run(request).await;
    };
    let denied =
        DeniedRequest { action: "request.token_in_address", actor: None, from: found, path: route(&request) };
    app.denials.record(&app.access.audit, denied).await;
    let message = "a token must not be in the URL: send it as `Authorization: Bearer …`, and revoke this one";
    ApiError::new(FailureKind::SchemaInvalid, message).into_response()
}

/// Finds a token in a query. Returns the parameter name or prefix, not the token.
fn find_token(query: &str) -> Option<&'static str> {
    form_urlencoded::parse(query.as_bytes()).find_map(|(name, value)| {
        let by_name = TOKEN_PARAMETERS.iter().copied().find(|known| name.eq_ignore_ascii_case(known));
        by_name.or_else(|| TOKEN_PREFIXES.iter().copied().find(|prefix| value.starts_with(prefix)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_found_by_parameter_name_and_by_prefix() {
        assert_eq!(find_token("a=1&Access_Token=x"), Some("access_token"));
        assert_eq!(find_token("acces%73_token=x"), Some("access_token"));
        assert_eq!(find_token("q=ghk_0192"), Some("ghk_"));
        assert_eq!(find_token("q=%67hr_0192"), Some("ghr_"));
        for harmless in ["", "afterSeq=1&limit=2", "code=x&state=y&iss=z", "tokens=1", "invitation=ghi_0192"]
        {
            assert_eq!(find_token(harmless), None, "{harmless}");
        }
    }
}
