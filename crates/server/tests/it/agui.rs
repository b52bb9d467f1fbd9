//! AG-UI: runs of agents as streams of events.

use serde_json::{Value, json};

use crate::support::agent_threads::{
    RUNS, THREAD, TestTurn, agui_request, input_with, read_frames, serve_turn, tenant_with_agent, types,
};
use crate::support::cluster::Cluster;
use crate::support::runs::{run_agent_input, text};
use crate::support::{TestServer, read_response};

#[tokio::test]
async fn agui_stream_ends_with_its_run_and_is_the_same_on_the_other_replica() {
    let cluster = Cluster::new().await;
    let tenant = tenant_with_agent(&cluster).await;
    let token = &cluster.operator.token;
    let open = |server: &TestServer, input: &Value| agui_request(server, token, input);
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
async fn tools_of_a_client_are_replayed_with_the_run_that_they_came_with() {
    let cluster = Cluster::new().await;
    let tenant = tenant_with_agent(&cluster).await;
    let token = &cluster.operator.token;
    let field = json!({ "type": "string", "description": "the password of the user" });
    let parameters =
        json!({ "type": "object", "properties": { "password": field }, "required": ["password"] });
    let tools = json!([{ "name": "sign_in", "description": "Show the form", "parameters": parameters }]);
    let mut turn: Option<TestTurn> = None;
    for (run, sent) in [("run-1", &tools), ("run-2", &json!([])), ("run-3", &tools)] {
        let mut input = input_with(&json!({ "runId": run, "tools": sent }));
        input["messages"][0]["id"] = json!(format!("message of {run}"));
        let accepted = cluster.first.post_as(RUNS, token, input.clone()).await;
        assert_eq!(accepted.status, 200, "{}", accepted.text);
        let turn = match &mut turn {
            Some(turn) => {
                turn.take_next(&cluster.first, &text(&accepted.body, "taskId")).await;
                turn
            }
            None => turn.insert(TestTurn::claim(&cluster.first, &tenant).await),
        };
        turn.say(&cluster.first, run, "done").await;
        turn.complete(&cluster.first).await;
        input["protocolVersion"] = json!("1.0");
        let (one, _) = read_frames(agui_request(&cluster.first, token, &input), |_| false).await;
        let (two, _) = read_frames(agui_request(&cluster.second, token, &input), |_| false).await;
        assert_eq!((&one[0]["input"]["tools"], &two), (sent, &one), "{run}");
    }
    let path = format!("/api/v1/agent/runs/{THREAD}/events?tenantId=acme");
    let follow = cluster.second.client.get(cluster.second.url(&path)).bearer_auth(token);
    let (thread, _) = read_frames(follow, |_| false).await;
    let started = thread.iter().filter(|frame| frame["type"] == "RUN_STARTED");
    let replayed: Vec<&Value> = started.map(|frame| &frame["input"]["tools"]).collect();
    assert_eq!(replayed, [&tools, &json!([]), &tools]);
}

#[tokio::test]
async fn thread_continues_after_the_last_event_of_a_client() {
    let cluster = Cluster::new().await;
    let tenant = tenant_with_agent(&cluster).await;
    let token = &cluster.operator.token;
    let input = run_agent_input("hello");
    cluster.first.post_as(RUNS, token, input).await;
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
        let request = agui_request(&cluster.first, token, &input);
        let ((frames, _), stopped) = tokio::join!(read_frames(request, |_| false), async {
            for _ in 0..1_000 {
                let stopped = cluster.second.post_as(stop, token, json!({})).await;
                if stopped.body["stopped"] == true {
                    return stopped;
                }
            }
            panic!("the run is not stopped")
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
        let request = agui_request(&cluster.first, &cluster.operator.token, &input_with(&values));
        read_response(request.send().await.expect("a response")).await
    };
    for values in [
        json!({ "threadId": "" }),
        json!({ "threadId": "a\u{0}b" }),
        json!({ "runId": "r".repeat(129) }),
        json!({ "messages": [] }),
        json!({ "messages": [{ "id": "a", "role": "assistant", "content": "hi" }] }),
        json!({ "resume": [{ "interruptId": "apr_1", "status": "resolved" }] }),
        json!({ "forwardedProps": { "runtime_mode": "automation" } }),
        json!({ "messages": [{ "id": "a\u{0}b", "role": "user", "content": "hi" }] }),
        json!({ "messages": [{ "id": "m".repeat(129), "role": "user", "content": "hi" }] }),
    ] {
        send(values).await.assert_failure(422, "invalid-input");
    }
}

#[tokio::test]
async fn ids_that_no_client_can_have_chosen_name_nothing() {
    let cluster = Cluster::new().await;
    tenant_with_agent(&cluster).await;
    let token = &cluster.operator.token;
    cluster.first.post_as(RUNS, token, run_agent_input("hello")).await;
    for thread in ["%00", "a%00b", "%0a", &"t".repeat(129), "unknown"] {
        let path = format!("/api/v1/agent/runs/{thread}/events?tenantId=acme");
        cluster.first.get_as(&path, token).await.assert_failure(404, "not-found");
        let path = format!("/api/v1/agent/runs/{thread}/stop?tenantId=acme");
        cluster.first.post_as(&path, token, json!({})).await.assert_failure(404, "not-found");
    }
    let path = format!("/api/v1/agent/runs/{THREAD}/stop?tenantId=acme&runId=a%00b");
    cluster.first.post_as(&path, token, json!({})).await.assert_failure(404, "not-found");
    // Old messages of other servers may have any id.
    let messages = json!([
        { "id": "a\u{0}b", "role": "user", "content": "old" },
        { "id": "x", "role": "assistant", "content": "old" },
        { "id": "m2", "role": "user", "content": "new" },
    ]);
    let input = input_with(&json!({ "runId": "run-2", "messages": messages, "protocolVersion": "1.0" }));
    let (frames, _) =
        read_frames(agui_request(&cluster.second, token, &input), |frames| !frames.is_empty()).await;
    assert_eq!(frames[0]["input"]["messages"], json!([{ "role": "user", "id": "m2", "content": "new" }]));
}
