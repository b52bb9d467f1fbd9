//! Runners that the server launches: their credentials and the isolation of their agents.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use guildhall_testkit::FakeModel;
use serde_json::json;
use tokio::runtime::Runtime;

use crate::support::search_path_with;
use crate::support::user::{CliUser, DevServer, stderr, stdout};

const PROVIDER_API_KEY: &str = "sk-canary-3177";

/// Starts a server with the local launcher and Codex on its `PATH`, and signs in.
pub(crate) fn start_server(extra_settings: &[(&str, &str)]) -> (DevServer, CliUser) {
    let path = search_path_with(&[&guildhall_testkit::codex_program()]);
    let settings: Vec<_> = [("GUILDHALL_LAUNCHER_KIND", "local"), ("PATH", &path)]
        .into_iter()
        .chain(extra_settings.iter().copied())
        .collect();
    let (server, user) = (DevServer::ephemeral_with(&settings), CliUser::new());
    user.login(&server);
    (server, user)
}

pub(crate) fn set_key(user: &CliUser, base_url: &str) {
    let args = ["profiles", "set", "codex", "--base-url", base_url, "--model", "fake-model", "--no-check"];
    let stored = user.run_with_stdin(&args, PROVIDER_API_KEY);
    assert_eq!(stored.status.code(), Some(0), "{}", stderr(&stored));
}

// covers: R22
#[test]
fn launched_runner_uses_the_credential_set_over_the_api() {
    let runtime = Runtime::new().expect("a runtime");
    let model = runtime.block_on(FakeModel::start());
    let no_launch_settings = [("GUILDHALL_LAUNCHER_WARM", ""), ("GUILDHALL_LAUNCHER_COLD_START", "false")];
    let (_server, user) = start_server(&no_launch_settings);
    let without_credential = user.run(&["runs", "create", "--profile", "codex", "tidy my notes"]);
    assert_eq!(
        without_credential.status.code(),
        Some(1),
        "a run without a credential was created: {}",
        stdout(&without_credential)
    );
    assert!(
        stderr(&without_credential).contains("next: set the missing credential, or ask"),
        "{}",
        stderr(&without_credential)
    );
    set_key(&user, &model.base_url_requiring_key(PROVIDER_API_KEY));
    let created = user.json(&["runs", "create", "--profile", "codex", "tidy my notes"]);
    let run = created["run"]["runId"].as_str().expect("a run");
    assert!(model.requests().is_empty(), "a runner started too early");
    let job = user.json(&["runs", "launch", run]);
    assert_eq!(job["kind"], "asked", "{job}");
    let deadline = Instant::now() + Duration::from_secs(120);
    while user.json(&["runs", "show", run])["openCommandIds"] != json!([]) {
        assert!(Instant::now() < deadline, "no reply: {}", user.json(&["runs", "jobs", run]));
        std::thread::sleep(Duration::from_millis(200));
    }
    let result = user.json(&["runs", "result", run]);
    assert_eq!(result["reply"], "Echo: tidy my notes", "{result}");
    let keys: Vec<_> = model.requests().into_iter().map(|request| request.authorization).collect();
    assert!(
        !keys.is_empty() && keys.iter().all(|key| *key == Some(format!("Bearer {PROVIDER_API_KEY}"))),
        "{keys:?}"
    );
}

/// Returns the path of the only stored credential.
fn credential_path(state: &Path) -> PathBuf {
    let providers = state.join("secrets/providers");
    let owners = std::fs::read_dir(providers).expect("a folder").flatten();
    let mut matches = owners.map(|owner| owner.path().join("codex/credential")).filter(|file| file.is_file());
    matches.next().expect("a credential")
}

/// Returns the file `seen` that the only run wrote in its workspace.
fn workspace_output(state: &Path) -> String {
    let workspaces =
        std::fs::read_dir(state.join("launcher/storage/workspaces")).expect("a folder").flatten();
    let mut matches =
        workspaces.filter_map(|workspace| std::fs::read_to_string(workspace.path().join("seen")).ok());
    matches.next().expect("a file `seen` in a workspace")
}

#[test]
fn launched_agent_cannot_reach_credentials_state_or_engines() {
    let (server, user) = start_server(&[]);
    set_key(&user, "https://model.example/v1");
    let (state, credential_path) = (server.state.display(), credential_path(&server.state));
    assert!(std::fs::read_to_string(&credential_path).expect("readable").contains(PROVIDER_API_KEY));
    let ports = ["postgres", "nats"].map(|engine| server.ready[engine]["port"].as_u64().expect("a port"));
    let mut script = format!(
        "exec > seen 2>&1; cat {} && echo REACHED credential; ls {state}/postgres && echo REACHED state; \
         cat {state}/postgres.password && echo REACHED password; ls {state}/launcher/attempts && echo REACHED attempts; ",
        credential_path.display()
    );
    for port in ports {
        TcpStream::connect(("127.0.0.1", u16::try_from(port).expect("a port"))).expect("the engine listens");
        script += &format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}' && echo REACHED {port}; ");
    }
    let api_port = server.url.rsplit(':').next().expect("a port");
    script += &format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{api_port}' && echo REACHED the API; ");
    script += "echo kept > mine && echo wrote $(cat mine); echo files $(ulimit -Hn) nice $(nice)";
    let watched = user.run(&["runs", "create", &format!("run: {script}"), "--watch"]);
    assert_eq!(watched.status.code(), Some(0), "{} {}", stdout(&watched), stderr(&watched));
    let output = workspace_output(&server.state);
    let lines: Vec<&str> = output.lines().map(str::trim).collect();
    assert!(!output.contains("REACHED") && !output.contains(PROVIDER_API_KEY), "{output}");
    // The other commands work, and the launcher's limits apply to them.
    for expected in ["wrote kept", "files 4096 nice 5"] {
        assert!(lines.iter().any(|line| line.ends_with(expected)), "{expected}: {output}");
    }
}
