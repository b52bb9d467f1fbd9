//! Failure kinds that the server decides, each by its real cause. Tests of the runner cover those of backends and providers.

use reqwest::Method;
use serde_json::json;

use crate::support::cluster::Cluster;
use crate::support::runs::{run_request, text};

// covers: R12
#[tokio::test]
async fn each_failure_kind_of_the_server_has_its_real_cause() {
    let folder = tempfile::tempdir().expect("a folder");
    let cluster = Cluster::with_secrets_folder(&folder).await;
    let tenant = cluster.create_test_tenant("acme").await;
    let operator = &cluster.operator.token;
    let create = async |field: &str, value: serde_json::Value| {
        let mut body = run_request(&tenant.id);
        body[field] = value;
        cluster.first.post_as("/api/v1/runs", operator, body).await
    };
    create("workspaceRef", json!({ "kind": "unknown" })).await.assert_failure(400, "schema-invalid");
    let policy = json!({ "sandbox": "danger-full-access" });
    create("executionPolicy", policy).await.assert_failure(403, "tenant-policy-denied");
    create("backendProfile", json!("codex")).await.assert_failure(409, "secret-unavailable");

    let run = cluster.create_run(&tenant).await;
    let command = cluster.send_turn(&run, "go").await;
    let claim = cluster.first.claim(&tenant, &run).await;
    let other = cluster.second.register_runner(&tenant).await;
    let body = json!({ "runnerId": other, "wait": false });
    let path = format!("/api/v1/runs/{run}/claim");
    let refused = cluster.second.post_as(&path, &tenant.enrolment, body).await;
    refused.assert_failure(409, "runner-lease-conflict");
    assert_eq!(refused.body["owner"], claim.runner.as_str(), "{}", refused.text);

    cluster.first.ack(&claim, &command).await;
    cluster.first.post_as(&format!("/api/v1/runs/{run}/cancel"), operator, json!({})).await;
    cluster.first.finish(&claim, &command, json!({ "status": "cancelled" })).await;
    let result = cluster.get_result(&run, &command).await;
    assert_eq!(
        json!([result["terminalStatus"], result["failureKind"], result["completed"]]),
        json!(["cancelled", "cancelled", false]),
        "{result}"
    );

    let session = text(&cluster.get_run(&run).await, "sessionId");
    let storage = format!("/api/v1/sessions/{session}/storage");
    let evicted = cluster.first.request_as(Method::DELETE, &storage, operator, None).await;
    assert_eq!(evicted.status, 200, "{}", evicted.text);
    create("sessionRef", json!({ "sessionId": session })).await.assert_failure(409, "session-store-evicted");
}
