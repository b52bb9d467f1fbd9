//! A runner goes: because it has nothing to do, because it served its one run, or because it was told to.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::process::{pids, wait_until_dead};
use super::world::{World, phases};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runner_without_work_gives_the_run_back_and_the_next_need_not_wait() {
    let world = World::start().await;
    let run = world.run().await;
    let mut runner = world.runner(&run, &["--idle-seconds", "1"]);
    world.works(&run, "run:true").await;
    assert!(runner.running.wait().success(), "{}", runner.said());
    assert!(runner.said().contains("the run was given back"), "{}", runner.said());
    let events = world.events(&run).await;
    assert_eq!(phases(&events, "runner-leaving")[0]["reason"], "idle", "{events:#?}");
    assert_eq!(world.get(&format!("/api/v1/runs/{}", run.id)).await["status"], "pending");
    let began = Instant::now();
    let _next = world.runner(&run, &["--one-shot"]);
    world.works(&run, "run:true").await;
    assert!(began.elapsed() < super::LEASE, "the next runner waited for {:?}", began.elapsed());
    let events = world.events(&run).await;
    assert_eq!(phases(&events, "lease-recovered"), Vec::<serde_json::Value>::new(), "nobody was lost");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runner_that_is_told_to_stop_finishes_its_turn_and_leaves_the_next_to_another() {
    let world = World::start().await;
    let run = world.run().await;
    let mut runner = world.runner(&run, &[]);
    let command = world.send(&run, "run:echo $$ >> pids; sleep 2").await;
    pids(&run.workspace.join("pids"), 1).await;
    let waits = world.send(&run, "run:echo waited >> traces").await;
    runner.running.signal(Signal::TERM);
    let draining = world.phase(&run, "runner-draining", Duration::from_secs(5)).await;
    assert_eq!(draining["withinMs"], 25_000, "{draining}");
    assert!(runner.running.wait().success(), "{}", runner.said());
    let result = world.ended(&run, &command, Duration::from_secs(1)).await;
    assert_eq!(result["terminalStatus"], "completed", "{result}");
    let shown = world.get(&format!("/api/v1/runs/{}/commands/{waits}", run.id)).await;
    assert_eq!(shown["status"], "pending", "{shown}");
    let _next = world.runner(&run, &[]);
    let result = world.ended(&run, &waits, Duration::from_secs(20)).await;
    assert_eq!(result["terminalStatus"], "completed", "{result}");
    let events = world.events(&run).await;
    assert_eq!(phases(&events, "runner-leaving")[0]["reason"], "told-to-stop", "{events:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_takes_longer_than_a_draining_runner_may_is_interrupted_and_says_so() {
    let world = World::start().await;
    let run = world.run().await;
    let mut runner = world.runner(&run, &["--drain-seconds", "1"]);
    let command = world.send(&run, "run:echo $$ >> pids; sleep 60").await;
    let doomed = pids(&run.workspace.join("pids"), 1).await;
    runner.running.signal(Signal::TERM);
    let began = Instant::now();
    assert!(runner.running.wait().success(), "{}", runner.said());
    let took = began.elapsed();
    assert!(
        took > Duration::from_millis(900) && took < Duration::from_secs(8),
        "it had a second, not {took:?}"
    );
    wait_until_dead(&doomed, Duration::from_secs(1)).await;
    let result = world.ended(&run, &command, Duration::from_secs(1)).await;
    assert_eq!(
        (&result["terminalStatus"], &result["failureKind"]),
        (&"failed".into(), &"infra-failed".into())
    );
    assert!(result["blocker"].to_string().contains("told to stop"), "{result}");
    assert_eq!(world.get(&format!("/api/v1/runs/{}", run.id)).await["status"], "pending", "handed over");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_one_shot_runner_serves_one_run_and_ends_though_another_waits() {
    let world = World::start().await;
    let (first, second) = (world.run().await, world.run().await);
    let command = world.send(&first, "run:true").await;
    let mut runner = world.warm_runner(&["--one-shot", "--idle-seconds", "1"]);
    world.ended(&first, &command, Duration::from_secs(20)).await;
    world.send(&second, "run:true").await;
    assert!(runner.running.wait().success(), "{}", runner.said());
    let statuses = world.events(&second).await;
    assert_eq!(phases(&statuses, "run-claimed"), Vec::<serde_json::Value>::new(), "{statuses:#?}");
}
