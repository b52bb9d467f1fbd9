//! Runs over HTTP, on two replicas.

use guildhall_testkit::Stopwatch;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::cluster::Cluster;
use crate::support::runs::{assistant_message, run_claim, run_request, text};

// covers: R4, R5
#[tokio::test]
async fn run_keeps_its_request_and_out_of_policy_requests_are_refused() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let created = cluster.first.post_as("/api/v1/runs", &cluster.operator.token, run_request("acme")).await;
    assert_eq!(created.status, 201, "{}", created.text);
    let run = cluster.get_run(&text(&created.body, "runId")).await;
    let field = |name: &str| run[name].clone();
    assert_eq!(
        json!([
            field("tenantId"),
            field("projectId"),
            field("workspaceRef"),
            field("providerId"),
            field("backendProfile"),
            field("traceSink"),
            field("status")
        ]),
        json!([tenant.id, "acme/web", { "kind": "empty" }, "local", "demo", null, "pending"]),
    );
    assert_eq!(
        run["executionPolicy"],
        json!({
            "sandbox": "read-only", "approval": "never", "timeoutMs": 60000, "network": "disabled",
            "secretScope": { "providerCredentials": [], "toolCredentials": [], "allowCredentialEcho": false },
        })
    );
    assert_out_of_policy_is_refused(&cluster).await;
    let list = cluster.first.get_as("/api/v1/runs?tenantId=acme&state=all", &cluster.operator.token).await;
    assert_eq!(list.body["runs"].as_array().expect("runs").len(), 1, "a refused run was created");
}

async fn assert_out_of_policy_is_refused(cluster: &Cluster) {
    let others = cluster.create_tenant("others").await;
    let mallory = cluster.create_user("mallory").await;
    cluster.set_role(&others, &mallory, "owner").await;
    let with = |name: &str, value: Value| {
        let mut body = run_request("acme");
        body[name] = value;
        body
    };
    let without = |name: &str| {
        let mut body = run_request("acme");
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
        cluster
            .second
            .post_as("/api/v1/runs", &cluster.operator.token, body)
            .await
            .assert_failure(status, kind);
    }
    let foreign = cluster.first.post_as("/api/v1/runs", &mallory.token, run_request("acme")).await;
    foreign.assert_failure(403, "tenant-policy-denied");
}

// covers: R4
#[tokio::test]
async fn each_field_of_a_run_request_follows_its_rule() {
    let db = guildhall_testkit::TestDb::new().await;
    let setup = crate::support::Setup::new(&db).with("runs.trace_sinks", "lab-otlp");
    let cluster = Cluster::with_setup(setup, db).await;
    let tenant = cluster.create_test_tenant("acme").await;
    let create = async |change: &dyn Fn(&mut serde_json::Map<String, Value>)| {
        let mut body = run_request("acme");
        change(body.as_object_mut().expect("an object"));
        cluster.second.post_as("/api/v1/runs", &cluster.operator.token, body).await
    };
    let required = ["tenantId", "projectId", "workspaceRef", "providerId", "backendProfile", "traceSink"];
    for name in required {
        let missing = create(&|body| drop(body.remove(name))).await;
        missing.assert_failure(400, "schema-invalid");
        let message = text(&missing.body, "message");
        assert!(message.ends_with(&format!("missing field `{name}`")), "{message}");
        if name != "traceSink" {
            let null = create(&|body| drop(body.insert(name.to_owned(), Value::Null))).await;
            null.assert_failure(400, "schema-invalid");
        }
    }
    let defaults = create(&|body| drop(body.remove("executionPolicy"))).await;
    assert_eq!(
        defaults.body["executionPolicy"],
        json!({
            "sandbox": "workspace-write", "approval": "never", "timeoutMs": 1_800_000, "network": "disabled",
            "secretScope": { "providerCredentials": [], "toolCredentials": [], "allowCredentialEcho": false },
        }),
        "{}",
        defaults.text
    );
    let set = create(&|body| drop(body.insert("traceSink".to_owned(), json!("lab-otlp")))).await;
    assert_eq!(set.status, 201, "{}", set.text);
    let stored = cluster.get_run(&text(&set.body, "runId")).await;
    let names = ["tenantId", "tenantSlug", "providerId", "backendProfile", "traceSink"];
    assert_eq!(
        json!(names.map(|name| stored[name].clone())),
        json!([tenant.id, "acme", "local", "demo", "lab-otlp"])
    );
    let unknown = create(&|body| drop(body.insert("traceSink".to_owned(), json!("elsewhere")))).await;
    unknown.assert_failure(403, "tenant-policy-denied");
    assert_eq!(
        unknown.body["message"],
        "traceSink: elsewhere is not allowed for this tenant; allowed: lab-otlp"
    );
    let url = create(&|body| drop(body.insert("traceSink".to_owned(), json!("https://u:pw@sink")))).await;
    url.assert_failure(400, "schema-invalid");
    assert!(!url.text.contains("pw@"), "{}", url.text);
}

// covers: R6
#[tokio::test]
async fn same_idempotency_key_replays_the_command_or_conflicts() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let run = cluster.create_run(&tenant).await;
    let send = async |prompt: &str, server: &crate::support::TestServer| {
        let request = server
            .client
            .post(server.url(&format!("/api/v1/runs/{run}/commands")))
            .bearer_auth(&cluster.operator.token)
            .header("idempotency-key", "once")
            .json(&json!({ "type": "turn", "payload": { "prompt": prompt } }));
        crate::support::read_response(request.send().await.expect("a response")).await
    };
    let (first, second) = (send("tidy", &cluster.first).await, send("tidy", &cluster.second).await);
    assert_eq!((first.status.as_u16(), second.status.as_u16()), (201, 201), "{}", second.text);
    assert_eq!(first.body, second.body);
    send("something else", &cluster.first).await.assert_failure(409, "idempotency-conflict");
    for (kind, prompt) in [("steer", " "), ("turn", ""), ("dance", "x")] {
        cluster.send_command(&run, kind, prompt).await.assert_failure(400, "schema-invalid");
    }
}

// covers: R9, R10
#[tokio::test]
async fn run_has_one_owner_and_its_events_have_gapless_numbers() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let run = cluster.create_run(&tenant).await;
    let command = cluster.send_turn(&run, "go").await;
    let owner = cluster.first.claim(&tenant, &run).await;
    let late = cluster.second.register_runner(&tenant).await;
    let refused = cluster.second.try_claim(&tenant, &run, &late).await;
    refused.assert_failure(409, "runner-lease-conflict");
    assert_eq!(refused.body["owner"], json!(owner.runner));
    assert!(refused.body["leaseExpiresAt"].as_str().is_some_and(|at| at.ends_with('Z')), "{}", refused.text);
    assert_eq!(cluster.first.ack(&owner, &command).await.status, 200);
    let batch = json!([assistant_message("e1", &command, "a"), assistant_message("e2", &command, "b")]);
    let first = cluster.first.append_events(&owner, batch.clone()).await;
    assert_eq!(first.status, 200, "{}", first.text);
    let again = cluster.second.append_events(&owner, batch).await;
    let replayed: Vec<_> =
        again.body["events"].as_array().expect("events").iter().map(|e| e["replayed"].clone()).collect();
    assert_eq!(replayed, [true, true]);
    assert_eq!(again.body["lastSeq"], first.body["lastSeq"]);
    let events = cluster.list_events(&run).await;
    let seqs: Vec<_> = events.iter().map(|event| event["seq"].as_i64().expect("a number")).collect();
    assert_eq!(seqs, (1..=i64::try_from(seqs.len()).expect("a small number")).collect::<Vec<_>>());
    let kinds: Vec<_> = events.iter().map(|event| text(event, "type")).collect();
    assert_eq!(
        kinds,
        [
            "run_status",
            "command_status",
            "user_message",
            "backend_status",
            "backend_status",
            "command_status",
            "assistant_message",
            "assistant_message"
        ],
    );
}

// covers: R8, R15e, R16
#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one scenario, read from top to bottom")]
async fn finished_command_leaves_the_run_open_and_has_its_own_result() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let run = cluster.create_run(&tenant).await;
    let claim = cluster.first.claim(&tenant, &run).await;
    let mut commands = Vec::new();
    for prompt in ["one", "two"] {
        let command = cluster.send_turn(&run, prompt).await;
        let work =
            cluster.second.poll(&claim, i64::try_from(commands.len()).expect("a small number"), 2000).await;
        assert_eq!(work.body["commands"][0]["commandId"], json!(command), "{}", work.text);
        assert_eq!(cluster.second.ack(&claim, &command).await.status, 200);
        let running = cluster.get_result(&run, &command).await;
        assert_eq!(
            json!([running["completed"], running["reply"], running["status"]]),
            json!([false, null, "running"])
        );
        let reply = format!("answer to {prompt}");
        cluster
            .first
            .append_events(&claim, json!([assistant_message(&format!("{prompt}-1"), &command, &reply)]))
            .await;
        let partial = cluster.get_result(&run, &command).await;
        assert_eq!(
            json!([partial["completed"], partial["reply"]]),
            json!([false, null]),
            "a message does not complete a command"
        );
        let ended = cluster
            .first
            .finish(&claim, &command, json!({ "status": "completed", "threadId": "thread-1" }))
            .await;
        assert_eq!(ended.status, 200, "{}", ended.text);
        assert_eq!(cluster.get_run(&run).await["status"], "claimed");
        commands.push((command, reply));
    }
    for (command, reply) in &commands {
        let result = cluster.get_result(&run, command).await;
        assert_eq!(
            json!([
                result["completed"],
                result["terminalStatus"],
                result["terminalSource"],
                result["reply"],
                result["finalResponse"]["source"]
            ]),
            json!([true, "completed", "terminal_status", reply, "fallback"]),
        );
    }
    let third = cluster.send_turn(&run, "three").await;
    let cancel = format!("/api/v1/runs/{run}/cancel");
    let cancelled = cluster.second.post_as(&cancel, &cluster.operator.token, json!({})).await;
    assert_eq!(cancelled.body["status"], "cancelled", "{}", cancelled.text);
    let again = cluster.first.post_as(&cancel, &cluster.operator.token, json!({})).await;
    assert_eq!(
        (&again.body["status"], &again.body["endedAt"]),
        (&cancelled.body["status"], &cancelled.body["endedAt"])
    );
    let third = cluster.get_result(&run, &third).await;
    assert_eq!(json!([third["terminalStatus"], third["failureKind"]]), json!(["cancelled", "cancelled"]));
    cluster
        .first
        .append_events(&claim, json!([assistant_message("late", &commands[0].0, "too late")]))
        .await
        .assert_failure(409, "runner-lease-conflict");
}

#[tokio::test]
async fn closed_run_is_completed_and_its_session_takes_the_next_run() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let (claim, command) = cluster.start_command(&tenant).await;
    let close = format!("/api/v1/runs/{}/close", claim.run);
    let token = &cluster.operator.token;
    let early = cluster.first.post_as(&close, token, json!({})).await;
    early.assert_failure(409, "conflict");
    assert_eq!(early.body["message"], "the run has open commands: wait for them to end, or cancel the run");
    cluster.first.finish(&claim, &command, json!({ "status": "completed" })).await;
    let closed = cluster.second.post_as(&close, token, json!({})).await;
    assert_eq!(
        json!([closed.body["status"], closed.body["terminalStatus"], closed.body["lease"]]),
        json!(["completed", "completed", null]),
        "{}",
        closed.text
    );
    let again = cluster.first.post_as(&close, token, json!({})).await;
    assert_eq!((again.status.as_u16(), &again.body["endedAt"]), (200, &closed.body["endedAt"]));
    cluster.first.poll(&claim, 0, 0).await.assert_failure(409, "runner-lease-conflict");
    let mut next = run_request(&tenant.id);
    next["sessionRef"] = json!({ "sessionId": closed.body["sessionId"] });
    let next = cluster.second.post_as("/api/v1/runs", token, next).await;
    assert_eq!(next.status, 201, "{}", next.text);
    let actions = cluster.first.get_as(&format!("/api/v1/tenants/{}/audit", tenant.id), token).await;
    let entries = actions.body["entries"].as_array().expect("entries").iter();
    assert_eq!(entries.filter(|entry| entry["action"] == "run.closed").count(), 1);
}

#[tokio::test]
async fn history_has_what_users_sent_with_secrets_redacted() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let run = cluster.create_run(&tenant).await;
    let first = cluster.send_turn(&run, "\n fix the  test\nand use password: hunter2-and-more").await;
    let claim = cluster.second.claim(&tenant, &run).await;
    cluster.first.ack(&claim, &first).await;
    let steer = cluster.send_command(&run, "steer", "only the first one").await;
    let (_, viewer) = cluster.create_key(&tenant.id, "viewer").await;
    let history = cluster.second.get_as(&format!("/api/v1/runs/{run}/history?limit=1"), &viewer).await;
    assert_eq!(
        json!([history.body["commands"][0]["commandId"], history.body["nextAfterSeq"]]),
        json!([first, 1]),
        "{}",
        history.text
    );
    let history = cluster.second.get_as(&format!("/api/v1/runs/{run}/history?afterSeq=1"), &viewer).await;
    let commands = history.body["commands"].as_array().expect("commands");
    assert_eq!((commands, &history.body["nextAfterSeq"]), (&vec![steer.body.clone()], &Value::Null));

    let events = cluster.first.get_as(&format!("/api/v1/runs/{run}/events"), &viewer).await;
    let events = events.body["events"].as_array().expect("events");
    let sent: Vec<Value> = events
        .iter()
        .filter(|event| event["type"] == "user_message")
        .map(|event| json!([event["commandId"], event["payload"]]))
        .collect();
    let by = &cluster.operator.principal;
    assert_eq!(sent.len(), 2, "{sent:?}");
    assert_eq!(sent[0][0], json!(first));
    let text = sent[0][1]["text"].as_str().expect("a text");
    assert!(text.starts_with("\n fix the  test\nand use password: [redacted"), "{text}");
    let steered = json!({ "text": "only the first one", "type": "steer", "by": by });
    assert_eq!(sent[1], json!([steer.body["commandId"], steered]));

    let shown = cluster.second.get_as(&format!("/api/v1/runs/{run}"), &viewer).await.body;
    assert_eq!(shown["title"], "fix the test");
    let session = format!("/api/v1/sessions/{}", shown["sessionId"].as_str().expect("a session"));
    assert_eq!(cluster.first.get_as(&session, &cluster.operator.token).await.body["title"], "fix the test");
    let other = cluster.create_tenant("other").await;
    let (_, foreign) = cluster.create_key(&other, "viewer").await;
    let negative = cluster.first.get_as(&format!("/api/v1/runs/{run}/history?afterSeq=-1"), &viewer).await;
    negative.assert_failure(400, "schema-invalid");
    let hidden = cluster.first.get_as(&format!("/api/v1/runs/{run}/history"), &foreign).await;
    hidden.assert_failure(404, "not-found");
}

// covers: R11
#[tokio::test]
async fn cancelling_a_running_command_goes_through_its_runner() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let run = cluster.create_run(&tenant).await;
    let command = cluster.send_turn(&run, "long").await;
    let claim = cluster.first.claim(&tenant, &run).await;
    cluster.first.ack(&claim, &command).await;
    let cancel = format!("/api/v1/commands/{command}/cancel");
    let cancelled = cluster.second.post_as(&cancel, &cluster.operator.token, json!({})).await;
    assert_eq!(
        json!([cancelled.body["status"], cancelled.body["cancelRequested"]]),
        json!(["running", true]),
        "{}",
        cancelled.text
    );
    let work = cluster.first.poll(&claim, 1, 5000).await;
    assert_eq!(work.body["cancelCommandIds"], json!([command]), "{}", work.text);
    let ended = cluster
        .first
        .finish(&claim, &command, json!({ "status": "cancelled", "message": "interrupted" }))
        .await;
    assert_eq!(ended.body["status"], "cancelled", "{}", ended.text);
    let again = cluster.first.post_as(&cancel, &cluster.operator.token, json!({})).await;
    assert_eq!(again.body["status"], "cancelled");
    assert_eq!(cluster.get_run(&run).await["status"], "claimed", "the run stays open");
}

#[tokio::test]
async fn run_token_gives_access_to_its_own_run_only() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let (run, other_run) = (cluster.create_run(&tenant).await, cluster.create_run(&tenant).await);
    let command = cluster.send_turn(&other_run, "not yours").await;
    let mine = cluster.first.claim(&tenant, &run).await;
    let path = format!("/api/v1/runs/{other_run}/events");
    cluster
        .first
        .post_as(&path, &mine.token, json!({ "events": [assistant_message("e", &command, "x")] }))
        .await
        .assert_failure(404, "not-found");
    cluster.first.ack(&mine, &command).await.assert_failure(404, "not-found");
    let lease = format!("/api/v1/runs/{other_run}/lease");
    cluster
        .first
        .request_as(Method::PATCH, &lease, &mine.token, Some(json!({})))
        .await
        .assert_failure(404, "not-found");
    let others = cluster.create_test_tenant("others").await;
    let stranger = cluster.first.register_runner(&others).await;
    cluster.first.try_claim(&others, &run, &stranger).await.assert_failure(404, "not-found");
    let _still_mine =
        run_claim(&run, &mine.runner, &cluster.second.try_claim(&tenant, &run, &mine.runner).await);
}

#[tokio::test]
async fn waiting_runner_gets_the_oldest_pending_run_at_once() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let (idle, first, second) = (
        cluster.create_run(&tenant).await,
        cluster.create_run(&tenant).await,
        cluster.create_run(&tenant).await,
    );
    let next = async |server: &crate::support::TestServer, wait: u64| {
        let runner = server.register_runner(&tenant).await;
        let body = json!({ "runnerId": runner, "wait": wait });
        let response = server.post_as("/api/v1/runners/claim", &tenant.enrolment, body).await;
        assert_eq!(response.status, 200, "{}", response.text);
        response.body["grant"]["run"]["runId"].clone()
    };
    assert_eq!(next(&cluster.first, 0).await, Value::Null, "a run without a command is not offered");
    let began = Stopwatch::start();
    let late_command = async {
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        cluster.send_turn(&second, "now").await;
    };
    let (claimed, ()) = tokio::join!(next(&cluster.first, 8000), late_command);
    assert_eq!(claimed, json!(second));
    assert!(
        began.elapsed() < std::time::Duration::from_secs(4),
        "the wake-up did not arrive; only the poll interval found the run"
    );
    cluster.send_turn(&first, "one").await;
    cluster.send_turn(&idle, "two").await;
    assert_eq!(next(&cluster.second, 0).await, json!(first));
    assert_eq!(next(&cluster.first, 0).await, json!(idle));
}

// covers: R12
#[tokio::test]
async fn result_shows_each_failure_kind() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let run = cluster.create_run(&tenant).await;
    let claim = cluster.first.claim(&tenant, &run).await;
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
        let command = cluster.send_turn(&run, kind).await;
        cluster.first.ack(&claim, &command).await;
        let body = json!({ "status": "failed", "failureKind": kind, "message": format!("it was {kind}") });
        let ended = cluster.second.finish(&claim, &command, body).await;
        assert_eq!(ended.status, 200, "{}", ended.text);
        let result = cluster.get_result(&run, &command).await;
        let result_fields =
            json!([result["terminalStatus"], result["completed"], result["failureKind"], result["blocker"]]);
        assert_eq!(result_fields, json!(["failed", false, kind, format!("it was {kind}")]));
    }
    let command = cluster.send_turn(&run, "unknown").await;
    cluster.first.ack(&claim, &command).await;
    let unknown = json!({ "status": "failed", "failureKind": "made-up" });
    cluster.first.finish(&claim, &command, unknown).await.assert_failure(400, "schema-invalid");
}
