//! Browser sessions and attacks of other web pages on them, on two replicas.

use std::time::Duration;

use guildhall_testkit::{SqlConnection, Stopwatch, TestDb};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::browser::{Browser, SESSION_COOKIE, origin_of};
use crate::support::cluster::{Cluster, PASSWORD};
use crate::support::{Setup, TestResponse, TestServer};

async fn start_cluster() -> (Cluster, SqlConnection) {
    let db = TestDb::new().await;
    let sql = db.sql().await;
    (Cluster::with_setup(Setup::new(&db), db).await, sql)
}

/// Sends a request that creates a tenant, with the cookies of a browser and these headers.
async fn create_tenant(browser: &mut Browser, server: &TestServer, headers: &[(&str, &str)]) -> TestResponse {
    let body = json!({ "slug": "acme", "name": "Acme" });
    browser.send(server, Method::POST, "/api/v1/tenants", headers, Some(body)).await
}

async fn audit_entries(sql: &mut SqlConnection, action: &str) -> Vec<Value> {
    let rows = format!("SELECT body FROM journal_entries WHERE kind = '{action}' ORDER BY seq");
    sql.texts(rows).await.iter().map(|body| serde_json::from_str(body).expect("JSON")).collect()
}

#[tokio::test]
async fn browser_session_is_valid_on_both_replicas_with_one_csrf_token() {
    let (cluster, _) = start_cluster().await;
    let (mut browser, csrf) = Browser::sign_in(&cluster.first, "operator").await;
    let whoami = browser.get(&cluster.second, "/api/v1/whoami").await;
    assert_eq!(
        whoami.body,
        json!({ "principal": cluster.operator.principal, "kind": "user", "operator": true, "tenants": [] })
    );
    let session = browser.get(&cluster.second, "/api/v1/auth/browser-session").await;
    assert_eq!(
        (session.body["csrfToken"].as_str(), session.header("cache-control")),
        (Some(&*csrf), "no-store")
    );
    let origin = origin_of(&cluster.second);
    let created =
        create_tenant(&mut browser, &cluster.second, &[("origin", &origin), ("x-guildhall-csrf", &csrf)])
            .await;
    assert_eq!(created.status, 201, "{}", created.text);
}

#[tokio::test]
async fn session_cookie_is_host_only_secure_and_http_only() {
    let (cluster, mut sql) = start_cluster().await;
    let body = json!({ "name": "operator", "password": PASSWORD });
    let response = cluster.first.post("/api/v1/auth/browser-session", body).await;
    let line = response.header("set-cookie").to_owned();
    let (pair, attributes) = line.split_once("; ").expect("attributes");
    assert_eq!(attributes, "Max-Age=604800; Path=/; Secure; HttpOnly; SameSite=Lax");
    let secret = pair.strip_prefix(&format!("{SESSION_COOKIE}=")).expect("the session cookie");
    assert!(!response.text.contains(secret), "the body contains the cookie");
    for table in ["logins", "journal_entries"] {
        let rows = sql.texts(format!("SELECT t::text FROM {table} t")).await.join("\n");
        assert!(!rows.contains(&secret[40..]), "{table} contains the cookie");
        assert!(
            !rows.contains(response.body["csrfToken"].as_str().expect("a CSRF token")),
            "{table} contains the CSRF token"
        );
    }
}

/// The attack is CSRF: a page of another site makes the browser send a request with the cookie.
#[tokio::test]
async fn cookie_mutation_needs_own_origin_and_session_csrf_token() {
    let (cluster, mut sql) = start_cluster().await;
    let (mut browser, csrf) = Browser::sign_in(&cluster.first, "operator").await;
    let (_, other_csrf) = Browser::sign_in(&cluster.first, "operator").await;
    let (origin, elsewhere) = (origin_of(&cluster.first), origin_of(&cluster.second));
    let attacks: [&[(&str, &str)]; 6] = [
        &[],
        &[("origin", &origin)],
        &[("x-guildhall-csrf", &csrf)],
        &[("origin", &origin), ("x-guildhall-csrf", "")],
        &[("origin", &origin), ("x-guildhall-csrf", "1")],
        &[("origin", &origin), ("x-guildhall-csrf", &other_csrf)],
    ];
    for headers in attacks {
        create_tenant(&mut browser, &cluster.first, headers).await.assert_failure(403, "csrf-refused");
    }
    for foreign in ["https://evil.example", "null", &elsewhere] {
        let headers = [("origin", foreign), ("x-guildhall-csrf", csrf.as_str())];
        create_tenant(&mut browser, &cluster.first, &headers).await.assert_failure(403, "origin-refused");
    }
    let sign_out =
        browser.send(&cluster.first, Method::POST, "/api/v1/auth/logout", &[("origin", &origin)], None).await;
    sign_out.assert_failure(403, "csrf-refused");

    assert_eq!(sql.number("SELECT count(*) FROM tenants").await, 0, "the refused request had an effect");
    assert_eq!(
        browser.get(&cluster.first, "/api/v1/whoami").await.status,
        200,
        "a refused sign-out ended the session"
    );
    let audited = audit_entries(&mut sql, "request.csrf_refused").await;
    assert_eq!(audited.len(), attacks.len() + 1);
    assert!(
        audited.iter().all(|entry| entry["actor"] == cluster.operator.principal.as_str()),
        "{audited:#?}"
    );
    assert_eq!(audit_entries(&mut sql, "request.origin_refused").await.len(), 3);
}

#[tokio::test]
async fn allowed_cors_origin_cannot_use_a_browser_session() {
    let db = TestDb::new().await;
    let origin = "https://console.example.org";
    let cluster = Cluster::with_setup(Setup::new(&db).with("access.allow_origins", origin), db).await;
    let (mut browser, csrf) = Browser::sign_in(&cluster.first, "operator").await;
    let headers = [("origin", origin), ("x-guildhall-csrf", csrf.as_str())];
    let refused = create_tenant(&mut browser, &cluster.first, &headers).await;
    refused.assert_failure(403, "csrf-refused");
    assert_eq!(refused.header("access-control-allow-credentials"), "");
    for path in ["/api/v1/whoami", "/capabilities"] {
        let read = browser.send(&cluster.first, Method::GET, path, &[("origin", origin)], None).await;
        read.assert_failure(403, "csrf-refused");
    }
    let own = origin_of(&cluster.first);
    let read = browser.send(&cluster.first, Method::GET, "/api/v1/whoami", &[("origin", &own)], None).await;
    assert_eq!(read.status, 200, "{}", read.text);
}

#[tokio::test]
async fn token_overrides_cookie_and_different_callers_are_refused() {
    let (cluster, mut sql) = start_cluster().await;
    let ada = cluster.create_user("ada").await;
    let (mut browser, _) = Browser::sign_in(&cluster.first, "operator").await;
    let bearer = |token: &str| format!("Bearer {token}");
    let mut whoami_with = async |authorization: &str| {
        let headers = [("authorization", authorization)];
        browser.send(&cluster.second, Method::GET, "/api/v1/whoami", &headers, None).await
    };
    assert_eq!(whoami_with(&bearer(&cluster.operator.token)).await.status, 200);
    whoami_with(&bearer(&ada.token)).await.assert_failure(400, "schema-invalid");
    whoami_with("Bearer nonsense").await.assert_failure(401, "unauthenticated");
    whoami_with("Basic b3BlcmF0b3I6eA==").await.assert_failure(401, "unauthenticated");
    assert_eq!(audit_entries(&mut sql, "request.two_callers_refused").await.len(), 1);

    let cookie = browser.cookies[SESSION_COOKIE].clone();
    cluster.first.get_as("/api/v1/whoami", &cookie).await.assert_failure(401, "unauthenticated");
    let refresh = cookie.replacen("ghb", "ghr", 1);
    let exchanged = cluster.first.post("/api/v1/auth/refresh", json!({ "refreshToken": refresh })).await;
    exchanged.assert_failure(401, "unauthenticated");
    assert_eq!(
        browser.get(&cluster.first, "/api/v1/whoami").await.status,
        200,
        "a refused request ended the session"
    );
}

#[tokio::test]
async fn sign_out_ends_session_and_streams_on_the_other_replica() {
    let (cluster, _) = start_cluster().await;
    let tenant = cluster.create_tenant("acme").await;
    let (mut browser, csrf) = Browser::sign_in(&cluster.first, "operator").await;
    let copy = browser.clone();
    let path = format!("/api/v1/tenants/{tenant}/audit/stream");
    let stream = cluster.second.client.get(cluster.second.url(&path));
    let cookie = format!("{SESSION_COOKIE}={}", browser.cookies[SESSION_COOKIE]);
    let mut stream = stream.header("cookie", cookie).send().await.expect("a response");
    assert_eq!(stream.status(), 200);
    let (origin, path) = (origin_of(&cluster.first), "/api/v1/auth/logout");
    let headers = [("origin", origin.as_str()), ("x-guildhall-csrf", csrf.as_str())];
    let sign_out = browser.send(&cluster.first, Method::POST, path, &headers, None).await;
    assert_eq!(sign_out.status, 200, "{}", sign_out.text);
    assert!(browser.cookies.is_empty(), "the cookie was not removed");
    let began = Stopwatch::start();
    copy.clone().get(&cluster.second, "/api/v1/whoami").await.assert_failure(401, "unauthenticated");
    while stream.chunk().await.expect("a stream").is_some() {
        assert!(began.elapsed() < Duration::from_secs(1), "the stream is still open");
    }
    assert!(began.elapsed() < Duration::from_secs(1), "the stream stayed open for {:?}", began.elapsed());
}

#[tokio::test]
async fn expired_browser_session_is_unauthenticated() {
    let (cluster, mut sql) = start_cluster().await;
    let (mut browser, _) = Browser::sign_in(&cluster.first, "operator").await;
    sql.execute("UPDATE logins SET expires_at = now() WHERE kind = 'browser'").await;
    browser.get(&cluster.first, "/api/v1/whoami").await.assert_failure(401, "unauthenticated");
}

#[tokio::test]
async fn require_auth_accepts_a_browser_session() {
    let db = TestDb::new().await;
    let cluster = Cluster::with_setup(Setup::new(&db).with("access.require_auth", "true"), db).await;
    let (mut browser, _) = Browser::sign_in(&cluster.first, "operator").await;
    assert_eq!(browser.get(&cluster.second, "/capabilities").await.status, 200);
}
