//! What a result says beyond the reply: marks, counters, summaries; over a long history, and for one command alone.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::people::World;
use crate::support::runs::{Held, ask, said, text};

/// A run with one command that its runner has taken.
async fn taken(world: &World) -> (Held, String) {
    let yard = world.yard("acme").await;
    let run = world.run(&yard).await;
    let command = world.command(&run, "go").await;
    let held = world.one.claim(&yard, &run).await;
    assert_eq!(world.one.ack(&held, &command).await.status, 200);
    (held, command)
}

fn event(id: &str, kind: &str, command: &str, payload: Value) -> Value {
    json!({ "id": id, "type": kind, "commandId": command, "payload": payload })
}

fn list<'a>(value: &'a Value, name: &str) -> &'a Vec<Value> {
    value[name].as_array().unwrap_or_else(|| panic!("no list {name} in {value}"))
}

// covers: R15c, R16
#[tokio::test]
async fn the_chosen_reply_carries_its_own_marks_and_nobody_elses() {
    let world = World::new().await;
    let (held, command) = taken(&world).await;
    let message = |id: &str, payload: Value| event(id, "assistant_message", &command, payload);
    let events = json!([
        message("early", json!({ "text": "thinking", "outputTruncated": true })),
        message(
            "reply",
            json!({ "text": "cut sh", "replyAuthority": true, "final": true, "textTruncated": true })
        ),
        message("after", json!({ "text": "bye" })),
    ]);
    let placed = world.one.append(&held, events).await;
    let reply_seq = list(&placed.body, "events")[1]["seq"].clone();
    world.one.finish(&held, &command, json!({ "status": "completed" })).await;
    let result = world.result(&held.run, &command).await;
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
async fn artifacts_outputs_and_tool_calls_are_summed_up_bounded_and_without_credentials() {
    let world = World::new().await;
    let (held, command) = taken(&world).await;
    let mut events = Vec::new();
    for number in 0..12 {
        let name = |what: &str| format!("{what}-{number}");
        events.push(event(&name("a"), "artifact", &command, json!({ "path": name("file"), "bytes": 100 })));
        let (status, code) = if number % 4 == 0 { ("failed", 2) } else { ("completed", 0) };
        let call = json!({
            "callId": name("call"), "status": status, "exitCode": code, "toolName": "shell", "method": "exec",
            "type": "commandExecution", "command": format!("curl -H 'Authorization: Bearer {}'", "s3cr3t".repeat(8)),
        });
        events.push(event(&name("t"), "tool_call", &command, call));
        events.push(event(&name("o"), "command_output", &command, json!({ "text": "0123456789" })));
    }
    let open = json!({ "callId": "open", "status": "started" });
    events.push(event("open", "tool_call", &command, open));
    events.push(event("cut", "command_output", &command, json!({ "bytes": 5, "outputTruncated": true })));
    let appended = world.one.append(&held, json!(events)).await;
    assert_eq!(appended.status, 200, "{}", appended.text);
    let result = world.result(&held.run, &command).await;
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
async fn a_steer_says_how_far_it_got_and_is_never_a_turn_of_its_own() {
    let world = World::new().await;
    let (held, turn) = taken(&world).await;
    let sent = world.send(&held.run, "steer", "the other way").await;
    let steer = text(&sent.body, "commandId");
    let far = async || {
        let delivery = world.result(&held.run, &steer).await["steerDelivery"].clone();
        let names = ["targetCommandId", "ackedByRunner", "acceptedByBackend", "targetEventsObserved"];
        json!(names.map(|name| delivery[name].clone()))
    };
    assert_eq!(far().await, json!([turn, false, false, false]));
    let work = world.other.poll(&held, 1, 0).await;
    assert_eq!(work.body["commands"], json!([]), "{}", work.text);
    assert_eq!(list(&work.body, "steers")[0]["commandId"], json!(steer));
    world.other.ack(&held, &steer).await;
    assert_eq!(far().await, json!([turn, true, false, false]));
    world.one.finish(&held, &steer, json!({ "status": "completed" })).await;
    assert_eq!(
        far().await,
        json!([turn, true, true, false]),
        "a steer that completed says nothing of the turn"
    );
    world.one.append(&held, json!([said("on", &turn, "turning")])).await;
    assert_eq!(far().await, json!([turn, true, true, true]));
    let of_turn = world.result(&held.run, &turn).await;
    assert_eq!(json!([of_turn.get("steerDelivery"), of_turn["status"]]), json!([null, "running"]));
}

// covers: R15d, R15e, R17
#[tokio::test]
async fn a_long_history_is_counted_whole_and_each_command_for_itself() {
    let world = World::new().await;
    let (held, first) = taken(&world).await;
    let run = held.run.clone();
    fill(&world, &held, &first, "first", 6).await;
    world.one.finish(&held, &first, json!({ "status": "completed" })).await;
    let second = world.command(&run, "again").await;
    world.one.ack(&held, &second).await;
    fill(&world, &held, &second, "second", 3).await;
    world.one.append(&held, json!([said("straggler", &first, "late words of the first")])).await;
    world.one.finish(&held, &second, json!({ "status": "completed" })).await;
    let log = whole_log(&world, &run).await;
    assert!(log.len() > 4_500, "only {} events", log.len());
    for (command, words) in [(&first, "late words of the first"), (&second, "second 1499")] {
        let of_it: Vec<_> = log.iter().filter(|event| event["commandId"] == json!(command)).collect();
        let result = world.result(&run, command).await;
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
                of_it.last().expect("events")["seq"],
                of_it.len(),
                words
            ]),
        );
    }
    let newest = world.other.get_as(&format!("/api/v1/runs/{run}/result"), &world.operator.access).await;
    assert_eq!(newest.body["commandId"], json!(second));
    let named = format!("/api/v1/runs/{run}/result?commandId={first}");
    let named = world.one.get_as(&named, &world.operator.access).await;
    assert_eq!(
        json!([named.body["commandId"], named.body["reply"]]),
        json!([first, "late words of the first"])
    );
}

// covers: R15d
#[tokio::test]
async fn a_run_counts_its_events_with_and_without_a_command() {
    let world = World::new().await;
    let yard = world.yard("acme").await;
    let run = world.run(&yard).await;
    let counted = async || {
        let answer = world.one.get_as(&format!("/api/v1/runs/{run}/result"), &world.operator.access).await;
        let names = ["lastSeq", "eventCount", "scopedLastSeq", "status"];
        (names.map(|name| answer.body[name].clone()), world.show(&run).await["lastSeq"].clone())
    };
    let all = |number: i64, status: &str| {
        ([json!(number), json!(number), json!(number), json!(status)], json!(number))
    };
    assert_eq!(counted().await, all(1, "pending"), "that it was made is an event");
    let held = world.one.claim(&yard, &run).await;
    assert_eq!(counted().await, all(2, "claimed"));
    let command = world.command(&run, "go").await;
    world.one.ack(&held, &command).await;
    world.one.finish(&held, &command, json!({ "status": "completed" })).await;
    assert_eq!(counted().await, all(5, "completed"), "of the newest command, and the run beside it");
}

// covers: R17
#[tokio::test]
async fn no_other_words_take_the_place_of_an_erased_reply() {
    let world = World::new().await;
    let (held, command) = taken(&world).await;
    let run = held.run.clone();
    world.one.append(&held, json!([said("one", &command, "before"), said("two", &command, "leaked")])).await;
    world.one.finish(&held, &command, json!({ "status": "completed" })).await;
    let before = world.result(&run, &command).await;
    assert_eq!(before["reply"], "leaked");
    let seq = before["finalAssistantSeq"].clone();
    let path = format!("/api/v1/runs/{run}/events/{seq}");
    assert_eq!(world.one.ask(Method::DELETE, &path, &world.operator.access, None).await.status, 204);
    let after = world.result(&run, &command).await;
    let counted = |result: &Value| {
        let names = ["completed", "finalAssistantSeq", "lastSeq", "eventCount", "scopedEventCount"];
        names.map(|name| result[name].clone())
    };
    assert_eq!(counted(&after), counted(&before));
    assert_eq!(json!([after["reply"], after["finalResponse"]["text"]]), json!([null, null]));
    let log = whole_log(&world, &run).await;
    assert!(!format!("{log:?}").contains("leaked"), "{log:?}");
    assert_eq!(log.iter().filter(|event| event["erased"] == true).count(), 1);
}

/// Appends batches of 500 messages of a command, numbered from 0.
async fn fill(world: &World, held: &Held, command: &str, words: &str, batches: usize) {
    for batch in 0..batches {
        let message = |at: usize| {
            let number = batch * 500 + at;
            said(&format!("{words}-{number}"), command, &format!("{words} {number}"))
        };
        let server = if batch % 2 == 0 { &world.one } else { &world.other };
        let appended = server.append(held, json!((0..500).map(message).collect::<Vec<_>>())).await;
        assert_eq!(appended.status, 200, "{}", appended.text);
    }
}

/// Reads all events in the largest pages there are.
async fn whole_log(world: &World, run: &str) -> Vec<Value> {
    let (mut events, mut after) = (Vec::new(), 0);
    loop {
        let path = format!("/api/v1/runs/{run}/events?afterSeq={after}&limit=1000");
        let page = world.one.get_as(&path, &world.operator.access).await;
        events.extend(list(&page.body, "events").iter().cloned());
        after = page.body["nextAfterSeq"].as_i64().expect("a number");
        if page.body["hasMore"] == false {
            return events;
        }
    }
}

// covers: R23
#[tokio::test]
async fn backends_say_what_they_can_do_and_which_cannot_be_used_here() {
    let db = guildhall_testkit::TestDb::new().await;
    let setup = crate::support::Setup::on(&db).with("runs.profiles", "demo,codex");
    let world = World::on(setup, db).await;
    let answer = world.other.get_as("/api/v1/backends", &world.operator.access).await;
    let backends = list(&answer.body, "backends");
    let usable = |backend: &Value| (text(backend, "profile"), backend["unavailable"].is_null());
    let wanted = [
        ("codex", true),
        ("deepseek", false),
        ("minimax-m3", false),
        ("dsflash-go", false),
        ("qwen", false),
        ("demo", true),
    ];
    assert_eq!(
        backends.iter().map(usable).collect::<Vec<_>>(),
        wanted.map(|(name, usable)| (name.to_owned(), usable))
    );
    assert_eq!(
        backends[0],
        json!({
            "profile": "codex", "backendKind": "codex-app-server-stdio", "protocol": "codex-app-server",
            "transport": "stdio", "commandTypes": ["turn", "steer", "interrupt"],
            "requiredSecretKeys": ["auth.json", "config.toml"], "unavailable": null,
        })
    );
    let qwen = &backends[4];
    assert_eq!(
        (text(qwen, "protocol"), &qwen["commandTypes"]),
        ("agent-client-protocol".to_owned(), &json!(["turn", "interrupt"]))
    );
}

// covers: R24
#[tokio::test]
async fn a_run_keeps_the_names_of_its_secrets_and_a_value_is_refused_unseen() {
    let world = World::new().await;
    world.yard("acme").await;
    let with = |secret: Value| {
        let mut body = ask("acme");
        body["backendProfile"] = json!("codex");
        body["executionPolicy"]["secretScope"] = json!({ "providerCredentials": [secret] });
        body
    };
    let named = json!({ "name": "guildhall-provider-codex", "keys": ["auth.json", "config.toml"] });
    let made = world.one.post_as("/api/v1/runs", &world.operator.access, with(named.clone())).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let shown = world.show(&text(&made.body, "runId")).await;
    assert_eq!(shown["executionPolicy"]["secretScope"]["providerCredentials"], json!([named]));
    let mut valued = named;
    valued["value"] = json!("correct-horse-value");
    let refused = world.other.post_as("/api/v1/runs", &world.operator.access, with(valued)).await;
    refused.assert_failure(400, "schema-invalid");
    assert!(!refused.text.contains("correct-horse"), "{}", refused.text);
    let mut sql = world.db.sql().await;
    let kept = "SELECT count(*) FROM runs WHERE runs::text LIKE '%correct-horse%'";
    assert_eq!(sql.number(kept).await, 0);
}
