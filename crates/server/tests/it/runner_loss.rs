//! No run hangs: a runner that stops renewing its lease loses its run, and unclaimed runs expire.

use std::time::{Duration, Instant};

use guildhall_domain::ids::RunId;
use guildhall_testkit::{Stopwatch, TestDb};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::cluster::Cluster;
use crate::support::runs::{RunClaim, TestTenant, assistant_message, run_claim, text};
use crate::support::{Setup, TestResponse};

const LEASE: Duration = Duration::from_secs(2);
const GRACE: Duration = Duration::from_secs(1);

/// The longest time from the end of lease and grace until a runner is marked as lost, also on a busy machine.
const DETECTION_TIMEOUT: Duration = Duration::from_secs(15);

/// Starts two replicas with short leases.
async fn start_cluster(flags: &[(&'static str, &str)]) -> Cluster {
    let db = TestDb::new().await;
    let short = [("runs.lease", "2s"), ("runs.lease_grace", "1s"), ("runs.tend_every", "200ms")];
    let setup = short.iter().chain(flags).fold(Setup::new(&db), |setup, (key, value)| setup.with(key, value));
    Cluster::with_setup(setup, db).await
}

impl Cluster {
    /// Waits until a run meets the condition, at most until a lost runner must have been detected.
    async fn wait_for_run(&self, run: &str, condition: impl Fn(&Value) -> bool) -> Value {
        let started = Stopwatch::start();
        loop {
            let run = self.get_run(run).await;
            if condition(&run) {
                return run;
            }
            assert!(
                started.elapsed() < LEASE + GRACE + DETECTION_TIMEOUT,
                "the run does not meet the condition: {run}"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Sends every request with which a lost runner could still change its run.
    async fn send_late_writes(&self, late: &RunClaim, ran: &str, pending: &str) -> Vec<TestResponse> {
        let lease = format!("/api/v1/runs/{}/lease", late.run);
        let status = format!("/api/v1/runs/{}/status", late.run);
        let failed = json!({ "status": "failed", "failureKind": "backend-failed" });
        vec![
            self.first.append_events(late, json!([assistant_message("late", ran, "too late")])).await,
            // A replayed event gets a conflict too: a lost runner must notice that it lost its run.
            self.second.append_events(late, json!([assistant_message("in-time", ran, "working")])).await,
            self.first.ack(late, ran).await,
            self.second.ack(late, pending).await,
            self.first.finish(late, ran, json!({ "status": "completed" })).await,
            self.second.request_as(Method::PATCH, &status, &late.token, Some(failed)).await,
            self.first.request_as(Method::PATCH, &lease, &late.token, Some(json!({}))).await,
            self.second
                .request_as(Method::PATCH, &lease, &late.token, Some(json!({ "release": true })))
                .await,
            self.first.poll(late, 0, 0).await,
        ]
    }
}

fn phases(events: &[Value]) -> Vec<String> {
    let is_backend_status = |event: &&Value| event["type"] == "backend_status";
    events.iter().filter(is_backend_status).map(|event| text(&event["payload"], "phase")).collect()
}

// covers: R10
#[tokio::test]
async fn lost_runner_is_replaced_after_the_grace_and_its_writes_conflict() {
    let cluster = start_cluster(&[]).await;
    let tenant = cluster.create_test_tenant("acme").await;
    let run = cluster.create_run(&tenant).await;
    let (ran, pending) = (cluster.send_turn(&run, "ran").await, cluster.send_turn(&run, "pending").await);
    let began = Instant::now();
    let old = cluster.first.claim(&tenant, &run).await;
    assert_eq!(cluster.first.ack(&old, &ran).await.status, 200);
    let tool = json!({ "id": "tool", "type": "tool_call", "commandId": ran,
        "payload": { "callId": "c1", "status": "started" } });
    let appended =
        cluster.first.append_events(&old, json!([assistant_message("in-time", &ran, "working"), tool])).await;
    assert_eq!(appended.status, 200, "{}", appended.text);

    let next = cluster.second.register_runner(&tenant).await;
    let new = loop {
        let claimed = cluster.second.try_claim(&tenant, &run, &next).await;
        if claimed.status == 200 {
            assert_eq!(claimed.body["recoveredFrom"], json!(old.runner), "{}", claimed.text);
            break run_claim(&run, &next, &claimed);
        }
        claimed.assert_failure(409, "runner-lease-conflict");
        assert_eq!(claimed.body["owner"], json!(old.runner));
        assert!(began.elapsed() < LEASE + GRACE + DETECTION_TIMEOUT, "still claimed: {}", claimed.text);
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    assert!(
        began.elapsed() >= LEASE + GRACE,
        "claimed after {:?}, while the old runner may be alive",
        began.elapsed()
    );

    let lost = cluster.get_result(&run, &ran).await;
    assert_eq!(json!([lost["terminalStatus"], lost["failureKind"]]), json!(["failed", "runner-lost"]));
    assert!(text(&lost, "blocker").contains("side effects unknown"), "{lost}");
    for late in cluster.send_late_writes(&old, &ran, &pending).await {
        late.assert_failure(409, "runner-lease-conflict");
    }
    let work = cluster.second.poll(&new, 0, 0).await;
    let offered: Vec<_> = work.body["commands"].as_array().expect("commands").iter().collect();
    assert_eq!(offered.iter().map(|c| text(c, "commandId")).collect::<Vec<_>>(), [pending.as_str()]);
    assert_eq!(cluster.second.ack(&new, &pending).await.status, 200);
    assert_eq!(
        cluster.get_run(&run).await["liveness"]["phase"],
        "waiting-model",
        "the tool call of the lost runner is still open"
    );
    let done = cluster.first.finish(&new, &pending, json!({ "status": "completed" })).await;
    assert_eq!(done.body["status"], "completed", "{}", done.text);

    let events = cluster.list_events(&run).await;
    assert_eq!(phases(&events), ["run-claimed", "lease-waiting", "lease-recovered"]);
    let is_end = |event: &&Value| event["commandId"] == json!(ran) && event["type"] == "terminal_status";
    assert_eq!(events.iter().filter(is_end).count(), 1, "a command ends once");
}

// covers: R10
#[tokio::test]
async fn run_of_a_lost_runner_becomes_pending_without_a_claim() {
    let cluster = start_cluster(&[]).await;
    let tenant = cluster.create_test_tenant("acme").await;
    let run = cluster.create_run(&tenant).await;
    let command = cluster.send_turn(&run, "ran").await;
    let old = cluster.first.claim(&tenant, &run).await;
    cluster.first.ack(&old, &command).await;
    let run_view = cluster.wait_for_run(&run, |run| run["status"] == "pending").await;
    assert_eq!(
        json!([run_view["lease"], run_view["openCommandIds"], run_view["liveness"]["phase"]]),
        json!([null, [], "waiting-runner"])
    );
    assert_eq!(cluster.get_result(&run, &command).await["failureKind"], "runner-lost");
    // The next claim names the lost runner, however late it comes.
    let next = cluster.second.register_runner(&tenant).await;
    let claimed = cluster.second.try_claim(&tenant, &run, &next).await;
    assert_eq!(claimed.body["recoveredFrom"], json!(old.runner), "{}", claimed.text);
    let again = cluster.first.try_claim(&tenant, &run, &next).await;
    assert_eq!(again.body["recoveredFrom"], json!(old.runner), "a repeated claim gets the same response");
    let events = cluster.list_events(&run).await;
    assert_eq!(phases(&events), ["run-claimed", "lease-recovered"]);
    let reasons: Vec<_> = events.iter().filter_map(|event| event["payload"]["reason"].as_str()).collect();
    assert_eq!(reasons, ["runner-lost"]);
    // A claim after a release is no recovery.
    let new = run_claim(&run, &next, &claimed);
    let lease = format!("/api/v1/runs/{run}/lease");
    let release = Some(json!({ "release": true }));
    assert_eq!(cluster.first.request_as(Method::PATCH, &lease, &new.token, release).await.status, 200);
    let again = cluster.first.try_claim(&tenant, &run, &next).await;
    assert_eq!(json!([again.status.as_u16(), again.body["recoveredFrom"]]), json!([200, null]));
}

// covers: R11
#[tokio::test]
async fn cancelling_run_ends_cancelled_when_its_runner_is_lost() {
    let cluster = start_cluster(&[]).await;
    let tenant = cluster.create_test_tenant("acme").await;
    let run = cluster.create_run(&tenant).await;
    let (ran, pending) = (cluster.send_turn(&run, "ran").await, cluster.send_turn(&run, "pending").await);
    let old = cluster.first.claim(&tenant, &run).await;
    cluster.first.ack(&old, &ran).await;
    let cancel = format!("/api/v1/runs/{run}/cancel");
    let cancelled = cluster.second.post_as(&cancel, &cluster.operator.token, json!({})).await;
    assert_eq!(cancelled.body["status"], "cancelling", "{}", cancelled.text);
    assert_eq!(
        cluster.get_result(&run, &pending).await["terminalStatus"],
        "cancelled",
        "a pending command is cancelled at once"
    );
    let next = cluster.first.register_runner(&tenant).await;
    cluster.first.try_claim(&tenant, &run, &next).await.assert_failure(409, "conflict");
    cluster.send_command(&run, "turn", "one more").await.assert_failure(409, "conflict");

    let run_view = cluster.wait_for_run(&run, |run| !run["endedAt"].is_null()).await;
    assert_eq!(json!([run_view["status"], run_view["failureKind"]]), json!(["cancelled", "cancelled"]));
    let lost = cluster.get_result(&run, &ran).await;
    assert_eq!(json!([lost["terminalStatus"], lost["failureKind"]]), json!(["cancelled", "cancelled"]));
    assert!(text(&lost, "blocker").contains("side effects unknown"), "{lost}");
    cluster.first.try_claim(&tenant, &run, &next).await.assert_failure(409, "conflict");
    let again = cluster.first.post_as(&cancel, &cluster.operator.token, json!({})).await;
    assert_eq!(
        json!([again.body["status"], again.body["endedAt"]]),
        json!(["cancelled", run_view["endedAt"]])
    );
}

#[tokio::test]
async fn unclaimed_and_idle_runs_expire_and_claimed_runs_do_not() {
    let cluster = start_cluster(&[("runs.unclaimed_after", "1s"), ("runs.idle_after", "4s")]).await;
    let tenant = cluster.create_test_tenant("acme").await;
    let (unclaimed, idle, claimed) = (
        cluster.create_run(&tenant).await,
        cluster.create_run(&tenant).await,
        cluster.create_run(&tenant).await,
    );
    let command = cluster.send_turn(&unclaimed, "anyone").await;
    let claim = cluster.first.claim(&tenant, &claimed).await;
    cluster.send_turn(&claimed, "patience").await;
    let lease = format!("/api/v1/runs/{claimed}/lease");
    let renewing = async {
        for _ in 0..12 {
            tokio::time::sleep(Duration::from_millis(400)).await;
            let renewed =
                cluster.second.request_as(Method::PATCH, &lease, &claim.token, Some(json!({}))).await;
            assert_eq!(renewed.status, 200, "{}", renewed.text);
        }
    };
    let expiring = async {
        let ended = |run: &Value| !run["endedAt"].is_null();
        let first = cluster.wait_for_run(&unclaimed, ended).await;
        assert_eq!(json!([first["status"], first["failureKind"]]), json!(["failed", "infra-failed"]));
        let last = cluster.wait_for_run(&idle, ended).await;
        assert_eq!(json!([last["status"], last["failureKind"]]), json!(["cancelled", "cancelled"]));
    };
    tokio::join!(renewing, expiring);
    let result = cluster.get_result(&unclaimed, &command).await;
    assert_eq!(json!([result["terminalStatus"], result["failureKind"]]), json!(["failed", "infra-failed"]));
    assert_eq!(cluster.get_run(&claimed).await["status"], "claimed");
}

#[tokio::test]
async fn locked_run_does_not_block_recovery_of_other_runs() {
    let cluster = start_cluster(&[("postgres.statement_timeout", "1s")]).await;
    let tenant = cluster.create_test_tenant("acme").await;
    let (locked, free) = (cluster.create_run(&tenant).await, cluster.create_run(&tenant).await);
    cluster.first.claim(&tenant, &locked).await;
    cluster.first.claim(&tenant, &free).await;
    let owner = locked.parse::<RunId>().expect("an id").as_uuid();
    let mut sql = cluster.db.sql().await;
    sql.execute(format!("BEGIN; SELECT FROM journal_heads WHERE owner = '{owner}' FOR UPDATE")).await;
    cluster.wait_for_run(&free, |run| run["status"] == "pending").await;
    assert_eq!(
        cluster.get_run(&locked).await["status"],
        "claimed",
        "the lock had no effect: nothing was tested"
    );
    sql.execute("ROLLBACK").await;
    cluster.wait_for_run(&locked, |run| run["status"] == "pending").await;
}

#[tokio::test]
async fn open_runs_show_lease_owner_expiry_and_next_step() {
    let cluster = start_cluster(&[("runs.lease", "1s"), ("runs.lease_grace", "10m")]).await;
    let tenant = cluster.create_test_tenant("acme").await;
    for (step, with_command) in [(0, false), (1, true), (2, false), (3, true), (4, true), (5, true)] {
        let run = cluster.create_run(&tenant).await;
        let command = if with_command { Some(cluster.send_turn(&run, "go").await) } else { None };
        if step >= 2 {
            advance_run(&cluster, &tenant, &run, command.as_deref(), step).await;
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    // The leases expire during the loop. The grace period is long, so no run is recovered.
    let deadline = Instant::now() + Duration::from_secs(120);
    while !seen.contains("runner-heartbeat-stale") {
        assert!(Instant::now() < deadline, "no lease expired: {seen:?}");
        let list =
            cluster.second.get_as("/api/v1/runs?tenantId=acme&state=all", &cluster.operator.token).await;
        let runs = list.body["runs"].as_array().expect("runs");
        assert_eq!(runs.len(), 6);
        for run in runs {
            assert_has_owner_and_next_step(run);
            seen.extend([text(run, "status"), text(&run["liveness"], "phase")]);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for expected in ["pending", "claimed", "running", "cancelling", "waiting-runner"] {
        assert!(seen.contains(expected), "no run was {expected}: {seen:?}");
    }
}

/// Claims a run and advances it: to claimed (2, 3), running (4) or cancelling (5).
async fn advance_run(cluster: &Cluster, tenant: &TestTenant, run: &str, command: Option<&str>, step: u8) {
    let claim = cluster.first.claim(tenant, run).await;
    if let (4.., Some(command)) = (step, command) {
        assert_eq!(cluster.first.ack(&claim, command).await.status, 200);
    }
    if step == 5 {
        let cancel = format!("/api/v1/runs/{run}/cancel");
        cluster.second.post_as(&cancel, &cluster.operator.token, json!({})).await;
    }
}

fn assert_has_owner_and_next_step(run: &Value) {
    let (lease, liveness) = (&run["lease"], &run["liveness"]);
    match run["status"].as_str().expect("a status") {
        "pending" => assert_eq!(*lease, Value::Null, "{run}"),
        "claimed" | "running" | "cancelling" => {
            assert!(text(lease, "runnerId").starts_with("rnr_"), "{run}");
            assert!(text(lease, "expiresAt").ends_with('Z'), "{run}");
        }
        other => panic!("an open run has the status {other}: {run}"),
    }
    assert!(!text(liveness, "nextStep").is_empty() && text(liveness, "nextStepAt").ends_with('Z'), "{run}");
    assert!(liveness["recoveryActions"].as_array().is_some_and(|actions| !actions.is_empty()), "{run}");
}
