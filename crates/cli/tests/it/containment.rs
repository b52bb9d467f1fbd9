//! `guildhall dev` where agents cannot be contained, and where the operator lets them run uncontained.

use std::path::Path;

use crate::support::user::{CliUser, stderr, stdout};
use crate::support::{ChildProcess, guildhall, without_bwrap};

fn sign_in(state: &Path) -> CliUser {
    let user = CliUser::new();
    let output = user.command(&["login"]).current_dir(state.parent().expect("a folder")).output();
    let output = output.expect("the command runs");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    user
}

#[test]
fn dev_without_bubblewrap_names_the_package_and_runs_fail() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join(".guildhall");
    let mut dev = guildhall();
    dev.args(["dev", "--listen", "127.0.0.1:0", "--state"]).arg(&state);
    let mut dev = ChildProcess::start(&mut without_bwrap(&dev));
    let runners = dev.stdout_line_matching(|line| line.contains("Runners"));
    let reason =
        "bubblewrap is not installed: install the package `bubblewrap`, which has the program `bwrap`";
    assert_eq!(
        runners.split_whitespace().collect::<Vec<_>>().join(" "),
        format!("Runners warm: 1 demo WARNING: runs of local runners will fail: {reason}")
    );
    dev.stdout_line_matching(|line| line.contains("Ready in"));
    let watched = sign_in(&state).run(&["runs", "create", "--profile", "demo", "hello", "--watch"]);
    let shown = format!("{}{}", stdout(&watched), stderr(&watched));
    assert!(watched.status.code() == Some(1) && shown.contains(reason), "{shown}");
}

#[test]
fn dev_says_that_a_codex_login_is_not_used() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut dev = guildhall();
    dev.args(["dev", "--ephemeral", "--listen", "127.0.0.1:0"]).env("CODEX_HOME", folder.path());
    std::fs::write(folder.path().join("auth.json"), "{}").expect("written");
    let mut dev = ChildProcess::start(&mut dev);
    let line = dev.stdout_line_matching(|line| line.contains("Codex"));
    assert_eq!(
        line.split_whitespace().collect::<Vec<_>>().join(" "),
        "Codex login found, not used agents need an API key: guildhall profiles set codex"
    );
}

#[test]
fn uncontained_server_says_so_in_every_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join(".guildhall");
    let mut dev = guildhall();
    dev.args(["dev", "--json", "--listen", "127.0.0.1:0", "--state"]).arg(&state);
    let mut dev = ChildProcess::start(dev.env("GUILDHALL_LAUNCHER_UNCONTAINED", "true"));
    let ready = dev.wait_ready();
    assert_eq!(ready["runners"]["contained"], false, "{ready}");
    let user = sign_in(&state);
    let watched = user.run(&["runs", "create", "--profile", "demo", "hello", "--watch", "--json"]);
    assert_eq!(watched.status.code(), Some(0), "{}", stderr(&watched));
    let text = stdout(&watched);
    assert_eq!(text.matches("\"agent-uncontained\"").count(), 1, "{text}");
}
