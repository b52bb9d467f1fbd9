//! Runners that wait for a run, on two replicas.

use std::time::{Duration, Instant};

use futures::future::{join, join_all};
use guildhall_testkit::{PrivateEngines, TestDb};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::cluster::Cluster;
use crate::support::runs::{TestTenant, text};
use crate::support::{Setup, TestResponse, TestServer};

const LONG: u64 = 25_000;

/// Asks for a run, and waits for it.
async fn claim_next(server: &TestServer, tenant: &TestTenant, runner: &str, wait_ms: u64) -> TestResponse {
    let body = json!({ "runnerId": runner, "wait": wait_ms });
    server.post_as("/api/v1/runners/claim", &tenant.enrolment, body).await
}

async fn wait_for_waiting(server: &TestServer, count: u64) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while server.metric("guildhall_http_waiting_requests").await != count {
        assert!(Instant::now() < deadline, "{count} requests do not wait");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn register(server: &TestServer, tenant: &TestTenant, count: usize) -> Vec<String> {
    let mut runners = Vec::new();
    for _ in 0..count {
        runners.push(server.register_runner(tenant).await);
    }
    runners
}

#[tokio::test]
async fn waiting_runners_keep_no_other_request_out() {
    let db = TestDb::new().await;
    let cluster = Cluster::with_setup(Setup::new(&db).with("http.max_concurrent_requests", 4), db).await;
    let tenant = cluster.create_test_tenant("acme").await;
    let runners = register(&cluster.first, &tenant, 12).await;
    let waiting = join_all(runners.iter().map(|runner| claim_next(&cluster.first, &tenant, runner, 4_000)));
    let others = async {
        wait_for_waiting(&cluster.first, 12).await;
        for _ in 0..20 {
            assert_eq!(cluster.first.get_as("/api/v1/whoami", &cluster.operator.token).await.status, 200);
        }
    };
    let (answers, ()) = join(waiting, others).await;
    assert!(
        answers
            .iter()
            .all(|answer| answer.status == 200 && answer.body == json!({ "grant": null, "waitedMs": 0 }))
    );
    assert_eq!(cluster.first.metric("guildhall_http_waiting_requests").await, 0);
}

/// Without a bound, each of N waiting runners looked for the run twice.
#[tokio::test]
async fn offered_run_wakes_one_runner_of_each_replica() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let runners = register(&cluster.first, &tenant, 20).await;
    let run = cluster.create_run(&tenant).await;
    let servers = [&cluster.first, &cluster.second];
    let waiting = join_all(
        runners.iter().enumerate().map(|(at, runner)| claim_next(servers[at % 2], &tenant, runner, 6_000)),
    );
    let offer = async {
        wait_for_waiting(&cluster.first, 20).await;
        let before = cluster.first.metric("guildhall_run_claim_looks_total").await;
        cluster.send_turn(&run, "go").await;
        before
    };
    let (answers, before) = join(waiting, offer).await;
    let claimed: Vec<&Value> =
        answers.iter().map(|answer| &answer.body["grant"]).filter(|grant| !grant.is_null()).collect();
    assert_eq!(claimed.len(), 1, "one runner gets the run");
    assert_eq!(claimed[0]["run"]["runId"], json!(run));
    let looks = cluster.first.metric("guildhall_run_claim_looks_total").await - before;
    // One on each replica; a poll between the commit and the offer wakes at most one more of each.
    assert!((1..=4).contains(&looks), "{looks} looks for one run and 20 waiting runners");
}

#[tokio::test]
async fn each_of_many_offered_runs_finds_a_runner() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let runners = register(&cluster.first, &tenant, 16).await;
    let mut runs = Vec::new();
    for _ in 0..16 {
        runs.push(cluster.create_run(&tenant).await);
    }
    let servers = [&cluster.first, &cluster.second];
    let waiting = join_all(
        runners.iter().enumerate().map(|(at, runner)| claim_next(servers[at % 2], &tenant, runner, LONG)),
    );
    let offers = async {
        wait_for_waiting(&cluster.first, 16).await;
        join_all(runs.iter().map(|run| cluster.send_turn(run, "go"))).await;
    };
    let (answers, ()) = join(waiting, offers).await;
    let mut claimed: Vec<String> =
        answers.iter().map(|answer| text(&answer.body["grant"]["run"], "runId")).collect();
    claimed.sort();
    runs.sort();
    assert_eq!(claimed, runs);
}

#[tokio::test]
async fn lost_offer_is_found_by_the_poll() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.urls()).await;
    let setup = Setup::with_private_engines(&db, &engines.urls());
    let cluster = Cluster::with_setup(setup, db).await;
    let tenant = cluster.create_test_tenant("acme").await;
    let (run, runner) = (cluster.create_run(&tenant).await, cluster.first.register_runner(&tenant).await);
    engines.nats.kill();
    let offer = async {
        wait_for_waiting(&cluster.first, 1).await;
        // The second replica gets the command; the runner waits at the first.
        cluster.send_turn(&run, "go").await;
    };
    let (answer, ()) = join(claim_next(&cluster.first, &tenant, &runner, LONG), offer).await;
    assert_eq!(answer.body["grant"]["run"]["runId"], json!(run), "{}", answer.text);
}

/// The holder of an idle run waits at one replica, and the command comes to the other.
#[tokio::test]
async fn holder_gets_a_command_without_nats() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.urls()).await;
    let setup = Setup::with_private_engines(&db, &engines.urls());
    let cluster = Cluster::with_setup(setup, db).await;
    let tenant = cluster.create_test_tenant("acme").await;
    let run = cluster.create_run(&tenant).await;
    let claim = cluster.first.claim(&tenant, &run).await;
    engines.nats.kill();
    let began = Instant::now();
    let send = async {
        wait_for_waiting(&cluster.first, 1).await;
        cluster.send_turn(&run, "go").await
    };
    let (work, command) = join(cluster.first.poll(&claim, 0, 30_000), send).await;
    assert_eq!(work.body["commands"][0]["commandId"], json!(command), "{}", work.text);
    assert!(began.elapsed() < Duration::from_secs(25), "found at the end of the poll only");
}

/// The default wait of a runner is longer than the default timeout.
#[tokio::test]
async fn poll_may_wait_longer_than_the_request_timeout() {
    let db = TestDb::new().await;
    let setup = Setup::new(&db).with("http.request_timeout", "5s");
    let cluster = Cluster::with_setup(setup, db).await;
    let tenant = cluster.create_test_tenant("acme").await;
    let run = cluster.create_run(&tenant).await;
    let claim = cluster.first.claim(&tenant, &run).await;
    let work = cluster.first.poll(&claim, 0, 6_000).await;
    assert_eq!(work.status, 200, "{}", work.text);
    assert_eq!(work.body["commands"], json!([]));
}

/// What is known of a waiting runner may be old; the claim itself is not.
#[tokio::test]
async fn runner_that_was_revoked_or_drained_while_it_waits_gets_no_run() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let token = &cluster.operator.token;
    let runner = cluster.first.register_runner(&tenant).await;
    let run = cluster.create_run(&tenant).await;
    let drain = async {
        wait_for_waiting(&cluster.first, 1).await;
        let path = format!("/api/v1/tenants/{}/runners/{runner}/drain", tenant.id);
        assert_eq!(cluster.second.request_as(Method::POST, &path, token, None).await.status, 200);
        cluster.send_turn(&run, "go").await;
    };
    let (answer, ()) = join(claim_next(&cluster.first, &tenant, &runner, LONG), drain).await;
    answer.assert_failure(409, "conflict");

    let (id, secret) = cluster.create_enrolment(&tenant.id).await;
    let revoked = TestTenant { id: tenant.id.clone(), enrolment: secret };
    let runner = cluster.first.register_runner(&revoked).await;
    // It gets the waiting run, gives it back, and waits.
    let first = claim_next(&cluster.first, &revoked, &runner, 0).await;
    assert_eq!(first.body["grant"]["run"]["runId"], json!(run));
    cluster.db.sql().await.execute("DELETE FROM leases; UPDATE commands SET state = 'cancelled'").await;
    let revoke = async {
        wait_for_waiting(&cluster.first, 1).await;
        let path = format!("/api/v1/tenants/{}/enrolments/{id}", tenant.id);
        assert_eq!(cluster.second.request_as(Method::DELETE, &path, token, None).await.status, 200);
        let other = cluster.create_run(&tenant).await;
        cluster.send_turn(&other, "go").await;
        other
    };
    let (answer, other) = join(claim_next(&cluster.first, &revoked, &runner, LONG), revoke).await;
    answer.assert_failure(401, "unauthenticated");
    let other = other.trim_start_matches("run_").to_owned();
    let leases = format!("SELECT count(*) FROM leases WHERE run = '{other}'");
    assert_eq!(cluster.db.sql().await.number(&leases).await, 0);
    claim_next(&cluster.first, &revoked, &runner, 0).await.assert_failure(401, "unauthenticated");
}

/// The token of an enrolment tells nothing about the runners of another.
#[tokio::test]
async fn runner_of_another_enrolment_cannot_be_named() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let (_, other) = cluster.create_enrolment(&tenant.id).await;
    let other = TestTenant { id: tenant.id.clone(), enrolment: other };
    let runner = cluster.first.register_runner(&tenant).await;
    for _ in 0..2 {
        claim_next(&cluster.first, &other, &runner, 0).await.assert_failure(404, "not-found");
        assert_eq!(claim_next(&cluster.first, &tenant, &runner, 0).await.status, 200);
    }
    let forged = TestTenant { id: tenant.id.clone(), enrolment: format!("{}x", &tenant.enrolment) };
    claim_next(&cluster.first, &forged, &runner, 0).await.assert_failure(401, "unauthenticated");
}
