//! Runners that a server starts: what they are given, and what their agents cannot reach.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use guildhall_testkit::FakeModel;
use serde_json::json;
use tokio::runtime::Runtime;

use crate::support::user::{Server, User, stderr, stdout};

const KEY: &str = "sk-canary-3177";

/// Starts a server that starts runners, with Codex on its search path, and signs in.
fn server(more: &[(&str, &str)]) -> (Server, User) {
    let codex = guildhall_testkit::codex();
    let beside = codex.parent().expect("a folder").display();
    let usual = std::env::var_os("PATH").unwrap_or_default();
    let path = format!("{beside}:{}", usual.to_string_lossy());
    let settings: Vec<_> = [("GUILDHALL_LAUNCHER_KIND", "local"), ("PATH", &path)]
        .into_iter()
        .chain(more.iter().copied())
        .collect();
    let (server, user) = (Server::ephemeral_with(&settings), User::new());
    user.login(&server);
    (server, user)
}

fn set_key(user: &User, base_url: &str) {
    let words = ["profiles", "set", "codex", "--base-url", base_url, "--model", "fake-model"];
    let kept = user.run_with(&words, KEY);
    assert_eq!(kept.status.code(), Some(0), "{}", stderr(&kept));
}

// covers: R22
#[test]
fn a_launched_runner_answers_with_the_key_that_was_set_over_the_api() {
    let runtime = Runtime::new().expect("a runtime");
    let model = runtime.block_on(FakeModel::start());
    let off = [("GUILDHALL_LAUNCHER_WARM", ""), ("GUILDHALL_LAUNCHER_COLD_START", "false")];
    let (_server, user) = server(&off);
    let early = user.run(&["runs", "create", "--profile", "codex", "tidy my notes"]);
    assert_eq!(early.status.code(), Some(1), "a run without a key: {}", stdout(&early));
    assert!(stderr(&early).contains("next: ask the operator to give the profile"), "{}", stderr(&early));
    set_key(&user, &model.base_url_for(KEY));
    let made = user.json(&["runs", "create", "--profile", "codex", "tidy my notes"]);
    let run = made["run"]["runId"].as_str().expect("a run");
    assert!(model.requests().is_empty(), "nobody was to start a runner yet");
    let job = user.json(&["runs", "launch", run]);
    assert_eq!(job["kind"], "asked", "{job}");
    let deadline = Instant::now() + Duration::from_secs(60);
    while user.json(&["runs", "show", run])["openCommandIds"] != json!([]) {
        assert!(Instant::now() < deadline, "no answer: {}", user.json(&["runs", "jobs", run]));
        std::thread::sleep(Duration::from_millis(200));
    }
    let result = user.json(&["runs", "result", run]);
    assert_eq!(result["reply"], "Echo: tidy my notes", "{result}");
    let keys: Vec<_> = model.requests().into_iter().map(|request| request.authorization).collect();
    assert!(!keys.is_empty() && keys.iter().all(|key| *key == Some(format!("Bearer {KEY}"))), "{keys:?}");
}

/// Returns the file in which the only credential lies.
fn credential(state: &Path) -> PathBuf {
    let providers = state.join("secrets/providers");
    let owners = std::fs::read_dir(providers).expect("a folder").flatten();
    let mut found = owners.map(|owner| owner.path().join("codex/credential")).filter(|file| file.is_file());
    found.next().expect("a credential")
}

/// Returns what the only run wrote down in its workspace.
fn seen(state: &Path) -> String {
    let workspaces =
        std::fs::read_dir(state.join("launcher/storage/workspaces")).expect("a folder").flatten();
    let mut found =
        workspaces.filter_map(|workspace| std::fs::read_to_string(workspace.path().join("seen")).ok());
    found.next().expect("it wrote nothing")
}

#[test]
fn an_agent_of_a_launched_runner_reaches_neither_credentials_nor_state_nor_engines() {
    let (server, user) = server(&[]);
    set_key(&user, "https://model.example/v1");
    let (state, credential) = (server.state.display(), credential(&server.state));
    assert!(std::fs::read_to_string(&credential).expect("readable").contains(KEY));
    let ports = ["postgres", "nats"].map(|engine| server.ready[engine]["port"].as_u64().expect("a port"));
    let mut tries = format!(
        "exec > seen 2>&1; cat {} && echo REACHED credential; ls {state} && echo REACHED state; \
         cat {state}/postgres.password && echo REACHED password; ls {state}/launcher/attempts && echo REACHED attempts; ",
        credential.display()
    );
    for port in ports {
        TcpStream::connect(("127.0.0.1", u16::try_from(port).expect("a port"))).expect("it listens");
        tries += &format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}' && echo REACHED {port}; ");
    }
    let own = server.url.rsplit(':').next().expect("a port");
    tries += &format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{own}' && echo the API is open; ");
    tries += "echo kept > mine && echo wrote $(cat mine); echo files $(ulimit -Hn) nice $(nice)";
    let watched = user.run(&["runs", "create", &format!("run: {tries}"), "--watch"]);
    assert_eq!(watched.status.code(), Some(0), "{} {}", stdout(&watched), stderr(&watched));
    let said = seen(&server.state);
    let printed: Vec<&str> = said.lines().map(str::trim).collect();
    assert!(!said.contains("REACHED") && !said.contains(KEY), "{said}");
    // What failed did so for a reason of its own: the rest works, and the launcher's limits hold for it.
    for expected in ["the API is open", "wrote kept", "files 4096 nice 5"] {
        assert!(printed.iter().any(|line| line.ends_with(expected)), "{expected}: {said}");
    }
}
