//! A tenant with an agent, whose conversations applications open.

use std::time::Duration;

use reqwest::RequestBuilder;
use serde_json::{Value, json};

use super::TestServer;
use super::cluster::Cluster;
use super::runs::{RunClaim, TestTenant, agent_request, run_agent_input, text};

pub(crate) const RUNS: &str = "/api/v1/agent/runs?tenantId=acme";
/// The thread of [`run_agent_input`].
pub(crate) const THREAD: &str = "550e8400-e29b-41d4-a716-446655440000";

const TIMEOUT: Duration = Duration::from_secs(30);

/// A tenant with a default agent.
pub(crate) async fn tenant_with_agent(cluster: &Cluster) -> TestTenant {
    let tenant = cluster.create_test_tenant("acme").await;
    let mut body = agent_request("acme", "helper");
    body["default"] = json!(true);
    body["instructions"] = json!("Be brief.");
    body["pipeline"] =
        json!({ "enabledTools": ["shell"], "context": [{ "description": "Team", "value": "web" }] });
    let created = cluster.first.post_as("/api/v1/agents", &cluster.operator.token, body).await;
    assert_eq!(created.status, 201, "{}", created.text);
    tenant
}

/// Returns an input with other values.
pub(crate) fn input_with(values: &Value) -> Value {
    let mut input = run_agent_input("hello");
    for (name, value) in values.as_object().expect("an object") {
        input[name] = value.clone();
    }
    input
}

/// Returns the request of an AG-UI client.
pub(crate) fn agui_request(server: &TestServer, token: &str, input: &Value) -> RequestBuilder {
    let request = server.client.post(server.url(RUNS)).bearer_auth(token).json(input);
    request.header("accept", "text/event-stream")
}

/// Opens a stream and reads its data until a condition holds or it ends.
pub(crate) async fn read_frames(
    request: reqwest::RequestBuilder,
    until: impl Fn(&[Value]) -> bool,
) -> (Vec<Value>, Option<String>) {
    let mut response = request.send().await.expect("a response");
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let (mut buffer, mut frames, mut cursor) = (String::new(), Vec::new(), None);
    while !until(&frames) {
        let chunk = tokio::time::timeout(TIMEOUT, response.chunk()).await.expect("in time");
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

pub(crate) fn types(frames: &[Value]) -> Vec<String> {
    frames.iter().map(|frame| text(frame, "type")).collect()
}

/// A turn that a test serves in place of a runner.
pub(crate) struct TestTurn {
    pub(crate) claim: RunClaim,
    pub(crate) command: String,
    /// What the runner was told.
    pub(crate) grant: Value,
}

impl TestTurn {
    /// Claims the next turn of a tenant.
    pub(crate) async fn claim(server: &TestServer, tenant: &TestTenant) -> Self {
        let runner = server.register_runner(tenant).await;
        let next = async {
            loop {
                if let Some(grant) = server.claim_next(&tenant.enrolment, &runner).await {
                    return grant;
                }
            }
        };
        let grant = tokio::time::timeout(TIMEOUT, next).await.expect("a turn");
        let run = text(&grant["run"], "runId");
        let claim = RunClaim { run, runner: runner.clone(), token: text(&grant, "runToken") };
        let command = grant["run"]["openCommandIds"][0].as_str().expect("a command").to_owned();
        assert_eq!(server.ack(&claim, &command).await.status, 200);
        Self { claim, command, grant }
    }

    /// Takes the next turn of the same run.
    pub(crate) async fn take_next(&mut self, server: &TestServer, command: &str) {
        command.clone_into(&mut self.command);
        assert_eq!(server.ack(&self.claim, command).await.status, 200);
    }

    /// Says something in two pieces.
    pub(crate) async fn say(&self, server: &TestServer, item: &str, reply: &str) {
        let (first, rest) = reply.split_at(reply.len() / 2);
        let event = |part: u8, kind: &str, payload: Value| json!({ "id": format!("1-{item}{part}"), "type": kind, "commandId": self.command, "payload": payload });
        let events = json!([
            event(1, "assistant_delta", json!({ "itemId": item, "text": first })),
            event(2, "assistant_delta", json!({ "itemId": item, "text": rest })),
            event(3, "assistant_message", json!({ "itemId": item, "text": reply, "final": true })),
        ]);
        let appended = server.append_events(&self.claim, events).await;
        assert_eq!(appended.status, 200, "{}", appended.text);
    }

    pub(crate) async fn complete(&self, server: &TestServer) {
        let body = json!({ "status": "completed" });
        assert_eq!(server.finish(&self.claim, &self.command, body).await.status, 200);
    }
}

/// Serves the next turn of a tenant with a reply, and returns the grant.
pub(crate) async fn serve_turn(server: &TestServer, tenant: &TestTenant, reply: &str) -> Value {
    let turn = TestTurn::claim(server, tenant).await;
    turn.say(server, "m1", reply).await;
    turn.complete(server).await;
    turn.grant
}
