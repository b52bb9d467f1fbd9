//! The handoff of a browser sign-in to the CLI that started it.

use std::collections::BTreeMap;

use reqwest::{Method, Url};
use serde_json::json;

use crate::support::TestResponse;
use crate::support::browser::{Browser, SESSION_COOKIE};
use crate::support::cluster::signed_in_user;
use crate::support::oidc::{OidcFixture, csrf_of, location};

/// The example of RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// The short code of the challenge.
const CODE: &str = "HMC8-5XC3";

const CONFIRM_COOKIE: &str = "__Host-guildhall-confirm";

/// Signs in with a browser for a CLI that listens on port 4321. Returns the code that the browser passes to it.
async fn handoff_code(fixture: &OidcFixture, browser: &mut Browser) -> String {
    let (_, invitation) = fixture.cluster.create_invitation(&fixture.tenant, "operator").await;
    let query = format!("cli=4321.{CHALLENGE}&invitation={invitation}");
    let done = fixture.sign_in(browser, &query, "").await;
    assert_eq!(location(&done).as_str(), fixture.cluster.first.url("/sign-in/confirm"), "the public URL");
    let page = fixture.open_confirmation(browser).await;
    let done = fixture.submit_confirmation(browser, &csrf_of(&page), "confirm").await;
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
    assert!(browser.cookies.keys().all(|name| !name.starts_with("__Host-")), "{:?}", browser.cookies);
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

/// The attack: a link starts a sign-in for the attacker's program, which listens on the victim's machine. The victim
/// opens it and is signed in at the provider already.
#[tokio::test]
async fn link_of_an_attacker_gives_no_tokens_without_confirmation() {
    let mut fixture = OidcFixture::with_faulty_provider().await;
    let (_, invitation) = fixture.cluster.create_invitation(&fixture.tenant, "operator").await;
    let mut victim = Browser::default();
    let signed_in = fixture.sign_in(&mut victim, &format!("invitation={invitation}"), "").await;
    assert_eq!(signed_in.status, 303, "{}", signed_in.text);
    let clicked = fixture.sign_in(&mut victim, &format!("cli=4321.{CHALLENGE}"), "").await;
    let target = location(&clicked);
    let code = target.query_pairs().find(|(name, _)| name == "code").map(|(_, code)| code.into_owned());
    if let Some(code) = code {
        let stolen = exchange(&fixture, &code, VERIFIER).await;
        panic!("one click gave tokens to the attacker: {} {}", stolen.status, stolen.text);
    }
    assert_eq!(target.as_str(), fixture.cluster.first.url("/sign-in/confirm"));
    assert_eq!(fixture.sql.number("SELECT count(*) FROM handoffs").await, 0, "a code exists");

    let page = fixture.open_confirmation(&mut victim).await;
    assert!(page.text.contains(CODE) && page.text.contains("Otherwise somebody else"), "{}", page.text);
    let declined = fixture.submit_confirmation(&mut victim, &csrf_of(&page), "decline").await;
    assert_eq!((declined.status.as_u16(), declined.header("location")), (200, ""), "{}", declined.text);
    assert_eq!(fixture.sql.number("SELECT count(*) FROM handoffs").await, 0, "a code exists after a decline");
    assert_eq!(fixture.refusal_reasons().await, ["the user declined to sign in the command line program"]);
}

/// The attack: a page of another site submits the form of the confirmation page in the victim's browser.
#[tokio::test]
async fn confirmation_needs_the_cookie_token_and_origin_of_its_page() {
    let mut fixture = OidcFixture::with_faulty_provider().await;
    let (_, invitation) = fixture.cluster.create_invitation(&fixture.tenant, "operator").await;
    let mut victim = Browser::default();
    let query = format!("cli=4321.{CHALLENGE}&invitation={invitation}");
    fixture.sign_in(&mut victim, &query, "").await;
    let csrf = csrf_of(&fixture.open_confirmation(&mut victim).await);
    let (url, own) = (fixture.cluster.first.url("/sign-in/confirm"), fixture.cluster.first.url(""));
    let right = format!("csrf={csrf}&choice=confirm");
    for (origin, form, status, kind) in [
        (Some("https://evil.example"), right.clone(), 403, "origin-refused"),
        (Some("null"), right.clone(), 403, "origin-refused"),
        (None, right.clone(), 403, "csrf-refused"),
        (Some(own.as_str()), "choice=confirm".to_owned(), 403, "sign-in-refused"),
        (Some(own.as_str()), "csrf=guessed&choice=confirm".to_owned(), 403, "sign-in-refused"),
        (Some(own.as_str()), format!("csrf={csrf}"), 400, "schema-invalid"),
    ] {
        let refused = victim.submit_form(&fixture.client, &url, origin, form).await;
        refused.assert_failure(status, kind);
    }
    let mut stranger = Browser::default();
    let refused = stranger.submit_form(&fixture.client, &url, Some(&own), right.clone()).await;
    refused.assert_failure(403, "sign-in-refused");
    fixture.open_confirmation(&mut stranger).await.assert_failure(403, "sign-in-refused");
    assert_eq!(fixture.sql.number("SELECT count(*) FROM handoffs").await, 0, "a code exists");

    let mut copy = victim.clone();
    let (first, second) = tokio::join!(
        fixture.submit_confirmation(&mut victim, &csrf, "confirm"),
        fixture.submit_confirmation(&mut copy, &csrf, "confirm")
    );
    let mut statuses = [first.status.as_u16(), second.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [303, 403], "a sign-in can be confirmed once");
}

#[tokio::test]
async fn confirmation_page_cannot_be_framed_and_expires() {
    let mut fixture = OidcFixture::with_faulty_provider().await;
    let (_, invitation) = fixture.cluster.create_invitation(&fixture.tenant, "operator").await;
    let mut browser = Browser::default();
    let query = format!("cli=4321.{CHALLENGE}&invitation={invitation}");
    fixture.sign_in(&mut browser, &query, "").await;
    let page = fixture.open_confirmation(&mut browser).await;
    assert_eq!(
        ["content-type", "content-security-policy", "x-frame-options", "cache-control", "referrer-policy"]
            .map(|name| page.header(name)),
        [
            "text/html; charset=utf-8",
            "default-src 'none'; form-action 'self' http://127.0.0.1:4321; frame-ancestors 'none'; base-uri 'none'",
            "DENY",
            "no-store",
            "same-origin"
        ]
    );
    let url = fixture.cluster.second.url("/sign-in/confirm");
    let request = fixture.client.get(url).header("accept-language", "zh-CN,zh;q=0.9");
    let request = request.header("cookie", format!("{CONFIRM_COOKIE}={}", browser.cookies[CONFIRM_COOKIE]));
    let chinese = request.send().await.expect("a response").text().await.expect("text");
    assert!(
        chinese.contains("lang=\"zh-CN\"") && chinese.contains(CODE) && chinese.contains("取消"),
        "{chinese}"
    );

    let csrf = csrf_of(&page);
    fixture.sql.execute("UPDATE handoff_confirmations SET expires_at = now()").await;
    fixture.open_confirmation(&mut browser).await.assert_failure(403, "sign-in-refused");
    let refused = fixture.submit_confirmation(&mut browser, &csrf, "confirm").await;
    refused.assert_failure(403, "sign-in-refused");
    assert_eq!(fixture.sql.number("SELECT count(*) FROM handoffs").await, 0, "a code exists");
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

#[tokio::test]
async fn ended_logins_include_a_sign_in_that_waits_for_confirmation() {
    let mut fixture = OidcFixture::with_faulty_provider().await;
    let (_, invitation) = fixture.cluster.create_invitation(&fixture.tenant, "operator").await;
    let mut browser = Browser::default();
    fixture.sign_in(&mut browser, &format!("cli=4321.{CHALLENGE}&invitation={invitation}"), "").await;
    let csrf = csrf_of(&fixture.open_confirmation(&mut browser).await);
    let ids =
        fixture.sql.texts("SELECT 'prn_' || replace(principal::text, '-', '') FROM login_methods").await;
    let path = format!("/api/v1/users/{}/logins", ids[0]);
    let (cluster, operator) = (&fixture.cluster, &fixture.cluster.operator.token);
    let ended = cluster.first.request_as(Method::DELETE, &path, operator, None).await;
    assert_eq!(ended.status, 200, "{}", ended.text);
    let confirmed = fixture.submit_confirmation(&mut browser, &csrf, "confirm").await;
    confirmed.assert_failure(403, "sign-in-refused");
    assert_eq!(fixture.sql.number("SELECT count(*) FROM handoffs").await, 0, "a code exists");
}
