use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use guildhall_engines::{Home, Nats, Postgres, Restart};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tempfile::TempDir;

/// A folder that the account of PostgreSQL can enter.
fn folder() -> TempDir {
    tempfile::Builder::new().prefix("guildhall-engines-").tempdir().expect("a folder")
}

fn pid(raw: Option<u32>) -> Pid {
    let raw = i32::try_from(raw.expect("it runs")).expect("a pid");
    Pid::from_raw(raw).expect("a pid")
}

fn alive(pid: Pid) -> bool {
    test_kill_process(pid).is_ok()
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < deadline, "waited 20 s until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn engines_answer_after_the_start_and_are_gone_after_the_drop() {
    let folder = folder();
    let home = Home::open(folder.path()).expect("free");
    let postgres = Postgres::start(&home, Restart::WhenAsked).expect("started");
    let nats = Nats::start(&home, Restart::WhenAsked).expect("started");
    let pids = [pid(postgres.pid()), pid(nats.pid())];
    assert!(pids.iter().all(|pid| alive(*pid)));
    drop((postgres, nats));
    assert!(pids.iter().all(|pid| !alive(*pid)));
}

#[test]
fn an_engine_that_crashes_is_started_again_where_that_is_wanted() {
    let folder = folder();
    let home = Home::open(folder.path()).expect("free");
    let nats = Nats::start(&home, Restart::Always).expect("started");
    let first = pid(nats.pid());
    kill_process(first, Signal::KILL).expect("killed");
    wait_until("another one runs", || nats.pid().is_some_and(|_| pid(nats.pid()) != first));
}

#[test]
fn a_killed_postgres_stays_down_until_asked_and_comes_back_on_its_port() {
    let folder = folder();
    let home = Home::open(folder.path()).expect("free");
    let postgres = Postgres::start(&home, Restart::WhenAsked).expect("started");
    let port = postgres.port();
    postgres.kill();
    assert_eq!(postgres.pid(), None);
    postgres.up().expect("recovered");
    assert_eq!(postgres.port(), port);
}

#[test]
fn the_next_start_ends_what_a_killed_process_left_and_keeps_the_data() {
    let folder = folder();
    let home = Home::open(folder.path()).expect("free");
    let orphan = Postgres::start(&home, Restart::WhenAsked).expect("started");
    let left = pid(orphan.pid());
    let data = system_identifier(orphan.data_folder());
    // A killed process runs no destructor, and its lock is let go by the kernel.
    std::mem::forget(orphan);
    drop(home);

    let home = Home::open(folder.path()).expect("free again");
    let next = Postgres::start(&home, Restart::WhenAsked).expect("started");
    assert_ne!(pid(next.pid()), left);
    wait_until("the orphan is gone", || !alive(left) || is_zombie(left));
    assert_eq!(system_identifier(next.data_folder()), data);
}

#[test]
fn an_unfinished_data_folder_is_made_anew() {
    let folder = folder();
    let home = Home::open(folder.path()).expect("free");
    let half: PathBuf = folder.path().join("postgres/data.new");
    std::fs::create_dir_all(half.join("base")).expect("made");
    std::fs::write(half.join("PG_VERSION"), "15").expect("written");
    let postgres = Postgres::start(&home, Restart::WhenAsked).expect("started");
    assert!(postgres.pid().is_some() && !half.exists());
}

#[test]
fn passwords_stand_in_no_argument_list() {
    use secrecy::ExposeSecret;
    let folder = folder();
    let home = Home::open(folder.path()).expect("free");
    let postgres = Postgres::start(&home, Restart::WhenAsked).expect("started");
    let nats = Nats::start(&home, Restart::WhenAsked).expect("started");
    for (url, process) in [(postgres.url(), postgres.pid()), (nats.url(), nats.pid())] {
        let url = url.expose_secret().to_owned();
        let password = url.split([':', '@']).nth(2).expect("a password");
        let args = std::fs::read(format!("/proc/{}/cmdline", process.expect("it runs"))).expect("read");
        let environment =
            std::fs::read(format!("/proc/{}/environ", process.expect("it runs"))).expect("read");
        let seen = format!("{}{}", String::from_utf8_lossy(&args), String::from_utf8_lossy(&environment));
        assert_eq!(password.len(), 64);
        assert!(!seen.contains(password), "a password can be seen by everyone on this machine");
    }
}

/// Returns the number that PostgreSQL gives a data folder once, when it is made.
fn system_identifier(data: &Path) -> Vec<u8> {
    std::fs::read(data.join("global/pg_control")).expect("read")[..8].to_vec()
}

fn is_zombie(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    stat.contains(") Z ")
}
