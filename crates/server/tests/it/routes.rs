//! Every route of the source specification (docs/ledger.md, R1) exists under its path and answers with JSON.

use std::collections::{BTreeMap, BTreeSet};

use guildhall_testkit::TestDb;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::cluster::Cluster;
use crate::support::launcher::TestLauncher;
use crate::support::profiles::with_secrets_folder;
use crate::support::runs::{run_request, text};
use crate::support::{TestResponse, read_response};

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

/// Calls routes with real ids, and records which.
struct RouteCalls {
    cluster: Cluster,
    /// The value of each parameter, with its colon.
    ids: BTreeMap<&'static str, String>,
    called: BTreeSet<(&'static str, &'static str)>,
}

impl RouteCalls {
    async fn send(&self, method: &str, path: &str, bearer: &str, body: Option<Value>) -> TestResponse {
        let method: Method = method.parse().expect("a method");
        self.cluster.second.request_as(method, path, bearer, body).await
    }

    /// Calls a route of the source and returns the body of its success.
    async fn call(
        &mut self,
        (method, template): (&'static str, &'static str),
        bearer: &str,
        body: Option<Value>,
    ) -> Value {
        let fill = |segment: &str| self.ids.get(segment).cloned().unwrap_or_else(|| segment.to_owned());
        let path = template.split('/').map(fill).collect::<Vec<_>>().join("/");
        assert!(!path.contains(':'), "no id for {path}");
        // A caller of several tenants names the one that it means.
        let query = if path.contains("/provider-profiles") { "?tenantId=acme" } else { "" };
        let response = self.send(method, &format!("{path}{query}"), bearer, body).await;
        assert!(response.status.is_success(), "{method} {path}: {} {}", response.status, response.text);
        self.called.insert((method, template));
        response.body
    }

    /// Calls a route as the operator, without a body.
    async fn read(&mut self, method: &'static str, template: &'static str) -> Value {
        let operator = self.cluster.operator.token.clone();
        self.call((method, template), &operator, None).await
    }

    /// Calls a route as the operator, with a body.
    async fn write(&mut self, method: &'static str, template: &'static str, body: Value) -> Value {
        let operator = self.cluster.operator.token.clone();
        self.call((method, template), &operator, Some(body)).await
    }

    /// Keeps an id of a response for the next calls.
    fn keep(&mut self, parameter: &'static str, body: &Value) {
        self.ids.insert(parameter, text(body, &parameter[1..]));
    }

    async fn create_objects(&mut self, tenant: &str) {
        let body = json!({ "tenantId": tenant, "projectId": "acme/web", "backendProfile": "demo" });
        self.write("POST", "/api/v1/sessions", body).await;
        let run = self.write("POST", "/api/v1/runs", run_request(tenant)).await;
        self.keep(":runId", &run);
        self.keep(":sessionId", &run);
        let body = json!({ "type": "turn", "payload": { "prompt": "go" } });
        let command = self.write("POST", "/api/v1/runs/:runId/commands", body).await;
        self.keep(":commandId", &command);
        let job = self.write("POST", "/api/v1/runs/:runId/runner-jobs", json!({})).await;
        self.keep(":runnerJobId", &job);
    }

    /// Calls the routes of runners, until the command is completed.
    async fn serve_command(&mut self, enrolment: &str) -> String {
        let body = json!({ "name": "played", "backendProfiles": ["demo"] });
        let runner = self.call(("POST", "/api/v1/runners/register"), enrolment, Some(body)).await;
        let body = json!({ "runnerId": runner["runnerId"], "wait": true });
        let claimed = self.call(("POST", "/api/v1/runs/:runId/claim"), enrolment, Some(body)).await;
        let token = text(&claimed, "runToken");
        self.call(("PATCH", "/api/v1/runs/:runId/lease"), &token, Some(json!({}))).await;
        let polled = self.call(("GET", "/api/v1/runs/:runId/commands"), &token, None).await;
        assert_eq!(polled["commands"][0]["commandId"], self.ids[":commandId"].as_str(), "{polled}");
        self.call(("POST", "/api/v1/commands/:commandId/ack"), &token, Some(json!({}))).await;
        let event = json!({ "id": "one", "type": "assistant_message", "payload": { "text": "done" } });
        let body = Some(json!({ "events": [event] }));
        self.call(("POST", "/api/v1/runs/:runId/events"), &token, body).await;
        let body = Some(json!({ "sizeBytes": 3, "filesCount": 1, "sha256": "0".repeat(64) }));
        self.call(("POST", "/api/v1/sessions/:sessionId/storage/refresh"), &token, body).await;
        let body = Some(json!({ "status": "completed" }));
        self.call(("PATCH", "/api/v1/commands/:commandId/status"), &token, body).await;
        token
    }

    async fn read_objects(&mut self) {
        for (template, field, parameter) in [
            ("/api/v1/runs/:runId", "runId", ":runId"),
            ("/api/v1/runs/:runId/events", "runId", ":runId"),
            ("/api/v1/runs/:runId/result", "runId", ":runId"),
            ("/api/v1/runs/:runId/commands/:commandId", "commandId", ":commandId"),
            ("/api/v1/runs/:runId/commands/:commandId/result", "commandId", ":commandId"),
            ("/api/v1/runs/:runId/runner-jobs/:runnerJobId", "runnerJobId", ":runnerJobId"),
            ("/api/v1/sessions/:sessionId", "sessionId", ":sessionId"),
            ("/api/v1/sessions/:sessionId/trace", "runId", ":runId"),
            ("/api/v1/sessions/:sessionId/output", "runId", ":runId"),
            ("/api/v1/sessions/:sessionId/storage", "sessionId", ":sessionId"),
        ] {
            let body = self.read("GET", template).await;
            assert_eq!(body[field], self.ids[parameter].as_str(), "{template}: {body}");
        }
        for (template, list) in [
            ("/api/v1/runs/:runId/runner-jobs", "runnerJobs"),
            ("/api/v1/sessions", "sessions"),
            ("/api/v1/backends", "backends"),
        ] {
            let body = self.read("GET", template).await;
            assert!(body[list].as_array().is_some_and(|list| !list.is_empty()), "{template}: {body}");
        }
    }

    async fn end_objects(&mut self, run_token: &str) {
        self.write("POST", "/api/v1/sessions/:sessionId/read", json!({})).await;
        let body = json!({ "type": "turn", "payload": { "prompt": "never" } });
        let command = self.write("POST", "/api/v1/runs/:runId/commands", body).await;
        self.keep(":commandId", &command);
        let cancelled = self.write("POST", "/api/v1/commands/:commandId/cancel", json!({})).await;
        assert_eq!(cancelled["status"], "cancelled", "{cancelled}");
        let body = json!({ "status": "failed", "failureKind": "infra-failed", "message": "the end" });
        self.call(("PATCH", "/api/v1/runs/:runId/status"), run_token, Some(body)).await;
        let control = json!({ "action": "cancel" });
        let control = self.write("POST", "/api/v1/sessions/:sessionId/control", control).await;
        assert_eq!(control["cancelled"], "nothing", "{control}");
        let ended = self.write("POST", "/api/v1/runs/:runId/cancel", json!({})).await;
        assert_eq!(ended["status"], "failed", "{ended}");
        let evicted = self.read("DELETE", "/api/v1/sessions/:sessionId/storage").await;
        assert_eq!(evicted["storageKind"], "evicted", "{evicted}");
    }

    async fn use_profile(&mut self) {
        self.ids.insert(":profile", "my-model".to_owned());
        let credential = json!({ "credential": "sk-test", "template": "codex" });
        self.write("PUT", "/api/v1/provider-profiles/:profile/credential", credential).await;
        let listed = self.read("GET", "/api/v1/provider-profiles").await;
        assert!(listed["profiles"].to_string().contains("my-model"), "{listed}");
        let found = self.read("GET", "/api/v1/provider-profiles/:profile").await;
        assert_eq!((&found["profile"], &found["configured"]), (&json!("my-model"), &json!(true)));
        let started = self.read("POST", "/api/v1/provider-profiles/:profile/validate").await;
        self.keep(":validationId", &started);
        let route = "/api/v1/provider-profiles/:profile/validations/:validationId";
        let validation = self.read("GET", route).await;
        assert_eq!(validation["validationId"], self.ids[":validationId"].as_str(), "{validation}");
        self.read("DELETE", "/api/v1/provider-profiles/:profile").await;
    }
}

// covers: R1
#[tokio::test]
async fn every_route_of_the_source_succeeds_with_a_real_object() {
    let (launcher, folder) = (TestLauncher::new(), tempfile::tempdir().expect("a folder"));
    let db = TestDb::new().await;
    let setup = with_secrets_folder(launcher.setup_with_idle_runner(&db), &folder);
    let cluster = Cluster::with_setup(setup, db).await;
    let tenant = cluster.create_test_tenant("acme").await;
    let mut calls = RouteCalls { cluster, ids: BTreeMap::new(), called: BTreeSet::new() };
    for template in ["/health", "/health/live", "/health/readiness"] {
        calls.read("GET", template).await;
    }
    calls.create_objects(&tenant.id).await;
    let run_token = calls.serve_command(&tenant.enrolment).await;
    calls.read_objects().await;
    calls.end_objects(&run_token).await;
    calls.use_profile().await;
    assert_eq!(calls.called, BTreeSet::from(SOURCE_ROUTES));
}
