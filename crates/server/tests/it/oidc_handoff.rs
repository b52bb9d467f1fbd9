//! From the browser to the command that asked for it.

use std::collections::BTreeMap;

use reqwest::Url;
use serde_json::json;

use crate::support::Answer;
use crate::support::browser::{Browser, SESSION};
use crate::support::oidc::{Parties, location};
use crate::support::people::person;

/// The example of RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// Signs in with a browser for a command that waits on port 4321. Returns the code that the browser carries there.
async fn code(parties: &Parties, browser: &mut Browser) -> String {
    let (_, invitation) = parties.world.invitation(&parties.tenant, "operator").await;
    let query = format!("cli=4321.{CHALLENGE}&invitation={invitation}");
    let done = parties.sign_in(browser, &query, "").await;
    let address: Url = location(&done);
    assert_eq!(
        (address.scheme(), address.host_str(), address.port()),
        ("http", Some("127.0.0.1"), Some(4321))
    );
    let mut sent: BTreeMap<String, String> = address.query_pairs().into_owned().collect();
    assert_eq!(sent.remove("challenge").as_deref(), Some(CHALLENGE));
    let code = sent.remove("code").expect("a code");
    assert!(sent.is_empty(), "{sent:?}");
    code
}

async fn exchange(parties: &Parties, code: &str, verifier: &str) -> Answer {
    parties.world.one.post("/api/v1/auth/handoff", json!({ "code": code, "verifier": verifier })).await
}

#[tokio::test]
async fn a_command_gets_its_tokens_on_any_replica_and_the_browser_gets_no_session() {
    let parties = Parties::lying().await;
    let mut browser = Browser::default();
    let code = code(&parties, &mut browser).await;
    assert!(!browser.cookies.contains_key(SESSION), "the browser is signed in too");
    let answer = exchange(&parties, &code, VERIFIER).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let tokens = person(&answer.body);
    let who = parties.world.other.get_as("/api/v1/whoami", &tokens.access).await;
    assert_eq!(who.body["tenants"][0]["role"], "operator");
    let next =
        parties.world.other.post("/api/v1/auth/refresh", json!({ "refreshToken": tokens.refresh })).await;
    assert_eq!(next.status, 200);
}

/// The attack: the code is read from the browser's history, or by another program on the machine.
#[tokio::test]
async fn a_stolen_code_is_of_no_use_and_is_used_up_by_the_thief() {
    let mut parties = Parties::lying().await;
    let code = code(&parties, &mut Browser::default()).await;
    let before = parties.sql.number("SELECT count(*) FROM logins").await;
    exchange(&parties, &code, CHALLENGE).await.assert_failure(403, "sign-in-refused");
    exchange(&parties, &code, VERIFIER).await.assert_failure(403, "sign-in-refused");
    assert_eq!(parties.sql.number("SELECT count(*) FROM logins").await, before);
    assert_eq!(parties.reasons().await.len(), 2);
}

#[tokio::test]
async fn a_code_is_good_once_and_for_a_minute() {
    let mut parties = Parties::lying().await;
    let used = code(&parties, &mut Browser::default()).await;
    let (first, second) =
        tokio::join!(exchange(&parties, &used, VERIFIER), exchange(&parties, &used, VERIFIER));
    let mut statuses = [first.status.as_u16(), second.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 403]);
    let late = code(&parties, &mut Browser::default()).await;
    let left = "SELECT extract(epoch FROM max(expires_at) - now())::bigint FROM handoffs";
    assert!((50..=60).contains(&parties.sql.number(left).await));
    parties.sql.execute("UPDATE handoffs SET expires_at = now()").await;
    exchange(&parties, &late, VERIFIER).await.assert_failure(403, "sign-in-refused");
    for nonsense in ["", "ghh_nonsense", &late.replacen("ghh", "ghi", 1)] {
        exchange(&parties, nonsense, VERIFIER).await.assert_failure(403, "sign-in-refused");
    }
}

#[tokio::test]
async fn a_sign_in_for_a_command_names_a_port_of_this_machine_and_a_challenge() {
    let parties = Parties::lying().await;
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
        parties.world.one.get(&path).await.assert_failure(400, "schema-invalid");
    }
}
