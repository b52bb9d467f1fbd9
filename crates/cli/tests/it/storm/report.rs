//! The report for docs/measured.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Storm;
use super::checker::StormHistory;
use super::injector::{FAULTS_PER_WINDOW, RECOVERY_BOUND, StormInjections};
use super::replicas::REPLICAS;

pub(super) fn report(
    storm: &Storm,
    injections: &StormInjections,
    history: &StormHistory,
    elapsed: Duration,
) -> String {
    let mut text = String::from("| fault | times | slowest recovery |\n|---|---|---|\n");
    for (kind, stats) in &injections.by_kind {
        let seconds = stats.slowest_recovery.as_secs_f64();
        let _infallible = writeln!(text, "| {} | {} | {seconds:.1} s |", kind.description(), stats.count);
    }
    let total: usize = injections.by_kind.values().map(|stats| stats.count).sum();
    let load = |number: &std::sync::atomic::AtomicU64| number.load(Ordering::SeqCst);
    let _infallible = writeln!(
        text,
        "\n{total} faults in {} s, with {} fault-free windows of {} s (one after every {FAULTS_PER_WINDOW} faults). \
         {REPLICAS} replicas, {} tenants, {} runners with the script backend, {} with Codex, {} simulated runners and {} key writers; \
         every run and every audit log of a key writer has a follower that changes its replica with each connection.\n",
        elapsed.as_secs(),
        injections.windows,
        storm.size.window.as_secs(),
        storm.tenants.len(),
        storm.size.runners - storm.size.codex_runners,
        storm.size.codex_runners,
        storm.size.appenders,
        storm.size.key_writers,
    );
    let acknowledged: usize = history.runs.iter().map(|record| record.acknowledged.len()).sum();
    let deliveries = || history.runs.iter().flat_map(|record| &record.deliveries);
    let received: usize = deliveries().map(Vec::len).sum();
    let restarted = deliveries().count() - history.runs.len();
    let _infallible = writeln!(
        text,
        "{} runs, {} events in their logs, {acknowledged} of them confirmed to simulated runners, {received} received by \
         followers, of which {restarted} were told after a failover or a restore to read again; {} confirmed keys, {} entries in the followed audit logs. Clients sent {} requests: {} got no \
         response, {} got 503 or 429 with `Retry-After`, {} got 401 from the replica whose clock had jumped. The supervisor restarted servers {} times and runners {} times. \
         Ends of commands: {}.\n",
        history.runs.len(),
        history.run_log.len(),
        history.keys.len(),
        history.audit_log.len(),
        load(&storm.api.requests),
        load(&storm.api.unanswered),
        load(&storm.api.overloaded),
        load(&storm.api.unauthenticated),
        storm.replicas.restarts.load(Ordering::SeqCst),
        storm.runners.restarts.load(Ordering::SeqCst),
        outcomes(history),
    );
    let slowest = history.runs.iter().map(|record| record.waited).max().unwrap_or_default();
    let _infallible = writeln!(
        text,
        "The history has {} violations: lost, doubled, reordered or stuck. The slowest command took {:.1} s without outages \
         of the whole system. {} of the recoveries took longer than {} s.",
        history.violations().len(),
        slowest.as_secs_f64(),
        injections.slow_recoveries.len(),
        RECOVERY_BOUND.as_secs(),
    );
    text
}

fn outcomes(history: &StormHistory) -> String {
    let mut counts = BTreeMap::<&str, usize>::new();
    for record in &history.runs {
        *counts.entry(record.outcome.as_deref().unwrap_or("none")).or_default() += 1;
    }
    let counts: Vec<_> = counts.iter().map(|(outcome, count)| format!("{outcome} {count}")).collect();
    counts.join(", ")
}
