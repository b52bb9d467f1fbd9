//! The routes of CopilotKit's front ends.

use reqwest::RequestBuilder;
use serde_json::{Value, json};

use crate::support::agent_threads::{
    TestTurn, agui_request, input_with, read_frames, serve_turn, tenant_with_agent, types,
};
use crate::support::cluster::Cluster;
use crate::support::runs::{agent_request, command_question, text};
use crate::support::{TestServer, read_response};

const BASE: &str = "/api/v1/copilotkit";

/// What CopilotKit sends: 0.0.59 of AG-UI has no `protocolVersion`.
fn input(thread: &str, run: &str) -> Value {
    let messages = json!([{ "id": format!("message of {run}"), "role": "user", "content": "hello" }]);
    input_with(&json!({ "threadId": thread, "runId": run, "messages": messages, "forwardedProps": {} }))
}

/// What CopilotKit sends when its page has no messages yet.
fn connect_input(thread: &str) -> Value {
    input_with(&json!({ "threadId": thread, "runId": "any", "messages": [], "forwardedProps": {} }))
}

fn post(server: &TestServer, token: &str, path: &str, body: &Value) -> RequestBuilder {
    let request = server.client.post(server.url(&format!("{BASE}/agent/{path}"))).bearer_auth(token);
    request.header("accept", "text/event-stream").json(body)
}

async fn frames(request: RequestBuilder) -> Vec<Value> {
    read_frames(request, |_| false).await.0
}

#[tokio::test]
async fn info_lists_the_agents_that_take_turns() {
    let cluster = Cluster::new().await;
    let tenant = tenant_with_agent(&cluster).await;
    for (slug, enabled) in [("writer", true), ("retired", false)] {
        let created = agent_request("acme", slug);
        let created = cluster.first.post_as("/api/v1/agents", &cluster.operator.token, created).await;
        let path = format!("/api/v1/agents/{}", text(&created.body, "id"));
        let change = json!({ "enabled": enabled, "description": format!("the {slug}") });
        let changed = cluster
            .first
            .request_as(reqwest::Method::PATCH, &path, &cluster.operator.token, Some(change))
            .await;
        assert_eq!(changed.status, 200, "{}", changed.text);
    }
    let (_, key) = cluster.create_key(&tenant.id, "viewer").await;
    let info = cluster.second.get_as(&format!("{BASE}/info"), &key).await;
    let agent = |name: &str, description: &str| json!({ "name": name, "description": description, "className": "HttpAgent" });
    let helper = agent_request("acme", "helper");
    let helper = agent(&text(&helper, "name"), helper["description"].as_str().unwrap_or_default());
    let writer = agent(&text(&agent_request("acme", "writer"), "name"), "the writer");
    let expected = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "agents": { "default": helper, "helper": helper, "writer": writer },
        "mode": "sse", "audioFileTranscriptionEnabled": false, "telemetryDisabled": true,
        "threadEndpoints": { "list": false, "inspect": false, "mutations": false, "realtimeMetadata": false },
    });
    assert_eq!(info.body, expected);
    let without_tenant = cluster.first.get_as(&format!("{BASE}/info"), &cluster.operator.token).await;
    assert_eq!(without_tenant.status, 403, "{}", without_tenant.text);
}

#[tokio::test]
async fn connect_shows_the_whole_thread_and_ends_with_the_running_run() {
    let cluster = Cluster::new().await;
    let tenant = tenant_with_agent(&cluster).await;
    let (_, key) = cluster.create_key(&tenant.id, "developer").await;
    let run = |server: &TestServer, agent: &str, run: &str| {
        post(server, &key, &format!("{agent}/run"), &input("main", run))
    };
    let (first, mut turn) = tokio::join!(frames(run(&cluster.first, "helper", "run-1")), async {
        let turn = TestTurn::claim(&cluster.second, &tenant).await;
        turn.say(&cluster.second, "m1", "one").await;
        turn.complete(&cluster.second).await;
        turn
    });
    assert_eq!(types(&first).last().map(String::as_str), Some("RUN_FINISHED"));
    assert_eq!(first[0]["protocolVersion"], Value::Null, "the words of 0.0.59");
    let connect = |server: &TestServer, agent: &str| {
        post(server, &key, &format!("{agent}/connect"), &connect_input("main"))
    };
    assert_eq!(frames(connect(&cluster.second, "default")).await, first, "the same agent by another name");
    // A second run, which the page meets in the middle.
    let (opened, _) =
        read_frames(run(&cluster.second, "default", "run-2"), |frames| !frames.is_empty()).await;
    assert_eq!(opened[0]["runId"], "run-2");
    let (rejoined, ()) = tokio::join!(frames(connect(&cluster.first, "helper")), async {
        let path = format!("/api/v1/runs/{}", turn.claim.run);
        let open = cluster.first.get_as(&path, &key).await.body["openCommandIds"][0].clone();
        turn.take_next(&cluster.second, open.as_str().expect("a command")).await;
        turn.say(&cluster.second, "m2", "two").await;
        turn.complete(&cluster.second).await;
    });
    let replayed = frames(run(&cluster.first, "helper", "run-2")).await;
    assert_eq!(rejoined, [first, replayed].concat(), "both runs, each event once");
}

#[tokio::test]
async fn thread_of_another_user_is_new_to_connect_and_unknown_to_stop() {
    let cluster = Cluster::new().await;
    let tenant = tenant_with_agent(&cluster).await;
    let (_, owner) = cluster.create_key(&tenant.id, "developer").await;
    let user = cluster.create_user("person").await;
    cluster.set_role(&tenant.id, &user, "developer").await;
    tokio::join!(
        frames(post(&cluster.first, &owner, "helper/run", &input("main", "run-1"))),
        serve_turn(&cluster.second, &tenant, "secret")
    );
    for thread in ["main", "new"] {
        let path = "helper/connect?tenantId=acme";
        let connected = post(&cluster.second, &user.token, path, &connect_input(thread));
        assert_eq!(frames(connected).await, Vec::<Value>::new());
    }
    let stop = |path: &str, token: &str| post(&cluster.second, token, path, &json!({}));
    for (path, token) in [
        ("helper/stop/main?tenantId=acme", &user.token),
        ("helper/stop/unknown", &owner),
        ("unknown/stop/main", &owner),
        ("Not%20A%20Slug/stop/main", &owner),
    ] {
        let refused = read_response(stop(path, token).send().await.expect("a response")).await;
        refused.assert_failure(404, "not-found");
    }
    for path in ["unknown/run", "unknown/connect", "agt_01920000000070008000000000000000/connect"] {
        let refused = post(&cluster.first, &owner, path, &input("main", "run-9"));
        read_response(refused.send().await.expect("a response")).await.assert_failure(404, "not-found");
    }
}

#[tokio::test]
async fn stop_cancels_the_named_run_or_all() {
    let cluster = Cluster::new().await;
    let tenant = tenant_with_agent(&cluster).await;
    let (_, key) = cluster.create_key(&tenant.id, "developer").await;
    let stop = async |body: Option<&str>| {
        let url = cluster.second.url(&format!("{BASE}/agent/helper/stop/main"));
        let request = cluster.second.client.post(url).bearer_auth(&key);
        let request = request.header("content-type", "application/json");
        let request = request.body(body.unwrap_or_default().to_owned());
        read_response(request.send().await.expect("a response")).await
    };
    for (run, body) in [("run-1", Some(r#"{"runId":"run-2"}"#)), ("run-2", None)] {
        let request = post(&cluster.first, &key, "helper/run", &input("main", run));
        let (opened, _) = read_frames(request, |frames| !frames.is_empty()).await;
        assert_eq!(opened[0]["runId"], run);
        if run == "run-1" {
            stop(body).await.assert_failure(404, "not-found");
            stop(Some(r#"["run-1"]"#)).await.assert_failure(400, "schema-invalid");
            stop(Some(r#"{"runId":1}"#)).await.assert_failure(400, "schema-invalid");
            assert_eq!(stop(Some(r#"{"runId":"run-1"}"#)).await.body, json!({ "stopped": true }));
        } else {
            assert_eq!(stop(body).await.body, json!({ "stopped": true }));
        }
        let replayed = frames(post(&cluster.second, &key, "helper/run", &input("main", run))).await;
        let last = replayed.last().expect("a last frame");
        assert_eq!((&last["type"], &last["code"]), (&json!("RUN_ERROR"), &json!("cancelled")));
    }
    assert_eq!(stop(None).await.body, json!({ "stopped": false }));
}

/// CopilotKit resumes a run under the id of that run.
#[tokio::test]
async fn resume_under_the_id_of_the_interrupted_run_shows_what_follows() {
    let cluster = Cluster::new().await;
    let tenant = tenant_with_agent(&cluster).await;
    let (server, token) = (&cluster.second, &cluster.operator.token);
    let run = |server: &TestServer, resume: &Value| {
        let mut input = input("main", "run-1");
        input["resume"] = resume.clone();
        post(server, token, "helper/run?tenantId=acme", &input)
    };
    let ask = async |turn: &TestTurn, request: &str| {
        server.ask(&turn.claim, &turn.command, request, command_question("ls")).await
    };
    let (asked, (turn, approval)) = tokio::join!(frames(run(&cluster.first, &json!([]))), async {
        let turn = TestTurn::claim(server, &tenant).await;
        let approval = ask(&turn, "1").await;
        (turn, approval)
    });
    let interrupt = &asked.last().expect("a frame")["outcome"]["interrupts"][0];
    // CopilotKit would take the answer to a question of a tool call for the result of that call.
    assert_eq!((&interrupt["id"], &interrupt["toolCallId"]), (&json!(approval), &Value::Null));
    let answer = |approval: &str| json!([{ "interruptId": approval, "status": "resolved", "payload": { "approved": true } }]);
    let next = async {
        server.take_until_answered(&turn.claim, &approval).await;
        turn.say(server, "m1", "half").await;
        ask(&turn, "2").await
    };
    let (middle, second) = tokio::join!(frames(run(&cluster.first, &answer(&approval))), next);
    assert_eq!(middle[0]["runId"], "run-1");
    assert_eq!(middle.last().expect("a frame")["outcome"]["interrupts"][0]["id"], second.as_str());
    let end = async {
        server.take_until_answered(&turn.claim, &second).await;
        turn.say(server, "m2", "done").await;
        turn.complete(server).await;
    };
    let (rest, ()) = tokio::join!(frames(run(&cluster.first, &answer(&second))), end);
    assert_eq!(rest.last().expect("a frame")["outcome"]["type"], "success");
    for (resume, expected) in [(json!([]), &asked), (answer(&approval), &middle), (answer(&second), &rest)] {
        assert_eq!(&frames(run(server, &resume)).await, expected, "the same request at the other replica");
    }
    let connect = post(server, token, "helper/connect?tenantId=acme", &connect_input("main"));
    let thread = frames(connect).await;
    let said =
        |frames: &[Value]| -> String { frames.iter().filter_map(|frame| frame["delta"].as_str()).collect() };
    assert_eq!(said(&thread), "halfdone");
    assert_eq!(types(&thread), types(&[asked, middle, rest].concat()));
    // The id of the interrupted run is also known to the AG-UI route.
    let mut input = input("main", "run-1");
    input["resume"] = answer(&second);
    let again = frames(agui_request(server, token, &input)).await;
    assert_eq!(said(&again), "done");
}
