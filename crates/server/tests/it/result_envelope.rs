//! Every field of a result, compared as whole values, and what does not complete a command.

use std::time::{Duration, Instant};

use guildhall_testkit::TestDb;
use serde_json::{Value, json};

use crate::support::Setup;
use crate::support::cluster::Cluster;
use crate::support::runs::{command_event, text};

/// Returns the attempt of the lease of a run, which its `run-claimed` event names too.
async fn attempt_of(cluster: &Cluster, run: &str) -> String {
    let attempt = text(&cluster.get_run(run).await["lease"], "attemptId");
    let events = cluster.list_events(run).await;
    let claimed = events.iter().find(|event| event["payload"]["phase"] == "run-claimed").expect("claimed");
    assert_eq!(claimed["payload"]["attemptId"], json!(attempt));
    attempt
}

/// Asserts that an age is a small number, and replaces it and everything else that depends on the time.
fn without_times(mut result: Value) -> Value {
    for pointer in
        ["/liveness/lastEventAgeMs", "/liveness/lastCommandActivity/ageMs", "/liveness/heartbeat/ageMs"]
    {
        if let Some(age) = result.pointer_mut(pointer).filter(|age| !age.is_null()) {
            assert!(age.as_i64().is_some_and(|age| (0..60_000).contains(&age)), "{pointer}: {age}");
            *age = json!("small");
        }
    }
    for pointer in ["/liveness/sentence", "/liveness/nextStepAt"] {
        if let Some(value) = result.pointer_mut(pointer).filter(|value| !value.is_null()) {
            *value = json!("set");
        }
    }
    result
}

fn seqs(appended: &Value) -> Vec<i64> {
    let events = appended["events"].as_array().expect("events");
    events.iter().map(|event| event["seq"].as_i64().expect("a number")).collect()
}

// covers: R15a, R15b, R15c, R15h, R16
#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one result with all its fields, open and ended")]
async fn result_has_every_field_while_running_and_after_the_end() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let (claim, command) = cluster.start_command(&tenant).await;
    let run = cluster.get_run(&claim.run).await;
    let attempt = attempt_of(&cluster, &claim.run).await;
    let message = |id: &str, payload: Value| command_event(id, "assistant_message", &command, payload);
    let appended = cluster
        .first
        .append_events(
            &claim,
            json!([
                message("a", json!({ "text": "draft", "replyAuthority": true, "outputTruncated": true })),
                message("b", json!({ "text": "cut sh", "replyAuthority": true, "textTruncated": true })),
                message("c", json!({ "text": "bye" })),
            ]),
        )
        .await;
    let seqs = seqs(&appended.body);
    let final_response = json!({
        "seq": seqs[1], "source": "authority", "replyAuthority": true, "final": false,
        "textTruncated": true, "outputTruncated": false, "text": "cut sh",
    });
    let lease = cluster.get_run(&claim.run).await["lease"].clone();
    let running = cluster.get_result(&claim.run, &command).await;
    let activity = running["liveness"]["lastCommandActivity"].clone();
    let heartbeat = running["liveness"]["heartbeat"].clone();
    let expected = json!({
        "runId": claim.run, "sessionId": run["sessionId"], "commandId": command, "attemptId": attempt,
        "status": "running", "terminalStatus": null, "completed": false, "terminalSource": "none",
        "reply": null, "finalResponse": final_response,
        "finalAssistantSeq": seqs[1], "finalAssistantSource": "authority",
        "finalAssistantTextTruncated": true, "finalAssistantOutputTruncated": false,
        "failureKind": null, "blocker": null,
        "lastSeq": seqs[2], "eventCount": seqs[2], "eventsCapped": false, "nextAfterSeq": seqs[2],
        "scopedLastSeq": seqs[2], "scopedEventCount": 6,
        "artifactSummary": {
            "count": 0, "bytes": 0, "truncated": false, "outputCount": 0, "outputBytes": 0,
            "outputTruncated": false, "items": [],
        },
        "toolCallSummary": {
            "count": 0, "running": 0, "statusCounts": {}, "exitCodeCounts": {}, "items": [],
        },
        "usage": {
            "inputTokens": 0, "cachedInputTokens": 0, "outputTokens": 0, "activeMs": 0, "toolCalls": 0,
        },
        "liveness": {
            "phase": "waiting-model", "active": true, "lastSeq": seqs[2], "lastEventAgeMs": "small",
            "lastCommandActivity": {
                "seq": seqs[2], "type": "assistant_message", "at": activity["at"], "ageMs": "small",
            },
            "lease": lease,
            "heartbeat": { "lastAt": heartbeat["lastAt"], "ageMs": "small", "stale": false },
            "nextStep": "the runner continues; without a heartbeat it is considered lost",
            "nextStepAt": "set",
            "recoveryActions": [
                { "action": "wait", "about": "wait: it continues automatically" },
                { "action": "cancel-command", "about": "cancel the command; the run stays open" },
            ],
            "sentence": "set",
        },
    });
    assert_eq!(without_times(running), expected);
    assert_eq!(
        lease,
        json!({
            "runnerId": claim.runner, "attemptId": attempt, "epoch": 1, "expiresAt": lease["expiresAt"],
        })
    );

    // The attempt stays known after the runner has released the run and another one holds it.
    cluster.first.finish(&claim, &command, json!({ "status": "completed" })).await;
    let path = format!("/api/v1/runs/{}/lease", claim.run);
    let released = cluster
        .second
        .request_as(reqwest::Method::PATCH, &path, &claim.token, Some(json!({ "release": true })))
        .await;
    assert_eq!(released.status, 200, "{}", released.text);
    let ended = cluster.get_result(&claim.run, &command).await;
    let activity = ended["liveness"]["lastCommandActivity"].clone();
    let mut completed = expected.clone();
    for (name, value) in [
        ("status", json!("completed")),
        ("terminalStatus", json!("completed")),
        ("completed", json!(true)),
        ("terminalSource", json!("terminal_status")),
        ("reply", json!("cut sh")),
        ("scopedLastSeq", json!(seqs[2] + 1)),
        ("scopedEventCount", json!(7)),
    ] {
        completed[name] = value;
    }
    for name in ["lastSeq", "eventCount", "nextAfterSeq"] {
        completed[name] = ended["lastSeq"].clone();
    }
    completed["liveness"] = json!({
        "phase": "terminal", "active": false, "lastSeq": ended["lastSeq"], "lastEventAgeMs": "small",
        "lastCommandActivity": {
            "seq": seqs[2] + 1, "type": "terminal_status", "at": activity["at"], "ageMs": "small",
        },
        "lease": null, "heartbeat": null,
        "nextStep": "nothing: it has ended", "nextStepAt": null,
        "recoveryActions": [{ "action": "read-result", "about": "read the result" }],
        "sentence": "set",
    });
    assert_eq!(without_times(ended), completed);
    let second = cluster.send_turn(&claim.run, "again").await;
    assert_eq!(cluster.get_result(&claim.run, &second).await["attemptId"], Value::Null, "not started yet");
    let next = cluster.second.claim(&tenant, &claim.run).await;
    cluster.second.ack(&next, &second).await;
    let other = text(&cluster.get_result(&claim.run, &second).await, "attemptId");
    assert_ne!(other, attempt, "another attempt runs the second command");
    assert_eq!(cluster.get_result(&claim.run, &command).await["attemptId"], json!(attempt));
}

// covers: R15a
#[tokio::test]
async fn blocked_failed_and_cancelled_commands_have_their_status_and_blocker() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let (claim, mut command) = cluster.start_command(&tenant).await;
    let attempt = attempt_of(&cluster, &claim.run).await;
    let ends = [
        ("blocked", "provider-auth-failed", "sign in to the provider"),
        ("failed", "backend-failed", "it broke"),
        ("cancelled", "cancelled", "interrupted"),
    ];
    for (status, kind, message) in ends {
        let body = json!({ "status": status, "failureKind": kind, "message": message });
        let ended = cluster.second.finish(&claim, &command, body).await;
        assert_eq!(ended.status, 200, "{}", ended.text);
        let result = cluster.get_result(&claim.run, &command).await;
        let names = [
            "runId",
            "sessionId",
            "commandId",
            "attemptId",
            "status",
            "terminalStatus",
            "completed",
            "terminalSource",
            "reply",
            "failureKind",
            "blocker",
        ];
        let session = cluster.get_run(&claim.run).await["sessionId"].clone();
        assert_eq!(
            json!(names.map(|name| result[name].clone())),
            json!([
                claim.run,
                session,
                command,
                attempt,
                status,
                status,
                false,
                "terminal_status",
                null,
                kind,
                message
            ])
        );
        command = cluster.send_turn(&claim.run, "next").await;
        cluster.first.ack(&claim, &command).await;
    }
}

// covers: R16
#[tokio::test]
async fn output_transport_close_and_idle_timeout_do_not_complete() {
    let db = TestDb::new().await;
    let setup = Setup::new(&db)
        .with("runs.lease", "2s")
        .with("runs.lease_grace", "0s")
        .with("runs.tend_every", "200ms")
        .with("runs.idle_after", "1s");
    let cluster = Cluster::with_setup(setup, db).await;
    let tenant = cluster.create_test_tenant("acme").await;
    let (claim, command) = cluster.start_command(&tenant).await;
    let events = [
        ("command_output", json!({ "text": "all tests passed, done", "exitCode": 0 })),
        ("assistant_message", json!({ "text": "done", "replyAuthority": true, "final": true })),
        ("backend_status", json!({ "phase": "transport-disconnected" })),
        ("backend_status", json!({ "phase": "completed" })),
    ];
    let outcome = async || {
        let result = cluster.get_result(&claim.run, &command).await;
        json!(["status", "completed", "terminalSource", "reply"].map(|name| result[name].clone()))
    };
    for (number, (kind, payload)) in events.into_iter().enumerate() {
        let appended = cluster
            .second
            .append_events(&claim, json!([command_event(&format!("e{number}"), kind, &command, payload)]));
        let appended = appended.await;
        assert_eq!(appended.status, 200, "{}", appended.text);
        assert_eq!(outcome().await, json!(["running", false, "none", null]), "after a {kind}");
    }
    // The runner is silent: its lease expires, and then the run is idle for too long.
    let deadline = Instant::now() + Duration::from_secs(120);
    while cluster.get_run(&claim.run).await["terminalStatus"].is_null() {
        assert!(Instant::now() < deadline, "the idle run does not end");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(outcome().await, json!(["failed", false, "terminal_status", null]));
    assert_eq!(cluster.get_run(&claim.run).await["terminalStatus"], "cancelled");
}

// covers: R16
#[tokio::test]
async fn last_authoritative_message_is_the_reply() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let claim = {
        let run = cluster.create_run(&tenant).await;
        cluster.first.claim(&tenant, &run).await
    };
    let (authority, is_final) = (json!({ "replyAuthority": true }), json!({ "final": true }));
    let cases = [
        ([&authority, &authority, &json!({})], 1, "authority"),
        ([&authority, &is_final, &json!({})], 1, "authority"),
        ([&is_final, &authority, &json!({})], 1, "authority"),
        ([&authority, &json!({}), &json!({})], 0, "authority"),
        ([&json!({}), &json!({}), &json!({})], 2, "fallback"),
    ];
    for (case, (messages, chosen, source)) in cases.into_iter().enumerate() {
        let command = cluster.send_turn(&claim.run, "go").await;
        cluster.first.ack(&claim, &command).await;
        let events = messages.iter().enumerate().map(|(number, marks)| {
            let mut payload = (*marks).clone();
            payload["text"] = json!(format!("message {number}"));
            command_event(&format!("m{case}-{number}"), "assistant_message", &command, payload)
        });
        let appended = cluster.second.append_events(&claim, json!(events.collect::<Vec<_>>())).await;
        cluster.first.finish(&claim, &command, json!({ "status": "completed" })).await;
        let result = cluster.get_result(&claim.run, &command).await;
        let names = ["reply", "finalAssistantSeq", "finalAssistantSource"];
        assert_eq!(
            json!(names.map(|name| result[name].clone())),
            json!([format!("message {chosen}"), seqs(&appended.body)[chosen], source]),
            "case {case}"
        );
    }
}
