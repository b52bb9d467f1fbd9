use std::path::Path;
use std::process::Command;
use std::time::Duration;

use guildhall_testkit::SqlConnection;
use rustix::process::Signal;
use secrecy::SecretString;

use crate::support::user::{CliUser, DevServer, stderr};
use crate::support::{ChildProcess, guildhall, http_get, search_path_with, wait_until_no_process};

fn temp_folder() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("guildhall-cli-").tempdir().expect("a folder")
}

/// Returns the PostgreSQL URL of a running `guildhall dev`.
pub(crate) fn postgres_url(ready: &serde_json::Value) -> SecretString {
    let state = std::path::Path::new(ready["state"].as_str().expect("a folder"));
    let password = std::fs::read_to_string(state.join("postgres.password")).expect("a password");
    format!("postgres://guildhall:{password}@127.0.0.1:{}/guildhall", ready["postgres"]["port"]).into()
}

#[tokio::test]
async fn dev_stops_all_processes_on_signal_and_keeps_its_data() {
    let folder = temp_folder();
    let mut first = ChildProcess::start_dev(folder.path());
    let ready = first.wait_ready();
    let (status, body) =
        http_get(&format!("{}/health/readiness", ready["url"].as_str().expect("a url")), &[]);
    assert_eq!((status, body["status"].as_str()), (200, Some("ready")));
    SqlConnection::connect(&postgres_url(&ready))
        .await
        .execute("CREATE TABLE kept (x int); INSERT INTO kept VALUES (1)")
        .await;
    first.signal(Signal::INT);
    assert!(first.wait().success());
    wait_until_no_process(folder.path(), Duration::from_secs(2));

    let mut second = ChildProcess::start_dev(folder.path());
    let ready = second.wait_ready();
    let kept = SqlConnection::connect(&postgres_url(&ready)).await.number("SELECT count(*) FROM kept").await;
    assert_eq!(kept, 1);
    second.signal(Signal::TERM);
    assert!(second.wait().success());
    wait_until_no_process(folder.path(), Duration::from_secs(2));
}

#[test]
fn dev_restarts_a_killed_postgres() {
    let folder = temp_folder();
    let mut dev = ChildProcess::start_dev(folder.path());
    let ready = dev.wait_ready();
    let url = format!("{}/health", ready["url"].as_str().expect("a url"));
    let pid = ready["postgres"]["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok()).expect("a pid");
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).expect("a pid"), Signal::KILL)
        .expect("killed");
    let data =
        std::path::Path::new(ready["postgres"]["data"].as_str().expect("a folder")).join("postmaster.pid");
    let restarted = (0..400).any(|_| {
        std::thread::sleep(Duration::from_millis(25));
        let pid_file = std::fs::read_to_string(&data).unwrap_or_default();
        pid_file.lines().next().is_some_and(|line| line != pid.to_string()) && http_get(&url, &[]).0 == 200
    });
    assert!(restarted, "PostgreSQL did not restart within 10 s");
}

#[test]
fn ephemeral_dev_leaves_no_files() {
    let working_dir = temp_folder();
    let mut dev = ChildProcess::start(guildhall().current_dir(working_dir.path()).args([
        "dev",
        "--ephemeral",
        "--json",
        "--listen",
        "127.0.0.1:0",
    ]));
    let ready = dev.wait_ready();
    let state = std::path::PathBuf::from(ready["state"].as_str().expect("a folder"));
    assert_eq!((ready["kept"].as_bool(), state.exists()), (Some(false), true));
    dev.signal(Signal::INT);
    assert!(dev.wait().success());
    assert!(!state.exists(), "{} still exists", state.display());
    assert_eq!(std::fs::read_dir(working_dir.path()).expect("readable").count(), 0);
}

#[test]
fn second_dev_in_same_folder_fails_with_the_first_pid() {
    let folder = temp_folder();
    let mut first = ChildProcess::start_dev(folder.path());
    first.wait_ready();
    let second = guildhall().args(["dev", "--state"]).arg(folder.path()).output().expect("the command runs");
    let message = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(!second.status.success());
    assert!(message.contains(&format!("(pid {})", first.pid())) && message.contains("--state"), "{message}");
}

#[test]
fn dev_rejects_a_non_loopback_listen_address() {
    let folder = temp_folder();
    let dev = guildhall()
        .args(["dev", "--listen", "0.0.0.0:0", "--state"])
        .arg(folder.path())
        .output()
        .expect("the command runs");
    let message = String::from_utf8_lossy(&dev.stderr).into_owned();
    assert!(!dev.status.success() && message.contains("use `guildhall serve` to serve others"), "{message}");
}

#[test]
fn printed_login_command_signs_in_to_that_server() {
    let (state, user) = (temp_folder(), CliUser::new());
    let servers =
        [DevServer::ephemeral(), DevServer::persistent(&state.path().join("my state"), "127.0.0.1:0")];
    for server in servers {
        let login = server.ready["login"].as_str().expect("a command");
        let guildhall = user.command(&[]);
        let directory = Path::new(guildhall.get_program()).parent().expect("a directory");
        let mut shell = Command::new("sh");
        shell.args(["-c", login]).env("PATH", search_path_with(&[&directory.join("guildhall")]));
        shell.envs(guildhall.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = shell.output().expect("a shell");
        assert_eq!(output.status.code(), Some(0), "{login}: {}", stderr(&output));
        assert_eq!(user.json(&["context", "show"])["url"], format!("{}/", server.url));
    }
}

#[test]
fn login_command_of_the_default_state_is_short() {
    let folder = temp_folder();
    let mut command = guildhall();
    command.args(["dev", "--json", "--listen", "127.0.0.1:0"]).current_dir(folder.path());
    let ready = ChildProcess::start(command.env("GUILDHALL_LAUNCHER_KIND", "none")).wait_ready();
    assert_eq!(ready["login"], "guildhall login");
}
