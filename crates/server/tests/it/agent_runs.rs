//! Runs of agents through the front door: the Agent Run Input Protocol and AG-UI on one route.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::cluster::Cluster;
use crate::support::runs::{RunClaim, TestTenant, agent_request, run_agent_input, text};
use crate::support::{TestResponse, TestServer, read_response};

const RUNS: &str = "/api/v1/agent/runs?tenantId=acme";
const THREAD: &str = "550e8400-e29b-41d4-a716-446655440000";

/// A tenant with a default agent.
async fn tenant_with_agent(cluster: &Cluster) -> TestTenant {
    let tenant = cluster.create_test_tenant("acme").await;
    let mut body = agent_request("acme", "helper");
    body["default"] = json!(true);
    body["instructions"] = json!("Be brief.");
    let created = cluster.first.post_as("/api/v1/agents", &cluster.operator.token, body).await;
    assert_eq!(created.status, 201, "{}", created.text);
    tenant
}

/// Returns an input with other values.
fn input_with(values: &Value) -> Value {
    let mut input = run_agent_input("hello");
    for (name, value) in values.as_object().expect("an object") {
        input[name] = value.clone();
    }
    input
}

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
}

/// Opens a stream and reads its data until a condition holds or it ends.
async fn read_frames(
    request: reqwest::RequestBuilder,
    until: impl Fn(&[Value]) -> bool,
) -> (Vec<Value>, Option<String>) {
    let mut response = request.send().await.expect("a response");
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let (mut buffer, mut frames, mut cursor) = (String::new(), Vec::new(), None);
    while !until(&frames) {
        let chunk = tokio::time::timeout(Duration::from_secs(30), response.chunk()).await.expect("in time");
        let Some(chunk) = chunk.expect("a chunk") else { break };
        buffer.push_str(std::str::from_utf8(&chunk).expect("UTF-8"));
        while let Some((frame, rest)) = buffer.split_once("\n\n") {
            for line in frame.lines() {
                if let Some(data) = line.strip_prefix("data: ") {
                    frames.push(serde_json::from_str(data).expect("JSON"));
                } else if let Some(id) = line.strip_prefix("id: ") {
                    cursor = Some(id.to_owned());
                }
            }
            buffer = rest.to_owned();
        }
    }
    (frames, cursor)
}

fn types(frames: &[Value]) -> Vec<String> {
    frames.iter().map(|frame| text(frame, "type")).collect()
}

/// Serves the next turn of a tenant in place of a runner, and returns the grant.
async fn serve_turn(server: &TestServer, tenant: &TestTenant, reply: &str) -> Value {
    let runner = server.register_runner(tenant).await;
    let grant = loop {
        if let Some(grant) = server.claim_next(&tenant.enrolment, &runner).await {
            break grant;
        }
    };
    let run = text(&grant["run"], "runId");
    let claim = RunClaim { run, runner, token: text(&grant, "runToken") };
    let command = grant["run"]["openCommandIds"][0].as_str().expect("a command").to_owned();
    assert_eq!(server.ack(&claim, &command).await.status, 200);
    let (first, rest) = reply.split_at(reply.len() / 2);
    let event = |id: &str, kind: &str, payload: Value| json!({ "id": id, "type": kind, "commandId": command, "payload": payload });
    let events = json!([
        event("1-1", "assistant_delta", json!({ "itemId": "m1", "text": first })),
        event("1-2", "assistant_delta", json!({ "itemId": "m1", "text": rest })),
        event("1-3", "assistant_message", json!({ "itemId": "m1", "text": reply, "final": true })),
    ]);
    let appended = server.append_events(&claim, events).await;
    assert_eq!(appended.status, 200, "{}", appended.text);
    assert_eq!(server.finish(&claim, &command, json!({ "status": "completed" })).await.status, 200);
    grant
}

#[tokio::test]
async fn agui_stream_ends_with_its_run_and_is_the_same_on_the_other_replica() {
    let cluster = Cluster::new().await;
    let tenant = tenant_with_agent(&cluster).await;
    let token = &cluster.operator.token;
    let open = |server: &TestServer, input: &Value| {
        let request = server.client.post(server.url(RUNS)).bearer_auth(token).json(input);
        request.header("accept", "text/event-stream")
    };
    let input = input_with(&json!({ "threadId": "main", "protocolVersion": "1.0", "forwardedProps": {} }));
    let ((live, cursor), grant) = tokio::join!(
        read_frames(open(&cluster.first, &input), |_| false),
        serve_turn(&cluster.second, &tenant, "hi there")
    );
    assert_eq!(grant["instructions"], "Be brief.", "the agent is told its instructions");
    let kinds = types(&live);
    assert_eq!(kinds.first().map(String::as_str), Some("RUN_STARTED"), "{kinds:?}");
    assert_eq!(kinds.last().map(String::as_str), Some("RUN_FINISHED"), "{kinds:?}");
    let said: String = live.iter().filter_map(|frame| frame["delta"].as_str()).collect();
    assert_eq!(said, "hi there");
    assert!(cursor.is_some(), "every frame has a cursor");
    let (replayed, _) = read_frames(open(&cluster.second, &input), |_| false).await;
    assert_eq!(replayed, live, "the same run id");
    let events = cluster.second.url("/api/v1/agent/runs/main/events?tenantId=acme");
    let follow = cluster.second.client.get(&events).bearer_auth(token);
    let (thread, _) = read_frames(follow, |_| false).await;
    assert_eq!(types(&thread), kinds, "the whole thread");
}

#[tokio::test]
async fn thread_continues_after_the_last_event_of_a_client() {
    let cluster = Cluster::new().await;
    let tenant = tenant_with_agent(&cluster).await;
    let token = &cluster.operator.token;
    let input = run_agent_input("hello");
    post(&cluster.first, token, &input).await;
    serve_turn(&cluster.first, &tenant, "hi there").await;
    let path = format!("/api/v1/agent/runs/{THREAD}/events?tenantId=acme");
    let follow = |server: &TestServer| server.client.get(server.url(&path)).bearer_auth(token);
    let (whole, last) = read_frames(follow(&cluster.first), |_| false).await;
    let last = last.expect("a cursor");
    assert_eq!(types(&whole).last().map(String::as_str), Some("RUN_FINISHED"));
    for length in 1..whole.len() {
        // More frames may arrive together.
        let (before, cursor) = read_frames(follow(&cluster.first), |frames| frames.len() >= length).await;
        let request = follow(&cluster.second).header("last-event-id", cursor.expect("a cursor"));
        let (after, _) = read_frames(request, |_| false).await;
        assert_eq!([before, after].concat(), whole, "cut after {length}");
    }
    // Another incarnation, a place after the end, and no cursor at all.
    for (cursor, status, kind) in [
        ("0000000000000001-1-1.0", 409, "conflict"),
        (&format!("{}-1-9999.0", last.split_once('-').expect("an incarnation").0), 409, "conflict"),
        ("1.1.0", 400, "schema-invalid"),
    ] {
        let refused =
            follow(&cluster.second).header("last-event-id", cursor).send().await.expect("a response");
        read_response(refused).await.assert_failure(status, kind);
    }
}

#[tokio::test]
async fn stopped_run_is_cancelled_in_the_words_of_each_version() {
    let cluster = Cluster::new().await;
    tenant_with_agent(&cluster).await;
    let token = &cluster.operator.token;
    let stop = "/api/v1/agent/runs/main/stop?tenantId=acme";
    cluster.first.post_as(stop, token, json!({})).await.assert_failure(404, "not-found");
    for (run, version, expected) in [
        ("run-1", Some("1.0"), json!(["RUN_FINISHED", { "type": "cancelled" }, null])),
        ("run-2", None, json!(["RUN_ERROR", null, "cancelled"])),
    ] {
        let mut input = input_with(&json!({ "threadId": "main", "runId": run }));
        input["messages"][0]["id"] = json!(format!("message of {run}"));
        input["protocolVersion"] = json!(version);
        let request = cluster.first.client.post(cluster.first.url(RUNS)).bearer_auth(token).json(&input);
        let request = request.header("accept", "text/event-stream");
        let ((frames, _), stopped) = tokio::join!(read_frames(request, |_| false), async {
            loop {
                let stopped = cluster.second.post_as(stop, token, json!({})).await;
                if stopped.body["stopped"] == true {
                    break stopped;
                }
            }
        });
        assert_eq!(stopped.status, 200, "{}", stopped.text);
        let last = frames.last().expect("a last frame");
        assert_eq!(json!([last["type"], last["outcome"], last["code"]]), expected, "{last}");
    }
}

#[tokio::test]
async fn agui_input_that_cannot_start_a_run_is_a_problem_and_no_stream() {
    let cluster = Cluster::new().await;
    tenant_with_agent(&cluster).await;
    let send = async |values: Value| {
        let request = cluster.first.client.post(cluster.first.url(RUNS)).bearer_auth(&cluster.operator.token);
        let request = request.header("accept", "text/event-stream").json(&input_with(&values));
        read_response(request.send().await.expect("a response")).await
    };
    for values in [
        json!({ "threadId": "" }),
        json!({ "threadId": "a\u{0}b" }),
        json!({ "runId": "r".repeat(129) }),
        json!({ "messages": [] }),
        json!({ "messages": [{ "id": "a", "role": "assistant", "content": "hi" }] }),
        json!({ "resume": [{ "interruptId": "apr_1", "status": "resolved" }] }),
    ] {
        send(values).await.assert_failure(422, "invalid-input");
    }
}
