//! The installation's own pool: warm runners, who gets the next run, and what their tokens open.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use guildhall_testkit::TestDb;
use serde_json::json;

use crate::support::launch::Place;
use crate::support::people::World;
use crate::support::runs::{ask, text};

#[tokio::test]
async fn a_warm_runner_takes_a_run_of_any_tenant_at_once_and_is_replaced() {
    let place = Place::new();
    let db = TestDb::new().await;
    let world = World::on(place.setup(&db).with("launcher.warm", "demo=1"), db).await;
    let yards = [world.yard("acme").await, world.yard("other").await];
    for yard in &yards {
        let deadline = Instant::now() + Duration::from_secs(20);
        let idle = "SELECT count(*) FROM runner_jobs JOIN runners USING (enrolment)
                    WHERE ended_at IS NULL AND run IS NULL";
        while world.db.sql().await.number(idle).await == 0 {
            assert!(Instant::now() < deadline, "no runner is warm");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let run = world.run(yard).await;
        let began = Instant::now();
        let command = world.command(&run, "go").await;
        world.until(&format!("/api/v1/runs/{run}"), |run| run["lease"].is_object()).await;
        println!("a warm runner had the run after {:?}", began.elapsed());
        world.until_command(&run, &command, "completed").await;
        let jobs = world.until(&format!("/api/v1/runs/{run}/runner-jobs"), |_| true).await;
        assert_eq!(
            (jobs["runnerJobs"][0]["kind"].as_str(), jobs["runnerJobs"][1].is_null()),
            (Some("warm"), true)
        );
        world.until_job(&run, &text(&jobs["runnerJobs"][0], "runnerJobId"), "succeeded").await;
    }
    let warm = "SELECT count(*) FROM runner_jobs WHERE ended_at IS NULL AND run IS NULL";
    assert!(world.db.sql().await.number(warm).await <= 1, "two replicas of one place keep one");
}

#[tokio::test]
async fn a_run_that_no_warm_runner_takes_gets_one_of_its_own() {
    let place = Place::new();
    let db = TestDb::new().await;
    let world = World::on(place.setup(&db).with("launcher.cold_start", true), db).await;
    let run = world.run(&world.yard("acme").await).await;
    let command = world.command(&run, "go").await;
    world.until_command(&run, &command, "completed").await;
    let jobs = world.until(&format!("/api/v1/runs/{run}/runner-jobs"), |_| true).await;
    assert_eq!((jobs["runnerJobs"][0]["kind"].as_str(), place.attempts()), (Some("cold"), 1), "{jobs}");
}

#[tokio::test]
async fn no_more_processes_run_than_there_may_and_who_has_few_comes_first_when_there_is_room() {
    let place = Place::new();
    let db = TestDb::new().await;
    let setup = place.setup(&db).with("launcher.cold_start", true).with("launcher.max_processes", 2);
    let world = World::on(setup, db).await;
    world.waiting("acme", 5).await;
    let (_, modest) = world.waiting("modest", 1).await;
    let deadline = Instant::now() + Duration::from_secs(60);
    let done = "SELECT count(*) FROM commands WHERE state = 'completed'";
    let mut most = 0;
    while world.db.sql().await.number(done).await < 6 {
        most = most.max(place.processes().len());
        assert!(Instant::now() < deadline, "not all were served");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(most, 2, "at a time");
    let order = "SELECT 'run_' || replace(run::text, '-', '') FROM commands ORDER BY acked_at";
    let order = world.db.sql().await.texts(order).await;
    let place = order.iter().position(|run| *run == modest[0]).expect("it was served");
    assert!(place <= 3, "{place}: who came last with one run waits for the two that ran, not for five");
}

#[tokio::test]
async fn a_tenant_that_floods_the_pool_does_not_keep_another_waiting() {
    let world = World::new().await;
    let (_, flood) = world.waiting("flood", 50).await;
    let (_, modest) = world.waiting("modest", 1).await;
    let (_, third) = world.waiting("third", 2).await;
    let mut order = Vec::new();
    for _ in 0..8 {
        let enrolment = world.pool_enrolment().await;
        let runner = world.other.register_under(&enrolment).await;
        let grant = world.one.claim_next(&enrolment, &runner).await.expect("a run waits");
        order.push(text(&grant["run"], "runId"));
    }
    let names: BTreeMap<&str, &str> = flood
        .iter()
        .map(|run| (run.as_str(), "flood"))
        .chain(modest.iter().map(|run| (run.as_str(), "modest")))
        .chain(third.iter().map(|run| (run.as_str(), "third")))
        .collect();
    let tenants: Vec<&str> = order.iter().map(|run| names[run.as_str()]).collect();
    assert_eq!(tenants, ["flood", "modest", "third", "flood", "third", "flood", "flood", "flood"]);
    let floods: Vec<_> = order.iter().filter(|run| names[run.as_str()] == "flood").collect();
    assert_eq!(floods, flood[..5].iter().collect::<Vec<_>>(), "the longest waiting first");
}

#[tokio::test]
async fn a_pool_token_that_a_tenants_agent_got_hold_of_opens_no_other_run() {
    let world = World::new().await;
    let (_, theirs) = world.waiting("theirs", 2).await;
    let (_, ours) = world.waiting("ours", 1).await;
    let [stolen, other] = [world.pool_enrolment().await, world.pool_enrolment().await];
    let [thief, holder] = [world.one.register_under(&stolen).await, world.one.register_under(&other).await];
    let claim = async |enrolment: &str, runner: &str, run: &str| {
        let path = format!("/api/v1/runs/{run}/claim");
        world.other.post_as(&path, enrolment, json!({ "runnerId": runner })).await
    };
    let served = claim(&stolen, &thief, &ours[0]).await;
    assert_eq!(served.status, 200, "{}", served.text);
    let held = claim(&other, &holder, &theirs[0]).await;
    assert_eq!(held.status, 200, "{}", held.text);
    let grant = world.one.get_as("/api/v1/runner/grant", &text(&served.body, "runToken")).await;
    let tenant = text(&world.show(&ours[0]).await, "tenantId");
    assert_eq!(grant.body["tenant"], tenant.as_str(), "the token is for the run's tenant: {}", grant.text);

    // It has had its run: neither a run that waits, nor one that another runner holds, nor under that runner's name.
    claim(&stolen, &thief, &theirs[1]).await.assert_failure(404, "not-found");
    claim(&stolen, &thief, &theirs[0]).await.assert_failure(404, "not-found");
    claim(&stolen, &holder, &theirs[0]).await.assert_failure(404, "not-found");
    assert_eq!(world.one.claim_next(&stolen, &thief).await, None);
    // Nor does a token that has had none yet, under the name of the runner that holds it.
    let fresh = world.pool_enrolment().await;
    claim(&fresh, &holder, &theirs[0]).await.assert_failure(404, "not-found");
    let again = world.one.register_under(&stolen).await;
    claim(&stolen, &again, &theirs[1]).await.assert_failure(404, "not-found");
    // The token of its own run reads no other.
    let path = format!("/api/v1/runs/{}/commands", theirs[0]);
    world.one.get_as(&path, &text(&served.body, "runToken")).await.assert_failure(404, "not-found");
}

#[tokio::test]
async fn of_two_claims_at_once_a_pool_token_wins_one() {
    let world = World::new().await;
    let (_, runs) = world.waiting("acme", 6).await;
    for pair in runs.chunks(2) {
        let enrolment = world.pool_enrolment().await;
        let runner = world.one.register_under(&enrolment).await;
        let body = json!({ "runnerId": runner });
        let [one, other] = [&pair[0], &pair[1]].map(|run| format!("/api/v1/runs/{run}/claim"));
        let (one, other) = tokio::join!(
            world.one.post_as(&one, &enrolment, body.clone()),
            world.other.post_as(&other, &enrolment, body.clone())
        );
        let mut statuses = [one.status.as_u16(), other.status.as_u16()];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 404], "{} {}", one.text, other.text);
    }
}

#[tokio::test]
async fn a_tenants_own_token_gets_no_other_tenants_run_and_none_of_the_pools() {
    let world = World::new().await;
    let (yard, _) = world.waiting("ours", 0).await;
    let (_, theirs) = world.waiting("theirs", 2).await;
    let runner = world.one.register(&yard).await;
    let pool = world.pool_enrolment().await;
    let warm = world.one.register_under(&pool).await;
    let path = format!("/api/v1/runs/{}/claim", theirs[0]);
    let held = world.one.post_as(&path, &pool, json!({ "runnerId": warm })).await;
    assert_eq!(held.status, 200, "{}", held.text);
    for name in [&runner, &warm] {
        for run in &theirs {
            world.other.try_claim(&yard, run, name).await.assert_failure(404, "not-found");
        }
    }
    assert_eq!(world.other.claim_next(&yard.enrolment, &runner).await, None);
    let body = json!({ "runnerId": warm, "wait": 0 });
    let refused = world.other.post_as("/api/v1/runners/claim", &yard.enrolment, body).await;
    refused.assert_failure(404, "not-found");
    // Revoked, its run token ends too, whichever tenant's run it was for.
    world.db.sql().await.execute("UPDATE enrolments SET revoked_at = now() WHERE tenant IS NULL").await;
    let grant = world.other.get_as("/api/v1/runner/grant", &text(&held.body, "runToken")).await;
    grant.assert_failure(401, "unauthenticated");
}

#[tokio::test]
async fn the_pool_leaves_runs_whose_tenant_keeps_the_profile_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let world = World::keeping_secrets(&folder).await;
    let operator = &world.operator.access;
    let (own, other) = (world.yard("acme").await, world.yard("other").await);
    let credential = |key: &str| json!({ "credential": key });
    let shared = "/api/v1/provider-profiles/codex/credential?scope=shared";
    let kept = world.one.ask(reqwest::Method::PUT, shared, operator, Some(credential("sk-shared"))).await;
    assert_eq!(kept.status, 200, "{}", kept.text);
    let kept = world.one.put_credential(&own.tenant, "codex", operator, credential("sk-own")).await;
    assert_eq!(kept.status, 200, "{}", kept.text);
    let mut runs = Vec::new();
    for yard in [&own, &other] {
        let mut ask = ask(&yard.tenant);
        ask["backendProfile"] = json!("codex");
        let named = json!([{ "name": "guildhall-provider-codex", "keys": ["credential"] }]);
        ask["executionPolicy"]["secretScope"] = json!({ "providerCredentials": named });
        let made = world.one.post_as("/api/v1/runs", operator, ask).await;
        assert_eq!(made.status, 201, "{}", made.text);
        runs.push(text(&made.body, "runId"));
        world.command(&runs[runs.len() - 1], "go").await;
    }
    let [first, second] = [world.pool_enrolment_for("codex").await, world.pool_enrolment_for("codex").await];
    let warm = world.one.register_under(&first).await;
    let grant = world.one.claim_next(&first, &warm).await.expect("the other tenant's run");
    assert!(grant.to_string().contains(&runs[1]), "{grant}");
    let warm = world.one.register_under(&second).await;
    assert_eq!(world.one.claim_next(&second, &warm).await, None, "it has not got that profile");
    let claim = json!({ "runnerId": warm });
    let named = world.one.post_as(&format!("/api/v1/runs/{}/claim", runs[0]), &second, claim).await;
    named.assert_failure(404, "not-found");
}
