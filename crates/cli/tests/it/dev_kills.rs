//! SIGKILL of `guildhall dev` at random moments. CI runs a few; `cargo xtask long dev-kills` runs them all.

use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use guildhall_testkit::{Rounds, Sql};
use rustix::process::Signal;

use crate::dev::postgres_url;
use crate::support::{Running, get, wait_until_gone};

/// A first start takes about this long here, so a kill falls before, during and after it.
const LATEST_KILL: Duration = Duration::from_millis(2500);

#[tokio::test]
async fn killed_at_random_moments_it_leaves_no_process_and_loses_no_row() {
    let mut rounds = Rounds::of_this_run(4);
    let folder = tempfile::Builder::new().prefix("guildhall-kills-").tempdir().expect("a folder");
    let (mut confirmed, mut slowest) = (0, Duration::ZERO);
    let mut report = String::from(
        "| round | killed after | rows confirmed so far | processes gone after |\n|---|---|---|---|\n",
    );
    for round in 1..=rounds.size() {
        // Every other round begins with nothing, so that the making of the data folder is hit too.
        let state =
            folder.path().join(if round % 2 == 0 { format!("fresh-{round}") } else { "kept".to_owned() });
        let kept = round % 2 == 1;
        let wait = rounds.random_duration(LATEST_KILL);
        let rows = if kept { Some(&mut confirmed) } else { None };
        kill_after(&state, wait, rows).await;
        let gone = wait_until_gone(&state, Duration::from_secs(2));
        slowest = slowest.max(gone);
        let _infallible =
            writeln!(report, "| {round} | {} ms | {confirmed} | {} ms |", wait.as_millis(), gone.as_millis());
        check_next_start(&state, kept.then_some(confirmed)).await;
    }
    let _infallible = writeln!(
        report,
        "\nEvery next start was healthy; {confirmed} rows confirmed before a kill, none lost; slowest end {} ms.",
        slowest.as_millis()
    );
    rounds.report(&report);
}

/// Starts it, writes rows for as long as it lives, and kills it after a while. Counts rows that were confirmed.
async fn kill_after(state: &Path, wait: Duration, confirmed: Option<&mut i64>) {
    let began = Instant::now();
    let mut dev = Running::dev(state);
    let pid = dev.pid();
    let killer = std::thread::spawn(move || {
        std::thread::sleep(wait.saturating_sub(began.elapsed()));
        let pid = rustix::process::Pid::from_raw(i32::try_from(pid).expect("a pid")).expect("a pid");
        rustix::process::kill_process(pid, Signal::KILL).expect("killed");
    });
    let line = dev.line();
    if let (Some(confirmed), Ok(ready)) = (confirmed, serde_json::from_str(&line)) {
        write_until_killed(&postgres_url(&ready), confirmed).await;
    }
    killer.join().expect("the killer did its work");
}

async fn write_until_killed(url: &secrecy::SecretString, confirmed: &mut i64) {
    let Some(mut sql) = Sql::try_connect(url).await else { return };
    if !sql.try_execute("CREATE TABLE IF NOT EXISTS confirmed (n bigint PRIMARY KEY)").await {
        return;
    }
    while sql.try_execute(format!("INSERT INTO confirmed VALUES ({})", *confirmed + 1)).await {
        *confirmed += 1;
    }
    // The row whose answer was lost may be there or not; it must not stand in the way of the next.
    let _killed = sql;
}

async fn check_next_start(state: &Path, confirmed: Option<i64>) {
    let mut dev = Running::dev(state);
    let ready = dev.ready();
    let (status, body) = get(&format!("{}/health/readiness", ready["url"].as_str().expect("a url")), &[]);
    assert_eq!((status, body["status"].as_str()), (200, Some("ready")), "{body}");
    if let Some(confirmed) = confirmed {
        let mut sql = Sql::connect(&postgres_url(&ready)).await;
        sql.execute("CREATE TABLE IF NOT EXISTS confirmed (n bigint PRIMARY KEY)").await;
        let found = sql.number(format!("SELECT count(*) FROM confirmed WHERE n <= {confirmed}")).await;
        assert_eq!(found, confirmed, "rows were confirmed and are gone");
        sql.execute(format!("DELETE FROM confirmed WHERE n > {confirmed}")).await;
    }
    dev.signal(Signal::INT);
    assert!(dev.wait().success());
    wait_until_gone(state, Duration::from_secs(2));
}
