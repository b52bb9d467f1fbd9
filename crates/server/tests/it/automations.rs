//! Pipelines of agents and of stored automations: the router picks a worker, and the worker does the turn.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::agent_threads::{
    RUNS, THREAD, TestTurn, agui_request, input_with, read_frames, tenant_with_agent,
};
use crate::support::cluster::Cluster;
use crate::support::runs::{TestTenant, command_question, text};
use crate::support::{TestResponse, TestServer, read_response};

const AUTOMATIONS: &str = "/api/v1/automations";

fn pipeline(name: &str) -> Value {
    json!({
        "workers": [
            { "name": format!("{name}-code"), "keywords": ["bug"], "instructions": "Write a test." },
            { "name": format!("{name}-talk") },
        ],
        "context": [{ "description": "From", "value": name }],
        "enabledTools": [format!("{name}-tool")],
    })
}

/// A tenant whose agent `helper` has a pipeline, and an automation for it with another one.
struct AutomationFixture {
    cluster: Cluster,
    tenant: TestTenant,
    automation: Value,
}

impl AutomationFixture {
    async fn new() -> Self {
        let cluster = Cluster::new().await;
        let tenant = tenant_with_agent(&cluster).await;
        let token = &cluster.operator.token;
        let agents = cluster.first.get_as("/api/v1/agents?tenantId=acme", token).await.body;
        let agent = format!("/api/v1/agents/{}", text(&agents["agents"][0], "id"));
        let change = Some(json!({ "pipeline": pipeline("agent") }));
        let changed = cluster.first.request_as(Method::PATCH, &agent, token, change).await;
        assert_eq!(
            (changed.status.as_u16(), &changed.body["pipeline"]),
            (200, &pipeline("agent")),
            "{}",
            changed.text
        );
        let created = cluster.second.post_as(AUTOMATIONS, token, new_automation("daily")).await;
        assert_eq!(created.status, 201, "{}", created.text);
        Self { automation: created.body, cluster, tenant }
    }

    fn token(&self) -> &str {
        &self.cluster.operator.token
    }

    fn path(&self) -> String {
        format!("{AUTOMATIONS}/{}", text(&self.automation, "id"))
    }

    async fn update(&self, change: Value) -> TestResponse {
        self.cluster.first.request_as(Method::PATCH, &self.path(), self.token(), Some(change)).await
    }

    /// Starts a run of the automation.
    async fn start(&self, server: &TestServer, body: Value) -> TestResponse {
        server.post_as(&format!("{}/runs", self.path()), self.token(), body).await
    }

    /// Returns the payload of a turn.
    async fn payload(&self, command: &str) -> Value {
        let stored =
            format!("SELECT payload FROM commands WHERE 'cmd_' || replace(id::text, '-', '') = '{command}'");
        let stored = self.cluster.db.sql().await.texts(stored).await;
        serde_json::from_str(&stored[0]).expect("JSON")
    }
}

fn new_automation(slug: &str) -> Value {
    json!({
        "tenantId": "acme", "agentId": "helper", "slug": slug, "name": "Daily", "prompt": "report each bug",
        "pipeline": pipeline("stored"),
    })
}

/// An input of the Agent Run Input Protocol in a mode.
fn input(mode: &str, run: &str, message: &str) -> Value {
    input_with(&json!({
        "runId": run, "messages": [{ "id": format!("msg-{run}"), "role": "user", "content": message }],
        "forwardedProps": { "runtime_mode": mode },
    }))
}

// covers: I5
#[tokio::test]
async fn both_modes_are_routed_to_a_worker_by_their_own_configuration() {
    let app = AutomationFixture::new().await;
    for (mode, query, name) in [("chat", "", "agent"), ("automation", "&automationId=daily", "stored")] {
        for (message, worker, instructions) in
            [("a bug", "code", json!("Write a test.")), ("hi", "talk", Value::Null)]
        {
            let run = format!("{mode}-{worker}");
            let path = format!("{RUNS}{query}");
            let accepted = app.cluster.first.post_as(&path, app.token(), input(mode, &run, message)).await;
            assert_eq!(accepted.status, 200, "{}", accepted.text);
            let sent = app.payload(&text(&accepted.body, "taskId")).await;
            assert_eq!(sent["pipeline"]["worker"], format!("{name}-{worker}"));
            assert_eq!(sent["pipeline"]["instructions"], instructions);
            assert_eq!(sent["pipeline"]["context"], json!([{ "description": "From", "value": name }]));
            assert_eq!(sent["pipeline"]["enabledTools"], json!([format!("{name}-tool")]));
            assert_eq!((&sent["prompt"], &sent["runtimeMode"]), (&json!(message), &json!(mode)));
        }
    }
}

// covers: I5
#[tokio::test]
async fn stream_of_a_run_shows_the_router_and_then_the_worker() {
    let app = AutomationFixture::new().await;
    let request = agui_request(&app.cluster.first, app.token(), &input("chat", "run-1", "a bug"));
    let serve = async {
        let turn = TestTurn::claim(&app.cluster.second, &app.tenant).await;
        turn.say(&app.cluster.second, "m1", "done").await;
        turn.complete(&app.cluster.second).await;
    };
    let ((frames, _), ()) = tokio::join!(read_frames(request, |_| false), serve);
    let shown = |frame: &Value| match frame["type"].as_str() {
        Some(kind @ ("STEP_STARTED" | "STEP_FINISHED")) => {
            Some(format!("{kind} {}", text(frame, "stepName")))
        }
        Some("CUSTOM") => Some(frame["value"].to_string()),
        Some(kind @ ("RUN_STARTED" | "RUN_FINISHED" | "TEXT_MESSAGE_START")) => Some(kind.to_owned()),
        _ => None,
    };
    let shown: Vec<String> = frames.iter().filter_map(shown).collect();
    let expected = [
        "RUN_STARTED",
        "STEP_STARTED router",
        r#"{"worker":"agent-code"}"#,
        "STEP_FINISHED router",
        "STEP_STARTED waiting",
        "STEP_FINISHED waiting",
        "STEP_STARTED worker",
        "TEXT_MESSAGE_START",
        "STEP_FINISHED worker",
        "RUN_FINISHED",
    ];
    assert_eq!(shown, expected);
}

#[tokio::test]
async fn mode_and_automation_are_named_together() {
    let app = AutomationFixture::new().await;
    for (mode, query) in
        [("automation", ""), ("chat", "&automationId=daily"), ("automation", "&automationId=A%20b")]
    {
        let path = format!("{RUNS}{query}");
        let refused = app.cluster.first.post_as(&path, app.token(), input(mode, "run-1", "hi")).await;
        assert!([400, 422].contains(&refused.status.as_u16()), "{}", refused.text);
        let request = app.cluster.first.client.post(app.cluster.first.url(&path)).bearer_auth(app.token());
        let request = request.header("accept", "text/event-stream").json(&input(mode, "run-1", "hi"));
        let streamed = read_response(request.send().await.expect("a response")).await;
        assert_eq!(streamed.status, refused.status, "{}", streamed.text);
    }
    let path = format!("{RUNS}&automationId=unknown");
    let unknown = app.cluster.first.post_as(&path, app.token(), input("automation", "run-1", "hi")).await;
    unknown.assert_failure(404, "not-found");
    let other = json!({ "tenantId": "acme", "slug": "other", "name": "O", "projectId": "acme/web",
        "workspaceRef": { "kind": "empty" }, "providerId": "local", "backendProfile": "demo" });
    assert_eq!(app.cluster.first.post_as("/api/v1/agents", app.token(), other).await.status, 201);
    let path = format!("{RUNS}&automationId=daily&agentId=other");
    let refused = app.cluster.first.post_as(&path, app.token(), input("automation", "run-1", "hi")).await;
    refused.assert_failure(422, "invalid-input");
}

#[tokio::test]
async fn automation_starts_runs_with_its_prompt_once_per_run_id() {
    let app = AutomationFixture::new().await;
    let body = json!({ "threadId": THREAD, "runId": "run-1" });
    let (one, two) = tokio::join!(
        app.start(&app.cluster.first, body.clone()),
        app.start(&app.cluster.second, body.clone())
    );
    assert_eq!((one.status.as_u16(), two.status.as_u16()), (200, 200), "{} {}", one.text, two.text);
    assert_eq!(one.body["taskId"], two.body["taskId"]);
    assert_eq!(one.body["threadId"], THREAD);
    let sent = app.payload(&text(&one.body, "taskId")).await;
    assert_eq!((&sent["prompt"], &sent["pipeline"]["keyword"]), (&json!("report each bug"), &json!("bug")));
    let next = app.start(&app.cluster.first, json!({ "message": "say hi" })).await;
    assert_ne!(next.body["threadId"], one.body["threadId"], "a new conversation");
    assert_eq!(
        (&next.body["created"], app.payload(&text(&next.body, "taskId")).await["prompt"].clone()),
        (&json!(true), json!("say hi"))
    );
    for body in [
        json!({ "threadId": "main" }),
        json!({ "runId": "" }),
        json!({ "message": "" }),
        json!({ "message": " \n" }),
        json!({ "message": "x".repeat(10_001) }),
    ] {
        app.start(&app.cluster.first, body).await.assert_failure(422, "invalid-input");
    }
    let disabled = app.update(json!({ "enabled": false })).await;
    assert_eq!(disabled.status, 200, "{}", disabled.text);
    app.start(&app.cluster.second, json!({})).await.assert_failure(409, "conflict");
    let repeated = app.start(&app.cluster.second, body).await;
    assert_eq!(repeated.body["taskId"], one.body["taskId"], "a run that exists is found");
}

#[tokio::test]
async fn automation_is_changed_by_revision_and_listed() {
    let app = AutomationFixture::new().await;
    let stale = app.update(json!({ "revision": 2, "prompt": "other" })).await;
    stale.assert_failure(409, "conflict");
    let changed = app.update(json!({ "revision": 1, "prompt": "other", "pipeline": {} })).await;
    let mut expected = app.automation.clone();
    for (name, value) in [("revision", json!(2)), ("prompt", json!("other")), ("pipeline", json!({}))] {
        expected[name] = value;
    }
    expected["updatedAt"] = changed.body["updatedAt"].clone();
    assert_eq!(changed.body, expected, "{}", changed.text);
    let listed = app.cluster.second.get_as("/api/v1/automations?tenantId=acme", app.token()).await;
    assert_eq!(listed.body, json!({ "automations": [expected] }));
    let taken = app.cluster.first.post_as(AUTOMATIONS, app.token(), new_automation("daily")).await;
    taken.assert_failure(409, "conflict");
    for (name, value) in
        [("prompt", json!(" ")), ("pipeline", json!({ "workers": [{ "name": "a1" }, { "name": "a1" }] }))]
    {
        let mut invalid = new_automation("invalid");
        invalid[name] = value;
        let refused = app.cluster.first.post_as(AUTOMATIONS, app.token(), invalid).await;
        refused.assert_failure(400, "schema-invalid");
    }
}

#[tokio::test]
async fn automation_of_another_tenant_does_not_exist() {
    let app = AutomationFixture::new().await;
    app.cluster.create_test_tenant("other").await;
    let user = app.cluster.create_user("person").await;
    let other = app.cluster.first.get_as("/api/v1/tenants/other", app.token()).await;
    app.cluster.set_role(&text(&other.body, "id"), &user, "owner").await;
    app.cluster.first.get_as(&app.path(), &user.token).await.assert_failure(404, "not-found");
    let path = format!("{}/runs", app.path());
    app.cluster.first.post_as(&path, &user.token, json!({})).await.assert_failure(404, "not-found");
    let path = "/api/v1/agent/runs?tenantId=other&automationId=";
    let named = format!("{path}{}", text(&app.automation, "id"));
    let refused = app.cluster.first.post_as(&named, &user.token, input("automation", "run-1", "hi")).await;
    refused.assert_failure(404, "not-found");
    app.cluster.set_role(&app.tenant.id, &user, "developer").await;
    assert_eq!(
        app.cluster.first.post_as(&format!("{}/runs", app.path()), &user.token, json!({})).await.status,
        200
    );
    let refused = app.cluster.first.post_as(AUTOMATIONS, &user.token, new_automation("mine")).await;
    refused.assert_failure(403, "forbidden");
}

// covers: I6
#[tokio::test]
async fn time_zone_of_a_turn_is_that_of_the_device_then_of_the_user_then_utc() {
    let app = AutomationFixture::new().await;
    let time = json!({
        "device_timezone": "America/Los_Angeles", "client_now_iso": "2026-03-16T09:12:33-07:00",
        "client_epoch_ms": 1_773_658_353_000_i64,
    });
    let zone_of = async |run: &str, client_time: Option<&Value>| {
        let mut sent = input("chat", run, "hi");
        if let Some(time) = client_time {
            sent["forwardedProps"]["client_time"] = time.clone();
        }
        let accepted = app.cluster.first.post_as(RUNS, app.token(), sent).await;
        let payload = app.payload(&text(&accepted.body, "taskId")).await;
        (text(&payload, "timeZone"), payload["clientTime"].as_str().map(str::to_owned))
    };
    assert_eq!(zone_of("run-1", None).await, ("UTC".to_owned(), None));
    let settings = "/api/v1/account/settings";
    let set = async |zone: Value| {
        let body = Some(json!({ "timeZone": zone }));
        app.cluster.second.request_as(Method::PUT, settings, app.token(), body).await
    };
    assert_eq!(set(json!("europe/berlin")).await.body, json!({ "timeZone": "Europe/Berlin" }));
    assert_eq!(zone_of("run-2", None).await, ("Europe/Berlin".to_owned(), None));
    let now = Some("2026-03-16T09:12:33-07:00".to_owned());
    assert_eq!(zone_of("run-3", Some(&time)).await, ("America/Los_Angeles".to_owned(), now));
    set(json!("Mars/Base")).await.assert_failure(400, "schema-invalid");
    let shown = app.cluster.first.get_as(settings, app.token()).await.body;
    assert_eq!(shown, json!({ "timeZone": "Europe/Berlin" }));
    assert_eq!(set(Value::Null).await.body, json!({ "timeZone": null }));
    assert_eq!(zone_of("run-4", None).await, ("UTC".to_owned(), None));
}

// covers: I6
#[tokio::test]
async fn invalid_client_time_falls_back_to_the_setting_of_the_user_in_agui() {
    let app = AutomationFixture::new().await;
    let body = Some(json!({ "timeZone": "Asia/Tokyo" }));
    app.cluster.second.request_as(Method::PUT, "/api/v1/account/settings", app.token(), body).await;
    let mut sent = input("chat", "run-1", "hi");
    sent["forwardedProps"]["client_time"] = json!({ "device_timezone": "Mars/Base" });
    let request = agui_request(&app.cluster.first, app.token(), &sent);
    read_frames(request, |frames| !frames.is_empty()).await;
    let sessions =
        app.cluster.first.get_as("/api/v1/sessions?tenantId=acme&state=all", app.token()).await.body;
    let run = text(&sessions["sessions"][0], "activeRunId");
    let history = app.cluster.first.get_as(&format!("/api/v1/runs/{run}/history"), app.token()).await.body;
    let command = text(&history["commands"][0], "commandId");
    assert_eq!(app.payload(&command).await["timeZone"], "Asia/Tokyo");
}

/// A question about a tool that is not enabled is denied, and no person is asked.
#[tokio::test]
async fn question_about_a_disabled_tool_is_denied_without_people() {
    let app = AutomationFixture::new().await;
    app.cluster.first.post_as(RUNS, app.token(), input("chat", "run-1", "hi")).await;
    let turn = TestTurn::claim(&app.cluster.second, &app.tenant).await;
    let ask = async |request: &str, tool: &str| {
        let mut question = command_question("ls");
        question["action"]["tool"] = json!(tool);
        let id = app.cluster.second.ask(&turn.claim, &turn.command, request, question).await;
        app.cluster.first.get_as(&format!("/api/v1/approvals/{id}"), app.token()).await.body
    };
    let denied = ask("1", "shell").await;
    assert_eq!((&denied["status"], &denied["effect"]), (&json!("decided"), &json!("deny")), "{denied}");
    assert_eq!(denied["decidedBy"], json!(["disabled-tool"]), "{denied}");
    let asked = ask("2", "agent-tool").await;
    assert_eq!((&asked["status"], &asked["effect"]), (&json!("pending"), &Value::Null), "{asked}");
    let mut plan = command_question("ls");
    plan["action"]["kind"] = json!("plan");
    let plan = app.cluster.second.ask(&turn.claim, &turn.command, "3", plan).await;
    let plan = app.cluster.first.get_as(&format!("/api/v1/approvals/{plan}"), app.token()).await.body;
    assert_eq!(plan["status"], "pending", "a plan uses no tool: {plan}");
}
