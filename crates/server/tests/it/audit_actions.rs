//! What the audit logs contain: actions on runs, addresses, and the log of the installation as a stream.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::cluster::Cluster;
use crate::support::runs::text;

#[tokio::test]
async fn actions_on_runs_and_commands_are_audited_once_with_the_address() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let (run, token) = (cluster.create_run(&tenant).await, &cluster.operator.token);
    let first = cluster.send_turn(&run, "leak: hunter2").await;
    let second = cluster.send_turn(&run, "again").await;
    let cancel = async |path: String| {
        let response = cluster.second.post_as(&path, token, json!({})).await;
        assert!(response.status.is_success(), "{}", response.text);
    };
    cancel(format!("/api/v1/commands/{second}/cancel")).await;
    cancel(format!("/api/v1/runs/{run}/cancel")).await;
    // Repeating a cancellation changes nothing.
    cancel(format!("/api/v1/commands/{second}/cancel")).await;
    cancel(format!("/api/v1/runs/{run}/cancel")).await;

    let page = cluster.first.get_as(&format!("/api/v1/tenants/{}/audit?afterSeq=2", tenant.id), token).await;
    let entries = page.body["entries"].as_array().expect("entries");
    let found: Vec<Value> = entries.iter().map(|entry| json!([entry["action"], entry["body"]])).collect();
    let session = text(&cluster.get_run(&run).await, "sessionId");
    let body = |object: &str, detail: Value| {
        let actor = &cluster.operator.principal;
        json!({ "actor": actor, "address": "127.0.0.1", "object": object, "detail": detail })
    };
    let created = json!({ "sessionId": session, "projectId": "acme/web", "backendProfile": "demo" });
    let expected = [
        json!(["run.created", body(&run, created)]),
        json!(["command.created", body(&first, json!({ "runId": run, "type": "turn" }))]),
        json!(["command.created", body(&second, json!({ "runId": run, "type": "turn" }))]),
        json!(["command.cancelled", body(&second, json!({ "runId": run }))]),
        json!(["run.cancelled", body(&run, json!({}))]),
    ];
    assert_eq!(found, expected);
}

#[tokio::test]
async fn operator_follows_the_log_of_the_installation_and_others_do_not() {
    let cluster = Cluster::new().await;
    let path = "/api/v1/audit/stream";
    let mut stream = cluster.second.open_stream(path, &cluster.operator.token, None).await;
    let mut next = async || stream.next().await.expect("an event");
    let created = next().await;
    assert_eq!(created.data["action"], "user.created");
    assert_eq!(next().await.data["action"], "login.created");
    cluster.first.try_sign_in("operator", "wrong password!").await.assert_failure(401, "sign-in-failed");
    let refused = next().await;
    assert_eq!(
        json!([refused.data["action"], refused.data["seq"], refused.data["body"]["address"]]),
        json!(["login.refused", 3, "127.0.0.1"])
    );
    let mut resumed = cluster.first.open_stream(path, &cluster.operator.token, created.id.as_deref()).await;
    assert_eq!(resumed.next().await.expect("an event").data["seq"], 2);

    let member = cluster.create_user("member").await;
    let tenant = cluster.create_tenant("acme").await;
    cluster.set_role(&tenant, &member, "owner").await;
    let (_, key) = cluster.create_key(&tenant, "operator").await;
    for token in [&member.token, &key] {
        cluster.first.request_as(Method::GET, path, token, None).await.assert_failure(404, "not-found");
    }
}
