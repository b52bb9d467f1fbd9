//! Kills while real agents wait for answers: of the runner, of its server and of PostgreSQL, in each state of a question.
//! CI kills a few; `cargo xtask long approval-faults` kills a hundred.

mod history;
mod kill;
mod round;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Instant;

use futures::{StreamExt, stream};
use guildhall_domain::approvals::state::ApprovalStatus;
use guildhall_testkit::Rounds;
use tokio::sync::Semaphore;

use self::history::RoundHistory;
use self::kill::{Kill, KilledProcess};
use super::fixture::RunnerFixture;

/// Agents that work at the same time; more would overload a small machine.
const CONCURRENT_AGENTS: usize = 2;

/// Runs whose runners are killed at the same time.
const MAX_RUNNERS: usize = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn action_runs_at_most_once_per_allowance_and_no_answer_is_lost() {
    let mut rounds = Rounds::from_env(5);
    let (started, seed) = (Instant::now(), rounds.seed());
    let fixture = RunnerFixture::start().await;
    let agents = Semaphore::new(CONCURRENT_AGENTS);
    let kills = (0_u32..).zip(Kill::list(rounds.size()));
    let (of_runners, of_servers): (Vec<_>, Vec<_>) =
        kills.partition(|(_, kill)| kill.process == KilledProcess::Runner);
    let mut histories = Vec::new();
    // Leases of killed runners expire while the next ones are killed.
    let concurrent = of_runners.into_iter().map(|(number, kill)| {
        let round = round::play(&fixture, &agents, kill, number, rounds.fork());
        async move { (kill, round.await) }
    });
    let mut concurrent = stream::iter(concurrent.collect::<Vec<_>>()).buffer_unordered(MAX_RUNNERS);
    while let Some((kill, history)) = concurrent.next().await {
        assert_eq!(history.violations(), [], "seed {seed}, {kill:?}: {history:#?}");
        histories.push((kill, history));
    }
    drop(concurrent);
    for (number, kill) in of_servers {
        let history = round::play(&fixture, &agents, kill, number, rounds.fork()).await;
        assert_eq!(history.violations(), [], "seed {seed}, {kill:?}: {history:#?}");
        histories.push((kill, history));
    }
    rounds.report(&report(&histories, started));
}

fn report(histories: &[(Kill, RoundHistory)], started: Instant) -> String {
    let mut text = String::from("| killed | question was | times | question ended as |\n|---|---|---|---|\n");
    let mut by_kill = BTreeMap::<_, (usize, BTreeMap<&str, usize>)>::new();
    for (kill, history) in histories {
        let (times, ends) = by_kill.entry((kill.process, kill.moment)).or_default();
        *times += 1;
        if let Some(first) = history.approvals().next() {
            *ends.entry(first.status.as_str()).or_default() += 1;
        }
    }
    for ((process, moment), (times, ends)) in by_kill {
        let ends: Vec<_> = ends.iter().map(|(status, count)| format!("{status} {count}")).collect();
        let moment = format!("{moment:?}").to_lowercase();
        let _infallible = writeln!(text, "| {process:?} | {moment} | {times} | {} |", ends.join(", "));
    }
    let turns = || histories.iter().flat_map(|(_, history)| &history.turns);
    let approvals = || histories.iter().flat_map(|(_, history)| history.approvals());
    let with_status = |status| approvals().filter(|approval| approval.status == status).count();
    let _infallible = writeln!(
        text,
        "\nReal Codex and Qwen Code with a fake model, two replicas, {} s: {} turns asked {} times for an action, people \
         allowed {}, {} answers were used by the next process, {} stay uncertain, and the action ran {} times: at most \
         once for each allowance, never without one. No answer was lost. *delivering*: the response to the runner was \
         held back. *unconfirmed*: the agent acted, and the confirmation was held back.",
        started.elapsed().as_secs(),
        turns().count(),
        approvals().count(),
        histories.iter().map(|(_, history)| history.allowed_by_people.len()).sum::<usize>(),
        with_status(ApprovalStatus::Reused),
        with_status(ApprovalStatus::Uncertain),
        turns().map(|turn| turn.executions).sum::<usize>(),
    );
    text
}
