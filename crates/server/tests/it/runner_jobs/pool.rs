//! The runner pool of the installation: warm runners, fair order of runs, and permissions of pool tokens.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use guildhall_testkit::TestDb;
use serde_json::json;

use crate::support::cluster::Cluster;
use crate::support::launcher::TestLauncher;
use crate::support::runs::{run_request, text};

#[tokio::test]
async fn warm_runner_claims_a_run_of_any_tenant_and_is_replaced() {
    let launcher = TestLauncher::new();
    let db = TestDb::new().await;
    let cluster = Cluster::with_setup(launcher.setup(&db).with("launcher.warm", "demo=1"), db).await;
    let tenants = [cluster.create_test_tenant("acme").await, cluster.create_test_tenant("other").await];
    for tenant in &tenants {
        let deadline = Instant::now() + Duration::from_secs(120);
        let idle_runners = "SELECT count(*) FROM runner_jobs JOIN runners USING (enrolment)
                    WHERE ended_at IS NULL AND run IS NULL";
        while cluster.db.sql().await.number(idle_runners).await == 0 {
            assert!(Instant::now() < deadline, "no warm runner was started");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let run = cluster.create_run(tenant).await;
        let began = Instant::now();
        let command = cluster.send_turn(&run, "go").await;
        cluster.wait_until(&format!("/api/v1/runs/{run}"), |run| run["lease"].is_object()).await;
        println!("a warm runner claimed the run after {:?}", began.elapsed());
        cluster.wait_for_command(&run, &command, "completed").await;
        let jobs = cluster.wait_until(&format!("/api/v1/runs/{run}/runner-jobs"), |_| true).await;
        assert_eq!(
            (jobs["runnerJobs"][0]["kind"].as_str(), jobs["runnerJobs"][1].is_null()),
            (Some("warm"), true)
        );
        cluster.wait_for_job(&run, &text(&jobs["runnerJobs"][0], "runnerJobId"), "succeeded").await;
    }
    let warm_runners = "SELECT count(*) FROM runner_jobs WHERE ended_at IS NULL AND run IS NULL";
    assert!(
        cluster.db.sql().await.number(warm_runners).await <= 1,
        "two replicas of one launcher share a pool"
    );
}

#[tokio::test]
async fn run_without_a_warm_runner_gets_a_cold_start() {
    let launcher = TestLauncher::new();
    let db = TestDb::new().await;
    let cluster = Cluster::with_setup(launcher.setup(&db).with("launcher.cold_start", true), db).await;
    let run = cluster.create_run(&cluster.create_test_tenant("acme").await).await;
    let command = cluster.send_turn(&run, "go").await;
    cluster.wait_for_command(&run, &command, "completed").await;
    let jobs = cluster.wait_until(&format!("/api/v1/runs/{run}/runner-jobs"), |_| true).await;
    assert_eq!(
        (jobs["runnerJobs"][0]["kind"].as_str(), launcher.attempt_count()),
        (Some("cold"), 1),
        "{jobs}"
    );
}

#[tokio::test]
async fn process_limit_holds_and_tenants_with_fewer_runs_go_first() {
    let launcher = TestLauncher::new();
    let db = TestDb::new().await;
    let setup = launcher.setup(&db).with("launcher.cold_start", true).with("launcher.max_processes", 2);
    let cluster = Cluster::with_setup(setup, db).await;
    cluster.create_pending_runs("acme", 5).await;
    let (_, small) = cluster.create_pending_runs("small", 1).await;
    let deadline = Instant::now() + Duration::from_secs(120);
    let done = "SELECT count(*) FROM commands WHERE state = 'completed'";
    let mut max_runners = 0;
    while cluster.db.sql().await.number(done).await < 6 {
        max_runners = max_runners.max(launcher.runner_pids().len());
        assert!(Instant::now() < deadline, "not all runs were completed");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(max_runners, 2, "runners at a time");
    let order = "SELECT 'run_' || replace(run::text, '-', '') FROM commands ORDER BY acked_at";
    let order = cluster.db.sql().await.texts(order).await;
    let position = order.iter().position(|run| *run == small[0]).expect("a completed run");
    assert!(
        position <= 3,
        "position {position}: the only run of a tenant must wait for the two running ones, not for five"
    );
}

/// A run that is done keeps its runner for the next command, but not while others wait.
#[tokio::test]
async fn idle_runner_gives_its_place_to_a_waiting_run() {
    let launcher = TestLauncher::new();
    let db = TestDb::new().await;
    let setup = launcher
        .setup(&db)
        .with("launcher.cold_start", true)
        .with("launcher.max_processes", 1)
        .with("launcher.idle", "1h");
    let cluster = Cluster::with_setup(setup, db).await;
    let tenant = cluster.create_test_tenant("acme").await;
    let other = cluster.create_test_tenant("other").await;
    let first = cluster.create_run(&tenant).await;
    let command = cluster.send_turn(&first, "go").await;
    cluster.wait_for_command(&first, &command, "completed").await;
    assert_eq!(launcher.runner_pids().len(), 1, "nobody waits: it keeps its runner");
    for tenant in [&other, &tenant] {
        let next = cluster.create_run(tenant).await;
        let command = cluster.send_turn(&next, "go").await;
        cluster.wait_for_command(&next, &command, "completed").await;
    }
    let again = cluster.send_turn(&first, "and again").await;
    cluster.wait_for_command(&first, &again, "completed").await;
    assert_eq!(launcher.attempt_count(), 4);
}

#[tokio::test]
async fn tenant_with_many_runs_does_not_starve_other_tenants() {
    let cluster = Cluster::new().await;
    let (_, flood) = cluster.create_pending_runs("flood", 50).await;
    let (_, small) = cluster.create_pending_runs("small", 1).await;
    let (_, third) = cluster.create_pending_runs("third", 2).await;
    let mut order = Vec::new();
    for _ in 0..8 {
        let enrolment = cluster.create_pool_enrolment().await;
        let runner = cluster.second.register_runner_with(&enrolment).await;
        let grant = cluster.first.claim_next(&enrolment, &runner).await.expect("a pending run");
        order.push(text(&grant["run"], "runId"));
    }
    let names: BTreeMap<&str, &str> = flood
        .iter()
        .map(|run| (run.as_str(), "flood"))
        .chain(small.iter().map(|run| (run.as_str(), "small")))
        .chain(third.iter().map(|run| (run.as_str(), "third")))
        .collect();
    let tenants: Vec<&str> = order.iter().map(|run| names[run.as_str()]).collect();
    assert_eq!(tenants, ["flood", "small", "third", "flood", "third", "flood", "flood", "flood"]);
    let floods: Vec<_> = order.iter().filter(|run| names[run.as_str()] == "flood").collect();
    assert_eq!(floods, flood[..5].iter().collect::<Vec<_>>(), "the oldest run comes first");
}

#[tokio::test]
async fn used_pool_token_cannot_access_another_run() {
    let cluster = Cluster::new().await;
    let (_, theirs) = cluster.create_pending_runs("theirs", 2).await;
    let (_, ours) = cluster.create_pending_runs("ours", 1).await;
    let [stolen, other] = [cluster.create_pool_enrolment().await, cluster.create_pool_enrolment().await];
    let [thief, holder] =
        [cluster.first.register_runner_with(&stolen).await, cluster.first.register_runner_with(&other).await];
    let claim = async |enrolment: &str, runner: &str, run: &str| {
        let path = format!("/api/v1/runs/{run}/claim");
        cluster.second.post_as(&path, enrolment, json!({ "runnerId": runner })).await
    };
    let served = claim(&stolen, &thief, &ours[0]).await;
    assert_eq!(served.status, 200, "{}", served.text);
    let claimed = claim(&other, &holder, &theirs[0]).await;
    assert_eq!(claimed.status, 200, "{}", claimed.text);
    let grant = cluster.first.get_as("/api/v1/runner/grant", &text(&served.body, "runToken")).await;
    let tenant = text(&cluster.get_run(&ours[0]).await, "tenantId");
    assert_eq!(
        grant.body["tenant"],
        tenant.as_str(),
        "the grant is for the tenant of the run: {}",
        grant.text
    );

    // The stolen token is used: it can claim neither a pending run, nor a claimed run, nor act as another runner.
    claim(&stolen, &thief, &theirs[1]).await.assert_failure(404, "not-found");
    claim(&stolen, &thief, &theirs[0]).await.assert_failure(404, "not-found");
    claim(&stolen, &holder, &theirs[0]).await.assert_failure(404, "not-found");
    assert_eq!(cluster.first.claim_next(&stolen, &thief).await, None);
    // An unused token cannot act as the runner that holds a run.
    let fresh = cluster.create_pool_enrolment().await;
    claim(&fresh, &holder, &theirs[0]).await.assert_failure(404, "not-found");
    let again = cluster.first.register_runner_with(&stolen).await;
    claim(&stolen, &again, &theirs[1]).await.assert_failure(404, "not-found");
    // A run token cannot read another run.
    let path = format!("/api/v1/runs/{}/commands", theirs[0]);
    cluster.first.get_as(&path, &text(&served.body, "runToken")).await.assert_failure(404, "not-found");
}

#[tokio::test]
async fn concurrent_claims_of_one_pool_token_have_one_winner() {
    let cluster = Cluster::new().await;
    let (_, runs) = cluster.create_pending_runs("acme", 6).await;
    for pair in runs.chunks(2) {
        let enrolment = cluster.create_pool_enrolment().await;
        let runner = cluster.first.register_runner_with(&enrolment).await;
        let body = json!({ "runnerId": runner });
        let [one, other] = [&pair[0], &pair[1]].map(|run| format!("/api/v1/runs/{run}/claim"));
        let (one, other) = tokio::join!(
            cluster.first.post_as(&one, &enrolment, body.clone()),
            cluster.second.post_as(&other, &enrolment, body.clone())
        );
        let mut statuses = [one.status.as_u16(), other.status.as_u16()];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 404], "{} {}", one.text, other.text);
    }
}

#[tokio::test]
async fn tenant_enrolment_cannot_claim_runs_of_other_tenants() {
    let cluster = Cluster::new().await;
    let (tenant, _) = cluster.create_pending_runs("ours", 0).await;
    let (_, theirs) = cluster.create_pending_runs("theirs", 2).await;
    let runner = cluster.first.register_runner(&tenant).await;
    let pool = cluster.create_pool_enrolment().await;
    let warm = cluster.first.register_runner_with(&pool).await;
    let path = format!("/api/v1/runs/{}/claim", theirs[0]);
    let claimed = cluster.first.post_as(&path, &pool, json!({ "runnerId": warm })).await;
    assert_eq!(claimed.status, 200, "{}", claimed.text);
    for name in [&runner, &warm] {
        for run in &theirs {
            cluster.second.try_claim(&tenant, run, name).await.assert_failure(404, "not-found");
        }
    }
    assert_eq!(cluster.second.claim_next(&tenant.enrolment, &runner).await, None);
    let body = json!({ "runnerId": warm, "wait": 0 });
    let refused = cluster.second.post_as("/api/v1/runners/claim", &tenant.enrolment, body).await;
    refused.assert_failure(404, "not-found");
    // Revoking a pool enrolment revokes its run tokens, whatever the tenant.
    cluster.db.sql().await.execute("UPDATE enrolments SET revoked_at = now() WHERE tenant IS NULL").await;
    let grant = cluster.second.get_as("/api/v1/runner/grant", &text(&claimed.body, "runToken")).await;
    grant.assert_failure(401, "unauthenticated");
}

#[tokio::test]
async fn pool_skips_runs_whose_tenant_has_its_own_credential() {
    let folder = tempfile::tempdir().expect("a folder");
    let cluster = Cluster::with_secrets_folder(&folder).await;
    let operator = &cluster.operator.token;
    let (own, other) = (cluster.create_test_tenant("acme").await, cluster.create_test_tenant("other").await);
    let credential = |key: &str| json!({ "credential": key });
    let shared = "/api/v1/provider-profiles/codex/credential?scope=shared";
    let body = Some(credential("sk-shared"));
    let stored = cluster.first.request_as(reqwest::Method::PUT, shared, operator, body).await;
    assert_eq!(stored.status, 200, "{}", stored.text);
    let stored = cluster.first.put_credential(&own.id, "codex", operator, credential("sk-own")).await;
    assert_eq!(stored.status, 200, "{}", stored.text);
    let mut runs = Vec::new();
    for tenant in [&own, &other] {
        let mut request = run_request(&tenant.id);
        request["backendProfile"] = json!("codex");
        let named = json!([{ "name": "guildhall-provider-codex", "keys": ["credential"] }]);
        request["executionPolicy"]["secretScope"] = json!({ "providerCredentials": named });
        let created = cluster.first.post_as("/api/v1/runs", operator, request).await;
        assert_eq!(created.status, 201, "{}", created.text);
        runs.push(text(&created.body, "runId"));
        cluster.send_turn(&runs[runs.len() - 1], "go").await;
    }
    let [first, second] =
        [cluster.create_pool_enrolment_for("codex").await, cluster.create_pool_enrolment_for("codex").await];
    let warm = cluster.first.register_runner_with(&first).await;
    let grant = cluster.first.claim_next(&first, &warm).await.expect("the other tenant's run");
    assert!(grant.to_string().contains(&runs[1]), "{grant}");
    let warm = cluster.first.register_runner_with(&second).await;
    assert_eq!(
        cluster.first.claim_next(&second, &warm).await,
        None,
        "the pool does not have the credential of the tenant"
    );
    let claim = json!({ "runnerId": warm });
    let named = cluster.first.post_as(&format!("/api/v1/runs/{}/claim", runs[0]), &second, claim).await;
    named.assert_failure(404, "not-found");
}
