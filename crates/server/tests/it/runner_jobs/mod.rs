//! Runner jobs: runners that are started as real processes, requested over HTTP on two replicas.

mod faults;
mod pool;
mod serving;

use std::time::Duration;

use guildhall_testkit::{Stopwatch, TestDb};
use serde_json::{Value, json};

use crate::support::cluster::Cluster;
use crate::support::launcher::TestLauncher;
use crate::support::runs::text;

/// Starts two replicas that share a launcher folder.
async fn start_cluster(launcher: &TestLauncher) -> Cluster {
    let db = TestDb::new().await;
    Cluster::with_setup(launcher.setup(&db), db).await
}

// covers: R15a, R19
#[tokio::test]
async fn runner_job_returns_at_once_and_its_key_starts_one_process() {
    let launcher = TestLauncher::new();
    let cluster = start_cluster(&launcher).await;
    let run = cluster.create_run(&cluster.create_test_tenant("acme").await).await;
    let command = cluster.send_turn(&run, "slow").await;
    let body = json!({ "commandId": command });
    let began = Stopwatch::start();
    let create_on_both = async |key: &'static str| {
        let one = cluster.first.create_runner_job(&cluster, &run, key, body.clone());
        let (one, other) =
            tokio::join!(one, cluster.second.create_runner_job(&cluster, &run, key, body.clone()));
        assert_eq!((one.status.as_u16(), other.status.as_u16()), (201, 201), "{} {}", one.text, other.text);
        assert_eq!(one.body["runnerJobId"], other.body["runnerJobId"]);
        one.body
    };
    let created = create_on_both("first").await;
    assert!(began.elapsed() < Duration::from_secs(5), "the response took {:?}", began.elapsed());
    assert_ne!(
        cluster.wait_for_command(&run, &command, "running").await["status"],
        "completed",
        "the response waited for the turn"
    );
    assert_eq!(create_on_both("first").await["runnerJobId"], created["runnerJobId"]);
    let attempt = text(&created, "attemptId");
    for (name, value) in
        [("runId", run.as_str()), ("commandId", &command), ("kind", "asked"), ("launcher", "local")]
    {
        assert_eq!(created[name], value, "{created}");
    }
    assert_eq!(text(&created, "jobName"), format!("guildhall-runner-{}", &attempt[attempt.len() - 12..]));
    assert_eq!(created["namespace"], Value::Null);
    let job = text(&created, "runnerJobId");
    assert_eq!(text(&created, "poll"), format!("/api/v1/runs/{run}/runner-jobs/{job}"));

    let running = cluster.wait_until(&text(&created, "poll"), |job| job["runnerId"].is_string()).await;
    assert_eq!((running["phase"].as_str(), &running["terminal"]), (Some("running"), &Value::Null));
    let log = text(&running["log"], "identity");
    // Directories keep the former prefix of attempts.
    let folder = attempt.replacen("atp_", "att_", 1);
    assert!(log.starts_with("plc_") && log.ends_with(&format!("/attempts/{folder}/runner.log")), "{log}");
    cluster.wait_for_command(&run, &command, "completed").await;
    let ended = cluster.wait_for_job(&run, &job, "succeeded").await;
    assert_eq!(ended["terminal"], json!({ "status": "succeeded", "exitCode": 0, "message": null }));
    assert_eq!(ended["commandStatus"], "completed");
    let result = cluster.get_result(&run, &command).await;
    assert_eq!(result["attemptId"], json!(attempt), "the result names the attempt of the job");
    assert_eq!(cluster.get_run(&run).await["lease"], Value::Null, "its runner has released the run");
    assert_eq!(create_on_both("first").await["runnerJobId"], created["runnerJobId"], "the job has ended");
    assert_eq!(launcher.attempt_count(), 1, "a second process was started");
}

#[tokio::test]
async fn runner_jobs_are_listed_by_run_and_by_command() {
    let launcher = TestLauncher::new();
    let cluster = start_cluster(&launcher).await;
    let run = cluster.create_run(&cluster.create_test_tenant("acme").await).await;
    let mut jobs = Vec::new();
    for prompt in ["one", "two"] {
        let command = cluster.send_turn(&run, prompt).await;
        let created = cluster.first.create_runner_job(&cluster, &run, prompt, json!({})).await;
        assert_eq!(created.status, 201, "{}", created.text);
        assert_eq!(created.body["commandId"], command.as_str(), "the default is the pending command");
        cluster.wait_for_job(&run, &text(&created.body, "runnerJobId"), "succeeded").await;
        jobs.push((command, text(&created.body, "runnerJobId")));
    }
    let listed = async |query: &str| {
        let path = format!("/api/v1/runs/{run}/runner-jobs{query}");
        let response = cluster.second.get_as(&path, &cluster.operator.token).await;
        let jobs = response.body["runnerJobs"].as_array().expect("jobs").clone();
        jobs.iter().map(|job| text(job, "runnerJobId")).collect::<Vec<_>>()
    };
    assert_eq!(listed("").await, [jobs[1].1.clone(), jobs[0].1.clone()]);
    assert_eq!(listed(&format!("?commandId={}", jobs[0].0)).await, [jobs[0].1.clone()]);
    let path = format!("/api/v1/runs/{run}/runner-jobs?commandId=nonsense");
    cluster.first.get_as(&path, &cluster.operator.token).await.assert_failure(400, "schema-invalid");
}

// covers: R11
#[tokio::test]
async fn runner_job_is_refused_for_a_cancelled_ended_or_claimed_run() {
    let launcher = TestLauncher::new();
    let cluster = start_cluster(&launcher).await;
    let tenant = cluster.create_test_tenant("acme").await;
    let operator = &cluster.operator.token;
    let run = cluster.create_run(&tenant).await;
    let assert_refused = async |key: &str, body: Value, kind: &str| {
        for server in [&cluster.first, &cluster.second] {
            server.create_runner_job(&cluster, &run, key, body.clone()).await.assert_failure(409, kind);
        }
    };
    assert_refused("nothing-pending", json!({}), "conflict").await;
    let command = cluster.send_turn(&run, "never").await;
    let cancel = format!("/api/v1/commands/{command}/cancel");
    assert_eq!(cluster.first.post_as(&cancel, operator, json!({})).await.status, 200);
    assert_refused("cancelled", json!({ "commandId": command }), "conflict").await;
    assert_refused("cancelled-unnamed", json!({}), "conflict").await;

    let next = cluster.send_turn(&run, "held").await;
    let claim = cluster.first.claim(&tenant, &run).await;
    let response = cluster.second.create_runner_job(&cluster, &run, "held", json!({})).await;
    response.assert_failure(409, "runner-lease-conflict");
    assert_eq!(response.body["owner"], claim.runner.as_str(), "{}", response.text);
    cluster.first.ack(&claim, &next).await;
    assert_refused("runs-already", json!({ "commandId": next }), "conflict").await;
    cluster.first.finish(&claim, &next, json!({ "status": "completed" })).await;
    let cancel = format!("/api/v1/runs/{run}/cancel");
    assert_eq!(cluster.first.post_as(&cancel, operator, json!({})).await.status, 200);
    assert_refused("ended", json!({}), "conflict").await;
    let body = json!({ "commandId": command, "namespace": "theirs" });
    cluster
        .first
        .create_runner_job(&cluster, &run, "unknown-field", body)
        .await
        .assert_failure(400, "schema-invalid");
    assert_eq!(launcher.attempt_count(), 0, "a process was started");
}

#[tokio::test]
async fn runner_job_needs_a_configured_profile_and_a_launcher() {
    let launcher = TestLauncher::new();
    let db = TestDb::new().await;
    let cluster = Cluster::with_setups(launcher.setup(&db), crate::support::Setup::new(&db), db).await;
    let tenant = cluster.create_test_tenant("acme").await;
    let run = cluster.create_run(&tenant).await;
    cluster.send_turn(&run, "go").await;
    let response = cluster.second.create_runner_job(&cluster, &run, "elsewhere", json!({})).await;
    response.assert_failure(409, "conflict");
    assert!(text(&response.body, "message").contains("launcher.kind"), "{}", response.text);

    let mut request = crate::support::runs::run_request(&tenant.id);
    request["backendProfile"] = json!("unheard-of");
    let named = json!([{ "name": "guildhall-provider-unheard-of", "keys": ["key"] }]);
    request["executionPolicy"]["secretScope"] = json!({ "providerCredentials": named });
    let created = cluster.first.post_as("/api/v1/runs", &cluster.operator.token, request).await;
    let run = text(&created.body, "runId");
    cluster.send_turn(&run, "go").await;
    let response = cluster.first.create_runner_job(&cluster, &run, "unknown-profile", json!({})).await;
    response.assert_failure(409, "secret-unavailable");
    assert_eq!(launcher.attempt_count(), 0);

    // The first replica has a launcher, and the kernel of this machine supports containment (the runner tests need it).
    for (server, expected) in [(&cluster.first, "contained"), (&cluster.second, "elsewhere")] {
        assert_eq!(server.get("/capabilities").await.body["containment"], expected);
    }
}

// covers: R21
#[tokio::test]
async fn runner_job_is_refused_when_session_storage_was_evicted() {
    let launcher = TestLauncher::new();
    let cluster = start_cluster(&launcher).await;
    let run = cluster.create_run(&cluster.create_test_tenant("acme").await).await;
    cluster.send_turn(&run, "go").await;
    let mut sql = cluster.db.sql().await;
    sql.execute("UPDATE sessions SET storage_kind = 'evicted', storage_evicted_at = now()").await;
    let refused = cluster.second.create_runner_job(&cluster, &run, "evicted", json!({})).await;
    refused.assert_failure(409, "session-store-evicted");
    assert_eq!(launcher.attempt_count(), 0, "a process was started");
}

// covers: R21
#[tokio::test]
async fn evicted_storage_of_launched_runners_is_deleted() {
    let launcher = TestLauncher::new();
    let db = TestDb::new().await;
    let cluster = Cluster::with_setup(launcher.setup(&db).with("sessions.collect_every", "200ms"), db).await;
    let run = cluster.create_run(&cluster.create_test_tenant("acme").await).await;
    let command = cluster.send_turn(&run, "go").await;
    let created = cluster.first.create_runner_job(&cluster, &run, "go", json!({})).await;
    cluster.wait_for_command(&run, &command, "completed").await;
    cluster.wait_for_job(&run, &text(&created.body, "runnerJobId"), "succeeded").await;
    let session = text(&cluster.get_run(&run).await, "sessionId");
    let folder = |kind: &str| launcher.storage_folder().join(kind).join(&session);
    assert!(folder("sessions").is_dir() && folder("workspaces").is_dir(), "the runner stored nothing");
    let operator = &cluster.operator.token;
    let cancel = format!("/api/v1/runs/{run}/cancel");
    assert_eq!(cluster.first.post_as(&cancel, operator, json!({})).await.status, 200);
    let storage = format!("/api/v1/sessions/{session}/storage");
    let evicted = cluster.first.request_as(reqwest::Method::DELETE, &storage, operator, None).await;
    assert_eq!(evicted.status, 200, "{}", evicted.text);
    cluster.wait_until(&storage, |storage| storage["phase"] == "removed").await;
    assert!(!folder("sessions").exists() && folder("workspaces").is_dir());
}

#[tokio::test]
async fn runner_job_needs_write_permission_and_only_one_is_active() {
    let launcher = TestLauncher::new();
    let db = TestDb::new().await;
    let cluster = Cluster::with_setup(launcher.setup_with_idle_runner(&db), db).await;
    let tenant = cluster.create_test_tenant("acme").await;
    let run = cluster.create_run(&tenant).await;
    cluster.send_turn(&run, "go").await;
    let user = cluster.create_user("person").await;
    let path = format!("/api/v1/runs/{run}/runner-jobs");
    cluster.first.post_as(&path, &user.token, json!({})).await.assert_failure(404, "not-found");
    cluster.set_role(&tenant.id, &user, "viewer").await;
    cluster.first.post_as(&path, &user.token, json!({})).await.assert_failure(403, "forbidden");
    assert_eq!(cluster.second.get_as(&path, &user.token).await.status, 200);
    cluster.set_role(&tenant.id, &user, "developer").await;
    let created = cluster.first.post_as(&path, &user.token, json!({})).await;
    assert_eq!(created.status, 201, "{}", created.text);
    let again = cluster.first.post_as(&path, &user.token, json!({})).await;
    again.assert_failure(409, "conflict");
    let job = &created.body["runnerJobId"];
    assert_eq!(again.body["runnerJobId"], *job, "the conflict names the active job: {}", again.text);
}
