//! Turns away requests with a token in their address. Addresses end up in logs and histories: such a token is burnt.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use guildhall_domain::FailureKind;
use url::form_urlencoded;

use super::trace::route;
use crate::App;
use crate::edge::error::ApiError;
use crate::edge::refusals::{Refused, note};

/// Names under which clients send tokens.
const NAMES: [&str; 6] = ["access_token", "refresh_token", "token", "bearer", "authorization", "api_key"];

/// How the long-lived secrets of this server begin: keys, refresh tokens, enrolment tokens, browser sessions.
const PREFIXES: [&str; 4] = ["ghk_", "ghr_", "ghe_", "ghb_"];

pub(super) async fn check(State(app): State<App>, request: Request, next: Next) -> Response {
    let Some(found) = token_in(request.uri().query().unwrap_or_default()) else {
        return next.run(request).await;
    };
    note(
        &app,
        Refused { action: "request.token_in_address", actor: None, from: found, path: route(&request) },
    )
    .await;
    let words =
        "a token must not stand in an address: send it as `Authorization: Bearer …`, and revoke this one";
    ApiError::new(FailureKind::SchemaInvalid, words).into_response()
}

/// Finds a token in a query. Returns how it was recognised, not the token.
fn token_in(query: &str) -> Option<&'static str> {
    form_urlencoded::parse(query.as_bytes()).find_map(|(name, value)| {
        let by_name = NAMES.iter().copied().find(|known| name.eq_ignore_ascii_case(known));
        by_name.or_else(|| PREFIXES.iter().copied().find(|prefix| value.starts_with(prefix)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_recognised_by_its_name_and_by_its_form_however_it_is_spelled() {
        assert_eq!(token_in("a=1&Access_Token=x"), Some("access_token"));
        assert_eq!(token_in("acces%73_token=x"), Some("access_token"));
        assert_eq!(token_in("q=ghk_0192"), Some("ghk_"));
        assert_eq!(token_in("q=%67hr_0192"), Some("ghr_"));
        for harmless in ["", "afterSeq=1&limit=2", "code=x&state=y&iss=z", "tokens=1", "invitation=ghi_0192"]
        {
            assert_eq!(token_in(harmless), None, "{harmless}");
        }
    }
}
