//! Sessions: unread state per reader, and control, on two replicas and under concurrent load.

use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::join_all;
use serde_json::{Value, json};

use crate::support::cluster::Cluster;
use crate::support::runs::{RunClaim, assistant_message, run_request, text};
use crate::support::{TestResponse, TestServer};

impl Cluster {
    /// Lists the session ids for a reader.
    async fn list_sessions(&self, server: &TestServer, reader: &str, state: &str) -> Vec<String> {
        let path = format!("/api/v1/sessions?readerId={reader}&state={state}&tenantId=acme");
        let response = server.get_as(&path, &self.operator.token).await;
        assert_eq!(response.status, 200, "{}", response.text);
        let sessions = response.body["sessions"].as_array().expect("sessions");
        sessions.iter().map(|session| text(session, "sessionId")).collect()
    }

    async fn get_session(&self, session: &str, reader: &str) -> Value {
        let path = format!("/api/v1/sessions/{session}?readerId={reader}");
        self.second.get_as(&path, &self.operator.token).await.body
    }

    async fn mark_read(&self, session: &str, reader: &str, version: Option<i64>) -> Value {
        let body = json!({ "readerId": reader, "version": version });
        let path = format!("/api/v1/sessions/{session}/read");
        let response = self.first.post_as(&path, &self.operator.token, body).await;
        assert_eq!(response.status, 200, "{}", response.text);
        response.body
    }

    async fn cancel_session(&self, session: &str) -> TestResponse {
        let path = format!("/api/v1/sessions/{session}/control");
        self.second.post_as(&path, &self.operator.token, json!({ "action": "cancel" })).await
    }

    /// Sends a turn and completes it as the runner.
    async fn complete_turn(&self, claim: &RunClaim) {
        let command = self.send_turn(&claim.run, "go").await;
        assert_eq!(self.first.ack(claim, &command).await.status, 200);
        let ended = self.second.finish(claim, &command, json!({ "status": "completed" })).await;
        assert_eq!(ended.status, 200, "{}", ended.text);
    }
}

// covers: R20
#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one scenario, read from top to bottom")]
async fn reader_sees_running_and_unread_sessions_and_read_position_never_falls() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let run = cluster.create_run(&tenant).await;
    let session = text(&cluster.get_run(&run).await, "sessionId");
    let (none, this) = (Vec::<String>::new(), vec![session.clone()]);
    assert_eq!(
        cluster.list_sessions(&cluster.first, "cli", "default").await,
        none,
        "no session is running or unread"
    );
    assert_eq!(cluster.list_sessions(&cluster.first, "cli", "all").await, this);
    let command = cluster.send_turn(&run, "go").await;
    let claim = cluster.first.claim(&tenant, &run).await;
    cluster.first.ack(&claim, &command).await;
    assert_eq!(cluster.list_sessions(&cluster.second, "cli", "default").await, this);
    let running = cluster.get_session(&session, "cli").await;
    let names = ["executionState", "version", "unread", "activeRunId", "activeCommandId"];
    assert_eq!(
        json!(names.map(|name| running[name].clone())),
        json!(["running", 0, false, run, command]),
        "{running}"
    );
    assert_eq!(running["run"]["liveness"]["phase"], "waiting-model");
    cluster
        .first
        .finish(&claim, &command, json!({ "status": "failed", "failureKind": "backend-failed" }))
        .await;
    let ended = cluster.get_session(&session, "cli").await;
    assert_eq!(
        json!(names.map(|name| ended[name].clone())),
        json!(["terminal", 1, true, run, null]),
        "{ended}"
    );
    for reader in ["cli", "web"] {
        assert_eq!(cluster.list_sessions(&cluster.second, reader, "default").await, this);
    }
    assert_eq!(cluster.mark_read(&session, "cli", Some(1)).await["readVersion"], 1);
    assert_eq!(cluster.list_sessions(&cluster.second, "cli", "default").await, none);
    assert_eq!(cluster.list_sessions(&cluster.first, "cli", "all").await, this);
    assert_eq!(
        cluster.list_sessions(&cluster.first, "web", "default").await,
        this,
        "each reader has its own read version"
    );
    let other_user = cluster.create_user("reader").await;
    cluster.set_role(&tenant.id, &other_user, "viewer").await;
    let path = "/api/v1/sessions?readerId=cli";
    let theirs = cluster.first.get_as(path, &other_user.token).await;
    assert_eq!(
        theirs.body["sessions"].as_array().map(Vec::len),
        Some(1),
        "the same reader id of another user is another reader"
    );

    cluster.complete_turn(&claim).await;
    assert_eq!(cluster.mark_read(&session, "cli", Some(2)).await["readVersion"], 2);
    assert_eq!(
        cluster.mark_read(&session, "cli", Some(1)).await["readVersion"],
        2,
        "the read version never decreases"
    );
    assert_eq!(
        cluster.mark_read(&session, "cli", Some(99)).await["readVersion"],
        2,
        "the read version never exceeds the version"
    );
    cluster.complete_turn(&claim).await;
    assert_eq!(
        cluster.list_sessions(&cluster.second, "cli", "default").await,
        this,
        "a later turn is unread"
    );
}

// covers: R18, R20
#[tokio::test]
async fn session_status_has_liveness_supervisor_and_last_event_seq() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let run = cluster.create_run(&tenant).await;
    let session = text(&cluster.get_run(&run).await, "sessionId");
    let command = cluster.send_turn(&run, "go").await;
    let status = async || {
        let status = cluster.get_session(&session, "cli").await;
        assert_eq!(status["liveness"], status["run"]["liveness"], "{status}");
        assert_eq!(status["lastEventSeq"], cluster.list_events(&run).await.len(), "{status}");
        (status["liveness"]["phase"].clone(), status["supervisor"].clone())
    };
    let supervisor = |status: &str, phase: &str, active: bool, runner: Value, expires: Value, open: Value| {
        json!({
            "runId": run, "runStatus": status, "phase": phase, "active": active, "runnerId": runner,
            "leaseExpiresAt": expires, "openCommandIds": open,
        })
    };
    let (phase, seen) = status().await;
    assert_eq!(phase, "waiting-runner");
    assert_eq!(
        seen,
        supervisor("pending", "waiting-runner", false, Value::Null, Value::Null, json!([command]))
    );

    let claim = cluster.first.claim(&tenant, &run).await;
    cluster.first.ack(&claim, &command).await;
    let (phase, seen) = status().await;
    assert_eq!(phase, "waiting-model");
    let expires = cluster.get_run(&run).await["lease"]["expiresAt"].clone();
    assert!(expires.is_string(), "{expires}");
    let (runner, open) = (json!(claim.runner), json!([command]));
    assert_eq!(seen, supervisor("running", "waiting-model", true, runner, expires, open));

    let cancel = format!("/api/v1/runs/{run}/cancel");
    cluster.first.post_as(&cancel, &cluster.operator.token, json!({})).await;
    cluster.first.finish(&claim, &command, json!({ "status": "cancelled" })).await;
    let (phase, seen) = status().await;
    assert_eq!(phase, "terminal", "{seen}");
    assert_eq!(
        json!([seen["runStatus"], seen["active"], seen["openCommandIds"]]),
        json!(["cancelled", false, []])
    );
    let path = "/api/v1/sessions?state=all&tenantId=acme";
    let listed = cluster.first.get_as(path, &cluster.operator.token).await.body["sessions"][0].clone();
    assert_eq!((listed.get("liveness"), listed.get("supervisor")), (None, None), "the list stays cheap");
}

// covers: R20
#[tokio::test]
async fn session_list_has_pages_and_a_profile_filter() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let mut created = Vec::new();
    for profile in ["demo", "codex", "demo", "codex", "demo"] {
        let body = json!({ "tenantId": tenant.id, "projectId": "acme/web", "backendProfile": profile });
        let session = cluster.first.post_as("/api/v1/sessions", &cluster.operator.token, body).await;
        assert_eq!(session.status, 201, "{}", session.text);
        created.insert(0, (text(&session.body, "sessionId"), profile));
    }
    let read_all = async |filter: &str| {
        let (mut found, mut cursor) = (Vec::new(), String::new());
        loop {
            let path = format!("/api/v1/sessions?state=all&tenantId=acme&limit=2{filter}{cursor}");
            let server = if found.len() % 4 == 0 { &cluster.first } else { &cluster.second };
            let page = server.get_as(&path, &cluster.operator.token).await;
            assert_eq!(page.status, 200, "{}", page.text);
            let sessions = page.body["sessions"].as_array().expect("sessions");
            assert!(sessions.len() <= 2, "{}", page.text);
            found.extend(sessions.iter().map(|session| text(session, "sessionId")));
            match page.body["nextCursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return found,
            }
        }
    };
    let of = |profile: Option<&str>| {
        let wanted = created.iter().filter(|(_, of)| profile.is_none_or(|profile| *of == profile));
        wanted.map(|(session, _)| session.clone()).collect::<Vec<_>>()
    };
    assert_eq!(read_all("").await, of(None), "newest first, none twice");
    assert_eq!(read_all("&backendProfile=demo").await, of(Some("demo")));
    assert_eq!(read_all("&backendProfile=codex").await, of(Some("codex")));
    assert_eq!(read_all("&backendProfile=qwen").await, Vec::<String>::new());
    let invalid = "/api/v1/sessions?cursor=nonsense";
    cluster.first.get_as(invalid, &cluster.operator.token).await.assert_failure(400, "schema-invalid");
}

// covers: R20
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_readers_miss_no_finished_command() {
    const SESSIONS: usize = 4;
    const TURNS: i64 = 8;
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let mut all = Vec::new();
    for _ in 0..SESSIONS {
        let claim = cluster.first.claim(&tenant, &cluster.create_run(&tenant).await).await;
        all.push((text(&cluster.get_run(&claim.run).await, "sessionId"), claim));
    }
    let stop = AtomicBool::new(false);
    let working = async {
        join_all(all.iter().map(async |(_, claim)| {
            for _ in 0..TURNS {
                cluster.complete_turn(claim).await;
            }
        }))
        .await;
        stop.store(true, Ordering::SeqCst);
    };
    let (cluster_ref, stop_ref, all_ref) = (&cluster, &stop, &all);
    let readers = (0..6).map(|number| async move {
        let (reader, mut marks) = (format!("reader-{number}"), 0);
        let server = if number % 2 == 0 { &cluster_ref.first } else { &cluster_ref.second };
        let mut before = [(0, 0); SESSIONS];
        while !stop_ref.load(Ordering::SeqCst) || marks == 0 {
            for session in cluster_ref.list_sessions(server, &reader, "default").await {
                let index =
                    all_ref.iter().position(|(id, _)| *id == session).expect("a session of this test");
                let session_view = cluster_ref.get_session(&session, &reader).await;
                let number = |of: &Value, name: &str| of[name].as_i64().expect("a number");
                // Every third mark has an older version, as a late request over another connection would.
                let version = number(&session_view, "version")
                    - i64::from(marks % 3 == 1 && number(&session_view, "version") > 0);
                let marked = cluster_ref.mark_read(&session, &reader, Some(version)).await;
                let now = (number(&marked, "version"), number(&marked, "readVersion"));
                let previous = before[index];
                assert!(now.0 >= previous.0 && now.1 >= previous.1, "{now:?} after {previous:?}");
                assert!(now.1 <= now.0 && now.1 >= version, "{now:?} after marking {version}");
                assert_eq!(marked["unread"], json!(now.0 > now.1));
                before[index] = now;
                marks += 1;
            }
        }
        reader
    });
    let ((), readers) = tokio::join!(working, join_all(readers));
    for reader in &readers {
        for (session, _) in &all {
            assert_eq!(
                cluster.get_session(session, reader).await["version"],
                json!(TURNS),
                "a finished command was not counted"
            );
            cluster.mark_read(session, reader, Some(TURNS)).await;
        }
        assert_eq!(cluster.list_sessions(&cluster.second, reader, "default").await, Vec::<String>::new());
    }
    cluster.complete_turn(&all[0].1).await;
    for reader in &readers {
        assert_eq!(cluster.list_sessions(&cluster.first, reader, "default").await, [all[0].0.as_str()]);
    }
}

// covers: R20
#[tokio::test]
async fn control_cancels_the_active_command_then_the_run_then_nothing() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let run = cluster.create_run(&tenant).await;
    let session = text(&cluster.get_run(&run).await, "sessionId");
    let pending = cluster.send_turn(&run, "not started").await;
    let cancel = async || {
        let response = cluster.cancel_session(&session).await;
        json!([response.body["cancelled"], response.body["commandId"], response.body["status"]])
    };
    assert_eq!(cancel().await, json!(["command", pending, "cancelled"]));
    let claim = cluster.first.claim(&tenant, &run).await;
    let running = cluster.send_turn(&run, "long").await;
    cluster.first.ack(&claim, &running).await;
    assert_eq!(cancel().await, json!(["command", running, "running"]), "the runner gets a cancel request");
    let work = cluster.first.poll(&claim, 2, 5000).await;
    assert_eq!(work.body["cancelCommandIds"], json!([running]), "{}", work.text);
    cluster.first.finish(&claim, &running, json!({ "status": "cancelled" })).await;
    assert_eq!(cancel().await, json!(["run", null, "cancelled"]));
    assert_eq!(cancel().await, json!(["nothing", null, null]));
    let body = json!({ "action": "restart" });
    let path = format!("/api/v1/sessions/{session}/control");
    cluster.first.post_as(&path, &cluster.operator.token, body).await.assert_failure(400, "schema-invalid");
    assert_eq!(
        cluster.get_session(&session, "cli").await["version"],
        3,
        "two commands and the run have ended"
    );
}

// covers: R20
#[tokio::test]
async fn trace_and_output_page_the_events_of_the_requested_run() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let run = cluster.create_run(&tenant).await;
    let session = text(&cluster.get_run(&run).await, "sessionId");
    let command = cluster.send_turn(&run, "go").await;
    let claim = cluster.first.claim(&tenant, &run).await;
    cluster.first.ack(&claim, &command).await;
    cluster
        .first
        .append_events(
            &claim,
            json!([assistant_message("a", &command, "one"), assistant_message("b", &command, "two")]),
        )
        .await;
    let cancel = format!("/api/v1/runs/{run}/cancel");
    cluster.first.finish(&claim, &command, json!({ "status": "completed" })).await;
    cluster.first.post_as(&cancel, &cluster.operator.token, json!({})).await;
    let mut request = run_request("acme");
    request["sessionRef"] = json!({ "sessionId": session });
    let next = cluster.first.post_as("/api/v1/runs", &cluster.operator.token, request).await;
    assert_eq!(next.status, 201, "{}", next.text);
    let next = text(&next.body, "runId");

    let read_pages = async |route: &str, run: &str| {
        let (mut events, mut after) = (Vec::new(), 0);
        loop {
            let path = format!("/api/v1/sessions/{session}/{route}?afterSeq={after}&limit=3&runId={run}");
            let page = cluster.second.get_as(&path, &cluster.operator.token).await;
            assert_eq!(page.body["runId"], json!(run), "{}", page.text);
            events.extend(page.body["events"].as_array().expect("events").iter().cloned());
            after = page.body["nextAfterSeq"].as_i64().expect("a number");
            if page.body["hasMore"] == false {
                return events;
            }
        }
    };
    assert_eq!(read_pages("trace", &run).await, cluster.list_events(&run).await);
    let types = |events: &[Value]| events.iter().map(|event| text(event, "type")).collect::<Vec<_>>();
    assert_eq!(
        types(&read_pages("output", &run).await),
        ["assistant_message", "assistant_message", "terminal_status", "terminal_status"]
    );
    assert_eq!(read_pages("trace", &next).await, cluster.list_events(&next).await);
    let open =
        cluster.first.get_as(&format!("/api/v1/sessions/{session}/trace"), &cluster.operator.token).await;
    assert_eq!(open.body["runId"], json!(next), "the default is the open run");
    let foreign = cluster.create_run(&tenant).await;
    let path = format!("/api/v1/sessions/{session}/trace?runId={foreign}");
    cluster.first.get_as(&path, &cluster.operator.token).await.assert_failure(404, "not-found");
}
