use std::time::Duration;

use guildhall_testkit::Sql;
use rustix::process::Signal;
use secrecy::SecretString;

use crate::support::{Running, get, guildhall, wait_until_gone};

fn folder() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("guildhall-cli-").tempdir().expect("a folder")
}

/// Returns the address of the PostgreSQL of a running `guildhall dev`.
pub(crate) fn postgres_url(ready: &serde_json::Value) -> SecretString {
    let state = std::path::Path::new(ready["state"].as_str().expect("a folder"));
    let password = std::fs::read_to_string(state.join("postgres.password")).expect("a password");
    format!("postgres://guildhall:{password}@127.0.0.1:{}/guildhall", ready["postgres"]["port"]).into()
}

#[tokio::test]
async fn dev_serves_ends_everything_on_ctrl_c_and_keeps_its_data() {
    let folder = folder();
    let mut first = Running::dev(folder.path());
    let ready = first.ready();
    let (status, body) = get(&format!("{}/health/readiness", ready["url"].as_str().expect("a url")), &[]);
    assert_eq!((status, body["status"].as_str()), (200, Some("ready")));
    Sql::connect(&postgres_url(&ready))
        .await
        .execute("CREATE TABLE kept (x int); INSERT INTO kept VALUES (1)")
        .await;
    first.signal(Signal::INT);
    assert!(first.wait().success());
    wait_until_gone(folder.path(), Duration::from_secs(2));

    let mut second = Running::dev(folder.path());
    let ready = second.ready();
    let kept = Sql::connect(&postgres_url(&ready)).await.number("SELECT count(*) FROM kept").await;
    assert_eq!(kept, 1);
    second.signal(Signal::TERM);
    assert!(second.wait().success());
    wait_until_gone(folder.path(), Duration::from_secs(2));
}

#[test]
fn dev_starts_an_engine_again_that_was_killed() {
    let folder = folder();
    let mut dev = Running::dev(folder.path());
    let ready = dev.ready();
    let url = format!("{}/health", ready["url"].as_str().expect("a url"));
    let pid = ready["postgres"]["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok()).expect("a pid");
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).expect("a pid"), Signal::KILL)
        .expect("killed");
    let data =
        std::path::Path::new(ready["postgres"]["data"].as_str().expect("a folder")).join("postmaster.pid");
    let again = (0..400).any(|_| {
        std::thread::sleep(Duration::from_millis(25));
        let now = std::fs::read_to_string(&data).unwrap_or_default();
        now.lines().next().is_some_and(|line| line != pid.to_string()) && get(&url, &[]).0 == 200
    });
    assert!(again, "it did not come back within 10 s");
}

#[test]
fn ephemeral_dev_leaves_nothing_behind() {
    let here = folder();
    let mut dev = Running::start(guildhall().current_dir(here.path()).args([
        "dev",
        "--ephemeral",
        "--json",
        "--listen",
        "127.0.0.1:0",
    ]));
    let ready = dev.ready();
    let state = std::path::PathBuf::from(ready["state"].as_str().expect("a folder"));
    assert_eq!((ready["kept"].as_bool(), state.exists()), (Some(false), true));
    dev.signal(Signal::INT);
    assert!(dev.wait().success());
    assert!(!state.exists(), "{} is still there", state.display());
    assert_eq!(std::fs::read_dir(here.path()).expect("readable").count(), 0);
}

#[test]
fn a_second_dev_in_the_same_folder_is_refused_with_the_first_ones_pid() {
    let folder = folder();
    let mut first = Running::dev(folder.path());
    first.ready();
    let second = guildhall().args(["dev", "--state"]).arg(folder.path()).output().expect("ran");
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(!second.status.success());
    assert!(said.contains(&format!("(pid {})", first.pid())) && said.contains("--state"), "{said}");
}

#[test]
fn dev_refuses_to_listen_to_others() {
    let folder = folder();
    let dev = guildhall()
        .args(["dev", "--listen", "0.0.0.0:0", "--state"])
        .arg(folder.path())
        .output()
        .expect("ran");
    let said = String::from_utf8_lossy(&dev.stderr).into_owned();
    assert!(!dev.status.success() && said.contains("use `guildhall serve` to serve others"), "{said}");
}
