//! Host and origin checks, `access.require_auth`, and the advertised capabilities.

use guildhall_testkit::{SqlConnection, TestDb};
use reqwest::Method;
use secrecy::SecretString;
use serde_json::json;

use crate::support::cluster::{Cluster, PASSWORD};
use crate::support::{Setup, TestServer, read_response};

async fn with_header(
    server: &TestServer,
    method: Method,
    path: &str,
    name: &str,
    value: &str,
) -> crate::support::TestResponse {
    let request = server.client.request(method, server.url(path)).header(name, value);
    read_response(request.send().await.expect("a response")).await
}

async fn count_audited(sql: &mut SqlConnection, action: &str) -> i64 {
    sql.number(format!("SELECT count(*) FROM journal_entries WHERE kind = '{action}'")).await
}

/// The features that a deployment has by default. The module `streams` tests those of streams.
const DEFAULT_FEATURES: [&str; 6] = [
    "health",
    "capabilities",
    "rate_limit",
    "slow_client_warning",
    "typed_event_schema",
    "permission_mediation",
];

/// Returns the default features and the enabled ones, in the order of the registry.
fn features_with(enabled: &[&'static str]) -> Vec<&'static str> {
    [&DEFAULT_FEATURES[..2], enabled, &DEFAULT_FEATURES[2..]].concat()
}

// covers: C4
// exercises: health, capabilities
#[tokio::test]
async fn default_capabilities_are_advertised_on_both_replicas() {
    let cluster = Cluster::new().await;
    for server in [&cluster.first, &cluster.second] {
        let response = server.get("/capabilities").await;
        assert_eq!(
            response.body,
            json!({
                "v": 1, "mode": "http-bridge", "features": DEFAULT_FEATURES, "workspaceCwd": null,
                "protocol": { "current": "v1", "supported": ["v1"] }, "containment": "elsewhere",
                "policy": { "permission": "first-responder" },
            })
        );
        assert_eq!(server.get("/health").await.status, 200, "the feature `health`");
    }
}

/// The counterpart of the tests that enable these features.
// covers: C4, C7a, C7b, C7c
#[tokio::test]
async fn disabled_features_are_neither_advertised_nor_active() {
    let db = TestDb::new().await;
    let setup = Setup::new(&db).with("limits.sign_in", "").with("limits.account", "");
    let cluster = Cluster::with_setup(setup, db).await;
    let disabled = ["require_auth", "allow_origin", "rate_limit"];
    let features = cluster.first.get("/capabilities").await.body["features"].clone();
    let features = features.as_array().expect("a list");
    assert!(disabled.iter().all(|feature| !features.contains(&json!(feature))), "{features:?}");
    assert_eq!(cluster.first.get("/openapi.json").await.status, 200, "`require_auth` is off");
    let origin = "https://console.example.org";
    with_header(&cluster.first, Method::GET, "/health", "origin", origin)
        .await
        .assert_failure(403, "origin-refused");
    for _ in 0..50 {
        let response = cluster.first.get_as("/api/v1/whoami", &cluster.operator.token).await;
        assert_eq!(
            (response.status.as_u16(), response.header("x-ratelimit-limit")),
            (200, ""),
            "`rate_limit` is off"
        );
    }
}

/// The attack is DNS rebinding: a web page lets its own name resolve to this server and calls it with the visitor's
/// browser.
#[tokio::test]
async fn request_with_a_foreign_host_header_is_refused_and_audited() {
    let db = TestDb::new().await;
    let mut sql = db.sql().await;
    let cluster =
        Cluster::with_setup(Setup::new(&db).with("access.allow_hosts", "guildhall.example.org"), db).await;
    for path in ["/health", "/capabilities", "/api/v1/auth/login", "/openapi.json", "/nowhere"] {
        with_header(&cluster.first, Method::GET, path, "host", "evil.example:7117")
            .await
            .assert_failure(403, "host-refused");
    }
    assert_eq!(count_audited(&mut sql, "request.host_refused").await, 5);
    for host in ["guildhall.example.org", "LOCALHOST:1"] {
        assert_eq!(
            with_header(&cluster.first, Method::GET, "/health", "host", host).await.status,
            200,
            "{host}"
        );
    }
    let probe = with_header(&cluster.first, Method::GET, "/health/readiness", "host", "10.1.2.3:7117").await;
    assert_eq!(probe.status, 200, "orchestrators probe a replica by its IP address");
}

// covers: C4, C7b
// exercises: allow_origin
#[tokio::test]
async fn request_of_a_foreign_origin_is_refused_without_effect() {
    let db = TestDb::new().await;
    let mut sql = db.sql().await;
    let cluster =
        Cluster::with_setup(Setup::new(&db).with("access.allow_origins", "https://console.example.org"), db)
            .await;
    let features = cluster.first.get("/capabilities").await.body["features"].clone();
    assert_eq!(features, json!(features_with(&["allow_origin"])));

    let create =
        cluster.first.client.post(cluster.first.url("/api/v1/tenants")).bearer_auth(&cluster.operator.token);
    let create =
        create.header("origin", "https://evil.example").json(&json!({ "slug": "evil", "name": "E" }));
    let refused = read_response(create.send().await.expect("a response")).await;
    refused.assert_failure(403, "origin-refused");
    assert_eq!(refused.header("access-control-allow-origin"), "");
    assert_eq!(sql.number("SELECT count(*) FROM tenants").await, 0, "the refused request had an effect");
    assert_eq!(count_audited(&mut sql, "request.origin_refused").await, 1);

    let origin = "https://console.example.org";
    let preflight = with_header(&cluster.first, Method::OPTIONS, "/api/v1/tenants", "origin", origin).await;
    assert_eq!((preflight.status.as_u16(), preflight.header("access-control-allow-origin")), (204, origin));
    let allowed = with_header(&cluster.first, Method::GET, "/health", "origin", origin).await;
    assert_eq!((allowed.status.as_u16(), allowed.header("vary")), (200, "origin"));
}

// covers: C6, C7a
// exercises: require_auth
#[tokio::test]
async fn require_auth_refusal_names_the_login_route() {
    let db = TestDb::new().await;
    let server = Setup::new(&db).with("access.require_auth", "true").start().await;
    server.server.create_first_user("operator", &SecretString::from(PASSWORD)).await.expect("created");
    for path in ["/capabilities", "/health", "/openapi.json", "/metrics", "/docs/", "/nowhere"] {
        let refused = server.get(path).await;
        refused.assert_failure(401, "unauthenticated");
        assert!(
            refused.body["message"].as_str().expect("a message").contains("POST /api/v1/auth/login"),
            "{}",
            refused.text
        );
    }
    assert_eq!(server.get("/health/live").await.status, 200);
    assert_eq!(server.get("/.well-known/jwks.json").await.status, 200);
    let operator = server.sign_in("operator").await;
    let features = server.get_as("/capabilities", &operator.token).await.body["features"].clone();
    assert_eq!(features, json!(features_with(&["require_auth"])));
}

/// A load balancer has no token. It needs the status, and must not learn more.
// covers: C6
#[tokio::test]
async fn readiness_without_a_token_shows_only_the_status() {
    let db = TestDb::new().await;
    let server = Setup::new(&db).with("access.require_auth", "true").start().await;
    server.server.create_first_user("operator", &SecretString::from(PASSWORD)).await.expect("created");
    let anonymous = server.get("/health/readiness").await;
    assert_eq!((anonymous.status.as_u16(), &anonymous.body), (200, &json!({ "status": "ready" })));
    let invalid = server.get_as("/health/readiness", "ght_invalid").await;
    assert_eq!(invalid.body, anonymous.body);
    let operator = server.sign_in("operator").await;
    let known = server.get_as("/health/readiness", &operator.token).await;
    assert_eq!(
        (&known.body["status"], &known.body["postgres"]["reachable"]),
        (&json!("ready"), &json!(true))
    );
}

#[tokio::test]
async fn repeated_refusals_are_audited_up_to_a_limit() {
    let db = TestDb::new().await;
    let mut sql = db.sql().await;
    let server = Setup::new(&db).start().await;
    for _ in 0..60 {
        with_header(&server, Method::GET, "/health", "host", "evil.example")
            .await
            .assert_failure(403, "host-refused");
    }
    assert!(count_audited(&mut sql, "request.host_refused").await <= 20);
}
