//! Requests for a runner job while a job that was started automatically serves the run, and without session storage.

use std::time::Duration;

use guildhall_testkit::{Stopwatch, TestDb};
use serde_json::{Value, json};

use super::start_cluster;
use crate::support::cluster::Cluster;
use crate::support::launcher::TestLauncher;
use crate::support::runs::text;

/// Waits for the first job of a run that nobody requested.
async fn wait_for_automatic_job(cluster: &Cluster, run: &str) -> Value {
    let path = format!("/api/v1/runs/{run}/runner-jobs");
    let jobs = cluster.wait_until(&path, |jobs| jobs["runnerJobs"][0].is_object()).await;
    jobs["runnerJobs"][0].clone()
}

// covers: R19
#[tokio::test]
async fn request_is_answered_with_the_job_that_was_started_automatically() {
    let launcher = TestLauncher::new();
    let db = TestDb::new().await;
    let setup = launcher.setup(&db).with("launcher.cold_start", true).with("launcher.idle", "10s");
    let cluster = Cluster::with_setup(setup, db).await;
    let run = cluster.create_run(&cluster.create_test_tenant("acme").await).await;
    let command = cluster.send_turn(&run, "slow").await;
    let automatic = wait_for_automatic_job(&cluster, &run).await;
    assert_eq!((&automatic["kind"], &automatic["commandId"]), (&json!("cold"), &json!(command)));
    let id = text(&automatic, "runnerJobId");
    let request_on_both = async |key: &str, body: Value| {
        for server in [&cluster.first, &cluster.second] {
            let answer = server.create_runner_job(&cluster, &run, key, body.clone()).await;
            assert_eq!(answer.status, 201, "{}", answer.text);
            assert_eq!(answer.body["runnerJobId"], id.as_str(), "{}", answer.text);
        }
    };
    request_on_both("started", json!({})).await;
    cluster.wait_for_command(&run, &command, "running").await;
    request_on_both("running", json!({ "commandId": command })).await;
    request_on_both("running-unnamed", json!({})).await;
    let unknown = json!({ "commandId": "cmd_01920000000070008000000000000000" });
    let refused = cluster.first.create_runner_job(&cluster, &run, "unknown", unknown).await;
    refused.assert_failure(409, "conflict");
    cluster.wait_for_command(&run, &command, "completed").await;
    request_on_both("started", json!({})).await;
    assert_eq!(launcher.attempt_count(), 1, "a second process was started");
}

// covers: R21
#[tokio::test]
async fn runner_job_is_refused_when_session_storage_is_missing() {
    let launcher = TestLauncher::new();
    let cluster = start_cluster(&launcher).await;
    let run = cluster.create_run(&cluster.create_test_tenant("acme").await).await;
    let command = cluster.send_turn(&run, "go").await;
    let created = cluster.first.create_runner_job(&cluster, &run, "first", json!({})).await;
    assert_eq!(created.status, 201, "{}", created.text);
    cluster.wait_for_command(&run, &command, "completed").await;
    cluster.wait_for_job(&run, &text(&created.body, "runnerJobId"), "succeeded").await;
    let session = text(&cluster.get_run(&run).await, "sessionId");
    let storage = format!("/api/v1/sessions/{session}/storage");
    cluster.wait_until(&storage, |storage| storage["storageKind"] == "directory").await;

    // Nobody evicted it: the folder is gone, and the database does not know.
    let folder = launcher.storage_folder().join("sessions").join(&session);
    let aside = launcher.storage_folder().join("aside");
    std::fs::rename(&folder, &aside).expect("the session has storage");
    cluster.send_turn(&run, "go on").await;
    for server in [&cluster.first, &cluster.second] {
        let refused = server.create_runner_job(&cluster, &run, "missing", json!({})).await;
        refused.assert_failure(409, "session-store-evicted");
    }
    assert_eq!(launcher.attempt_count(), 1, "a process was started");
    let kind = cluster.first.get_as(&storage, &cluster.operator.token).await.body["storageKind"].clone();
    assert_eq!(kind, "directory", "looking does not evict");

    std::fs::rename(&aside, &folder).expect("the storage is back");
    let began = Stopwatch::start();
    let created = cluster.second.create_runner_job(&cluster, &run, "back", json!({})).await;
    assert_eq!(created.status, 201, "{}", created.text);
    assert!(began.elapsed() < Duration::from_secs(5), "took {:?}", began.elapsed());
}
