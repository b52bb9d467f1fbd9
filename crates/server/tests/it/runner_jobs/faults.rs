//! Killed runners and servers.

use std::time::{Duration, Instant};

use guildhall_testkit::{Stopwatch, TestDb};
use serde_json::json;

use crate::support::cluster::Cluster;
use crate::support::launcher::TestLauncher;
use crate::support::runs::text;

#[tokio::test]
async fn job_of_a_killed_server_is_started_once() {
    let launcher = TestLauncher::new();
    let cluster = super::start_cluster(&launcher).await;
    let tenant = cluster.create_test_tenant("acme").await;
    for was_launching in [false, true] {
        let run = cluster.create_run(&tenant).await;
        let command = cluster.send_turn(&run, "go").await;
        if was_launching {
            // As if the server died after it had taken the job and before it started a process.
            cluster
                .db
                .sql()
                .await
                .execute("ALTER TABLE runner_jobs ALTER phase SET DEFAULT 'launching'")
                .await;
            let tried_at = "ALTER TABLE runner_jobs ALTER tried_at SET DEFAULT now() - interval '1 hour'";
            cluster.db.sql().await.execute(tried_at).await;
        }
        let job = cluster.insert_runner_job(&run).await;
        cluster.wait_for_command(&run, &command, "completed").await;
        cluster.wait_for_job(&run, &job, "succeeded").await;
    }
    assert_eq!(launcher.attempt_count(), 2);
}

#[tokio::test]
async fn job_of_a_cancelled_command_starts_no_process() {
    let launcher = TestLauncher::new();
    let cluster = super::start_cluster(&launcher).await;
    let run = cluster.create_run(&cluster.create_test_tenant("acme").await).await;
    let command = cluster.send_turn(&run, "go").await;
    cluster.db.sql().await.execute("UPDATE commands SET state = 'cancelled'").await;
    let job = cluster.insert_runner_job(&run).await;
    let ended = cluster.wait_for_job(&run, &job, "failed").await;
    assert!(text(&ended["terminal"], "message").contains("no longer needs a runner"), "{ended}");
    assert_eq!((ended["commandId"].as_str(), launcher.attempt_count()), (Some(&*command), 0));
}

#[tokio::test]
async fn killed_runner_is_replaced_before_its_lease_expires() {
    let launcher = TestLauncher::new();
    let db = TestDb::new().await;
    let setup = launcher.setup(&db).with("runs.lease", "10m").with("launcher.cold_start", true);
    let cluster = Cluster::with_setup(setup, db).await;
    let run = cluster.create_run(&cluster.create_test_tenant("acme").await).await;
    let command = cluster.send_turn(&run, "slow").await;
    let job =
        text(&cluster.first.create_runner_job(&cluster, &run, "first", json!({})).await.body, "runnerJobId");
    cluster.wait_for_command(&run, &command, "running").await;
    let next = cluster.send_turn(&run, "go on").await;
    let running = launcher.runner_pids();
    assert_eq!(running.len(), 1, "{running:?}");
    let killed = Stopwatch::start();
    launcher.kill(running[0]);
    let lost = cluster.wait_for_command(&run, &command, "failed").await;
    let took = killed.elapsed();
    assert_eq!(lost["failureKind"], "runner-lost", "{lost}");
    cluster.wait_for_command(&run, &next, "completed").await;
    let dead = cluster.get_job(&run, &job).await;
    assert_eq!(dead["terminal"]["message"], "its process was killed by signal 9", "{dead}");
    assert!(took < Duration::from_secs(15), "detected after {took:?}; the lease is ten minutes");
    println!("the command of a killed runner failed after {took:?}");
}

#[tokio::test]
async fn warm_runner_survives_a_server_restart_and_claims_the_next_run() {
    let launcher = TestLauncher::new();
    let db = TestDb::new().await;
    let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port");
    let setup = launcher.setup(&db).with("launcher.warm", "demo=1").with("http.listen", free);
    let first = setup.start().await;
    let warm_runners =
        "SELECT count(*) FROM runner_jobs JOIN runners USING (enrolment) WHERE ended_at IS NULL";
    let deadline = Instant::now() + Duration::from_secs(120);
    while db.sql().await.number(warm_runners).await == 0 {
        assert!(Instant::now() < deadline, "no warm runner was started");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let before = launcher.runner_pids();
    first.server.shutdown().await;
    let cluster =
        Cluster::with_setups(setup.clone(), launcher.setup(&db).with("launcher.warm", "demo=1"), db).await;
    let run = cluster.create_run(&cluster.create_test_tenant("acme").await).await;
    let command = cluster.send_turn(&run, "slow").await;
    cluster.wait_for_command(&run, &command, "running").await;
    let jobs = cluster.wait_until(&format!("/api/v1/runs/{run}/runner-jobs"), |_| true).await;
    assert_eq!(jobs["runnerJobs"][0]["kind"], "warm", "{jobs}");
    let attempt = text(&jobs["runnerJobs"][0], "attemptId");
    let line = std::fs::read(format!("/proc/{}/cmdline", before[0])).unwrap_or_default();
    let line = String::from_utf8_lossy(&line).into_owned();
    assert!(
        before.len() == 1 && line.contains(&attempt),
        "another runner claimed the run: {before:?} {line:?}"
    );
}

#[tokio::test]
async fn runner_survives_its_server_and_the_next_one_tracks_it() {
    let launcher = TestLauncher::new();
    let db = TestDb::new().await;
    let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port");
    let setup = launcher.setup(&db);
    let cluster = Cluster::with_setups(setup.clone().with("http.listen", free), setup, db).await;
    let run = cluster.create_run(&cluster.create_test_tenant("acme").await).await;
    let command = cluster.send_turn(&run, "slow").await;
    let Cluster { first, second, operator, db } = cluster;
    // Only the first replica can start the runner.
    assert!(second.server.shutdown().await);
    let path = format!("/api/v1/runs/{run}/runner-jobs");
    let job = text(&first.post_as(&path, &operator.token, json!({})).await.body, "runnerJobId");
    let deadline = Instant::now() + Duration::from_secs(120);
    while first.get_as(&format!("/api/v1/runs/{run}"), &operator.token).await.body["status"] != "running" {
        assert!(Instant::now() < deadline, "the command does not run");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let before = launcher.runner_pids();
    first.server.shutdown().await;
    assert_eq!(launcher.runner_pids(), before, "the runner stopped with its server");
    let setup = launcher.setup(&db);
    let (first, second) =
        tokio::join!(async { setup.clone().with("http.listen", free).start().await }, setup.start());
    let cluster = Cluster { first, second, operator, db };
    cluster.wait_for_command(&run, &command, "completed").await;
    let ended = cluster.wait_until(&format!("{path}/{job}"), |job| job["terminal"].is_object()).await;
    assert_eq!(launcher.attempt_count(), 1, "{ended}");
    assert_eq!(ended["commandStatus"], "completed", "{ended}");
}
