//! Injects faults one after another, and measures the recovery from each.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use guildhall_testkit::{EarlierConnections, Rounds, Stopwatch};
use reqwest::Method;
use rustix::process::Signal;
use serde_json::Value;

use super::Storm;
use super::faults::FaultKind;
use super::overload;
use super::replicas::{CLOCK_REPLICA, REPLICAS};
use crate::support::cluster::run_blocking;
use crate::support::runner_process::send_signal;

/// All replicas must confirm writes this long after the end of a fault.
pub(super) const RECOVERY_BOUND: Duration = Duration::from_secs(10);

/// A fault-free time follows this number of faults.
pub(super) const FAULTS_PER_WINDOW: usize = 30;

/// Faults of one kind, and the slowest recovery from one.
#[derive(Debug, Default)]
pub(super) struct FaultStats {
    pub(super) count: usize,
    pub(super) slowest_recovery: Duration,
}

/// What the injector did.
#[derive(Debug, Default)]
pub(super) struct StormInjections {
    pub(super) by_kind: BTreeMap<FaultKind, FaultStats>,
    pub(super) windows: usize,
    pub(super) slow_recoveries: Vec<String>,
}

/// Injects random faults until the time is over and each kind occurred.
pub(super) async fn inject_faults(storm: &Arc<Storm>, rounds: &mut Rounds) -> StormInjections {
    let (started, mut injections) = (Instant::now(), StormInjections::default());
    let mut total = 0;
    while injections.by_kind.is_empty() || started.elapsed() < storm.size.duration {
        let mut deck = storm.size.kinds.to_vec();
        rounds.shuffle(&mut deck);
        for kind in deck {
            tokio::time::sleep(rounds.random_duration(storm.size.calm)).await;
            inject_one(storm, kind, rounds, &mut injections).await;
            total += 1;
            if total % FAULTS_PER_WINDOW == 0 {
                tokio::time::sleep(storm.size.window).await;
                injections.windows += 1;
            }
        }
    }
    injections
}

async fn inject_one(
    storm: &Arc<Storm>,
    kind: FaultKind,
    rounds: &mut Rounds,
    injections: &mut StormInjections,
) {
    let began = Instant::now();
    if kind.is_outage() {
        storm.outages.begin();
    }
    let was_injected = inject(storm, kind, rounds).await;
    let healed = Stopwatch::start();
    let late = wait_until_recovered(storm).await;
    let recovery = healed.elapsed();
    storm.outages.end();
    let _printed = writeln!(
        std::io::stderr(),
        "{kind:?}: {:.1} s, recovered after {:.1} s",
        began.elapsed().as_secs_f64(),
        recovery.as_secs_f64()
    );
    if recovery > RECOVERY_BOUND {
        injections.slow_recoveries.push(format!("{kind:?}: {recovery:?}: {late}"));
    }
    let stats = injections.by_kind.entry(kind).or_default();
    stats.count += usize::from(was_injected);
    stats.slowest_recovery = stats.slowest_recovery.max(recovery);
    if matches!(kind, FaultKind::FailOver | FaultKind::FailOverSilently | FaultKind::RestoreBackup) {
        storm.postgres.rebuild_standby().await;
    }
}

/// Waits until every replica confirms a write. Returns the last answer before it did.
pub(super) async fn wait_until_recovered(storm: &Storm) -> String {
    let deadline = Instant::now() + Duration::from_secs(120);
    let (tenant, mut last_failure) = (&storm.tenants[storm.tenants.len() - 1], String::new());
    let path = format!("/api/v1/tenants/{}/members", tenant.id);
    for replica in 0..REPLICAS {
        loop {
            let ready = storm.api.request(replica, Method::GET, "/health/readiness", &tenant.bearer);
            let read = storm.api.request(replica, Method::GET, &path, &tenant.bearer);
            let (ready, read) = (storm.api.try_send(ready).await, storm.api.try_send(read).await);
            let write = storm.probe_write(replica).await;
            if matches!((&ready, &read), (Some((200, _)), Some((200, _)))) && write {
                break;
            }
            last_failure = format!("replica {replica}: {ready:?}, {read:?}, write {write}");
            assert!(Instant::now() < deadline, "no recovery: {last_failure}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    last_failure
}

/// Injects a fault and ends it. Returns whether it could be injected.
async fn inject(storm: &Arc<Storm>, kind: FaultKind, rounds: &mut Rounds) -> bool {
    let pause = Duration::from_millis(300) + rounds.random_duration(Duration::from_secs(3));
    let replica = rounds.random_index(REPLICAS);
    match kind {
        FaultKind::KillServer => storm.replicas.signal(replica, Signal::KILL),
        FaultKind::StopServer => {
            storm.replicas.signal(replica, Signal::STOP);
            tokio::time::sleep(pause).await;
            storm.replicas.signal(replica, Signal::CONT);
        }
        FaultKind::ReplaceProgram => storm.replicas.replace_program(replica).await,
        FaultKind::KillWorker | FaultKind::StopWorker | FaultKind::KillGuard | FaultKind::StopGuard => {
            return signal_runner(storm, kind, rounds, pause).await;
        }
        FaultKind::KillAtClaim
        | FaultKind::KillAtAcknowledge
        | FaultKind::KillAtFirstAppend
        | FaultKind::KillAtFinish => return kill_at_moment(storm, kind, rounds).await,
        FaultKind::KillNats => kill_nats(storm, pause).await,
        FaultKind::StopNats => stop_nats(storm, pause).await,
        FaultKind::KillPostgres => kill_postgres(storm, pause).await,
        FaultKind::StopPostgres => {
            let primary = storm.postgres.primary();
            primary.signal_all(Signal::STOP);
            tokio::time::sleep(pause).await;
            primary.signal_all(Signal::CONT);
        }
        FaultKind::KillTwo => kill_two(storm, replica, rounds, pause).await,
        FaultKind::FailOver => storm.postgres.fail_over(EarlierConnections::Closed).await,
        FaultKind::FailOverSilently => storm.postgres.fail_over(EarlierConnections::Silent).await,
        FaultKind::RestoreBackup => storm.postgres.restore_backup(pause).await,
        FaultKind::DropTraffic => {
            storm.postgres.forwarder.drop_traffic();
            tokio::time::sleep(pause * 2).await;
            storm.postgres.forwarder.resume_traffic();
        }
        FaultKind::ExhaustPools => overload::exhaust_pools(storm).await,
        FaultKind::RetryStorm => overload::retry_storm(storm).await,
        FaultKind::SlowSync => slow_sync(storm, pause).await,
        FaultKind::FullDatabaseDisk => fill_database_disk(storm, pause).await,
        FaultKind::FullRunnerDisk => {
            let runners = Arc::clone(&storm.runners);
            run_blocking(move || runners.disk.fill()).await;
            tokio::time::sleep(pause).await;
            storm.runners.disk.free();
        }
        FaultKind::FullSecretsDisk => storm.secrets.write_on_full_disk(storm, replica).await,
        FaultKind::ClockJump => jump_clock(storm, rounds, pause).await,
    }
    true
}

async fn signal_runner(storm: &Storm, kind: FaultKind, rounds: &mut Rounds, pause: Duration) -> bool {
    let (guard, worker) = storm.runners.pids(rounds.random_index(storm.runners.count()));
    let is_guard = matches!(kind, FaultKind::KillGuard | FaultKind::StopGuard);
    let Some(pid) = (if is_guard { guard } else { worker }) else { return false };
    if matches!(kind, FaultKind::KillGuard | FaultKind::KillWorker) {
        send_signal(pid, Signal::KILL);
    } else {
        send_signal(pid, Signal::STOP);
        tokio::time::sleep(pause).await;
        send_signal(pid, Signal::CONT);
    }
    true
}

async fn kill_at_moment(storm: &Arc<Storm>, kind: FaultKind, rounds: &mut Rounds) -> bool {
    let (moment, is_processed) = (kind.moment().expect("a moment"), rounds.random().is_multiple_of(2));
    let runners = Arc::clone(&storm.runners);
    let killed =
        tokio::task::spawn_blocking(move || runners.kill_at(moment, is_processed, Duration::from_secs(30)));
    killed.await.expect("the thread does not panic")
}

async fn kill_nats(storm: &Storm, pause: Duration) {
    let nats = Arc::clone(&storm.nats);
    run_blocking(move || {
        nats.kill();
        std::thread::sleep(pause);
        nats.restart().expect("NATS starts");
    })
    .await;
}

async fn stop_nats(storm: &Storm, pause: Duration) {
    let pid = storm.nats.pid().expect("NATS runs");
    send_signal(pid, Signal::STOP);
    tokio::time::sleep(pause).await;
    send_signal(pid, Signal::CONT);
}

/// Kills a server together with PostgreSQL, or two servers and NATS.
async fn kill_two(storm: &Storm, replica: usize, rounds: &mut Rounds, pause: Duration) {
    storm.replicas.signal(replica, Signal::KILL);
    if rounds.random().is_multiple_of(2) {
        kill_postgres(storm, pause).await;
    } else {
        storm.replicas.signal((replica + 1) % REPLICAS, Signal::KILL);
        kill_nats(storm, pause).await;
    }
}

pub(super) async fn kill_postgres(storm: &Storm, pause: Duration) {
    let primary = storm.postgres.primary();
    run_blocking(move || {
        primary.kill();
        std::thread::sleep(pause);
        primary.start();
    })
    .await;
}

/// Delays each fsync of PostgreSQL.
async fn slow_sync(storm: &Storm, pause: Duration) {
    let pids = storm.postgres.primary().pids();
    run_blocking(move || {
        let mut command = Command::new("strace");
        command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync"]);
        command.args(["-e", "inject=fsync,fdatasync:delay_exit=200000"]);
        command.args(pids.iter().flat_map(|pid| ["-p".to_owned(), pid.to_string()]));
        let mut strace =
            command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().expect("strace is installed");
        std::thread::sleep(pause * 2);
        send_signal(strace.id(), Signal::INT);
        let _detached = strace.wait();
    })
    .await;
}

async fn fill_database_disk(storm: &Storm, pause: Duration) {
    let primary = storm.postgres.primary();
    run_blocking(move || {
        primary.disk.fill();
        std::thread::sleep(pause);
        primary.disk.free();
        // PostgreSQL exits if it cannot write its log; its supervisor starts it again.
        if primary.has_exited() {
            primary.kill();
            primary.start();
        }
    })
    .await;
}

async fn jump_clock(storm: &Storm, rounds: &mut Rounds, pause: Duration) {
    let seconds = 30 + i64::try_from(rounds.random() % 7200).unwrap_or(0);
    storm.replicas.set_clock_offset(if rounds.random().is_multiple_of(2) { seconds } else { -seconds });
    // The clock is read again after a second.
    tokio::time::sleep(Duration::from_secs(2) + pause).await;
    let path = "/health/readiness";
    let ready = storm.api.request(CLOCK_REPLICA, Method::GET, path, &storm.tenants[0].bearer);
    let _answer: Option<(u16, Value)> = storm.api.try_send(ready).await;
    storm.replicas.set_clock_offset(0);
    tokio::time::sleep(Duration::from_secs(2)).await;
}
