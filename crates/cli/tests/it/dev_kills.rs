//! Kills `guildhall dev` with SIGKILL at random times. CI runs a few rounds; `cargo xtask long dev-kills` runs all.

use std::fmt::Write;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use guildhall_testkit::{Rounds, SqlConnection};
use rustix::process::Signal;

use crate::dev::postgres_url;
use crate::support::{ChildProcess, http_get, wait_until_no_process};

/// Rows that are confirmed before a kill that hits the writes.
const MIN_ROWS: i64 = 20;

/// About the duration of a first start, so that kills happen before, during and after it.
const MAX_KILL_DELAY: Duration = Duration::from_millis(2500);

#[tokio::test]
async fn killed_dev_leaves_no_process_and_loses_no_row() {
    let mut rounds = Rounds::from_env(4);
    let folder = tempfile::Builder::new().prefix("guildhall-kills-").tempdir().expect("a folder");
    let (mut committed, mut slowest_exit) = (0, Duration::ZERO);
    let mut report = String::from(
        "| round | killed after | rows committed so far | processes gone after |\n|---|---|---|---|\n",
    );
    let mut writing_rounds = 0;
    for round in 1..=rounds.size() {
        // Every other round starts with an empty folder, so that kills also hit its creation.
        let state = folder.path().join(if round % 2 == 0 {
            format!("fresh-{round}")
        } else {
            "persistent".to_owned()
        });
        let is_persistent = round % 2 == 1;
        let delay = rounds.random_duration(MAX_KILL_DELAY);
        // Every fourth round is killed while rows are written: a kill during the start confirms none.
        let is_writing = round % 4 == 1;
        let moment = if is_writing { KillMoment::AfterRows(delay) } else { KillMoment::AfterStart(delay) };
        writing_rounds += i64::from(is_writing);
        let rows = if is_persistent { Some(&mut committed) } else { None };
        kill_at(&state, moment, rows).await;
        let exit_time = wait_until_no_process(&state, Duration::from_secs(2));
        slowest_exit = slowest_exit.max(exit_time);
        let _infallible = writeln!(
            report,
            "| {round} | {} ms | {committed} | {} ms |",
            delay.as_millis(),
            exit_time.as_millis()
        );
        assert_restart_keeps_committed_rows(&state, is_persistent.then_some(committed)).await;
    }
    let floor = MIN_ROWS * writing_rounds;
    assert!(committed >= floor, "only {committed} rows were confirmed, expected at least {floor}");
    let _infallible = writeln!(
        report,
        "\nEvery next start was healthy; {committed} rows committed before a kill, none lost; slowest shutdown {} ms.",
        slowest_exit.as_millis()
    );
    rounds.report(&report);
}

/// When `dev` is killed.
#[derive(Debug, Clone, Copy)]
enum KillMoment {
    /// This long after its start, which may not be complete then.
    AfterStart(Duration),
    /// When [`MIN_ROWS`] rows are confirmed, or this much later.
    AfterRows(Duration),
}

/// Starts `dev`, writes rows until it is killed, and counts the committed rows.
async fn kill_at(state: &Path, moment: KillMoment, committed: Option<&mut i64>) {
    let started = Instant::now();
    let mut dev = ChildProcess::start_dev(state);
    let pid = dev.pid();
    let (rows_sender, rows_confirmed) = mpsc::channel();
    let kill_thread = std::thread::spawn(move || {
        match moment {
            KillMoment::AfterStart(delay) => std::thread::sleep(delay.saturating_sub(started.elapsed())),
            KillMoment::AfterRows(delay) => {
                rows_confirmed.recv_timeout(Duration::from_secs(120)).expect("confirmed rows");
                std::thread::sleep(delay);
            }
        }
        let pid = rustix::process::Pid::from_raw(i32::try_from(pid).expect("a pid")).expect("a pid");
        rustix::process::kill_process(pid, Signal::KILL).expect("killed");
    });
    let line = dev.read_line();
    if let (Some(committed), Ok(ready)) = (committed, serde_json::from_str(&line)) {
        write_until_killed(&postgres_url(&ready), committed, &rows_sender).await;
    }
    kill_thread.join().expect("the kill thread finished");
}

async fn write_until_killed(
    url: &secrecy::SecretString,
    committed: &mut i64,
    rows_confirmed: &mpsc::Sender<()>,
) {
    let Some(mut sql) = SqlConnection::try_connect(url).await else { return };
    if !sql.try_execute("CREATE TABLE IF NOT EXISTS confirmed (n bigint PRIMARY KEY)").await {
        return;
    }
    let before = *committed;
    while sql.try_execute(format!("INSERT INTO confirmed VALUES ({})", *committed + 1)).await {
        *committed += 1;
        if *committed == before + MIN_ROWS {
            let _kill_thread_waits_for_time = rows_confirmed.send(());
        }
    }
    // The last row may be committed without a confirmation; the next start deletes it.
    let _killed = sql;
}

async fn assert_restart_keeps_committed_rows(state: &Path, committed: Option<i64>) {
    let mut dev = ChildProcess::start_dev(state);
    let ready = dev.wait_ready();
    let (status, body) =
        http_get(&format!("{}/health/readiness", ready["url"].as_str().expect("a url")), &[]);
    assert_eq!((status, body["status"].as_str()), (200, Some("ready")), "{body}");
    if let Some(committed) = committed {
        let mut sql = SqlConnection::connect(&postgres_url(&ready)).await;
        sql.execute("CREATE TABLE IF NOT EXISTS confirmed (n bigint PRIMARY KEY)").await;
        let found = sql.number(format!("SELECT count(*) FROM confirmed WHERE n <= {committed}")).await;
        assert_eq!(found, committed, "committed rows are lost");
        sql.execute(format!("DELETE FROM confirmed WHERE n > {committed}")).await;
    }
    dev.signal(Signal::INT);
    assert!(dev.wait().success());
    wait_until_no_process(state, Duration::from_secs(2));
}
