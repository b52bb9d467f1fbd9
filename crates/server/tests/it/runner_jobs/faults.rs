//! Runners, servers and places that die.

use std::time::{Duration, Instant};

use guildhall_testkit::TestDb;
use serde_json::json;

use crate::support::launch::Place;
use crate::support::people::World;
use crate::support::runs::text;

#[tokio::test]
async fn a_job_that_a_killed_server_wrote_or_began_with_is_started_once() {
    let place = Place::new();
    let world = super::world(&place).await;
    let yard = world.yard("acme").await;
    for began in [false, true] {
        let run = world.run(&yard).await;
        let command = world.command(&run, "go").await;
        if began {
            // As if it was taken, and the server died before anything was started.
            world.db.sql().await.execute("ALTER TABLE runner_jobs ALTER phase SET DEFAULT 'launching'").await;
            let old = "ALTER TABLE runner_jobs ALTER tried_at SET DEFAULT now() - interval '1 hour'";
            world.db.sql().await.execute(old).await;
        }
        let job = world.runner_job(&run).await;
        world.until_command(&run, &command, "completed").await;
        world.until_job(&run, &job, "succeeded").await;
    }
    assert_eq!(place.attempts(), 2);
}

#[tokio::test]
async fn a_command_that_is_cancelled_before_its_runner_is_started_starts_none() {
    let place = Place::new();
    let world = super::world(&place).await;
    let run = world.run(&world.yard("acme").await).await;
    let command = world.command(&run, "go").await;
    world.db.sql().await.execute("UPDATE commands SET state = 'cancelled'").await;
    let job = world.runner_job(&run).await;
    let ended = world.until_job(&run, &job, "failed").await;
    assert!(text(&ended["terminal"], "message").contains("not needed"), "{ended}");
    assert_eq!((ended["commandId"].as_str(), place.attempts()), (Some(&*command), 0));
}

#[tokio::test]
async fn the_death_of_a_runner_gives_its_run_to_the_next_long_before_its_lease_is_over() {
    let place = Place::new();
    let db = TestDb::new().await;
    let setup = place.setup(&db).with("runs.lease", "10m").with("launcher.cold_start", true);
    let world = World::on(setup, db).await;
    let run = world.run(&world.yard("acme").await).await;
    let command = world.command(&run, "slow").await;
    let job = text(&world.one.launch(&world, &run, "first", json!({})).await.body, "runnerJobId");
    world.until_command(&run, &command, "running").await;
    let next = world.command(&run, "go on").await;
    let running = place.processes();
    assert_eq!(running.len(), 1, "{running:?}");
    let killed = Instant::now();
    place.kill(running[0]);
    let lost = world.until_command(&run, &command, "failed").await;
    let took = killed.elapsed();
    assert_eq!(lost["failureKind"], "runner-lost", "{lost}");
    world.until_command(&run, &next, "completed").await;
    let dead = world.job(&run, &job).await;
    assert_eq!(dead["terminal"]["message"], "its process was killed by signal 9", "{dead}");
    assert!(took < Duration::from_secs(15), "{took:?}, and the lease is ten minutes");
    println!("a dead runner's run was free after {took:?}");
}

#[tokio::test]
async fn a_warm_runner_that_outlived_its_server_is_not_replaced_and_takes_the_next_run() {
    let place = Place::new();
    let db = TestDb::new().await;
    let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port");
    let setup = place.setup(&db).with("launcher.warm", "demo=1").with("http.listen", free);
    let first = setup.start().await;
    let waits = "SELECT count(*) FROM runner_jobs JOIN runners USING (enrolment) WHERE ended_at IS NULL";
    let deadline = Instant::now() + Duration::from_secs(20);
    while db.sql().await.number(waits).await == 0 {
        assert!(Instant::now() < deadline, "no runner is warm");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let before = place.processes();
    first.server.shutdown().await;
    let world = World::under(setup.clone(), place.setup(&db).with("launcher.warm", "demo=1"), db).await;
    let run = world.run(&world.yard("acme").await).await;
    let command = world.command(&run, "slow").await;
    world.until_command(&run, &command, "running").await;
    let jobs = world.until(&format!("/api/v1/runs/{run}/runner-jobs"), |_| true).await;
    assert_eq!(jobs["runnerJobs"][0]["kind"], "warm", "{jobs}");
    let attempt = text(&jobs["runnerJobs"][0], "attemptId");
    let line = std::fs::read(format!("/proc/{}/cmdline", before[0])).unwrap_or_default();
    let line = String::from_utf8_lossy(&line).into_owned();
    assert!(before.len() == 1 && line.contains(&attempt), "{before:?} {line:?}: the one from before");
}

#[tokio::test]
async fn a_runner_outlives_the_server_that_started_it_and_the_next_one_looks_after_it() {
    let place = Place::new();
    let db = TestDb::new().await;
    let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port");
    let setup = place.setup(&db);
    let world = World::under(setup.clone().with("http.listen", free), setup, db).await;
    let run = world.run(&world.yard("acme").await).await;
    let command = world.command(&run, "slow").await;
    let World { one, other, operator, db } = world;
    // Of the two, the first alone starts runners now: the other is only asked later.
    assert!(other.server.shutdown().await);
    let path = format!("/api/v1/runs/{run}/runner-jobs");
    let job = text(&one.post_as(&path, &operator.access, json!({})).await.body, "runnerJobId");
    let deadline = Instant::now() + Duration::from_secs(20);
    while one.get_as(&format!("/api/v1/runs/{run}"), &operator.access).await.body["status"] != "running" {
        assert!(Instant::now() < deadline, "it does not run");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let before = place.processes();
    one.server.shutdown().await;
    assert_eq!(place.processes(), before, "the runner ended with its server");
    let setup = place.setup(&db);
    let (one, other) =
        tokio::join!(async { setup.clone().with("http.listen", free).start().await }, setup.start());
    let world = World { one, other, operator, db };
    world.until_command(&run, &command, "completed").await;
    let ended = world.until(&format!("{path}/{job}"), |job| job["terminal"].is_object()).await;
    assert_eq!(place.attempts(), 1, "{ended}");
    assert_eq!(ended["commandStatus"], "completed", "{ended}");
}
