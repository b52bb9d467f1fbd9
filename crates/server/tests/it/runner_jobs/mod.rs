//! Runners that are started for runs: real processes, asked for over HTTP at two replicas.

mod faults;
mod pool;

use std::time::{Duration, Instant};

use guildhall_testkit::TestDb;
use serde_json::{Value, json};

use crate::support::launch::Place;
use crate::support::people::World;
use crate::support::runs::text;

/// Two replicas that start runners at one place.
async fn world(place: &Place) -> World {
    let db = TestDb::new().await;
    World::on(place.setup(&db), db).await
}

// covers: R19
#[tokio::test]
async fn a_runner_job_answers_at_once_with_where_to_look_and_the_same_key_never_starts_a_second_process() {
    let place = Place::new();
    let world = world(&place).await;
    let run = world.run(&world.yard("acme").await).await;
    let command = world.command(&run, "slow").await;
    let body = json!({ "commandId": command });
    let began = Instant::now();
    let both = async |key: &'static str| {
        let one = world.one.launch(&world, &run, key, body.clone());
        let (one, other) = tokio::join!(one, world.other.launch(&world, &run, key, body.clone()));
        assert_eq!((one.status.as_u16(), other.status.as_u16()), (201, 201), "{} {}", one.text, other.text);
        assert_eq!(one.body["runnerJobId"], other.body["runnerJobId"]);
        one.body
    };
    let made = both("first").await;
    assert!(began.elapsed() < Duration::from_secs(5), "it waited: {:?}", began.elapsed());
    assert_ne!(
        world.until_command(&run, &command, "running").await["status"],
        "completed",
        "it waited for the turn"
    );
    assert_eq!(both("first").await["runnerJobId"], made["runnerJobId"]);
    let attempt = text(&made, "attemptId");
    for (name, value) in
        [("runId", run.as_str()), ("commandId", &command), ("kind", "asked"), ("launcher", "local")]
    {
        assert_eq!(made[name], value, "{made}");
    }
    assert_eq!(text(&made, "jobName"), format!("guildhall-runner-{}", &attempt[attempt.len() - 12..]));
    assert_eq!(made["namespace"], Value::Null);
    let job = text(&made, "runnerJobId");
    assert_eq!(text(&made, "poll"), format!("/api/v1/runs/{run}/runner-jobs/{job}"));

    let running = world.until(&text(&made, "poll"), |job| job["runnerId"].is_string()).await;
    assert_eq!((running["phase"].as_str(), &running["terminal"]), (Some("running"), &Value::Null));
    let log = text(&running["log"], "identity");
    assert!(log.starts_with("plc_") && log.ends_with(&format!("/attempts/{attempt}/runner.log")), "{log}");
    world.until_command(&run, &command, "completed").await;
    let ended = world.until_job(&run, &job, "succeeded").await;
    assert_eq!(ended["terminal"], json!({ "status": "succeeded", "exitCode": 0, "message": null }));
    assert_eq!(ended["commandStatus"], "completed");
    assert_eq!(both("first").await["runnerJobId"], made["runnerJobId"], "also when it has ended");
    assert_eq!(place.attempts(), 1, "a second process was started");
}

#[tokio::test]
async fn jobs_are_listed_by_run_and_by_command() {
    let place = Place::new();
    let world = world(&place).await;
    let run = world.run(&world.yard("acme").await).await;
    let mut jobs = Vec::new();
    for words in ["one", "two"] {
        let command = world.command(&run, words).await;
        let made = world.one.launch(&world, &run, words, json!({})).await;
        assert_eq!(made.status, 201, "{}", made.text);
        assert_eq!(made.body["commandId"], command.as_str(), "the one that waits");
        world.until_job(&run, &text(&made.body, "runnerJobId"), "succeeded").await;
        jobs.push((command, text(&made.body, "runnerJobId")));
    }
    let listed = async |query: &str| {
        let path = format!("/api/v1/runs/{run}/runner-jobs{query}");
        let answer = world.other.get_as(&path, &world.operator.access).await;
        let jobs = answer.body["runnerJobs"].as_array().expect("jobs").clone();
        jobs.iter().map(|job| text(job, "runnerJobId")).collect::<Vec<_>>()
    };
    assert_eq!(listed("").await, [jobs[1].1.clone(), jobs[0].1.clone()]);
    assert_eq!(listed(&format!("?commandId={}", jobs[0].0)).await, [jobs[0].1.clone()]);
    let path = format!("/api/v1/runs/{run}/runner-jobs?commandId=nonsense");
    world.one.get_as(&path, &world.operator.access).await.assert_failure(400, "schema-invalid");
}

// covers: R11
#[tokio::test]
async fn nothing_is_started_for_what_is_cancelled_ended_or_held() {
    let place = Place::new();
    let world = world(&place).await;
    let yard = world.yard("acme").await;
    let operator = &world.operator.access;
    let run = world.run(&yard).await;
    let refused = async |key: &str, body: Value, kind: &str| {
        for server in [&world.one, &world.other] {
            server.launch(&world, &run, key, body.clone()).await.assert_failure(409, kind);
        }
    };
    refused("nothing-pending", json!({}), "conflict").await;
    let command = world.command(&run, "never").await;
    let cancel = format!("/api/v1/commands/{command}/cancel");
    assert_eq!(world.one.post_as(&cancel, operator, json!({})).await.status, 200);
    refused("cancelled", json!({ "commandId": command }), "conflict").await;
    refused("cancelled-unnamed", json!({}), "conflict").await;

    let next = world.command(&run, "held").await;
    let held = world.one.claim(&yard, &run).await;
    let answer = world.other.launch(&world, &run, "held", json!({})).await;
    answer.assert_failure(409, "runner-lease-conflict");
    assert_eq!(answer.body["owner"], held.runner.as_str(), "{}", answer.text);
    world.one.ack(&held, &next).await;
    refused("runs-already", json!({ "commandId": next }), "conflict").await;
    world.one.finish(&held, &next, json!({ "status": "completed" })).await;
    let cancel = format!("/api/v1/runs/{run}/cancel");
    assert_eq!(world.one.post_as(&cancel, operator, json!({})).await.status, 200);
    refused("ended", json!({}), "conflict").await;
    let body = json!({ "commandId": command, "namespace": "theirs" });
    world.one.launch(&world, &run, "unknown-field", body).await.assert_failure(400, "schema-invalid");
    assert_eq!(place.attempts(), 0, "something was started");
}

#[tokio::test]
async fn a_profile_that_nobody_set_up_is_refused_and_so_is_everything_where_nothing_starts_runners() {
    let place = Place::new();
    let db = TestDb::new().await;
    let world = World::under(place.setup(&db), crate::support::Setup::on(&db), db).await;
    let yard = world.yard("acme").await;
    let run = world.run(&yard).await;
    world.command(&run, "go").await;
    let answer = world.other.launch(&world, &run, "elsewhere", json!({})).await;
    answer.assert_failure(409, "conflict");
    assert!(text(&answer.body, "message").contains("launcher.kind"), "{}", answer.text);

    let mut ask = crate::support::runs::ask(&yard.tenant);
    ask["backendProfile"] = json!("unheard-of");
    let named = json!([{ "name": "guildhall-provider-unheard-of", "keys": ["key"] }]);
    ask["executionPolicy"]["secretScope"] = json!({ "providerCredentials": named });
    let made = world.one.post_as("/api/v1/runs", &world.operator.access, ask).await;
    let strange = text(&made.body, "runId");
    world.command(&strange, "go").await;
    let answer = world.one.launch(&world, &strange, "strange", json!({})).await;
    answer.assert_failure(409, "secret-unavailable");
    assert_eq!(place.attempts(), 0);

    // What is not contained would say so. This machine can, as the tests of the runner need.
    for (server, expected) in [(&world.one, "contained"), (&world.other, "elsewhere")] {
        assert_eq!(server.get("/capabilities").await.body["policy"]["containment"], expected);
    }
}

// covers: R21
#[tokio::test]
async fn nothing_is_started_in_a_session_whose_storage_was_given_up() {
    let place = Place::new();
    let world = world(&place).await;
    let run = world.run(&world.yard("acme").await).await;
    world.command(&run, "go").await;
    let mut sql = world.db.sql().await;
    sql.execute("UPDATE sessions SET storage_kind = 'evicted', storage_evicted_at = now()").await;
    let refused = world.other.launch(&world, &run, "evicted", json!({})).await;
    refused.assert_failure(409, "session-store-evicted");
    assert_eq!(place.attempts(), 0, "something was started");
}

// covers: R21
#[tokio::test]
async fn storage_that_is_given_up_is_removed_where_launched_runners_keep_it() {
    let place = Place::new();
    let db = TestDb::new().await;
    let world = World::on(place.setup(&db).with("sessions.collect_every", "200ms"), db).await;
    let run = world.run(&world.yard("acme").await).await;
    let command = world.command(&run, "go").await;
    let made = world.one.launch(&world, &run, "go", json!({})).await;
    world.until_command(&run, &command, "completed").await;
    world.until_job(&run, &text(&made.body, "runnerJobId"), "succeeded").await;
    let session = text(&world.show(&run).await, "sessionId");
    let at = |kind: &str| place.storage().join(kind).join(&session);
    assert!(at("sessions").is_dir() && at("workspaces").is_dir(), "the runner kept nothing");
    let operator = &world.operator.access;
    let cancel = format!("/api/v1/runs/{run}/cancel");
    assert_eq!(world.one.post_as(&cancel, operator, json!({})).await.status, 200);
    let storage = format!("/api/v1/sessions/{session}/storage");
    let given_up = world.one.ask(reqwest::Method::DELETE, &storage, operator, None).await;
    assert_eq!(given_up.status, 200, "{}", given_up.text);
    world.until(&storage, |storage| storage["phase"] == "removed").await;
    assert!(!at("sessions").exists() && at("workspaces").is_dir());
}

#[tokio::test]
async fn only_who_may_write_runs_starts_runners_and_one_at_a_time() {
    let place = Place::new();
    let db = TestDb::new().await;
    let world = World::on(place.idle_setup(&db), db).await;
    let yard = world.yard("acme").await;
    let run = world.run(&yard).await;
    world.command(&run, "go").await;
    let person = world.user("person").await;
    let path = format!("/api/v1/runs/{run}/runner-jobs");
    world.one.post_as(&path, &person.access, json!({})).await.assert_failure(404, "not-found");
    world.member(&yard.tenant, &person, "viewer").await;
    world.one.post_as(&path, &person.access, json!({})).await.assert_failure(403, "forbidden");
    assert_eq!(world.other.get_as(&path, &person.access).await.status, 200);
    world.member(&yard.tenant, &person, "developer").await;
    let made = world.one.post_as(&path, &person.access, json!({})).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let again = world.one.post_as(&path, &person.access, json!({})).await;
    again.assert_failure(409, "conflict");
    assert_eq!(again.body["runnerJobId"], made.body["runnerJobId"], "one at a time: {}", again.text);
}
