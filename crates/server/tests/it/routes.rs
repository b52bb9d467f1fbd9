//! Every route of the source specification (docs/ledger.md, R1) exists under its path and answers with JSON.

use reqwest::Method;

use crate::support::cluster::Cluster;
use crate::support::read_response;

/// The routes of the source specification, in its order.
const SOURCE_ROUTES: [(&str, &str); 40] = [
    ("GET", "/health"),
    ("GET", "/health/live"),
    ("GET", "/health/readiness"),
    ("POST", "/api/v1/runs"),
    ("GET", "/api/v1/runs/:runId"),
    ("GET", "/api/v1/runs/:runId/events"),
    ("GET", "/api/v1/runs/:runId/result"),
    ("POST", "/api/v1/runs/:runId/cancel"),
    ("POST", "/api/v1/runs/:runId/commands"),
    ("GET", "/api/v1/runs/:runId/commands/:commandId"),
    ("GET", "/api/v1/runs/:runId/commands/:commandId/result"),
    ("POST", "/api/v1/runs/:runId/runner-jobs"),
    ("GET", "/api/v1/runs/:runId/runner-jobs"),
    ("GET", "/api/v1/runs/:runId/runner-jobs/:runnerJobId"),
    ("POST", "/api/v1/commands/:commandId/cancel"),
    ("GET", "/api/v1/sessions"),
    ("GET", "/api/v1/sessions/:sessionId"),
    ("GET", "/api/v1/sessions/:sessionId/trace"),
    ("GET", "/api/v1/sessions/:sessionId/output"),
    ("POST", "/api/v1/sessions/:sessionId/read"),
    ("POST", "/api/v1/sessions/:sessionId/control"),
    ("GET", "/api/v1/backends"),
    ("GET", "/api/v1/provider-profiles"),
    ("GET", "/api/v1/provider-profiles/:profile"),
    ("DELETE", "/api/v1/provider-profiles/:profile"),
    ("PUT", "/api/v1/provider-profiles/:profile/credential"),
    ("POST", "/api/v1/provider-profiles/:profile/validate"),
    ("GET", "/api/v1/provider-profiles/:profile/validations/:validationId"),
    ("POST", "/api/v1/runners/register"),
    ("POST", "/api/v1/runs/:runId/claim"),
    ("PATCH", "/api/v1/runs/:runId/lease"),
    ("GET", "/api/v1/runs/:runId/commands"),
    ("POST", "/api/v1/runs/:runId/events"),
    ("PATCH", "/api/v1/runs/:runId/status"),
    ("POST", "/api/v1/commands/:commandId/ack"),
    ("PATCH", "/api/v1/commands/:commandId/status"),
    ("POST", "/api/v1/sessions"),
    ("GET", "/api/v1/sessions/:sessionId/storage"),
    ("DELETE", "/api/v1/sessions/:sessionId/storage"),
    ("POST", "/api/v1/sessions/:sessionId/storage/refresh"),
];

/// Fills a path with well-formed ids that do not exist.
fn with_missing_ids(path: &str) -> String {
    let id = |prefix: &str| format!("{prefix}_01920000000070008000000000000000");
    path.replace(":runId", &id("run"))
        .replace(":commandId", &id("cmd"))
        .replace(":runnerJobId", &id("rjb"))
        .replace(":sessionId", &id("ses"))
        .replace(":validationId", &id("val"))
        .replace(":profile", "invented")
}

// covers: R1
#[tokio::test]
async fn every_route_of_the_source_exists_and_answers_with_json() {
    let cluster = Cluster::new().await;
    let missing = "no such route";
    for (method, path) in SOURCE_ROUTES {
        let method: Method = method.parse().expect("a method");
        let url = cluster.first.url(&with_missing_ids(path));
        let request = cluster.first.client.request(method.clone(), url).bearer_auth(&cluster.operator.token);
        let response = request.send().await.expect("a response");
        let content_type = response.headers()["content-type"].to_str().expect("text").to_owned();
        assert!(content_type.contains("json"), "{method} {path}: {content_type}");
        let response = read_response(response).await;
        assert!(response.body.is_object(), "{method} {path}: {}", response.text);
        assert!(!response.text.contains(missing), "{method} {path} does not exist: {}", response.text);
        assert_ne!(response.status, 405, "{method} {path}");
        if response.status.is_client_error() {
            for field in ["failureKind", "message", "traceId"] {
                assert!(
                    response.body[field].is_string(),
                    "{method} {path} has no {field}: {}",
                    response.text
                );
            }
        }
    }
    // Checks that a missing route really gets this message.
    let other = cluster.first.get_as("/api/v1/nothing", &cluster.operator.token).await;
    assert!(other.text.contains(missing), "{}", other.text);
}
