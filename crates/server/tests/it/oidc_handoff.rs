//! The handoff of a browser sign-in to the CLI that started it.

use std::collections::BTreeMap;

use reqwest::Url;
use serde_json::json;

use crate::support::TestResponse;
use crate::support::browser::{Browser, SESSION_COOKIE};
use crate::support::cluster::signed_in_user;
use crate::support::oidc::{OidcFixture, location};

/// The example of RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// Signs in with a browser for a CLI that listens on port 4321. Returns the code that the browser passes to it.
async fn handoff_code(fixture: &OidcFixture, browser: &mut Browser) -> String {
    let (_, invitation) = fixture.cluster.create_invitation(&fixture.tenant, "operator").await;
    let query = format!("cli=4321.{CHALLENGE}&invitation={invitation}");
    let done = fixture.sign_in(browser, &query, "").await;
    let redirect: Url = location(&done);
    assert_eq!(
        (redirect.scheme(), redirect.host_str(), redirect.port()),
        ("http", Some("127.0.0.1"), Some(4321))
    );
    let mut parameters: BTreeMap<String, String> = redirect.query_pairs().into_owned().collect();
    assert_eq!(parameters.remove("challenge").as_deref(), Some(CHALLENGE));
    let code = parameters.remove("code").expect("a code");
    assert!(parameters.is_empty(), "{parameters:?}");
    code
}

async fn exchange(fixture: &OidcFixture, code: &str, verifier: &str) -> TestResponse {
    fixture.cluster.first.post("/api/v1/auth/handoff", json!({ "code": code, "verifier": verifier })).await
}

#[tokio::test]
async fn cli_handoff_returns_tokens_and_creates_no_browser_session() {
    let fixture = OidcFixture::with_faulty_provider().await;
    let mut browser = Browser::default();
    let code = handoff_code(&fixture, &mut browser).await;
    assert!(!browser.cookies.contains_key(SESSION_COOKIE), "the browser got a session");
    let response = exchange(&fixture, &code, VERIFIER).await;
    assert_eq!(response.status, 200, "{}", response.text);
    let tokens = signed_in_user(&response.body);
    let whoami = fixture.cluster.second.get_as("/api/v1/whoami", &tokens.token).await;
    assert_eq!(whoami.body["tenants"][0]["role"], "operator");
    let refreshed = fixture
        .cluster
        .second
        .post("/api/v1/auth/refresh", json!({ "refreshToken": tokens.refresh_token }))
        .await;
    assert_eq!(refreshed.status, 200);
}

/// The attack: the code is stolen from the browser history, or by another program on the machine.
#[tokio::test]
async fn handoff_code_with_a_wrong_verifier_is_refused_and_used_up() {
    let mut fixture = OidcFixture::with_faulty_provider().await;
    let code = handoff_code(&fixture, &mut Browser::default()).await;
    let before = fixture.sql.number("SELECT count(*) FROM logins").await;
    exchange(&fixture, &code, CHALLENGE).await.assert_failure(403, "sign-in-refused");
    exchange(&fixture, &code, VERIFIER).await.assert_failure(403, "sign-in-refused");
    assert_eq!(fixture.sql.number("SELECT count(*) FROM logins").await, before);
    assert_eq!(fixture.refusal_reasons().await.len(), 2);
}

#[tokio::test]
async fn handoff_code_is_valid_once_and_for_a_minute() {
    let mut fixture = OidcFixture::with_faulty_provider().await;
    let used = handoff_code(&fixture, &mut Browser::default()).await;
    let (first, second) =
        tokio::join!(exchange(&fixture, &used, VERIFIER), exchange(&fixture, &used, VERIFIER));
    let mut statuses = [first.status.as_u16(), second.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 403]);
    let expired = handoff_code(&fixture, &mut Browser::default()).await;
    let remaining = "SELECT extract(epoch FROM max(expires_at) - now())::bigint FROM handoffs";
    assert!((50..=60).contains(&fixture.sql.number(remaining).await));
    fixture.sql.execute("UPDATE handoffs SET expires_at = now()").await;
    exchange(&fixture, &expired, VERIFIER).await.assert_failure(403, "sign-in-refused");
    for malformed in ["", "ghh_nonsense", &expired.replacen("ghh", "ghi", 1)] {
        exchange(&fixture, malformed, VERIFIER).await.assert_failure(403, "sign-in-refused");
    }
}

#[tokio::test]
async fn cli_sign_in_needs_a_local_port_and_a_challenge() {
    let fixture = OidcFixture::with_faulty_provider().await;
    for query in [
        "cli=".to_owned(),
        "cli=4321".to_owned(),
        format!("cli={CHALLENGE}"),
        format!("cli=.{CHALLENGE}"),
        format!("cli=0.{CHALLENGE}"),
        format!("cli=04321.{CHALLENGE}"),
        format!("cli=65536.{CHALLENGE}"),
        format!("cli=evil.example.{CHALLENGE}"),
        "cli=4321.short".to_owned(),
        format!("cli=4321.{CHALLENGE}&cli=4322.{CHALLENGE}"),
    ] {
        let path = format!("/api/v1/auth/oidc/start?{query}");
        fixture.cluster.first.get(&path).await.assert_failure(400, "schema-invalid");
    }
}

#[tokio::test]
async fn user_disabled_before_the_exchange_gets_no_tokens() {
    let mut fixture = OidcFixture::with_faulty_provider().await;
    let code = handoff_code(&fixture, &mut Browser::default()).await;
    let principal = "SELECT principal FROM login_methods";
    fixture.sql.execute(format!("UPDATE principals SET disabled_at = now() WHERE id = ({principal})")).await;
    exchange(&fixture, &code, VERIFIER).await.assert_failure(403, "sign-in-refused");
    let logins = format!("SELECT count(*) FROM logins WHERE principal = ({principal})");
    assert_eq!(fixture.sql.number(logins).await, 0);
}
