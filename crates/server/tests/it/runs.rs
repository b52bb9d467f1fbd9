//! Runs over HTTP, on two replicas: what one does, the other sees.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::people::World;
use crate::support::runs::{ask, held, said, text};

// covers: R4, R5
#[tokio::test]
async fn a_run_keeps_what_it_was_made_with_and_nothing_beyond_the_boundary_is_made() {
    let world = World::new().await;
    let yard = world.yard("acme").await;
    let made = world.one.post_as("/api/v1/runs", &world.operator.access, ask("acme")).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let shown = world.show(&text(&made.body, "runId")).await;
    let kept = |name: &str| shown[name].clone();
    assert_eq!(
        json!([
            kept("tenantId"),
            kept("projectId"),
            kept("workspaceRef"),
            kept("providerId"),
            kept("backendProfile"),
            kept("traceSink"),
            kept("status")
        ]),
        json!([yard.tenant, "acme/web", { "kind": "empty" }, "local", "demo", null, "pending"]),
    );
    assert_eq!(
        shown["executionPolicy"],
        json!({
            "sandbox": "read-only", "approval": "never", "timeoutMs": 60000, "network": "enabled",
            "secretScope": { "providerCredentials": [], "toolCredentials": [], "allowCredentialEcho": false },
        })
    );
    refuses_what_is_beyond(&world).await;
    let list = world.one.get_as("/api/v1/runs?tenantId=acme&state=all", &world.operator.access).await;
    assert_eq!(list.body["runs"].as_array().expect("runs").len(), 1, "a refused run was made");
}

async fn refuses_what_is_beyond(world: &World) {
    let others = world.tenant("others").await;
    let mallory = world.user("mallory").await;
    world.member(&others, &mallory, "owner").await;
    let with = |name: &str, value: Value| {
        let mut body = ask("acme");
        body[name] = value;
        body
    };
    let without = |name: &str| {
        let mut body = ask("acme");
        body.as_object_mut().expect("an object").remove(name);
        body
    };
    let refused = [
        (without("projectId"), 400, "schema-invalid"),
        (without("workspaceRef"), 400, "schema-invalid"),
        (without("traceSink"), 400, "schema-invalid"),
        (with("tenantId", json!("nobody")), 403, "tenant-policy-denied"),
        (with("backendProfile", json!("Not A Slug")), 400, "schema-invalid"),
        (with("backendProfile", json!("deepseek")), 409, "secret-unavailable"),
        (with("executionPolicy", json!({ "sandbox": "danger-full-access" })), 403, "tenant-policy-denied"),
        (with("executionPolicy", json!({ "timeoutMs": 86_400_000 })), 403, "tenant-policy-denied"),
        (
            with(
                "executionPolicy",
                json!({ "secretScope": { "toolCredentials": [{ "name": "production-db", "keys": ["k"] }] } }),
            ),
            400,
            "schema-invalid",
        ),
    ];
    for (body, status, kind) in refused {
        world.other.post_as("/api/v1/runs", &world.operator.access, body).await.assert_failure(status, kind);
    }
    let foreign = world.one.post_as("/api/v1/runs", &mallory.access, ask("acme")).await;
    foreign.assert_failure(403, "tenant-policy-denied");
}

// covers: R6, R7
#[tokio::test]
async fn the_same_key_gives_the_same_command_and_other_words_are_refused() {
    let world = World::new().await;
    let yard = world.yard("acme").await;
    let run = world.run(&yard).await;
    let send = async |words: &str, server: &crate::support::TestServer| {
        let request = server
            .client
            .post(server.url(&format!("/api/v1/runs/{run}/commands")))
            .bearer_auth(&world.operator.access)
            .header("idempotency-key", "once")
            .json(&json!({ "type": "turn", "payload": { "prompt": words } }));
        crate::support::read(request.send().await.expect("an answer")).await
    };
    let (first, second) = (send("tidy", &world.one).await, send("tidy", &world.other).await);
    assert_eq!((first.status.as_u16(), second.status.as_u16()), (201, 201), "{}", second.text);
    assert_eq!(first.body, second.body);
    send("something else", &world.one).await.assert_failure(409, "idempotency-conflict");
    for (kind, words) in [("steer", " "), ("turn", ""), ("dance", "x")] {
        world.send(&run, kind, words).await.assert_failure(400, "schema-invalid");
    }
}

// covers: R9, R10
#[tokio::test]
async fn one_runner_gets_a_run_and_its_events_are_numbered_without_gap_or_double() {
    let world = World::new().await;
    let yard = world.yard("acme").await;
    let run = world.run(&yard).await;
    let command = world.command(&run, "go").await;
    let owner = world.one.claim(&yard, &run).await;
    let late = world.other.register(&yard).await;
    let refused = world.other.try_claim(&yard, &run, &late).await;
    refused.assert_failure(409, "runner-lease-conflict");
    assert_eq!(refused.body["owner"], json!(owner.runner));
    assert!(refused.body["leaseExpiresAt"].as_str().is_some_and(|at| at.ends_with('Z')), "{}", refused.text);
    assert_eq!(world.one.ack(&owner, &command).await.status, 200);
    let batch = json!([said("e1", &command, "a"), said("e2", &command, "b")]);
    let first = world.one.append(&owner, batch.clone()).await;
    assert_eq!(first.status, 200, "{}", first.text);
    let again = world.other.append(&owner, batch).await;
    let replayed: Vec<_> =
        again.body["events"].as_array().expect("events").iter().map(|e| e["replayed"].clone()).collect();
    assert_eq!(replayed, [true, true]);
    assert_eq!(again.body["lastSeq"], first.body["lastSeq"]);
    let events = world.events(&run).await;
    let seqs: Vec<_> = events.iter().map(|event| event["seq"].as_i64().expect("a number")).collect();
    assert_eq!(seqs, (1..=i64::try_from(seqs.len()).expect("few")).collect::<Vec<_>>());
    let kinds: Vec<_> = events.iter().map(|event| text(event, "type")).collect();
    assert_eq!(
        kinds,
        [
            "run_status",
            "command_status",
            "backend_status",
            "backend_status",
            "command_status",
            "assistant_message",
            "assistant_message"
        ],
    );
}

// covers: R8, R15a, R15b, R15e, R16
#[tokio::test]
async fn a_finished_command_leaves_its_run_open_and_each_result_is_its_own() {
    let world = World::new().await;
    let yard = world.yard("acme").await;
    let run = world.run(&yard).await;
    let held = world.one.claim(&yard, &run).await;
    let mut commands = Vec::new();
    for words in ["one", "two"] {
        let command = world.command(&run, words).await;
        let work = world.other.poll(&held, i64::try_from(commands.len()).expect("few"), 2000).await;
        assert_eq!(work.body["commands"][0]["commandId"], json!(command), "{}", work.text);
        assert_eq!(world.other.ack(&held, &command).await.status, 200);
        let running = world.result(&run, &command).await;
        assert_eq!(
            json!([running["completed"], running["reply"], running["status"]]),
            json!([false, null, "running"])
        );
        let answer = format!("answer to {words}");
        world.one.append(&held, json!([said(&format!("{words}-1"), &command, &answer)])).await;
        let partial = world.result(&run, &command).await;
        assert_eq!(
            json!([partial["completed"], partial["reply"]]),
            json!([false, null]),
            "text does not complete"
        );
        let ended =
            world.one.finish(&held, &command, json!({ "status": "completed", "threadId": "thread-1" })).await;
        assert_eq!(ended.status, 200, "{}", ended.text);
        assert_eq!(world.show(&run).await["status"], "claimed");
        commands.push((command, answer));
    }
    for (command, answer) in &commands {
        let result = world.result(&run, command).await;
        assert_eq!(
            json!([
                result["completed"],
                result["terminalStatus"],
                result["terminalSource"],
                result["reply"],
                result["finalResponse"]["source"]
            ]),
            json!([true, "completed", "terminal_status", answer, "fallback"]),
        );
    }
    let third = world.command(&run, "three").await;
    let cancel = format!("/api/v1/runs/{run}/cancel");
    let cancelled = world.other.post_as(&cancel, &world.operator.access, json!({})).await;
    assert_eq!(cancelled.body["status"], "cancelled", "{}", cancelled.text);
    let again = world.one.post_as(&cancel, &world.operator.access, json!({})).await;
    assert_eq!(
        (&again.body["status"], &again.body["endedAt"]),
        (&cancelled.body["status"], &cancelled.body["endedAt"])
    );
    let third = world.result(&run, &third).await;
    assert_eq!(json!([third["terminalStatus"], third["failureKind"]]), json!(["cancelled", "cancelled"]));
    world
        .one
        .append(&held, json!([said("late", &commands[0].0, "too late")]))
        .await
        .assert_failure(409, "runner-lease-conflict");
}

// covers: R11
#[tokio::test]
async fn to_cancel_a_running_command_goes_through_its_runner() {
    let world = World::new().await;
    let yard = world.yard("acme").await;
    let run = world.run(&yard).await;
    let command = world.command(&run, "long").await;
    let held = world.one.claim(&yard, &run).await;
    world.one.ack(&held, &command).await;
    let cancel = format!("/api/v1/commands/{command}/cancel");
    let asked = world.other.post_as(&cancel, &world.operator.access, json!({})).await;
    assert_eq!(
        json!([asked.body["status"], asked.body["cancelRequested"]]),
        json!(["running", true]),
        "{}",
        asked.text
    );
    let work = world.one.poll(&held, 1, 5000).await;
    assert_eq!(work.body["cancelCommandIds"], json!([command]), "{}", work.text);
    let ended =
        world.one.finish(&held, &command, json!({ "status": "cancelled", "message": "interrupted" })).await;
    assert_eq!(ended.body["status"], "cancelled", "{}", ended.text);
    let again = world.one.post_as(&cancel, &world.operator.access, json!({})).await;
    assert_eq!(again.body["status"], "cancelled");
    assert_eq!(world.show(&run).await["status"], "claimed", "the run stays open");
}

#[tokio::test]
async fn a_runner_reaches_its_run_and_no_other() {
    let world = World::new().await;
    let yard = world.yard("acme").await;
    let (run, other_run) = (world.run(&yard).await, world.run(&yard).await);
    let command = world.command(&other_run, "not yours").await;
    let mine = world.one.claim(&yard, &run).await;
    let path = format!("/api/v1/runs/{other_run}/events");
    world
        .one
        .post_as(&path, &mine.token, json!({ "events": [said("e", &command, "x")] }))
        .await
        .assert_failure(404, "not-found");
    world.one.ack(&mine, &command).await.assert_failure(404, "not-found");
    let lease = format!("/api/v1/runs/{other_run}/lease");
    world.one.ask(Method::PATCH, &lease, &mine.token, Some(json!({}))).await.assert_failure(404, "not-found");
    let others = world.yard("others").await;
    let stranger = world.one.register(&others).await;
    world.one.try_claim(&others, &run, &stranger).await.assert_failure(404, "not-found");
    let _still_mine = held(&run, &mine.runner, &world.other.try_claim(&yard, &run, &mine.runner).await);
}

#[tokio::test]
async fn a_waiting_runner_gets_the_run_that_has_waited_longest_as_soon_as_there_is_work() {
    let world = World::new().await;
    let yard = world.yard("acme").await;
    let (idle, first, second) = (world.run(&yard).await, world.run(&yard).await, world.run(&yard).await);
    let next = async |server: &crate::support::TestServer, wait: u64| {
        let runner = server.register(&yard).await;
        let body = json!({ "runnerId": runner, "wait": wait });
        let answer = server.post_as("/api/v1/runners/claim", &yard.enrolment, body).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.body["grant"]["run"]["runId"].clone()
    };
    assert_eq!(next(&world.one, 0).await, Value::Null, "a run without a command waits for nobody");
    let began = std::time::Instant::now();
    let late_command = async {
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        world.command(&second, "now").await;
    };
    let (claimed, ()) = tokio::join!(next(&world.one, 8000), late_command);
    assert_eq!(claimed, json!(second));
    assert!(began.elapsed() < std::time::Duration::from_secs(4), "found by the clock alone");
    world.command(&first, "one").await;
    world.command(&idle, "two").await;
    assert_eq!(next(&world.other, 0).await, json!(first));
    assert_eq!(next(&world.one, 0).await, json!(idle));
}

// covers: R12
#[tokio::test]
async fn each_way_to_fail_is_told_apart_in_the_result() {
    let world = World::new().await;
    let yard = world.yard("acme").await;
    let run = world.run(&yard).await;
    let held = world.one.claim(&yard, &run).await;
    let kinds = [
        "schema-invalid",
        "tenant-policy-denied",
        "secret-unavailable",
        "runner-lease-conflict",
        "backend-failed",
        "provider-auth-failed",
        "provider-unavailable",
        "infra-failed",
        "cancelled",
        "session-store-evicted",
        "thread-resume-failed",
    ];
    for kind in kinds {
        let command = world.command(&run, kind).await;
        world.one.ack(&held, &command).await;
        let body = json!({ "status": "failed", "failureKind": kind, "message": format!("it was {kind}") });
        let ended = world.other.finish(&held, &command, body).await;
        assert_eq!(ended.status, 200, "{}", ended.text);
        let result = world.result(&run, &command).await;
        let told =
            json!([result["terminalStatus"], result["completed"], result["failureKind"], result["blocker"]]);
        assert_eq!(told, json!(["failed", false, kind, format!("it was {kind}")]));
    }
    let command = world.command(&run, "unknown").await;
    world.one.ack(&held, &command).await;
    let unknown = json!({ "status": "failed", "failureKind": "made-up" });
    world.one.finish(&held, &command, unknown).await.assert_failure(400, "schema-invalid");
}
