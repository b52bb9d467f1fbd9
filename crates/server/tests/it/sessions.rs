//! Sessions: what each reader sees, and how a session is controlled; on two replicas, while commands end.

use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::join_all;
use serde_json::{Value, json};

use crate::support::people::World;
use crate::support::runs::{Held, ask, said, text};
use crate::support::{Answer, TestServer};

impl World {
    /// Lists the ids of the sessions that a reader is shown.
    async fn listed(&self, server: &TestServer, reader: &str, state: &str) -> Vec<String> {
        let path = format!("/api/v1/sessions?readerId={reader}&state={state}&tenantId=acme");
        let answer = server.get_as(&path, &self.operator.access).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let sessions = answer.body["sessions"].as_array().expect("sessions");
        sessions.iter().map(|session| text(session, "sessionId")).collect()
    }

    async fn session(&self, session: &str, reader: &str) -> Value {
        let path = format!("/api/v1/sessions/{session}?readerId={reader}");
        self.other.get_as(&path, &self.operator.access).await.body
    }

    async fn mark(&self, session: &str, reader: &str, version: Option<i64>) -> Value {
        let body = json!({ "readerId": reader, "version": version });
        let path = format!("/api/v1/sessions/{session}/read");
        let answer = self.one.post_as(&path, &self.operator.access, body).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.body
    }

    async fn control(&self, session: &str) -> Answer {
        let path = format!("/api/v1/sessions/{session}/control");
        self.other.post_as(&path, &self.operator.access, json!({ "action": "cancel" })).await
    }

    /// Sends a turn and lets the runner of its run finish it.
    async fn turn(&self, held: &Held) {
        let command = self.command(&held.run, "go").await;
        assert_eq!(self.one.ack(held, &command).await.status, 200);
        let ended = self.other.finish(held, &command, json!({ "status": "completed" })).await;
        assert_eq!(ended.status, 200, "{}", ended.text);
    }
}

// covers: R20
#[tokio::test]
async fn a_reader_is_shown_what_runs_and_what_is_new_to_it_and_its_place_never_moves_back() {
    let world = World::new().await;
    let yard = world.yard("acme").await;
    let run = world.run(&yard).await;
    let session = text(&world.show(&run).await, "sessionId");
    let (none, this) = (Vec::<String>::new(), vec![session.clone()]);
    assert_eq!(world.listed(&world.one, "cli", "default").await, none, "nothing runs and nothing is new");
    assert_eq!(world.listed(&world.one, "cli", "all").await, this);
    let command = world.command(&run, "go").await;
    let held = world.one.claim(&yard, &run).await;
    world.one.ack(&held, &command).await;
    assert_eq!(world.listed(&world.other, "cli", "default").await, this);
    let running = world.session(&session, "cli").await;
    let names = ["executionState", "version", "unread", "activeRunId", "activeCommandId"];
    assert_eq!(
        json!(names.map(|name| running[name].clone())),
        json!(["running", 0, false, run, command]),
        "{running}"
    );
    assert_eq!(running["run"]["liveness"]["phase"], "waiting-model");
    world.one.finish(&held, &command, json!({ "status": "failed", "failureKind": "backend-failed" })).await;
    let ended = world.session(&session, "cli").await;
    assert_eq!(
        json!(names.map(|name| ended[name].clone())),
        json!(["terminal", 1, true, run, null]),
        "{ended}"
    );
    for reader in ["cli", "web"] {
        assert_eq!(world.listed(&world.other, reader, "default").await, this);
    }
    assert_eq!(world.mark(&session, "cli", Some(1)).await["readVersion"], 1);
    assert_eq!(world.listed(&world.other, "cli", "default").await, none);
    assert_eq!(world.listed(&world.one, "cli", "all").await, this);
    assert_eq!(world.listed(&world.one, "web", "default").await, this, "each reader has a place of its own");
    let elsewhere = world.user("reader").await;
    world.member(&yard.tenant, &elsewhere, "viewer").await;
    let path = "/api/v1/sessions?readerId=cli";
    let theirs = world.one.get_as(path, &elsewhere.access).await;
    assert_eq!(theirs.body["sessions"].as_array().map(Vec::len), Some(1), "a name is no identity");

    world.turn(&held).await;
    assert_eq!(world.mark(&session, "cli", Some(2)).await["readVersion"], 2);
    assert_eq!(world.mark(&session, "cli", Some(1)).await["readVersion"], 2, "never back");
    assert_eq!(
        world.mark(&session, "cli", Some(99)).await["readVersion"],
        2,
        "never further than what is there"
    );
    world.turn(&held).await;
    assert_eq!(world.listed(&world.other, "cli", "default").await, this, "what comes later is new");
}

// covers: R20
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_readers_miss_nothing_while_commands_end() {
    const SESSIONS: usize = 4;
    const TURNS: i64 = 8;
    let world = World::new().await;
    let yard = world.yard("acme").await;
    let mut all = Vec::new();
    for _ in 0..SESSIONS {
        let held = world.one.claim(&yard, &world.run(&yard).await).await;
        all.push((text(&world.show(&held.run).await, "sessionId"), held));
    }
    let stop = AtomicBool::new(false);
    let working = async {
        join_all(all.iter().map(async |(_, held)| {
            for _ in 0..TURNS {
                world.turn(held).await;
            }
        }))
        .await;
        stop.store(true, Ordering::SeqCst);
    };
    let (world_ref, stop_ref, all_ref) = (&world, &stop, &all);
    let readers = (0..6).map(|number| async move {
        let (reader, mut marks) = (format!("reader-{number}"), 0);
        let server = if number % 2 == 0 { &world_ref.one } else { &world_ref.other };
        let mut before = [(0, 0); SESSIONS];
        while !stop_ref.load(Ordering::SeqCst) || marks == 0 {
            for session in world_ref.listed(server, &reader, "default").await {
                let at = all_ref.iter().position(|(id, _)| *id == session).expect("one of ours");
                let seen = world_ref.session(&session, &reader).await;
                let number = |of: &Value, name: &str| of[name].as_i64().expect("a number");
                // Half of the readers say an older version at times: late, or over another connection.
                let said =
                    number(&seen, "version") - i64::from(marks % 3 == 1 && number(&seen, "version") > 0);
                let marked = world_ref.mark(&session, &reader, Some(said)).await;
                let now = (number(&marked, "version"), number(&marked, "readVersion"));
                assert!(now.0 >= before[at].0 && now.1 >= before[at].1, "{now:?} after {:?}", before[at]);
                assert!(now.1 <= now.0 && now.1 >= said, "{now:?} after marking {said}");
                assert_eq!(marked["unread"], json!(now.0 > now.1));
                before[at] = now;
                marks += 1;
            }
        }
        reader
    });
    let ((), readers) = tokio::join!(working, join_all(readers));
    for reader in &readers {
        for (session, _) in &all {
            assert_eq!(
                world.session(session, reader).await["version"],
                json!(TURNS),
                "an end was not counted"
            );
            world.mark(session, reader, Some(TURNS)).await;
        }
        assert_eq!(world.listed(&world.other, reader, "default").await, Vec::<String>::new());
    }
    world.turn(&all[0].1).await;
    for reader in &readers {
        assert_eq!(world.listed(&world.one, reader, "default").await, [all[0].0.as_str()]);
    }
}

// covers: R20
#[tokio::test]
async fn control_cancels_the_active_command_then_the_run_then_nothing() {
    let world = World::new().await;
    let yard = world.yard("acme").await;
    let run = world.run(&yard).await;
    let session = text(&world.show(&run).await, "sessionId");
    let pending = world.command(&run, "nobody began").await;
    let what = async || {
        let answer = world.control(&session).await;
        json!([answer.body["cancelled"], answer.body["commandId"], answer.body["status"]])
    };
    assert_eq!(what().await, json!(["command", pending, "cancelled"]));
    let held = world.one.claim(&yard, &run).await;
    let ran = world.command(&run, "long").await;
    world.one.ack(&held, &ran).await;
    assert_eq!(what().await, json!(["command", ran, "running"]), "its runner was asked");
    let work = world.one.poll(&held, 2, 5000).await;
    assert_eq!(work.body["cancelCommandIds"], json!([ran]), "{}", work.text);
    world.one.finish(&held, &ran, json!({ "status": "cancelled" })).await;
    assert_eq!(what().await, json!(["run", null, "cancelled"]));
    assert_eq!(what().await, json!(["nothing", null, null]));
    let body = json!({ "action": "restart" });
    let path = format!("/api/v1/sessions/{session}/control");
    world.one.post_as(&path, &world.operator.access, body).await.assert_failure(400, "schema-invalid");
    assert_eq!(world.session(&session, "cli").await["version"], 3, "two commands and the run");
}

// covers: R20
#[tokio::test]
async fn trace_and_output_page_the_events_of_the_run_that_is_named() {
    let world = World::new().await;
    let yard = world.yard("acme").await;
    let run = world.run(&yard).await;
    let session = text(&world.show(&run).await, "sessionId");
    let command = world.command(&run, "go").await;
    let held = world.one.claim(&yard, &run).await;
    world.one.ack(&held, &command).await;
    world.one.append(&held, json!([said("a", &command, "one"), said("b", &command, "two")])).await;
    let cancel = format!("/api/v1/runs/{run}/cancel");
    world.one.finish(&held, &command, json!({ "status": "completed" })).await;
    world.one.post_as(&cancel, &world.operator.access, json!({})).await;
    let mut again = ask("acme");
    again["sessionRef"] = json!({ "sessionId": session });
    let next = world.one.post_as("/api/v1/runs", &world.operator.access, again).await;
    assert_eq!(next.status, 201, "{}", next.text);
    let next = text(&next.body, "runId");

    let pages = async |what: &str, run: &str| {
        let (mut events, mut after) = (Vec::new(), 0);
        loop {
            let path = format!("/api/v1/sessions/{session}/{what}?afterSeq={after}&limit=3&runId={run}");
            let page = world.other.get_as(&path, &world.operator.access).await;
            assert_eq!(page.body["runId"], json!(run), "{}", page.text);
            events.extend(page.body["events"].as_array().expect("events").iter().cloned());
            after = page.body["nextAfterSeq"].as_i64().expect("a number");
            if page.body["hasMore"] == false {
                return events;
            }
        }
    };
    assert_eq!(pages("trace", &run).await, world.events(&run).await);
    let types = |events: &[Value]| events.iter().map(|event| text(event, "type")).collect::<Vec<_>>();
    assert_eq!(
        types(&pages("output", &run).await),
        ["assistant_message", "assistant_message", "terminal_status", "terminal_status"]
    );
    assert_eq!(pages("trace", &next).await, world.events(&next).await);
    let open = world.one.get_as(&format!("/api/v1/sessions/{session}/trace"), &world.operator.access).await;
    assert_eq!(open.body["runId"], json!(next), "without a name it is the open run");
    let foreign = world.run(&yard).await;
    let path = format!("/api/v1/sessions/{session}/trace?runId={foreign}");
    world.one.get_as(&path, &world.operator.access).await.assert_failure(404, "not-found");
}
