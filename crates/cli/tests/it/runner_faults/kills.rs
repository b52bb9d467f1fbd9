//! A runner is killed in the middle of a tool call. CI kills a few; `cargo xtask long runner-kills` kills fifty.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::time::{Duration, Instant};

use futures::future::join_all;
use guildhall_testkit::Rounds;
use rustix::process::Signal;

use super::agent::Agent;
use super::process::{descendants, lines, pids, signal, wait_until_dead};
use super::world::{World, phases};
use super::{GRACE, LEASE, NOTICED_WITHIN};

/// What a tool does: it leaves one trace at once, and two more if it is left alone for long enough: itself, and by a
/// child that has left its parents and its session behind.
const TOOL: &str = "run:echo $$ >> pids; (setsid sh -c 'echo $$ >> pids; sleep 8; echo orphan >> traces' &); \
                    echo once >> traces; sleep 8; echo late >> traces";

/// Longer than the tool would take.
const TOOL_TAKES: Duration = Duration::from_millis(8500);

/// How long after the kill something of the runner may still be seen.
const DEAD_WITHIN: Duration = Duration::from_secs(2);

/// Which agent's runner is killed, in turn.
const TURNS: [Agent; 10] = [
    Agent::Script,
    Agent::Codex,
    Agent::Script,
    Agent::Qwen,
    Agent::Script,
    Agent::Codex,
    Agent::Script,
    Agent::Qwen,
    Agent::Codex,
    Agent::Script,
];

/// Runners that are killed at the same time: as many as a small machine can start.
const AT_ONCE: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Victim {
    /// The process that was started.
    Guard,
    /// The one below it, which does the work.
    Worker,
}

/// What was seen of one kill.
#[derive(Debug, Clone, Copy)]
struct Seen {
    victim: Victim,
    dead_after: Duration,
    ended_after: Duration,
}

// covers: R10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runner_killed_in_a_tool_call_does_nothing_twice_and_its_run_goes_on() {
    let mut rounds = Rounds::of_this_run(10);
    let world = World::start().await;
    let mut seen = BTreeMap::<Agent, Vec<Seen>>::new();
    let agents: Vec<Agent> = (0..rounds.size()).map(|round| TURNS[round as usize % TURNS.len()]).collect();
    for agent in Agent::ALL {
        let count = agents.iter().filter(|chosen| **chosen == agent).count();
        let mut left: Vec<Rounds> = (0..count).map(|_| rounds.fork()).collect();
        while !left.is_empty() {
            let now = left.split_off(left.len().saturating_sub(AT_ONCE));
            let kills = now.into_iter().map(|rounds| kill(&world, agent, rounds));
            seen.entry(agent).or_default().extend(join_all(kills).await);
        }
    }
    rounds.report(&report(&seen));
}

async fn kill(world: &World, agent: Agent, mut rounds: Rounds) -> Seen {
    let run = world.run_of(agent).await;
    let first = world.runner(&run, &[]);
    world.works(&run, "hello").await;
    let thread = world.thread(&run).await;
    let command = world.send(&run, TOOL).await;
    let mut doomed = pids(&run.workspace.join("pids"), 2).await;
    let began = Instant::now();
    lines(&run.workspace.join("traces"), 1).await;
    tokio::time::sleep(rounds.random_duration(Duration::from_millis(300))).await;
    let (guard, worker) = (first.guard(), first.worker());
    doomed.extend(descendants(guard));
    let victim = if rounds.random().is_multiple_of(2) { Victim::Guard } else { Victim::Worker };
    let killed = Instant::now();
    signal(if victim == Victim::Guard { guard } else { worker }, Signal::KILL);
    let dead_after = wait_until_dead(&doomed, DEAD_WITHIN).await;
    let _second = world.runner(&run, &[]);
    let result = world.ended(&run, &command, NOTICED_WITHIN).await;
    let ended_after = killed.elapsed();
    assert_eq!(result["terminalStatus"], "failed", "{result}");
    let blocker = result["blocker"].to_string();
    assert!(blocker.contains("side effects unknown"), "{result}");
    world.works(&run, "run:echo next >> traces").await;
    assert_eq!(world.thread(&run).await, thread, "another thread was begun");
    tokio::time::sleep(TOOL_TAKES.saturating_sub(began.elapsed())).await;
    let traces = fs::read_to_string(run.workspace.join("traces")).expect("traces");
    assert_eq!(traces, "once\nnext\n", "the tool went on, or was run again");
    let events = world.events(&run).await;
    assert_eq!(phases(&events, "lease-waiting").len(), 1, "{events:#?}");
    assert_eq!(phases(&events, "lease-recovered").len(), 1, "{events:#?}");
    Seen { victim, dead_after, ended_after }
}

fn report(all: &BTreeMap<Agent, Vec<Seen>>) -> String {
    let mut text = String::from(
        "| backend | killed | times | everything dead after at most | command ended after at most |\n|---|---|---|---|---|\n",
    );
    for (backend, seen) in all {
        let mut by_victim = BTreeMap::<Victim, Vec<&Seen>>::new();
        for one in seen {
            by_victim.entry(one.victim).or_default().push(one);
        }
        for (victim, seen) in by_victim {
            let dead = seen.iter().map(|seen| seen.dead_after).max().unwrap_or_default();
            let ended = seen.iter().map(|seen| seen.ended_after).max().unwrap_or_default();
            let _infallible = writeln!(
                text,
                "| {backend:?} | {victim:?} | {} | {} ms | {:.1} s |",
                seen.len(),
                dead.as_millis(),
                ended.as_secs_f64()
            );
        }
    }
    let _infallible = writeln!(
        text,
        "\nEach time the command ended as failed with its side effects unknown (bound {} s: lease {} s, grace {} s, 15 s), \
         the next command resumed the same thread on a replacement, the tool left its trace once, and neither the tool \
         nor its orphan in a session of its own lived on (bound {} s).",
        NOTICED_WITHIN.as_secs(),
        LEASE.as_secs(),
        GRACE.as_secs(),
        DEAD_WITHIN.as_secs(),
    );
    text
}

/// The worker is stopped, and cannot end its backend any more. Its guard does so before the lease ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_hangs_is_killed_with_its_tool_before_its_lease_ends() {
    let world = World::start().await;
    let run = world.run().await;
    let mut runner = world.runner(&run, &[]);
    let command = world.send(&run, TOOL).await;
    let mut doomed = pids(&run.workspace.join("pids"), 2).await;
    doomed.extend(descendants(runner.guard()));
    signal(runner.worker(), Signal::STOP);
    let mut sql = world.fleet.db.sql().await;
    wait_until_dead(&doomed, LEASE).await;
    let left = "SELECT (extract(epoch FROM expires_at - clock_timestamp()) * 1000)::bigint FROM leases";
    let left_ms = sql.number(left).await;
    assert!(left_ms > 0, "it died {} ms after the end of its lease", -left_ms);
    assert!(!runner.running.wait().success());
    assert!(runner.said().contains("no sign of life"), "{}", runner.said());
    let result = world.ended(&run, &command, NOTICED_WITHIN).await;
    assert_eq!(result["terminalStatus"], "failed", "{result}");
}

/// Guard and worker are one process here, and it is stopped: nobody can end it in time. When it goes on, another has the
/// run, and not one word of the first is taken.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runner_that_comes_back_after_it_was_overtaken_is_not_heard_any_more() {
    let world = World::start().await;
    let run = world.run().await;
    let mut first = world.runner(&run, &["--no-guard"]);
    world.works(&run, "hello").await;
    let command = world.send(&run, "slow").await;
    world.phase(&run, "run-claimed", Duration::from_secs(10)).await;
    while !world.events(&run).await.iter().any(|event| event["payload"]["text"] == "tok0 ") {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    signal(first.guard(), Signal::STOP);
    let _second = world.runner(&run, &[]);
    let recovered = world.phase(&run, "lease-recovered", NOTICED_WITHIN).await;
    world.works(&run, "run:echo next >> traces").await;
    let before = world.events(&run).await;
    signal(first.guard(), Signal::CONT);
    assert!(first.running.wait().success(), "{}", first.said());
    assert!(first.said().contains("lost to another runner"), "{}", first.said());
    let after = world.events(&run).await;
    assert_eq!(before, after, "the first runner was heard");
    let result = world.ended(&run, &command, NOTICED_WITHIN).await;
    assert_eq!((&result["terminalStatus"], &recovered["epoch"]), (&"failed".into(), &3.into()), "{result}");
    let left = world.state().join("spool").join(format!("{}-1.jsonl", run.id));
    assert!(!lines(&left, 1).await.is_empty(), "what it could not say is kept");
}
