//! Hosts, origins, strangers; and what the server says it can do.

use guildhall_testkit::{Sql, TestDb};
use reqwest::Method;
use secrecy::SecretString;
use serde_json::json;

use crate::support::people::{PASSWORD, World};
use crate::support::{Setup, TestServer, read};

async fn with_header(
    server: &TestServer,
    method: Method,
    path: &str,
    name: &str,
    value: &str,
) -> crate::support::Answer {
    let request = server.client.request(method, server.url(path)).header(name, value);
    read(request.send().await.expect("an answer")).await
}

async fn refused_in_audit(sql: &mut Sql, action: &str) -> i64 {
    sql.number(format!("SELECT count(*) FROM journal_entries WHERE kind = '{action}'")).await
}

/// The tags that every deployment has. Those of streams are exercised in `streams`.
const ALWAYS: [&str; 6] = [
    "health",
    "capabilities",
    "session_events",
    "slow_client_warning",
    "typed_event_schema",
    "client_identity",
];

/// What is always there and these, in the order of the registry.
fn and(switched_on: &[&'static str]) -> Vec<&'static str> {
    [&ALWAYS[..2], switched_on, &ALWAYS[2..]].concat()
}

// covers: C1, C4
#[tokio::test]
async fn what_is_always_advertised_is_always_there() {
    let world = World::new().await;
    for server in [&world.one, &world.other] {
        let answer = server.get("/capabilities").await;
        assert_eq!(
            answer.body,
            json!({
                "v": 1, "mode": "control-plane", "features": ALWAYS, "workspaceCwd": null,
                "protocol": { "current": "v1", "supported": ["v1"] }, "policy": { "permission": "decline", "containment": "elsewhere" },
            })
        );
        assert_eq!(server.get("/health").await.status, 200, "the behaviour behind `health`");
    }
}

/// The other half of the three tests that switch them on.
// covers: C4, C7a, C7b, C7c
#[tokio::test]
async fn what_is_switched_off_is_neither_advertised_nor_there() {
    let world = World::new().await;
    let off = ["require_auth", "allow_origin", "rate_limit"];
    let features = world.one.get("/capabilities").await.body["features"].clone();
    assert!(off.iter().all(|tag| !features.as_array().expect("a list").contains(&json!(tag))), "{features}");
    assert_eq!(world.one.get("/openapi.json").await.status, 200, "open without a token: no `require_auth`");
    let origin = "https://console.example.org";
    with_header(&world.one, Method::GET, "/health", "origin", origin)
        .await
        .assert_failure(403, "origin-refused");
    for _ in 0..50 {
        let answer = world.one.get_as("/api/v1/whoami", &world.operator.access).await;
        assert_eq!(
            (answer.status.as_u16(), answer.header("x-ratelimit-limit")),
            (200, ""),
            "no `rate_limit`"
        );
    }
}

/// The attack: a web page makes its own name point at this machine, and calls the server with the visitor's browser.
#[tokio::test]
async fn a_request_for_another_host_is_refused_and_written_down() {
    let db = TestDb::new().await;
    let mut sql = db.sql().await;
    let world = World::on(Setup::on(&db).with("access.allow_hosts", "guildhall.example.org"), db).await;
    for path in ["/health", "/capabilities", "/api/v1/auth/login", "/openapi.json", "/nowhere"] {
        with_header(&world.one, Method::GET, path, "host", "evil.example:7117")
            .await
            .assert_failure(403, "host-refused");
    }
    assert_eq!(refused_in_audit(&mut sql, "request.host_refused").await, 5);
    for host in ["guildhall.example.org", "LOCALHOST:1"] {
        assert_eq!(with_header(&world.one, Method::GET, "/health", "host", host).await.status, 200, "{host}");
    }
    let probe = with_header(&world.one, Method::GET, "/health/readiness", "host", "10.1.2.3:7117").await;
    assert_eq!(probe.status, 200, "an orchestrator calls a replica by its own address");
}

// covers: C4, C7b
#[tokio::test]
async fn a_web_page_of_another_origin_gets_nothing_done() {
    let db = TestDb::new().await;
    let mut sql = db.sql().await;
    let world =
        World::on(Setup::on(&db).with("access.allow_origins", "https://console.example.org"), db).await;
    let features = world.one.get("/capabilities").await.body["features"].clone();
    assert_eq!(features, json!(and(&["allow_origin"])));

    let create = world.one.client.post(world.one.url("/api/v1/tenants")).bearer_auth(&world.operator.access);
    let create =
        create.header("origin", "https://evil.example").json(&json!({ "slug": "evil", "name": "E" }));
    let refused = read(create.send().await.expect("an answer")).await;
    refused.assert_failure(403, "origin-refused");
    assert_eq!(refused.header("access-control-allow-origin"), "");
    assert_eq!(sql.number("SELECT count(*) FROM tenants").await, 0, "it was done all the same");
    assert_eq!(refused_in_audit(&mut sql, "request.origin_refused").await, 1);

    let origin = "https://console.example.org";
    let preflight = with_header(&world.one, Method::OPTIONS, "/api/v1/tenants", "origin", origin).await;
    assert_eq!((preflight.status.as_u16(), preflight.header("access-control-allow-origin")), (204, origin));
    let allowed = with_header(&world.one, Method::GET, "/health", "origin", origin).await;
    assert_eq!((allowed.status.as_u16(), allowed.header("vary")), (200, "origin"));
}

// covers: C6, C7a
#[tokio::test]
async fn where_everyone_must_sign_in_the_refusal_says_how() {
    let db = TestDb::new().await;
    let server = Setup::on(&db).with("access.require_auth", "true").start().await;
    server.server.create_first_user("operator", &SecretString::from(PASSWORD)).await.expect("made");
    for path in
        ["/capabilities", "/health", "/health/readiness", "/openapi.json", "/metrics", "/docs/", "/nowhere"]
    {
        let refused = server.get(path).await;
        refused.assert_failure(401, "unauthenticated");
        assert!(
            refused.body["message"].as_str().expect("words").contains("POST /api/v1/auth/login"),
            "{}",
            refused.text
        );
    }
    assert_eq!(server.get("/health/live").await.status, 200);
    assert_eq!(server.get("/.well-known/jwks.json").await.status, 200);
    let operator = server.sign_in("operator").await;
    let features = server.get_as("/capabilities", &operator.access).await.body["features"].clone();
    assert_eq!(features, json!(and(&["require_auth"])));
}

#[tokio::test]
async fn a_flood_of_refusals_does_not_fill_the_audit_log() {
    let db = TestDb::new().await;
    let mut sql = db.sql().await;
    let server = Setup::on(&db).start().await;
    for _ in 0..60 {
        with_header(&server, Method::GET, "/health", "host", "evil.example")
            .await
            .assert_failure(403, "host-refused");
    }
    assert!(refused_in_audit(&mut sql, "request.host_refused").await <= 20);
}
