//! `guildhall doctor` on a developer's machine.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use guildhall_engines::Package;
use guildhall_testkit::{SqlConnection, Stopwatch};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::dev::postgres_url;
use crate::support::doctor::report_summary;
use crate::support::user::{stderr, stdout};
use crate::support::{ChildProcess, guildhall, wait_until_no_process, without_bwrap};

fn temp_folder() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("guildhall-cli-").tempdir().expect("a folder")
}

/// Returns a doctor command for a state folder. `listen` avoids the default port, which may be in use here.
fn doctor_command(state: &Path, listen: &str) -> Command {
    let mut command = guildhall();
    command.args(["doctor", "--json", "--state"]).arg(state).env("GUILDHALL_HTTP_LISTEN", listen);
    command
}

fn run_doctor(command: &mut Command) -> (Value, Option<i32>) {
    let output = command.output().expect("the command runs");
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    (report_summary(&report), output.status.code())
}

const CHECKS: [&str; 13] = [
    "config",
    "state-folder",
    "state-lock",
    "disk-space",
    "postgres-program",
    "nats-program",
    "sandbox",
    "port",
    "postgres",
    "nats",
    "migrations",
    "server",
    "tls",
];

/// The expected report: one failed check, its skipped dependents, and everything else ok.
fn expected(failed: Option<[&str; 3]>, skipped: &[&str]) -> Value {
    let root_cause = failed.map(|[root_cause, ..]| root_cause);
    let checks = CHECKS.iter().map(|id| match failed {
        Some([root_cause, detail, fix]) if root_cause == *id => json!([id, "failed", detail, fix]),
        Some([root_cause, ..]) if skipped.contains(id) => json!([id, "skipped", root_cause]),
        Some(_) | None => json!([id, "ok"]),
    });
    let checks: Vec<Value> = checks.collect();
    json!({ "v": 1, "mode": "laptop", "ok": root_cause.is_none(), "rootCause": root_cause, "checks": checks })
}

#[test]
fn doctor_without_a_state_folder_creates_no_files() {
    let folder = temp_folder();
    let result = run_doctor(&mut doctor_command(&folder.path().join("state"), "127.0.0.1:0"));
    assert_eq!(result, (expected(None, &[]), Some(0)));
    assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 0, "doctor created files");
}

#[tokio::test]
async fn too_new_schema_is_reported_after_dev_was_killed() {
    let folder = temp_folder();
    let mut dev = ChildProcess::start_dev(folder.path());
    let ready = dev.wait_ready();
    let address = ready["url"].as_str().expect("a url").trim_start_matches("http://").to_owned();
    assert_eq!(run_doctor(&mut doctor_command(folder.path(), &address)), (expected(None, &[]), Some(0)));
    let mut sql = SqlConnection::connect(&postgres_url(&ready)).await;
    let newest_migration = sql.number("SELECT max(version) FROM _sqlx_migrations").await;
    sql.execute("UPDATE schema_state SET floor = 999999").await;
    sql.close().await;
    dev.signal(Signal::KILL);
    dev.wait();
    // Doctor ends the processes that the killed `dev` left and recovers the data.
    let detail =
        format!("the database requires a guildhall with migration 999999; this one has {newest_migration}");
    let fix = "guildhall --version   # then install the version of the other servers";
    let result = run_doctor(&mut doctor_command(folder.path(), "127.0.0.1:0"));
    assert_eq!(result, (expected(Some(["migrations", &detail, fix]), &["server"]), Some(1)));
    wait_until_no_process(folder.path(), Duration::from_secs(10));
}

#[test]
fn read_only_state_folder_is_the_root_cause() {
    let folder = temp_folder();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o500)).expect("set");
    let command = doctor_command(folder.path(), "127.0.0.1:0");
    let mut command = without_root_capabilities(&command);
    let folder_path = folder.path().display().to_string();
    let (detail, fix) = (
        format!("{folder_path} is not writable: permission denied"),
        format!("sudo chown -R \"$USER\" {folder_path}   # or --state DIR"),
    );
    let skipped = ["state-lock", "disk-space", "port", "postgres", "nats", "migrations", "server", "tls"];
    assert_eq!(
        run_doctor(&mut command),
        (expected(Some(["state-folder", &detail, &fix]), &skipped), Some(1))
    );
}

/// Returns the command without the capability that lets root ignore file permissions.
fn without_root_capabilities(command: &Command) -> Command {
    if !rustix::process::geteuid().is_root() {
        let mut plain = Command::new(command.get_program());
        plain.args(command.get_args());
        return with_environment(plain, command);
    }
    let mut restricted = Command::new("setpriv");
    restricted.args([
        "--bounding-set=-dac_override,-dac_read_search",
        "--inh-caps=-dac_override,-dac_read_search",
        "--",
    ]);
    restricted.arg(command.get_program()).args(command.get_args());
    with_environment(restricted, command)
}

fn with_environment(mut command: Command, source: &Command) -> Command {
    for (name, value) in source.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

#[test]
fn lock_held_by_another_process_than_recorded_is_reported() {
    let folder = temp_folder();
    let lock = folder.path().join("lock");
    std::fs::write(&lock, "4294967295").expect("written");
    let mut holder = Command::new("flock")
        .arg("--no-fork")
        .arg(&lock)
        .args(["sh", "-c", "echo held; exec sleep 60"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("flock runs");
    let mut output = [0; 5];
    std::io::Read::read_exact(holder.stdout.as_mut().expect("piped"), &mut output)
        .expect("flock holds the lock");
    let folder_path = folder.path().display().to_string();
    let result = run_doctor(&mut doctor_command(folder.path(), "127.0.0.1:0"));
    holder.kill().expect("killed");
    holder.wait().expect("exited");
    let detail = format!(
        "{folder_path} is locked by a leftover process; the `guildhall dev` that locked it (pid 4294967295) has exited"
    );
    let fix = format!("fuser -k {folder_path}/lock");
    let skipped = ["port", "postgres", "nats", "migrations", "server", "tls"];
    assert_eq!(result, (expected(Some(["state-lock", &detail, &fix]), &skipped), Some(1)));
}

#[test]
fn missing_programs_and_occupied_port_have_a_fix() {
    let (folder, empty_folder) = (temp_folder(), temp_folder());
    let state = folder.path().join("state");
    let mut without = doctor_command(&state, "127.0.0.1:0");
    let result = run_doctor(without.env("GUILDHALL_ENGINE_PG_BIN", empty_folder.path()));
    let detail =
        "PostgreSQL was not found (searched GUILDHALL_ENGINE_PG_BIN, the PATH and the default directories)";
    let fix = Package::Postgres.install_command();
    let failed = ["postgres-program", detail, &fix];
    assert_eq!(result, (expected(Some(failed), &["postgres", "migrations", "server"]), Some(1)));

    let mut without = doctor_command(&state, "127.0.0.1:0");
    let result = run_doctor(without.env("GUILDHALL_ENGINE_NATS_BIN", empty_folder.path()));
    let detail =
        "NATS was not found (searched GUILDHALL_ENGINE_NATS_BIN, the PATH and the default directories)";
    let fix = Package::Nats.install_command();
    assert_eq!(result, (expected(Some(["nats-program", detail, &fix]), &["nats", "server"]), Some(1)));

    let mut without = without_bwrap(&doctor_command(&state, "127.0.0.1:0"));
    let detail = "runs of local runners will fail: bubblewrap is not installed: install the package `bubblewrap`, \
                  which has the program `bwrap`";
    let fix = Package::Bubblewrap.install_command();
    let failed = ["sandbox", detail, &fix];
    assert_eq!(run_doctor(&mut without), (expected(Some(failed), &[]), Some(1)));

    // This process occupies the port and responds to nothing.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            drop(stream);
        }
    });
    let result = run_doctor(&mut doctor_command(&state, &address));
    let detail = format!("{address} is used by another program");
    assert_eq!(
        result,
        (expected(Some(["port", &detail, "guildhall dev --listen 127.0.0.1:0"]), &[]), Some(1))
    );
}

#[test]
fn hanging_engine_program_does_not_block_the_doctor() {
    let (folder, bin) = (temp_folder(), temp_folder());
    let program = bin.path().join("postgres");
    std::fs::write(&program, "#!/bin/sh\nexec sleep 120\n").expect("written");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("set");
    let started = Stopwatch::start();
    let mut command = doctor_command(&folder.path().join("state"), "127.0.0.1:0");
    let output = command.env("GUILDHALL_ENGINE_PG_BIN", bin.path()).output().expect("the command runs");
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stdout(&output)));
    assert_eq!((report["rootCause"].as_str(), output.status.code()), (Some("postgres-program"), Some(1)));
    assert!(started.elapsed() < Duration::from_secs(60), "took {:?}", started.elapsed());
}
