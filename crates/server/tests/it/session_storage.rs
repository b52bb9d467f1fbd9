//! The storage of sessions: told by runners, given up by callers or by time, removed by whoever owns it.

use std::fs;
use std::time::{Duration, Instant};

use guildhall_testkit::TestDb;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::people::World;
use crate::support::runs::{Yard, ask, text};
use crate::support::{Answer, Setup};

fn summary(size: u64) -> Value {
    json!({ "sizeBytes": size, "filesCount": 2, "sha256": "ab".repeat(32) })
}

/// A session with a run, the runner that holds it, and what the runner said of its storage.
async fn stored(world: &World, yard: &Yard) -> (String, String) {
    let run = world.run(yard).await;
    let session = text(&world.show(&run).await, "sessionId");
    let held = world.one.claim(yard, &run).await;
    let path = format!("/api/v1/sessions/{session}/storage/refresh");
    let told = world.other.post_as(&path, &held.token, summary(3)).await;
    assert_eq!(
        (told.status.as_u16(), &told.body["storageKind"]),
        (200, &json!("directory")),
        "{}",
        told.text
    );
    (session, run)
}

async fn storage(world: &World, method: Method, session: &str) -> Answer {
    world.one.ask(method, &format!("/api/v1/sessions/{session}/storage"), &world.operator.access, None).await
}

async fn cancel(world: &World, run: &str) {
    let path = format!("/api/v1/runs/{run}/cancel");
    assert_eq!(world.one.ask(Method::POST, &path, &world.operator.access, None).await.status, 200);
}

async fn next_run(world: &World, yard: &Yard, session: &str) -> Answer {
    let mut body = ask(&yard.tenant);
    body["sessionRef"] = json!({ "sessionId": session });
    world.other.post_as("/api/v1/runs", &world.operator.access, body).await
}

// covers: R21
#[tokio::test]
async fn a_session_is_made_without_a_run_and_its_storage_is_what_its_runner_says() {
    let world = World::new().await;
    let yard = world.yard("acme").await;
    let body = json!({ "tenantId": "acme", "projectId": "acme/web", "backendProfile": "demo" });
    let made = world.one.post_as("/api/v1/sessions", &world.operator.access, body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let session = text(&made.body, "sessionId");
    let shown = storage(&world, Method::GET, &session).await.body;
    assert_eq!((&shown["storageKind"], &shown["phase"]), (&json!("none"), &json!("pending")), "{shown}");
    let run = next_run(&world, &yard, &session).await;
    assert_eq!(run.status, 201, "{}", run.text);
    let held = world.one.claim(&yard, &text(&run.body, "runId")).await;
    let path = format!("/api/v1/sessions/{session}/storage/refresh");
    assert_eq!(world.other.post_as(&path, &held.token, summary(7)).await.status, 200);
    let shown = storage(&world, Method::GET, &session).await.body;
    let of = |name: &str| shown[name].clone();
    assert_eq!(
        [of("storageKind"), of("phase"), of("sizeBytes"), of("filesCount"), of("sha256"), of("evictedAt")],
        [json!("directory"), json!("bound"), json!(7), json!(2), json!("ab".repeat(32)), Value::Null]
    );
    assert!(
        shown["updatedAt"].is_string() && text(&shown, "name").starts_with("guildhall-session-"),
        "{shown}"
    );
    for broken in [json!({ "sizeBytes": 1, "filesCount": 1, "sha256": "x" }), json!({ "sizeBytes": -1 })] {
        world.other.post_as(&path, &held.token, broken).await.assert_failure(400, "schema-invalid");
    }
}

// covers: R21
#[tokio::test]
async fn a_runner_speaks_for_the_session_of_its_own_run_and_only_while_it_holds_it() {
    let world = World::new().await;
    let yard = world.yard("acme").await;
    let (session, _) = stored(&world, &yard).await;
    let run = world.run(&yard).await;
    let held = world.one.claim(&yard, &run).await;
    let path = format!("/api/v1/sessions/{session}/storage/refresh");
    world.one.post_as(&path, &held.token, summary(9)).await.assert_failure(404, "not-found");
    let own = text(&world.show(&run).await, "sessionId");
    let own = format!("/api/v1/sessions/{own}/storage/refresh");
    world
        .one
        .ask(
            Method::PATCH,
            &format!("/api/v1/runs/{run}/lease"),
            &held.token,
            Some(json!({ "release": true })),
        )
        .await;
    world.one.post_as(&own, &held.token, summary(9)).await.assert_failure(409, "runner-lease-conflict");
    assert_eq!(storage(&world, Method::GET, &session).await.body["sizeBytes"], 3);
}

// covers: R21
#[tokio::test]
async fn storage_that_was_given_up_stays_so_and_nobody_goes_on_with_its_session() {
    let world = World::new().await;
    let yard = world.yard("acme").await;
    let (session, run) = stored(&world, &yard).await;
    storage(&world, Method::DELETE, &session).await.assert_failure(409, "conflict");
    cancel(&world, &run).await;
    let given_up = storage(&world, Method::DELETE, &session).await;
    assert_eq!(
        (given_up.status.as_u16(), &given_up.body["storageKind"]),
        (200, &json!("evicted")),
        "{}",
        given_up.text
    );
    let again = storage(&world, Method::DELETE, &session).await;
    assert_eq!((again.status.as_u16(), &again.body["evictedAt"]), (200, &given_up.body["evictedAt"]));
    next_run(&world, &yard, &session).await.assert_failure(409, "session-store-evicted");
    let audit =
        world.one.get_as(&format!("/api/v1/tenants/{}/audit", yard.tenant), &world.operator.access).await;
    assert_eq!(audit.text.matches("session.storage_evicted").count(), 1, "{}", audit.text);
}

// covers: R21
#[tokio::test]
async fn a_claim_in_a_session_without_its_storage_is_refused_and_ends_the_run() {
    let world = World::new().await;
    let yard = world.yard("acme").await;
    let run = world.run(&yard).await;
    let command = world.command(&run, "go on").await;
    // Between the making of a run and its claim its storage can go only by hand: what must not happen is refused too.
    let mut sql = world.db.sql().await;
    sql.execute("UPDATE sessions SET storage_kind = 'evicted', storage_evicted_at = now()").await;
    let runner = world.one.register(&yard).await;
    world.one.try_claim(&yard, &run, &runner).await.assert_failure(409, "session-store-evicted");
    assert_eq!(world.show(&run).await["failureKind"], "session-store-evicted");
    assert_eq!(world.result(&run, &command).await["failureKind"], "session-store-evicted");
    let next = json!({ "runnerId": runner, "wait": 0 });
    let waiting = world.one.post_as("/api/v1/runners/claim", &yard.enrolment, next).await;
    assert_eq!(waiting.body["grant"], Value::Null, "it is not offered again: {}", waiting.text);
}

// covers: R21
#[tokio::test]
async fn storage_that_has_had_its_time_goes_unless_a_run_is_open_and_workspaces_stay() {
    let (db, state) = (TestDb::new().await, tempfile::tempdir().expect("a folder"));
    let setup = Setup::on(&db)
        .with("sessions.expire_after", "1s")
        .with("sessions.collect_every", "200ms")
        .with("sessions.runner_state", state.path().display());
    let world = World::on(setup, db).await;
    let yard = world.yard("acme").await;
    let (over, run) = stored(&world, &yard).await;
    let (open, _) = stored(&world, &yard).await;
    let at = |kind: &str, session: &str| state.path().join(kind).join(session);
    for folder in [at("sessions", &over), at("sessions", &open), at("workspaces", &over)] {
        fs::create_dir_all(folder.join("inner")).expect("a folder");
    }
    cancel(&world, &run).await;
    let began = Instant::now();
    while storage(&world, Method::GET, &over).await.body["phase"] != "removed" {
        assert!(
            began.elapsed() < Duration::from_secs(15),
            "{}",
            storage(&world, Method::GET, &over).await.text
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(!at("sessions", &over).exists() && at("workspaces", &over).join("inner").exists());
    assert_eq!(
        storage(&world, Method::GET, &open).await.body["storageKind"],
        "directory",
        "a run of it is open"
    );
    assert!(at("sessions", &open).join("inner").exists());
}
