//! Runs of agents as the Agent Run Input Protocol defines them.

use serde_json::{Value, json};

use crate::support::agent_threads::{RUNS, THREAD, input_with, tenant_with_agent};
use crate::support::cluster::Cluster;
use crate::support::runs::{run_agent_input, text};
use crate::support::{TestResponse, TestServer};

async fn post(server: &TestServer, token: &str, input: &Value) -> TestResponse {
    server.post_as(RUNS, token, input.clone()).await
}

// covers: I1
#[tokio::test]
async fn run_is_a_turn_of_the_thread_and_the_same_run_id_is_the_same_turn() {
    let cluster = Cluster::new().await;
    tenant_with_agent(&cluster).await;
    let token = &cluster.operator.token;
    let input = run_agent_input("hello");
    let (one, two) = tokio::join!(post(&cluster.first, token, &input), post(&cluster.second, token, &input));
    assert_eq!((one.status.as_u16(), two.status.as_u16()), (200, 200), "{} {}", one.text, two.text);
    let task = text(&one.body, "taskId");
    assert_eq!(two.body["taskId"], task.as_str(), "the same run id on two replicas");
    let created = [&one, &two].iter().filter(|response| response.body["created"] == true).count();
    assert_eq!(created, 1, "{} {}", one.text, two.text);
    let expected = json!({ "taskId": task, "threadId": THREAD, "runId": "run-1", "created": false });
    assert_eq!(post(&cluster.first, token, &input).await.body, expected);
    let next = post(&cluster.second, token, &input_with(&json!({ "runId": "run-2" }))).await;
    assert_ne!(text(&next.body, "taskId"), task);
    let sessions = cluster.first.get_as("/api/v1/sessions?tenantId=acme&state=all", token).await;
    let sessions = sessions.body["sessions"].as_array().expect("sessions").clone();
    assert_eq!(sessions.len(), 1, "{sessions:?}");
    let run = text(&sessions[0], "activeRunId");
    let history = cluster.first.get_as(&format!("/api/v1/runs/{run}/history"), token).await;
    assert_eq!(history.body["commands"].as_array().map(Vec::len), Some(2), "{}", history.text);
    let kinds: Vec<_> = cluster.list_events(&run).await.iter().map(|event| text(event, "type")).collect();
    let turn = ["command_status", "user_message", "client_run"];
    assert_eq!(kinds[1..], [turn, turn].concat(), "the events of two turns");
}

// covers: I1
#[tokio::test]
async fn snake_case_names_are_the_same_input() {
    let cluster = Cluster::new().await;
    tenant_with_agent(&cluster).await;
    let snake = json!({
        "thread_id": THREAD, "run_id": "run-1", "state": {}, "tools": [], "context": [],
        "messages": [{ "id": "msg-1", "role": "user", "content": [{ "type": "text", "text": "hello" }] }],
        "forwarded_props": { "runtime_mode": "chat" },
    });
    let first = post(&cluster.first, &cluster.operator.token, &snake).await;
    assert_eq!(first.status, 200, "{}", first.text);
    let second = post(&cluster.second, &cluster.operator.token, &run_agent_input("hello")).await;
    assert_eq!(second.body["taskId"], first.body["taskId"]);
}

/// Returns an input for each rule that it breaks, with the status and the message.
#[expect(clippy::too_many_lines, reason = "one entry per rule")]
fn broken_rules() -> Vec<(u16, &'static str, Value)> {
    let user = |content: Value| json!([{ "id": "m", "role": "user", "content": content }]);
    let binary = |values: Value| {
        let mut block =
            json!({ "type": "binary", "mimeType": "image/png", "url": "https://x.example/a?s=1" });
        for (name, value) in values.as_object().expect("an object") {
            block[name] = value.clone();
        }
        user(json!([{ "type": "text", "text": "what is it?" }, block]))
    };
    let image = json!({ "type": "binary", "mimeType": "image/png", "url": "https://x.example/a?s=1" });
    let assistant = json!({ "id": "a", "role": "assistant", "content": "hi" });
    let time = |name: &str, value: Value| {
        let mut time = json!({
            "device_timezone": "America/Los_Angeles", "client_now_iso": "2026-03-16T09:12:33-07:00",
            "client_epoch_ms": 1_773_658_353_000_i64,
        });
        time[name] = value;
        json!({ "runtime_mode": "chat", "client_time": time })
    };
    let one = json!({ "id": "m", "role": "user", "content": "x" });
    vec![
        (413, "RunAgentInput payload exceeds size limit", json!({ "state": "x".repeat(256 * 1024) })),
        (422, "threadId must be a valid UUID", json!({ "threadId": "main" })),
        (422, "runId exceeds length limit", json!({ "runId": "r".repeat(129) })),
        (422, "RunAgentInput.messages exceeds limit", json!({ "messages": vec![one.clone(); 201] })),
        (
            422,
            "RunAgentInput user message text exceeds limit",
            json!({ "messages": user(json!("é".repeat(10_001))) }),
        ),
        (422, "invalid RunAgentInput.forwardedProps", json!({ "forwardedProps": {} })),
        (
            422,
            "RunAgentInput.messages must contain exactly one user message",
            json!({ "messages": [one.clone(), one] }),
        ),
        (422, "RunAgentInput.messages[0].role must be user", json!({ "messages": [assistant, one] })),
        (
            422,
            "binary content requires image mimeType",
            json!({ "messages": binary(json!({ "mimeType": "text/html" })) }),
        ),
        (422, "binary content requires url", json!({ "messages": binary(json!({ "url": null })) })),
        (422, "binary content data is not allowed", json!({ "messages": binary(json!({ "data": "aGk=" })) })),
        (422, "Too many attachments", json!({ "messages": user(json!([image, image, image, image])) })),
        (
            422,
            "invalid RunAgentInput.forwardedProps",
            json!({ "forwardedProps": { "runtime_mode": "chat", "extra": 1 } }),
        ),
        (
            422,
            "invalid client_time.device_timezone",
            json!({ "forwardedProps": time("device_timezone", json!("Mars/Base")) }),
        ),
        (
            422,
            "invalid client_time.client_now_iso",
            json!({ "forwardedProps": time("client_now_iso", json!("2026-03-16T09:12:33")) }),
        ),
        (
            422,
            "invalid client_time.client_epoch_ms",
            json!({ "forwardedProps": time("client_epoch_ms", json!(1.5)) }),
        ),
    ]
}

// covers: I2a, I2b, I2c, I2d, I2e, I2f, I2g, I2h, I2i, I2j, I2k, I2l, I2m, I2n, I2o, I2p
#[tokio::test]
async fn each_broken_rule_gets_its_message_and_nothing_is_created() {
    let cluster = Cluster::new().await;
    tenant_with_agent(&cluster).await;
    for (status, message, values) in broken_rules() {
        let response = post(&cluster.first, &cluster.operator.token, &input_with(&values)).await;
        let kind = if status == 413 { "payload-too-large" } else { "invalid-input" };
        response.assert_failure(status, kind);
        assert_eq!(text(&response.body, "message"), message);
    }
    let sessions =
        cluster.first.get_as("/api/v1/sessions?tenantId=acme&state=all", &cluster.operator.token).await;
    assert_eq!(sessions.body["sessions"], json!([]));
}

#[tokio::test]
async fn threads_of_two_users_with_the_same_id_are_two_conversations() {
    let cluster = Cluster::new().await;
    let tenant = tenant_with_agent(&cluster).await;
    let user = cluster.create_user("person").await;
    cluster.set_role(&tenant.id, &user, "developer").await;
    let input = run_agent_input("hello");
    let mine = post(&cluster.first, &cluster.operator.token, &input).await;
    let events = format!("/api/v1/agent/runs/{THREAD}/events?tenantId=acme");
    cluster.second.get_as(&events, &user.token).await.assert_failure(404, "not-found");
    let theirs = post(&cluster.second, &user.token, &input).await;
    assert_eq!((&mine.body["created"], &theirs.body["created"]), (&json!(true), &json!(true)));
    assert_ne!(mine.body["taskId"], theirs.body["taskId"]);
    let viewer = cluster.create_user("viewer").await;
    cluster.set_role(&tenant.id, &viewer, "viewer").await;
    post(&cluster.first, &viewer.token, &input).await.assert_failure(403, "forbidden");
}

#[tokio::test]
async fn disabled_agent_takes_no_new_turn_and_a_tenant_without_default_says_so() {
    let cluster = Cluster::new().await;
    cluster.create_test_tenant("acme").await;
    let token = &cluster.operator.token;
    let input = run_agent_input("hello");
    post(&cluster.first, token, &input).await.assert_failure(409, "conflict");
    let agent = cluster.create_agent("acme", "helper").await;
    let by_slug = format!("{RUNS}&agentId=helper");
    let started = cluster.first.post_as(&by_slug, token, input.clone()).await;
    assert_eq!(started.status, 200, "{}", started.text);
    let path = cluster.first.url(&format!("/api/v1/agents/{agent}"));
    let disabled = cluster.first.client.patch(path).bearer_auth(token).json(&json!({ "enabled": false }));
    assert_eq!(disabled.send().await.expect("a response").status(), 200);
    let replayed = cluster.second.post_as(&by_slug, token, input).await;
    assert_eq!(replayed.body["taskId"], started.body["taskId"], "{}", replayed.text);
    let next = input_with(&json!({ "runId": "run-2" }));
    cluster.second.post_as(&by_slug, token, next).await.assert_failure(409, "conflict");
    let other = input_with(&json!({ "threadId": "00000000-0000-0000-0000-000000000001" }));
    cluster.second.post_as(&by_slug, token, other).await.assert_failure(409, "conflict");
    let sessions = cluster.first.get_as("/api/v1/sessions?tenantId=acme&state=all", token).await;
    assert_eq!(sessions.body["sessions"].as_array().map(Vec::len), Some(1), "nothing is left behind");
}

#[tokio::test]
async fn ids_with_control_characters_are_refused_before_the_database() {
    let cluster = Cluster::new().await;
    tenant_with_agent(&cluster).await;
    let message = |id: &str| json!({ "messages": [{ "id": id, "role": "user", "content": "hi" }] });
    let problem = "must have 1 to 128 characters, none of them a control character";
    for (name, values) in [
        ("runId", json!({ "runId": "a\u{0}b" })),
        ("messages[0].id", message("a\u{0}b")),
        ("messages[0].id", message("")),
        ("messages[0].id", message(&"m".repeat(129))),
    ] {
        let response = post(&cluster.first, &cluster.operator.token, &input_with(&values)).await;
        response.assert_failure(422, "invalid-input");
        assert_eq!(text(&response.body, "message"), format!("{name} {problem}"));
    }
    // A prompt may have any character.
    let input = run_agent_input("a\u{0}b");
    assert_eq!(post(&cluster.first, &cluster.operator.token, &input).await.status, 200);
}
