//! Flags, counters and summaries of a result, over a long history and per command.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::cluster::Cluster;
use crate::support::runs::{RunClaim, assistant_message, command_event, run_request, text};

fn list<'a>(value: &'a Value, name: &str) -> &'a Vec<Value> {
    value[name].as_array().unwrap_or_else(|| panic!("no list {name} in {value}"))
}

// covers: R15c, R16
#[tokio::test]
async fn final_response_has_only_the_flags_of_its_own_event() {
    let cluster = Cluster::new().await;
    let (claim, command) = cluster.start_command(&cluster.create_test_tenant("acme").await).await;
    let message = |id: &str, payload: Value| command_event(id, "assistant_message", &command, payload);
    let events = json!([
        message("early", json!({ "text": "thinking", "outputTruncated": true })),
        message(
            "reply",
            json!({ "text": "cut sh", "replyAuthority": true, "final": true, "textTruncated": true })
        ),
        message("after", json!({ "text": "bye" })),
    ]);
    let appended = cluster.first.append_events(&claim, events).await;
    let reply_seq = list(&appended.body, "events")[1]["seq"].clone();
    cluster.first.finish(&claim, &command, json!({ "status": "completed" })).await;
    let result = cluster.get_result(&claim.run, &command).await;
    assert_eq!(
        result["finalResponse"],
        json!({
            "seq": reply_seq, "source": "authority", "replyAuthority": true, "final": true,
            "textTruncated": true, "outputTruncated": false, "text": "cut sh",
        })
    );
    let names =
        ["reply", "finalAssistantSeq", "finalAssistantTextTruncated", "finalAssistantOutputTruncated"];
    assert_eq!(json!(names.map(|name| result[name].clone())), json!(["cut sh", reply_seq, true, false]));
}

// covers: R15f, R15g
#[tokio::test]
async fn result_summaries_are_bounded_and_contain_no_credentials() {
    let cluster = Cluster::new().await;
    let (claim, command) = cluster.start_command(&cluster.create_test_tenant("acme").await).await;
    let mut events = Vec::new();
    for number in 0..12 {
        let name = |what: &str| format!("{what}-{number}");
        events.push(command_event(
            &name("a"),
            "artifact",
            &command,
            json!({ "path": name("file"), "bytes": 100 }),
        ));
        let (status, code) = if number % 4 == 0 { ("failed", 2) } else { ("completed", 0) };
        let call = json!({
            "callId": name("call"), "status": status, "exitCode": code, "toolName": "shell", "method": "exec",
            "type": "commandExecution", "command": format!("curl -H 'Authorization: Bearer {}'", "s3cr3t".repeat(8)),
        });
        events.push(command_event(&name("t"), "tool_call", &command, call));
        events.push(command_event(&name("o"), "command_output", &command, json!({ "text": "0123456789" })));
    }
    let open = json!({ "callId": "open", "status": "started" });
    events.push(command_event("open", "tool_call", &command, open));
    events.push(command_event(
        "cut",
        "command_output",
        &command,
        json!({ "bytes": 5, "outputTruncated": true }),
    ));
    let appended = cluster.first.append_events(&claim, json!(events)).await;
    assert_eq!(appended.status, 200, "{}", appended.text);
    let result = cluster.get_result(&claim.run, &command).await;
    let artifacts = &result["artifactSummary"];
    let names = ["count", "bytes", "truncated", "outputCount", "outputBytes", "outputTruncated"];
    assert_eq!(
        json!(names.map(|name| artifacts[name].clone())),
        json!([12, 1200, false, 13, 125, true]),
        "{artifacts}"
    );
    let items = list(artifacts, "items");
    assert_eq!(
        (items.len(), &items[0]["path"], &items[9]["path"]),
        (10, &json!("file-2"), &json!("file-11"))
    );
    let tools = &result["toolCallSummary"];
    assert_eq!(
        json!([tools["count"], tools["running"], tools["statusCounts"], tools["exitCodeCounts"]]),
        json!([13, 1, { "completed": 9, "failed": 3 }, { "0": 9, "2": 3 }]),
        "{tools}"
    );
    let items = list(tools, "items");
    let last = items.last().expect("items");
    let names = ["toolName", "method", "type", "status", "exitCode"];
    assert_eq!(
        json!(names.map(|name| last[name].clone())),
        json!(["shell", "exec", "commandExecution", "completed", 0])
    );
    assert_eq!(items.len(), 10);
    assert!(text(last, "command").starts_with("curl") && !result.to_string().contains("s3cr3t"), "{last}");
}

// covers: R15i
#[tokio::test]
async fn steer_reports_its_delivery_and_is_not_delivered_as_a_turn() {
    let cluster = Cluster::new().await;
    let (claim, turn) = cluster.start_command(&cluster.create_test_tenant("acme").await).await;
    let sent = cluster.send_command(&claim.run, "steer", "the other way").await;
    let steer = text(&sent.body, "commandId");
    let delivery = async || {
        let steer = cluster.get_result(&claim.run, &steer).await["steerDelivery"].clone();
        let names = ["targetCommandId", "ackedByRunner", "acceptedByBackend", "targetEventsObserved"];
        json!(names.map(|name| steer[name].clone()))
    };
    assert_eq!(delivery().await, json!([turn, false, false, false]));
    let work = cluster.second.poll(&claim, 1, 0).await;
    assert_eq!(work.body["commands"], json!([]), "{}", work.text);
    assert_eq!(list(&work.body, "steers")[0]["commandId"], json!(steer));
    cluster.second.ack(&claim, &steer).await;
    assert_eq!(delivery().await, json!([turn, true, false, false]));
    cluster.first.finish(&claim, &steer, json!({ "status": "completed" })).await;
    assert_eq!(
        delivery().await,
        json!([turn, true, true, false]),
        "a completed steer shows nothing about the turn"
    );
    cluster.first.append_events(&claim, json!([assistant_message("on", &turn, "turning")])).await;
    assert_eq!(delivery().await, json!([turn, true, true, true]));
    let of_turn = cluster.get_result(&claim.run, &turn).await;
    assert_eq!(json!([of_turn.get("steerDelivery"), of_turn["status"]]), json!([null, "running"]));
}

// covers: R15d, R15e, R17
#[tokio::test]
async fn result_counts_all_events_of_a_long_run_per_command() {
    let cluster = Cluster::new().await;
    let (claim, first) = cluster.start_command(&cluster.create_test_tenant("acme").await).await;
    let run = claim.run.clone();
    append_batches(&cluster, &claim, &first, "first", 6).await;
    cluster.first.finish(&claim, &first, json!({ "status": "completed" })).await;
    let second = cluster.send_turn(&run, "again").await;
    cluster.first.ack(&claim, &second).await;
    append_batches(&cluster, &claim, &second, "second", 3).await;
    cluster
        .first
        .append_events(&claim, json!([assistant_message("straggler", &first, "late text of the first")]))
        .await;
    cluster.first.finish(&claim, &second, json!({ "status": "completed" })).await;
    let log = read_log(&cluster, &run).await;
    assert!(log.len() > 4_500, "only {} events", log.len());
    for (command, reply) in [(&first, "first 2999"), (&second, "second 1499")] {
        let in_time = |event: &&Value| event["commandId"] == json!(command) && event["late"] == false;
        let scoped: Vec<_> = log.iter().filter(in_time).collect();
        let result = cluster.get_result(&run, command).await;
        let names = [
            "lastSeq",
            "eventCount",
            "eventsCapped",
            "nextAfterSeq",
            "scopedLastSeq",
            "scopedEventCount",
            "reply",
        ];
        assert_eq!(
            json!(names.map(|name| result[name].clone())),
            json!([
                log.len(),
                log.len(),
                false,
                log.len(),
                scoped.last().expect("events")["seq"],
                scoped.len(),
                reply
            ]),
        );
    }
    let newest = cluster.second.get_as(&format!("/api/v1/runs/{run}/result"), &cluster.operator.token).await;
    assert_eq!(newest.body["commandId"], json!(second));
    let path = format!("/api/v1/runs/{run}/result?commandId={first}");
    let oldest = cluster.first.get_as(&path, &cluster.operator.token).await;
    assert_eq!(json!([oldest.body["commandId"], oldest.body["reply"]]), json!([first, "first 2999"]));
}

// covers: R15d
#[tokio::test]
async fn run_result_counts_events_with_and_without_a_command() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let run = cluster.create_run(&tenant).await;
    let counters = async || {
        let response =
            cluster.first.get_as(&format!("/api/v1/runs/{run}/result"), &cluster.operator.token).await;
        let names = ["lastSeq", "eventCount", "scopedLastSeq", "status"];
        (names.map(|name| response.body[name].clone()), cluster.get_run(&run).await["lastSeq"].clone())
    };
    let expected = |number: i64, status: &str| {
        ([json!(number), json!(number), json!(number), json!(status)], json!(number))
    };
    assert_eq!(counters().await, expected(1, "pending"), "the creation is an event");
    let claim = cluster.first.claim(&tenant, &run).await;
    assert_eq!(counters().await, expected(2, "claimed"));
    let command = cluster.send_turn(&run, "go").await;
    cluster.first.ack(&claim, &command).await;
    cluster.first.finish(&claim, &command, json!({ "status": "completed" })).await;
    assert_eq!(counters().await, expected(6, "completed"), "the status of the newest command");
}

// covers: R17
#[tokio::test]
async fn erased_reply_is_not_replaced_by_an_earlier_message() {
    let cluster = Cluster::new().await;
    let (claim, command) = cluster.start_command(&cluster.create_test_tenant("acme").await).await;
    let run = claim.run.clone();
    cluster
        .first
        .append_events(
            &claim,
            json!([
                assistant_message("one", &command, "before"),
                assistant_message("two", &command, "leaked")
            ]),
        )
        .await;
    cluster.first.finish(&claim, &command, json!({ "status": "completed" })).await;
    let before = cluster.get_result(&run, &command).await;
    assert_eq!(before["reply"], "leaked");
    let seq = before["finalAssistantSeq"].clone();
    let path = format!("/api/v1/runs/{run}/events/{seq}");
    assert_eq!(
        cluster.first.request_as(Method::DELETE, &path, &cluster.operator.token, None).await.status,
        200
    );
    let after = cluster.get_result(&run, &command).await;
    let counters = |result: &Value| {
        let names = ["completed", "finalAssistantSeq", "lastSeq", "eventCount", "scopedEventCount"];
        names.map(|name| result[name].clone())
    };
    assert_eq!(counters(&after), counters(&before));
    assert_eq!(json!([after["reply"], after["finalResponse"]["text"]]), json!([null, null]));
    let log = read_log(&cluster, &run).await;
    assert!(!format!("{log:?}").contains("leaked"), "{log:?}");
    assert_eq!(log.iter().filter(|event| event["erased"] == true).count(), 1);
}

/// Appends batches of 500 numbered messages of a command, starting at 0.
async fn append_batches(cluster: &Cluster, claim: &RunClaim, command: &str, prefix: &str, batches: usize) {
    for batch in 0..batches {
        let message = |at: usize| {
            let number = batch * 500 + at;
            assistant_message(&format!("{prefix}-{number}"), command, &format!("{prefix} {number}"))
        };
        let server = if batch % 2 == 0 { &cluster.first } else { &cluster.second };
        let appended = server.append_events(claim, json!((0..500).map(message).collect::<Vec<_>>())).await;
        assert_eq!(appended.status, 200, "{}", appended.text);
    }
}

/// Reads all events in pages of the maximum size.
async fn read_log(cluster: &Cluster, run: &str) -> Vec<Value> {
    let (mut events, mut after) = (Vec::new(), 0);
    loop {
        let path = format!("/api/v1/runs/{run}/events?afterSeq={after}&limit=1000");
        let page = cluster.first.get_as(&path, &cluster.operator.token).await;
        events.extend(list(&page.body, "events").iter().cloned());
        after = page.body["nextAfterSeq"].as_i64().expect("a number");
        if page.body["hasMore"] == false {
            return events;
        }
    }
}

// covers: R24
#[tokio::test]
async fn run_stores_secret_names_and_rejects_secret_values() {
    let cluster = Cluster::new().await;
    cluster.create_test_tenant("acme").await;
    let request_with = |secret: Value| {
        let mut body = run_request("acme");
        body["backendProfile"] = json!("codex");
        body["executionPolicy"]["secretScope"] = json!({ "providerCredentials": [secret] });
        body
    };
    let secret = json!({ "name": "guildhall-provider-codex", "keys": ["auth.json", "config.toml"] });
    let request = request_with(secret.clone());
    let created = cluster.first.post_as("/api/v1/runs", &cluster.operator.token, request).await;
    assert_eq!(created.status, 201, "{}", created.text);
    let run = cluster.get_run(&text(&created.body, "runId")).await;
    assert_eq!(run["executionPolicy"]["secretScope"]["providerCredentials"], json!([secret]));
    let mut with_value = secret;
    with_value["value"] = json!("correct-horse-value");
    let request = request_with(with_value);
    let refused = cluster.second.post_as("/api/v1/runs", &cluster.operator.token, request).await;
    refused.assert_failure(400, "schema-invalid");
    assert!(!refused.text.contains("correct-horse"), "{}", refused.text);
    let mut sql = cluster.db.sql().await;
    let stored = "SELECT count(*) FROM runs WHERE runs::text LIKE '%correct-horse%'";
    assert_eq!(sql.number(stored).await, 0);
}
