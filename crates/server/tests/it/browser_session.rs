//! Browser sessions, and what other web pages try with them; on two replicas.

use std::time::{Duration, Instant};

use guildhall_testkit::{Sql, TestDb};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::browser::{Browser, SESSION, own};
use crate::support::people::{PASSWORD, World};
use crate::support::{Answer, Setup, TestServer};

async fn world() -> (World, Sql) {
    let db = TestDb::new().await;
    let sql = db.sql().await;
    (World::on(Setup::on(&db), db).await, sql)
}

/// Tries to make a tenant with nothing but what a page can make a browser send.
async fn make_tenant(browser: &mut Browser, server: &TestServer, headers: &[(&str, &str)]) -> Answer {
    let body = json!({ "slug": "acme", "name": "Acme" });
    browser.send(server, Method::POST, "/api/v1/tenants", headers, Some(body)).await
}

async fn audited(sql: &mut Sql, action: &str) -> Vec<Value> {
    let rows = format!("SELECT body FROM journal_entries WHERE kind = '{action}' ORDER BY seq");
    sql.texts(rows).await.iter().map(|body| serde_json::from_str(body).expect("JSON")).collect()
}

#[tokio::test]
async fn a_browser_signs_in_and_its_session_is_good_on_every_replica_with_the_same_csrf_token() {
    let (world, _) = world().await;
    let (mut browser, csrf) = Browser::sign_in(&world.one, "operator").await;
    let who = browser.get(&world.other, "/api/v1/whoami").await;
    assert_eq!(
        who.body,
        json!({ "principal": world.operator.principal, "kind": "user", "operator": true, "tenants": [] })
    );
    let shown = browser.get(&world.other, "/api/v1/auth/browser-session").await;
    assert_eq!((shown.body["csrfToken"].as_str(), shown.header("cache-control")), (Some(&*csrf), "no-store"));
    let origin = own(&world.other);
    let made =
        make_tenant(&mut browser, &world.other, &[("origin", &origin), ("x-guildhall-csrf", &csrf)]).await;
    assert_eq!(made.status, 201, "{}", made.text);
}

#[tokio::test]
async fn the_cookie_is_for_this_host_alone_and_out_of_reach_of_scripts() {
    let (world, mut sql) = world().await;
    let body = json!({ "name": "operator", "password": PASSWORD });
    let answer = world.one.post("/api/v1/auth/browser-session", body).await;
    let line = answer.header("set-cookie").to_owned();
    let (pair, attributes) = line.split_once("; ").expect("attributes");
    assert_eq!(attributes, "Max-Age=604800; Path=/; Secure; HttpOnly; SameSite=Lax");
    let secret = pair.strip_prefix(&format!("{SESSION}=")).expect("our cookie");
    assert!(!answer.text.contains(secret), "a script could read it in the body");
    for table in ["logins", "journal_entries"] {
        let rows = sql.texts(format!("SELECT t::text FROM {table} t")).await.join("\n");
        assert!(!rows.contains(&secret[40..]), "{table} holds the cookie");
        assert!(
            !rows.contains(answer.body["csrfToken"].as_str().expect("one")),
            "{table} holds the CSRF token"
        );
    }
}

/// The attack: a page of another site makes the browser send a request, and the cookie goes along.
#[tokio::test]
async fn a_change_by_cookie_needs_the_own_origin_and_the_csrf_token_of_this_session() {
    let (world, mut sql) = world().await;
    let (mut browser, csrf) = Browser::sign_in(&world.one, "operator").await;
    let (_, of_another) = Browser::sign_in(&world.one, "operator").await;
    let (origin, elsewhere) = (own(&world.one), own(&world.other));
    let attacks: [&[(&str, &str)]; 6] = [
        &[],
        &[("origin", &origin)],
        &[("x-guildhall-csrf", &csrf)],
        &[("origin", &origin), ("x-guildhall-csrf", "")],
        &[("origin", &origin), ("x-guildhall-csrf", "1")],
        &[("origin", &origin), ("x-guildhall-csrf", &of_another)],
    ];
    for headers in attacks {
        make_tenant(&mut browser, &world.one, headers).await.assert_failure(403, "csrf-refused");
    }
    for foreign in ["https://evil.example", "null", &elsewhere] {
        let headers = [("origin", foreign), ("x-guildhall-csrf", csrf.as_str())];
        make_tenant(&mut browser, &world.one, &headers).await.assert_failure(403, "origin-refused");
    }
    let out =
        browser.send(&world.one, Method::POST, "/api/v1/auth/logout", &[("origin", &origin)], None).await;
    out.assert_failure(403, "csrf-refused");

    assert_eq!(sql.number("SELECT count(*) FROM tenants").await, 0, "it was done all the same");
    assert_eq!(browser.get(&world.one, "/api/v1/whoami").await.status, 200, "it was signed out all the same");
    let noted = audited(&mut sql, "request.csrf_refused").await;
    assert_eq!(noted.len(), attacks.len() + 1);
    assert!(noted.iter().all(|entry| entry["actor"] == world.operator.principal.as_str()), "{noted:#?}");
    assert_eq!(audited(&mut sql, "request.origin_refused").await.len(), 3);
}

#[tokio::test]
async fn an_origin_that_may_call_with_tokens_still_may_not_use_a_browser_session() {
    let db = TestDb::new().await;
    let origin = "https://console.example.org";
    let world = World::on(Setup::on(&db).with("access.allow_origins", origin), db).await;
    let (mut browser, csrf) = Browser::sign_in(&world.one, "operator").await;
    let headers = [("origin", origin), ("x-guildhall-csrf", csrf.as_str())];
    let refused = make_tenant(&mut browser, &world.one, &headers).await;
    refused.assert_failure(403, "csrf-refused");
    assert_eq!(refused.header("access-control-allow-credentials"), "");
    let read = browser.send(&world.one, Method::GET, "/api/v1/whoami", &[("origin", origin)], None).await;
    read.assert_failure(403, "csrf-refused");
    let own = own(&world.one);
    let read = browser.send(&world.one, Method::GET, "/api/v1/whoami", &[("origin", &own)], None).await;
    assert_eq!(read.status, 200, "{}", read.text);
}

#[tokio::test]
async fn a_token_wins_over_a_cookie_and_two_callers_are_refused() {
    let (world, mut sql) = world().await;
    let ada = world.user("ada").await;
    let (mut browser, _) = Browser::sign_in(&world.one, "operator").await;
    let bearer = |token: &str| format!("Bearer {token}");
    let mut ask = async |authorization: &str| {
        let headers = [("authorization", authorization)];
        browser.send(&world.other, Method::GET, "/api/v1/whoami", &headers, None).await
    };
    assert_eq!(ask(&bearer(&world.operator.access)).await.status, 200);
    ask(&bearer(&ada.access)).await.assert_failure(400, "schema-invalid");
    ask("Bearer nonsense").await.assert_failure(401, "unauthenticated");
    ask("Basic b3BlcmF0b3I6eA==").await.assert_failure(401, "unauthenticated");
    assert_eq!(audited(&mut sql, "request.two_callers_refused").await.len(), 1);

    let cookie = browser.cookies[SESSION].clone();
    world.one.get_as("/api/v1/whoami", &cookie).await.assert_failure(401, "unauthenticated");
    let refresh = cookie.replacen("ghb", "ghr", 1);
    let exchanged = world.one.post("/api/v1/auth/refresh", json!({ "refreshToken": refresh })).await;
    exchanged.assert_failure(401, "unauthenticated");
    assert_eq!(browser.get(&world.one, "/api/v1/whoami").await.status, 200, "the attempt ended the session");
}

#[tokio::test]
async fn signing_out_takes_the_cookie_and_ends_the_session_and_its_streams_on_the_other_replica() {
    let (world, _) = world().await;
    let tenant = world.tenant("acme").await;
    let (mut browser, csrf) = Browser::sign_in(&world.one, "operator").await;
    let kept = browser.clone();
    let path = format!("/api/v1/tenants/{tenant}/audit/stream");
    let stream = world.other.client.get(world.other.url(&path));
    let cookie = format!("{SESSION}={}", browser.cookies[SESSION]);
    let mut stream = stream.header("cookie", cookie).send().await.expect("an answer");
    assert_eq!(stream.status(), 200);
    let (origin, path) = (own(&world.one), "/api/v1/auth/logout");
    let headers = [("origin", origin.as_str()), ("x-guildhall-csrf", csrf.as_str())];
    let out = browser.send(&world.one, Method::POST, path, &headers, None).await;
    assert_eq!(out.status, 204, "{}", out.text);
    assert!(browser.cookies.is_empty(), "the browser keeps its cookie");
    let began = Instant::now();
    kept.clone().get(&world.other, "/api/v1/whoami").await.assert_failure(401, "unauthenticated");
    while stream.chunk().await.expect("a stream").is_some() {
        assert!(began.elapsed() < Duration::from_secs(1), "the stream is still open");
    }
    assert!(began.elapsed() < Duration::from_secs(1), "the stream was open for {:?} more", began.elapsed());
}

#[tokio::test]
async fn an_expired_session_is_nobodys() {
    let (world, mut sql) = world().await;
    let (mut browser, _) = Browser::sign_in(&world.one, "operator").await;
    sql.execute("UPDATE logins SET expires_at = now() WHERE kind = 'browser'").await;
    browser.get(&world.one, "/api/v1/whoami").await.assert_failure(401, "unauthenticated");
}

#[tokio::test]
async fn where_everyone_must_sign_in_a_session_opens_what_a_token_opens() {
    let db = TestDb::new().await;
    let world = World::on(Setup::on(&db).with("access.require_auth", "true"), db).await;
    let (mut browser, _) = Browser::sign_in(&world.one, "operator").await;
    assert_eq!(browser.get(&world.other, "/capabilities").await.status, 200);
}
