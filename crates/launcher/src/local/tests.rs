use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use guildhall_domain::profiles::{BackendKind, Profile};
use rustix::process::Signal;
use secrecy::SecretString;
use tempfile::TempDir;

use super::processes::{ProcessIdentity, ProcessState, send_signal};
use super::*;
use crate::ExitReason;
use crate::secrets::{FileStore, NewProfile, SecretStore};
use guildhall_domain::profiles::ProfileOwner;
use guildhall_domain::runners::job::attempt_name;

const TOKEN: &str = "ghe_the_token_of_a_test";

/// A launcher directory whose runner is a shell script. Dropping it kills everything that was started.
struct TestLauncherDir {
    folder: TempDir,
}

impl TestLauncherDir {
    fn new(script: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("guildhall-launcher-").tempdir().expect("a folder");
        let dir = Self { folder };
        fs::write(dir.path("runner"), format!("#!/bin/sh\n{script}\n")).expect("written");
        fs::set_permissions(dir.path("runner"), fs::Permissions::from_mode(0o700)).expect("set");
        dir
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn options(&self) -> LocalOptions {
        LocalOptions {
            runner: self.path("runner"),
            state: self.path("state"),
            profiles: Some(self.path("operators")),
            secrets: None,
            containment: Containment::Uncontained,
            workspace_roots: vec!["/srv/repos".into()],
            git: GitOptions {
                hosts: vec!["git.example".to_owned()],
                credentials: vec!["/srv/git-credentials".into()],
                known_hosts: Some("/srv/known_hosts".into()),
                networks: vec!["10.1.0.0/16".to_owned()],
            },
            url: "http://127.0.0.1:1".into(),
            idle_timeout: Duration::from_secs(1),
            claim_timeout: Duration::from_secs(1),
            limits: Limits { memory_bytes: None, open_files: Some(333), processes: None, nice: 7 },
            log_bytes: 4000,
            lifetime: Lifetime::Independent,
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        }
    }

    fn open(&self) -> LocalLauncher {
        LocalLauncher::open(self.options()).expect("a launcher")
    }

    fn attempt(&self, attempt: AttemptId, file: &str) -> PathBuf {
        self.path("state/attempts").join(attempt_name(attempt)).join(file)
    }

    /// Waits for the pid file of a script, and returns the process.
    fn process(&self, name: &str) -> ProcessIdentity {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let text = fs::read_to_string(self.path(name)).unwrap_or_default();
            if let Some(identity) =
                text.strip_suffix('\n').and_then(|pid| ProcessIdentity::of(pid.parse().ok()?))
            {
                return identity;
            }
            assert!(Instant::now() < deadline, "{name} was not written");
            sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for TestLauncherDir {
    fn drop(&mut self) {
        let dir = launcher_dir::LauncherDir::open(&self.path("state"), None, None).expect("there");
        for attempt in dir.attempts() {
            if let Some(identity) = worker::find_process(&dir.attempt(attempt)) {
                process_tree::kill_tree(&identity);
                process_tree::kill_leftovers(attempt, &dir.storage(), &Default::default());
            }
        }
    }
}

fn launch(profile: &str) -> LaunchRequest {
    LaunchRequest {
        attempt: AttemptId::generate(),
        tenant: None,
        profile: profile.parse().expect("a profile"),
        run: None,
        enrolment: SecretString::from(TOKEN),
    }
}

async fn until_ended(local: &LocalLauncher, attempt: AttemptId) -> ExitReason {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        if let ProcessStatus::Ended(end) = local.status(attempt).await.expect("a status") {
            return end;
        }
        assert!(Instant::now() < deadline, "the runner has not ended");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn is_dead(identity: &ProcessIdentity) -> bool {
    identity.state() != ProcessState::Alive
}

/// Returns a shell command that writes its pid into a file beside the script.
fn write_pid(name: &str) -> String {
    format!("echo $$ > \"$(dirname \"$0\")/{name}\"")
}

#[tokio::test]
async fn concurrent_launches_start_an_attempt_once() {
    let dir = TestLauncherDir::new("echo $$ >> \"$(dirname \"$0\")/starts\"; exec sleep 300");
    let (one, other) = (dir.open(), dir.open());
    assert_eq!(one.id(), other.id());
    let request = launch("demo");
    let launches = futures::future::join_all((0..10).map(|at| {
        let local = if at % 2 == 0 { &one } else { &other };
        local.launch(request.clone())
    }));
    let results = launches.await;
    assert!(results.iter().any(Result::is_ok), "{results:?}");
    assert!(results.iter().all(|result| matches!(result, Ok(()) | Err(LaunchError::Busy))), "{results:?}");
    dir.process("starts");
    for local in [&one, &other] {
        assert_eq!(local.status(request.attempt).await.expect("a status"), ProcessStatus::Running);
    }
    one.kill(request.attempt).await.expect("ended");
    one.launch(request.clone()).await.expect("nothing to do");
    let starts = fs::read_to_string(dir.path("starts")).expect("written");
    assert_eq!(starts.lines().count(), 1, "{starts}");
}

#[tokio::test]
async fn runner_outlives_its_server_and_is_found_by_the_next() {
    let dir = TestLauncherDir::new(&format!("{}; sleep 300", write_pid("runner.pid")));
    let request = launch("demo");
    let first = dir.open();
    first.launch(request.clone()).await.expect("started");
    first.close().await;
    drop(first);
    let runner = dir.process("runner.pid");
    // As if the server was killed between the start and the record.
    fs::remove_file(dir.attempt(request.attempt, "process.json")).expect("recorded");
    let second = dir.open();
    assert_eq!(second.status(request.attempt).await.expect("a status"), ProcessStatus::Running);
    assert_eq!(second.status(AttemptId::generate()).await.expect("a status"), ProcessStatus::Absent);
    send_signal(runner.pid, Signal::KILL);
    assert_eq!(until_ended(&second, request.attempt).await, ExitReason::Unknown);
    assert!(is_dead(&runner));
}

#[tokio::test]
async fn exit_is_recorded_and_the_token_is_deleted() {
    let dir = TestLauncherDir::new("exit 3");
    let local = dir.open();
    let request = launch("demo");
    local.launch(request.clone()).await.expect("started");
    assert_eq!(until_ended(&local, request.attempt).await, ExitReason::Exited(3));
    assert!(!dir.attempt(request.attempt, "enrolment").exists());
}

#[tokio::test]
async fn exit_code_is_known_to_both_servers_of_a_launcher() {
    let dir = TestLauncherDir::new("sleep 0.3; exit 3");
    let (one, other) = (dir.open(), dir.open());
    for _ in 0..5 {
        let request = launch("demo");
        one.launch(request.clone()).await.expect("started");
        let (one, other) =
            tokio::join!(until_ended(&one, request.attempt), until_ended(&other, request.attempt));
        assert_eq!((one, other), (ExitReason::Exited(3), ExitReason::Exited(3)));
    }
}

#[tokio::test]
async fn kill_ends_all_descendants_including_daemons() {
    let script = format!(
        "(setsid sh -c '{}; exec sleep 300' \"$0\" &)\nsetsid sh -c '{}; exec sleep 300' \"$0\" &\n{}; exec sleep 300",
        write_pid("daemon.pid"),
        write_pid("child.pid"),
        write_pid("runner.pid")
    );
    let dir = TestLauncherDir::new(&script);
    let local = dir.open();
    let request = launch("demo");
    local.launch(request.clone()).await.expect("started");
    let started = ["daemon.pid", "child.pid", "runner.pid"].map(|name| dir.process(name));
    assert_eq!(
        local.kill(request.attempt).await.expect("ended"),
        ProcessStatus::Ended(ExitReason::Killed(9))
    );
    for identity in &started {
        assert!(is_dead(identity), "{identity:?} of {started:?}");
    }
}

#[tokio::test]
async fn leftovers_of_a_killed_runner_are_killed_before_it_counts_as_ended() {
    // Agents and tools run in their own sessions, with only a home in the storage, or with no environment but a working
    // directory in a workspace.
    let script = r#"
        while [ $# -gt 0 ]; do case $1 in --state) s=$2;; --name) n=$2;; esac; shift; done
        here=$(dirname "$0"); mkdir -p "$s/workspaces/$n"
        (env -i HOME="$s/sessions/x" PATH=/usr/bin:/bin setsid sh -c 'echo $$ > '"$here/agent-$n"'; exec sleep 300' &)
        cd "$s/workspaces/$n"
        (env -i PATH=/usr/bin:/bin setsid sh -c 'echo $$ > '"$here/tool-$n"'; exec sleep 300' &)
        cd /; echo $$ > "$here/runner-$n"; sleep 300"#;
    let dir = TestLauncherDir::new(script);
    let local = dir.open();
    let (one, other) = (launch("demo"), launch("demo"));
    local.launch(one.clone()).await.expect("started");
    let [agent, tool, runner] =
        ["agent", "tool", "runner"].map(|name| dir.process(&format!("{name}-{}", one.attempt)));
    local.launch(other.clone()).await.expect("started");
    dir.process(&format!("runner-{}", other.attempt));
    send_signal(runner.pid, Signal::KILL);
    assert_eq!(until_ended(&local, one.attempt).await, ExitReason::Killed(9));
    assert!(is_dead(&agent) && is_dead(&tool), "{agent:?} or {tool:?} is alive");
    assert_eq!(local.status(other.attempt).await.expect("a status"), ProcessStatus::Running);
}

#[tokio::test]
async fn token_is_only_in_a_private_file() {
    let dir = TestLauncherDir::new(&format!("{}; sleep 300", write_pid("runner.pid")));
    let local = dir.open();
    let request = launch("demo");
    local.launch(request.clone()).await.expect("started");
    let runner = dir.process("runner.pid");
    for file in ["cmdline", "environ"] {
        let text = fs::read(format!("/proc/{}/{file}", runner.pid)).expect("readable");
        assert!(!String::from_utf8_lossy(&text).contains(TOKEN), "{file}");
    }
    let file = dir.attempt(request.attempt, "enrolment");
    assert_eq!(fs::read_to_string(&file).expect("written"), TOKEN);
    for (path, mode) in [(file.as_path(), 0o600), (file.parent().expect("a folder"), 0o700)] {
        assert_eq!(fs::metadata(path).expect("there").permissions().mode() & 0o777, mode, "{path:?}");
    }
    let limits = fs::read_to_string(format!("/proc/{}/limits", runner.pid)).expect("readable");
    let files = limits.lines().find(|line| line.starts_with("Max open files")).expect("a line");
    assert_eq!(files.split_whitespace().nth(3), Some("333"), "{files}");
    let stat = fs::read_to_string(format!("/proc/{}/stat", runner.pid)).expect("readable");
    let nice = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(16)).expect("a field");
    assert_eq!(nice, "7", "{stat}");
}

#[tokio::test]
async fn log_is_rotated() {
    let dir = TestLauncherDir::new("while true; do echo 0123456789012345678901234567890123456789; done");
    let local = dir.open();
    let request = launch("demo");
    local.launch(request.clone()).await.expect("started");
    let (log, rotated) =
        (dir.attempt(request.attempt, "runner.log"), dir.attempt(request.attempt, "runner.log.1"));
    let size = |path: &Path| fs::metadata(path).map_or(0, |metadata| metadata.len());
    let deadline = Instant::now() + Duration::from_secs(10);
    while size(&rotated) == 0 {
        assert!(Instant::now() < deadline, "not rotated at {} bytes", size(&log));
        local.status(request.attempt).await.expect("a status");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(size(&rotated), 2000);
    local.kill(request.attempt).await.expect("ended");
}

#[tokio::test]
async fn runner_bound_to_a_killed_server_is_killed_at_next_start() {
    let dir = TestLauncherDir::new(&format!("{}; exec sleep 300", write_pid("runner.pid")));
    let request = launch("demo");
    let killed = dir.open();
    killed.launch(request.clone()).await.expect("started");
    let runner = dir.process("runner.pid");
    drop(killed);
    let next = LocalLauncher::open(LocalOptions { lifetime: Lifetime::WithServer, ..dir.options() })
        .expect("a launcher");
    assert!(matches!(next.status(request.attempt).await.expect("a status"), ProcessStatus::Ended(_)));
    assert!(is_dead(&runner));
}

#[tokio::test]
async fn runner_gets_a_copy_of_its_own_profile_only() {
    let dir = TestLauncherDir::new("exec sleep 300");
    for profile in ["mine", "theirs"] {
        fs::create_dir_all(dir.path("operators").join(profile)).expect("created");
        fs::write(dir.path("operators").join(profile).join("profile.toml"), "backend = \"codex\"")
            .expect("ok");
        fs::write(dir.path("operators").join(profile).join("credential"), profile).expect("ok");
    }
    let local = dir.open();
    let request = launch("mine");
    local.launch(request.clone()).await.expect("started");
    let copied = dir.attempt(request.attempt, "profiles");
    let names: Vec<_> = fs::read_dir(&copied).expect("copied").flatten().map(|e| e.file_name()).collect();
    assert_eq!(names, ["mine"]);
    let credential = copied.join("mine/credential");
    assert_eq!(fs::metadata(&credential).expect("there").permissions().mode() & 0o777, 0o600);
    local.kill(request.attempt).await.expect("ended");
    assert!(!credential.exists(), "the copy still exists");

    let unknown = launch("unknown");
    let error = local.launch(unknown.clone()).await.expect_err("there is no such profile");
    assert!(matches!(error, LaunchError::Profile(ProfileUnavailable(_))), "{error:?}");
    assert!(
        local.check_profile(None, &unknown.profile).is_err()
            && local.check_profile(None, &request.profile).is_ok()
    );
    assert_eq!(local.status(unknown.attempt).await.expect("a status"), ProcessStatus::Absent);
}

#[tokio::test]
async fn profile_precedence_is_tenant_then_shared_then_directory() {
    let dir = TestLauncherDir::new("exec sleep 300");
    fs::create_dir_all(dir.path("operators/mine")).expect("created");
    fs::write(dir.path("operators/mine/profile.toml"), "backend = \"codex\"").expect("ok");
    fs::write(dir.path("operators/mine/credential"), "operators").expect("ok");
    let store = FileStore::open(&dir.path("secrets")).expect("a store");
    let local = LocalLauncher::open(LocalOptions { secrets: Some(store.clone()), ..dir.options() })
        .expect("a launcher");
    let (tenant, other) = (TenantId::generate(), TenantId::generate());
    let credential_for = async |tenant: Option<TenantId>| {
        let request = LaunchRequest { tenant, ..launch("mine") };
        local.launch(request.clone()).await.expect("started");
        let file = dir.attempt(request.attempt, "profiles/mine/credential");
        assert_eq!(fs::metadata(&file).expect("there").permissions().mode() & 0o777, 0o600);
        let text = fs::read_to_string(file).expect("copied").trim().to_owned();
        local.kill(request.attempt).await.expect("ended");
        text
    };
    assert_eq!(credential_for(Some(tenant)).await, "operators");
    for (owner, key) in [(ProfileOwner::Shared, "shared"), (ProfileOwner::Tenant(tenant), "own")] {
        let new = NewProfile { settings: Profile::new(BackendKind::Codex), credential: key.into() };
        store.put(owner, &launch("mine").profile, new).await.expect("stored");
    }
    assert_eq!(credential_for(Some(tenant)).await, "own");
    assert_eq!(credential_for(Some(other)).await, "shared");
    assert_eq!(credential_for(None).await, "shared");

    // A broken profile of the tenant has no fallback.
    let file = dir.path("secrets/providers").join(tenant.to_string()).join("mine/credential");
    fs::remove_file(file).expect("removed");
    let profile = launch("mine").profile;
    assert!(
        local.check_profile(Some(tenant), &profile).is_err()
            && local.check_profile(Some(other), &profile).is_ok()
    );
}

#[tokio::test]
async fn runner_gets_the_sandbox_or_the_uncontained_flag() {
    let dir = TestLauncherDir::new(&format!("{}; sleep 300", write_pid("runner.pid")));
    let sandboxed = Containment::Sandboxed(SandboxOptions {
        protected_paths: vec![dir.path("server")],
        tools: vec!["/opt/tool".into()],
        allowed_hosts: vec!["*.example.com".to_owned()],
        numbers: vec![("--agent-processes", 7)],
    });
    for containment in [sandboxed, Containment::Uncontained] {
        let local = LocalLauncher::open(LocalOptions { containment, ..dir.options() }).expect("a launcher");
        let request = launch("demo");
        local.launch(request.clone()).await.expect("started");
        let runner = dir.process("runner.pid");
        let arguments = fs::read(format!("/proc/{}/cmdline", runner.pid)).expect("readable");
        let arguments = String::from_utf8_lossy(&arguments).replace('\0', " ");
        let has = |name: &str| arguments.contains(&format!("--protected-path {} ", dir.path(name).display()));
        let protects = has("state") && has("operators") && has("server");
        let has_options =
            arguments.contains("--tool /opt/tool --allowed-host *.example.com --agent-processes 7");
        let expected = local.is_contained();
        assert_eq!(
            (protects, has_options, arguments.contains("--uncontained")),
            (expected, expected, !expected),
            "{arguments}"
        );
        assert!(arguments.contains("--workspace-root /srv/repos"), "{arguments}");
        assert!(
            arguments.contains(
                "--git-host git.example --git-network 10.1.0.0/16 --git-credentials /srv/git-credentials \
                 --git-known-hosts /srv/known_hosts"
            ),
            "{arguments}"
        );
        local.kill(request.attempt).await.expect("ended");
        fs::remove_file(dir.path("runner.pid")).expect("removed");
    }
}
