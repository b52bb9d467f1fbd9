//! Killing a runner during a tool call. CI kills a few; `cargo xtask long runner-kills` kills fifty.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::time::{Duration, Instant};

use futures::{StreamExt, stream};
use guildhall_testkit::Rounds;
use rustix::process::Signal;
use tokio::sync::Semaphore;

use super::agent::Agent;
use super::fixture::{RunnerFixture, phase_payloads};
use super::{DETECTION_TIMEOUT, GRACE, LEASE};
use crate::support::proxy::{self, ProxyAction};
use crate::support::runner_process::{
    descendants, send_signal, wait_for_lines, wait_for_pids, wait_until_exited,
};

/// A tool that writes one trace at once, and runs on: itself and a daemon in its own session.
const TOOL: &str = "run:echo $$ >> pids; (setsid sh -c 'echo $$ >> pids; sleep 50; echo orphan >> traces' &); \
                    echo once >> traces; sleep 50; echo late >> traces";

/// A tool that prints more often than the runner sends: at any time there is output that was not sent.
const CONTINUOUS_OUTPUT: &str =
    "run:i=0; while [ $i -lt 6000 ]; do echo line $i; i=$((i+1)); sleep 0.01; done";

/// All processes of the runner must exit this long after the kill.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// The agents whose runners are killed, in order.
const AGENT_ORDER: [Agent; 10] = [
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

/// Agents that start at the same time; more would overload a small machine.
const CONCURRENT_AGENTS: usize = 3;

/// Runs whose runners are killed at the same time.
const MAX_RUNNERS: usize = 20;

/// Long enough for agents that start while the machine stands still.
const KILL_LEASE: Duration = Duration::from_secs(30);
const KILL_LEASE_SETTING: &str = "30s";

/// A killed runner must be detected this long after its last heartbeat.
const KILL_DETECTION_TIMEOUT: Duration = Duration::from_secs(30 + 1 + 15);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum KilledProcess {
    /// The parent process.
    Guard,
    /// Its child, which does the work.
    Worker,
}

/// Measurements of one kill.
#[derive(Debug, Clone, Copy)]
struct KillMeasurement {
    process: KilledProcess,
    exited_after: Duration,
    ended_after: Duration,
}

// covers: R10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_runner_repeats_no_tool_call_and_its_run_continues() {
    let mut rounds = Rounds::from_env(10);
    let fixture = RunnerFixture::start_with("127.0.0.1", KILL_LEASE_SETTING).await;
    let agents = AGENT_ORDER.into_iter().cycle().zip(0..rounds.size()).map(|(agent, _)| agent);
    let turns = Semaphore::new(CONCURRENT_AGENTS);
    let kills = agents.map(|agent| kill_runner(&fixture, &turns, agent, rounds.fork()));
    // Leases of killed runners expire while the next ones are killed.
    let mut measurements = BTreeMap::<Agent, Vec<KillMeasurement>>::new();
    let mut kills = stream::iter(kills.collect::<Vec<_>>()).buffer_unordered(MAX_RUNNERS);
    while let Some((agent, measurement)) = kills.next().await {
        measurements.entry(agent).or_default().push(measurement);
    }
    drop(kills);
    rounds.report(&report(&measurements));
}

async fn kill_runner(
    fixture: &RunnerFixture,
    turns: &Semaphore,
    agent: Agent,
    mut rounds: Rounds,
) -> (Agent, KillMeasurement) {
    let run = fixture.create_run_for(agent).await;
    let turn = turns.acquire().await;
    let first = fixture.start_runner(&run, &[]);
    fixture.complete_turn(&run, "hello").await;
    let thread = fixture.thread_id(&run).await;
    let command = fixture.send(&run, TOOL).await;
    let mut pids_to_exit = wait_for_pids(&run.workspace.join("pids"), 2).await;
    wait_for_lines(&run.workspace.join("traces"), 1).await;
    tokio::time::sleep(rounds.random_duration(Duration::from_millis(300))).await;
    let (guard, worker) = (first.guard_pid(), first.worker_pid());
    pids_to_exit.extend(descendants(guard));
    let process =
        if rounds.random().is_multiple_of(2) { KilledProcess::Guard } else { KilledProcess::Worker };
    let killed_at = Instant::now();
    send_signal(if process == KilledProcess::Guard { guard } else { worker }, Signal::KILL);
    let exited_after = wait_until_exited(&pids_to_exit, EXIT_TIMEOUT).await;
    drop(turn);
    let _second = fixture.start_runner(&run, &[]);
    let result = fixture.wait_for_result(&run, &command, KILL_DETECTION_TIMEOUT).await;
    let ended_after = killed_at.elapsed();
    assert_eq!(result["terminalStatus"], "failed", "{result}");
    let blocker = result["blocker"].to_string();
    assert!(blocker.contains("side effects unknown"), "{result}");
    let turn = turns.acquire().await;
    fixture.complete_turn(&run, "run:echo next >> traces").await;
    drop(turn);
    assert_eq!(fixture.thread_id(&run).await, thread, "a new thread was started");
    let traces = fs::read_to_string(run.workspace.join("traces")).expect("traces");
    assert_eq!(traces, "once\nnext\n", "the tool continued or ran again");
    let events = fixture.events(&run).await;
    assert_eq!(phase_payloads(&events, "lease-waiting").len(), 1, "{events:#?}");
    assert_eq!(phase_payloads(&events, "lease-recovered").len(), 1, "{events:#?}");
    (agent, KillMeasurement { process, exited_after, ended_after })
}

fn report(measurements_by_agent: &BTreeMap<Agent, Vec<KillMeasurement>>) -> String {
    let mut text = String::from(
        "| backend | killed | times | all processes exited after at most | command ended after at most |\n|---|---|---|---|---|\n",
    );
    for (backend, measurements) in measurements_by_agent {
        let mut by_process = BTreeMap::<KilledProcess, Vec<&KillMeasurement>>::new();
        for measurement in measurements {
            by_process.entry(measurement.process).or_default().push(measurement);
        }
        for (process, measurements) in by_process {
            let max_exit_time =
                measurements.iter().map(|measurement| measurement.exited_after).max().unwrap_or_default();
            let max_end_time =
                measurements.iter().map(|measurement| measurement.ended_after).max().unwrap_or_default();
            let _infallible = writeln!(
                text,
                "| {backend:?} | {process:?} | {} | {} ms | {:.1} s |",
                measurements.len(),
                max_exit_time.as_millis(),
                max_end_time.as_secs_f64()
            );
        }
    }
    let _infallible = writeln!(
        text,
        "\nEach time the command failed with \"side effects unknown\" (bound {} s: lease {} s, grace {} s, 15 s), \
         the next command resumed the same thread on a replacement, the tool left its trace once, and neither the tool \
         nor its orphan in its own session survived (bound {} s).",
        KILL_DETECTION_TIMEOUT.as_secs(),
        KILL_LEASE.as_secs(),
        GRACE.as_secs(),
        EXIT_TIMEOUT.as_secs(),
    );
    text
}

/// The worker is stopped with SIGSTOP and cannot end its backend. The guard kills it before the lease expires.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hanging_worker_is_killed_with_its_tool_before_lease_expiry() {
    // An eighth of the lease is the margin of the guard: 2 s.
    let fixture = RunnerFixture::start_with("127.0.0.1", "16s").await;
    let run = fixture.create_run().await;
    let mut runner = fixture.start_runner(&run, &[]);
    let command = fixture.send(&run, TOOL).await;
    let mut pids_to_exit = wait_for_pids(&run.workspace.join("pids"), 2).await;
    pids_to_exit.extend(descendants(runner.guard_pid()));
    send_signal(runner.worker_pid(), Signal::STOP);
    let mut sql = fixture.cluster.db.sql().await;
    wait_until_exited(&pids_to_exit, Duration::from_secs(16)).await;
    let lease_left_sql =
        "SELECT (extract(epoch FROM expires_at - clock_timestamp()) * 1000)::bigint FROM leases";
    let left_ms = sql.number(lease_left_sql).await;
    assert!(left_ms > 0, "the tool exited {} ms after the lease expired", -left_ms);
    assert!(!runner.process.wait().success());
    assert!(runner.log_text().contains("did not report before its lease expired"), "{}", runner.log_text());
    let result = fixture.wait_for_result(&run, &command, DETECTION_TIMEOUT + Duration::from_secs(10)).await;
    assert_eq!(result["terminalStatus"], "failed", "{result}");
}

/// Guard and worker are one stopped process here, so nothing ends it in time. When it resumes, another runner has the
/// lease, and the server rejects everything from the first runner.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn resumed_runner_with_a_lost_lease_is_rejected() {
    let fixture = RunnerFixture::start().await;
    let run = fixture.create_run().await;
    // A runner whose connection is cut has events that it cannot send.
    let (is_cut, dropped_appends) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
    let url = proxy::start(&fixture.cluster.url(0, ""), {
        let (is_cut, dropped_appends) = (Arc::clone(&is_cut), Arc::clone(&dropped_appends));
        move |request| {
            if !is_cut.load(SeqCst) {
                return ProxyAction::Forward;
            }
            dropped_appends.fetch_add(u32::from(request.line.contains("/events ")), SeqCst);
            ProxyAction::Drop
        }
    });
    let mut first = fixture.start_runner_at(&url, &run, &["--no-guard"]);
    fixture.complete_turn(&run, "hello").await;
    let command = fixture.send(&run, CONTINUOUS_OUTPUT).await;
    fixture.wait_for_output(&run, &command, "line 0\n").await;
    is_cut.store(true, SeqCst);
    let deadline = Instant::now() + LEASE;
    while dropped_appends.load(SeqCst) == 0 {
        assert!(Instant::now() < deadline, "the runner sends no events");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    send_signal(first.guard_pid(), Signal::STOP);
    let _second = fixture.start_runner(&run, &[]);
    let recovered = fixture.wait_for_phase(&run, "lease-recovered", DETECTION_TIMEOUT).await;
    fixture.complete_turn(&run, "run:echo next >> traces").await;
    let before = fixture.events(&run).await;
    is_cut.store(false, SeqCst);
    send_signal(first.guard_pid(), Signal::CONT);
    assert!(first.process.wait().success(), "{}", first.log_text());
    assert!(first.log_text().contains("lost to another runner"), "{}", first.log_text());
    let after = fixture.events(&run).await;
    assert_eq!(before, after, "an event of the first runner was accepted");
    let result = fixture.wait_for_result(&run, &command, DETECTION_TIMEOUT).await;
    assert_eq!(result["terminalStatus"], "failed", "{result}");
    // 2 if the second runner claims the run before the reconciler takes it from the first, else 3.
    assert!(matches!(recovered["epoch"].as_i64(), Some(2 | 3)), "{recovered}");
    let spool_file = fixture.state_folder().join("spool").join(format!("{}-1.jsonl", run.id));
    assert!(!wait_for_lines(&spool_file, 1).await.is_empty(), "the unsent events are spooled");
}
