//! Every route of the source is there, under its own address, and answers in JSON.

use reqwest::Method;

use crate::support::people::World;
use crate::support::read;

/// The routes of the source, as it lists them.
const SOURCE: [(&str, &str); 40] = [
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

/// Returns a path whose ids have their form and belong to nobody.
fn invented(path: &str) -> String {
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
async fn every_route_of_the_source_is_there_and_answers_in_json() {
    let world = World::new().await;
    let missing = "no such address";
    for (method, path) in SOURCE {
        let method: Method = method.parse().expect("a method");
        let asked = world.one.client.request(method.clone(), world.one.url(&invented(path)));
        let sent = asked.bearer_auth(&world.operator.access).send().await.expect("an answer");
        let kind = sent.headers()["content-type"].to_str().expect("text").to_owned();
        assert!(kind.contains("json"), "{method} {path}: {kind}");
        let answer = read(sent).await;
        assert!(answer.body.is_object(), "{method} {path}: {}", answer.text);
        assert!(!answer.text.contains(missing), "{method} {path} is not there: {}", answer.text);
        assert_ne!(answer.status, 405, "{method} {path}");
        if answer.status.is_client_error() {
            for said in ["failureKind", "message", "traceId"] {
                assert!(answer.body[said].is_string(), "{method} {path} says no {said}: {}", answer.text);
            }
        }
    }
    // That the sentence is the one which an address that is not there gets.
    let other = world.one.get_as("/api/v1/nothing", &world.operator.access).await;
    assert!(other.text.contains(missing), "{}", other.text);
}
