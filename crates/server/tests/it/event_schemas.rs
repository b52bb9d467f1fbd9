//! Events of a server fit the API document of that server.

use std::collections::BTreeSet;

use guildhall_testkit::schema::SchemaValidator;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::cluster::Cluster;
use crate::support::runs::{RunClaim, TestTenant, command_event, command_question, run_agent_input, text};

/// Events as runners report them, one for each type.
fn reported_events(command: &str) -> Value {
    let payloads = [
        ("assistant_delta", json!({ "itemId": "m1", "text": "Hel" })),
        (
            "assistant_message",
            json!({ "itemId": "m1", "text": "Hello", "final": true, "replyAuthority": true }),
        ),
        ("reasoning_delta", json!({ "itemId": "r1", "text": "Fir" })),
        ("reasoning", json!({ "itemId": "r1", "text": "First", "textTruncated": false })),
        (
            "tool_call",
            json!({
                "callId": "c1", "toolName": "shell", "status": "started", "command": "ls",
                "arguments": { "command": "ls", "cwd": "/w" }, "argumentsTruncated": true,
            }),
        ),
        ("command_output", json!({ "callId": "c1", "text": "notes.md", "outputTruncated": false })),
        ("artifact", json!({ "kind": "file", "path": "notes.md", "change": "added", "bytes": 25 })),
        ("backend_status", json!({ "phase": "transport-connected", "detail": null })),
        ("error", json!({ "failureKind": "provider-unavailable", "message": "again" })),
        ("usage", json!({ "inputTokens": 7, "outputTokens": 3 })),
        (
            "approval_declined",
            json!({ "what": "shell", "detail": { "command": "ls" }, "reason": "nobody is asked" }),
        ),
        ("backend_event", json!({ "kind": "thread/compacted", "payload": [1] })),
        ("type_of_another_backend", json!({ "any": ["thing"] })),
    ];
    let events = payloads.into_iter().enumerate();
    events
        .map(|(index, (kind, payload))| command_event(&format!("e-{index}"), kind, command, payload))
        .collect()
}

/// Starts a turn through the front door, and acknowledges it.
async fn start_agent_run(cluster: &Cluster, tenant: &TestTenant) -> (RunClaim, String) {
    let (agent, token) = (cluster.create_agent(&tenant.id, "helper").await, &cluster.operator.token);
    let path = format!("/api/v1/agent/runs?tenantId={}&agentId={agent}", tenant.id);
    let started = cluster.first.post_as(&path, token, run_agent_input("hello")).await;
    assert_eq!(started.status, 200, "{}", started.text);
    let runs = cluster.first.get_as(&format!("/api/v1/runs?tenantId={}", tenant.id), token).await;
    let claim = cluster.first.claim(tenant, &text(&runs.body["runs"][0], "runId")).await;
    let command = text(&started.body, "taskId");
    assert_eq!(cluster.first.ack(&claim, &command).await.status, 200);
    (claim, command)
}

/// Creates events of every type: of a run that is worked on, cancelled, and erased in part.
async fn create_events(cluster: &Cluster, tenant: &TestTenant) -> (RunClaim, String) {
    let (claim, command) = start_agent_run(cluster, tenant).await;
    let appended = cluster.first.append_events(&claim, reported_events(&command)).await;
    assert_eq!(appended.status, 200, "{}", appended.text);
    let approval = cluster.first.ask(&claim, &command, "0", command_question("ls")).await;
    assert_eq!(cluster.second.vote(&approval, &cluster.operator.token, "no").await.status, 200);
    add_vote(cluster, tenant, &claim, &command).await;
    let finished = cluster.first.finish(&claim, &command, json!({ "status": "completed" })).await;
    assert_eq!(finished.status, 200, "{}", finished.text);
    let failed = cluster.send_turn(&claim.run, "again").await;
    assert_eq!(cluster.first.ack(&claim, &failed).await.status, 200);
    let end = json!({ "status": "failed", "failureKind": "backend-failed", "message": "it ended" });
    assert_eq!(cluster.first.finish(&claim, &failed, end).await.status, 200);
    let lease = format!("/api/v1/runs/{}/lease", claim.run);
    let release = Some(json!({ "release": true }));
    assert_eq!(cluster.first.request_as(Method::PATCH, &lease, &claim.token, release).await.status, 200);
    let operator = &cluster.operator.token;
    let erased = format!("/api/v1/runs/{}/events/3", claim.run);
    assert_eq!(cluster.first.request_as(Method::DELETE, &erased, operator, None).await.status, 200);
    let close = format!("/api/v1/runs/{}/close", claim.run);
    assert_eq!(cluster.first.post_as(&close, operator, json!({})).await.status, 200);
    (claim, command)
}

/// Answers a question that needs two answers.
async fn add_vote(cluster: &Cluster, tenant: &TestTenant, claim: &RunClaim, command: &str) {
    let other = cluster.create_user("ada").await;
    cluster.set_role(&tenant.id, &other, "operator").await;
    let path = format!("/api/v1/tenants/{}/approval-policy", tenant.id);
    let policy = Some(json!({ "mode": "consensus", "quorum": 2 }));
    let set = cluster.first.request_as(Method::PUT, &path, &cluster.operator.token, policy).await;
    assert_eq!(set.status, 200, "{}", set.text);
    let approval = cluster.first.ask(claim, command, "1", command_question("pwd")).await;
    assert_eq!(cluster.second.vote(&approval, &other.token, "no").await.status, 200);
}

fn event_types(document: &Value) -> BTreeSet<String> {
    let mapping = &document["components"]["schemas"]["RunEvent"]["discriminator"]["mapping"];
    mapping.as_object().expect("types").keys().cloned().collect()
}

#[tokio::test]
async fn every_event_fits_the_schema_of_its_type() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let document = cluster.first.get("/openapi.json").await.body;
    let (claim, _) = create_events(&cluster, &tenant).await;
    let cancelled = cluster.create_run(&tenant).await;
    let cancel = format!("/api/v1/runs/{cancelled}/cancel");
    assert_eq!(cluster.first.post_as(&cancel, &cluster.operator.token, json!({})).await.status, 200);
    let mut events = cluster.list_events(&claim.run).await;
    events.extend(cluster.list_events(&cancelled).await);
    let validator = SchemaValidator::new(&document, "RunEvent");
    for event in &events {
        assert_eq!(validator.errors(event), Vec::<String>::new(), "{event}");
    }
    let mut seen: BTreeSet<String> = events.iter().map(|event| text(event, "type")).collect();
    assert!(seen.remove("type_of_another_backend"));
    assert_eq!(seen, event_types(&document), "one event for each type of the document");
    let statuses: BTreeSet<&str> = events
        .iter()
        .filter(|event| event["type"] == "run_status")
        .filter_map(|event| event["payload"]["status"].as_str())
        .collect();
    assert_eq!(statuses, ["cancelling", "closing", "pending"].into());
}

#[tokio::test]
async fn every_frame_fits_the_schema_of_its_stream() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let list = "/api/v1/approvals?tenantId=acme";
    let position = text(&cluster.first.get_as(list, &cluster.operator.token).await.body, "position");
    let (claim, _) = create_events(&cluster, &tenant).await;
    let session = text(&cluster.get_run(&claim.run).await, "sessionId");
    let document = cluster.first.get("/openapi.json").await.body;
    for (template, path) in [
        ("/api/v1/runs/{run}/events/stream", format!("/api/v1/runs/{}/events/stream", claim.run)),
        ("/api/v1/sessions/{session}/stream", format!("/api/v1/sessions/{session}/stream")),
        ("/api/v1/tenants/{tenant}/audit/stream", "/api/v1/tenants/acme/audit/stream".to_owned()),
        ("/api/v1/audit/stream", "/api/v1/audit/stream".to_owned()),
        ("/api/v1/tenants/{tenant}/approvals/stream", "/api/v1/tenants/acme/approvals/stream".to_owned()),
    ] {
        let content = &document["paths"][template]["get"]["responses"]["200"]["content"]["text/event-stream"];
        let schema = &content["x-itemSchema"]["properties"]["data"]["contentSchema"]["$ref"];
        let name = schema.as_str().and_then(|reference| reference.rsplit('/').next()).expect("a schema");
        let validator = SchemaValidator::new(&document, name);
        // Without a cursor, this stream starts now.
        let after = template.contains("approvals").then_some(position.as_str());
        let mut stream = cluster.second.open_stream(&path, &cluster.operator.token, after).await;
        let mut count = 0;
        loop {
            let frame = stream.next_frame().await.expect("an open stream");
            assert_eq!(validator.errors(&frame.data), Vec::<String>::new(), "{path}: {frame:?}");
            count += 1;
            if frame.kind == "replay_complete" {
                break;
            }
        }
        assert!(count > 2, "{path}: {count} frames");
    }
}
