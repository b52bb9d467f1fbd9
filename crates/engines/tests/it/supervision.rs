use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use guildhall_engines::{Nats, Postgres, RestartPolicy, StateDir};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tempfile::TempDir;

/// A directory that the account of PostgreSQL can access.
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

fn wait_until(condition_text: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !condition() {
        assert!(Instant::now() < deadline, "waited 20 s until {condition_text}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn engines_run_until_they_are_dropped() {
    let folder = folder();
    let state = StateDir::open(folder.path()).expect("free");
    let postgres = Postgres::start(&state, RestartPolicy::OnDemand).expect("started");
    let nats = Nats::start(&state, RestartPolicy::OnDemand).expect("started");
    let pids = [pid(postgres.pid()), pid(nats.pid())];
    assert!(pids.iter().all(|pid| alive(*pid)));
    drop((postgres, nats));
    assert!(pids.iter().all(|pid| !alive(*pid)));
}

#[test]
fn crashed_engine_is_restarted_by_policy_always() {
    let folder = folder();
    let state = StateDir::open(folder.path()).expect("free");
    let nats = Nats::start(&state, RestartPolicy::Always).expect("started");
    let first = pid(nats.pid());
    kill_process(first, Signal::KILL).expect("killed");
    wait_until("another one runs", || nats.pid().is_some_and(|_| pid(nats.pid()) != first));
}

#[test]
fn killed_postgres_is_restarted_on_demand_on_the_same_port() {
    let folder = folder();
    let state = StateDir::open(folder.path()).expect("free");
    let postgres = Postgres::start(&state, RestartPolicy::OnDemand).expect("started");
    let port = postgres.port();
    postgres.kill();
    assert_eq!(postgres.pid(), None);
    postgres.restart().expect("recovered");
    assert_eq!(postgres.port(), port);
}

#[test]
fn next_start_kills_orphaned_engines_and_keeps_the_data() {
    let folder = folder();
    let state = StateDir::open(folder.path()).expect("free");
    let orphan = Postgres::start(&state, RestartPolicy::OnDemand).expect("started");
    let orphan_pid = pid(orphan.pid());
    let data = system_identifier(orphan.data_folder());
    // Like a killed process: no destructor runs, and the kernel releases the lock.
    std::mem::forget(orphan);
    drop(state);

    let state = StateDir::open(folder.path()).expect("free again");
    let next = Postgres::start(&state, RestartPolicy::OnDemand).expect("started");
    assert_ne!(pid(next.pid()), orphan_pid);
    wait_until("the orphan is gone", || !alive(orphan_pid) || is_zombie(orphan_pid));
    assert_eq!(system_identifier(next.data_folder()), data);
}

#[test]
fn partial_data_directory_is_recreated() {
    let folder = folder();
    let state = StateDir::open(folder.path()).expect("free");
    let partial: PathBuf = folder.path().join("postgres/data.new");
    std::fs::create_dir_all(partial.join("base")).expect("created");
    std::fs::write(partial.join("PG_VERSION"), "15").expect("written");
    let postgres = Postgres::start(&state, RestartPolicy::OnDemand).expect("started");
    assert!(postgres.pid().is_some() && !partial.exists());
}

#[test]
fn passwords_are_not_in_arguments_or_environment() {
    use secrecy::ExposeSecret;
    let folder = folder();
    let state = StateDir::open(folder.path()).expect("free");
    let postgres = Postgres::start(&state, RestartPolicy::OnDemand).expect("started");
    let nats = Nats::start(&state, RestartPolicy::OnDemand).expect("started");
    for (url, process) in [(postgres.url(), postgres.pid()), (nats.url(), nats.pid())] {
        let url = url.expose_secret().to_owned();
        let password = url.split([':', '@']).nth(2).expect("a password");
        let args = std::fs::read(format!("/proc/{}/cmdline", process.expect("it runs"))).expect("read");
        let environment =
            std::fs::read(format!("/proc/{}/environ", process.expect("it runs"))).expect("read");
        let visible = format!("{}{}", String::from_utf8_lossy(&args), String::from_utf8_lossy(&environment));
        assert_eq!(password.len(), 64);
        assert!(!visible.contains(password), "a password is visible to other users");
    }
}

/// Returns the system identifier, which initdb assigns once.
fn system_identifier(data: &Path) -> Vec<u8> {
    std::fs::read(data.join("global/pg_control")).expect("read")[..8].to_vec()
}

fn is_zombie(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    stat.contains(") Z ")
}
