use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread::sleep;
use std::time::Instant;

use guildhall_domain::profiles::{BackendKind, Profile};
use rustix::process::Signal;
use secrecy::SecretString;
use tempfile::TempDir;

use super::processes::{Identity, Life, send};
use super::*;
use crate::End;
use crate::secrets::{NewProfile, Owner, SecretStore};

const TOKEN: &str = "ghe_the_token_of_a_test";

/// A place whose runner is a shell script. Everything that it started is ended with it.
struct Yard {
    folder: TempDir,
}

impl Yard {
    fn new(script: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("guildhall-launcher-").tempdir().expect("a folder");
        let yard = Self { folder };
        fs::write(yard.path("runner"), format!("#!/bin/sh\n{script}\n")).expect("written");
        fs::set_permissions(yard.path("runner"), fs::Permissions::from_mode(0o700)).expect("set");
        yard
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn options(&self) -> Options {
        Options {
            runner: self.path("runner"),
            state: self.path("state"),
            profiles: Some(self.path("operators")),
            secrets: None,
            out_of_reach: None,
            url: "http://127.0.0.1:1".into(),
            idle: Duration::from_secs(1),
            claim_within: Duration::from_secs(1),
            limits: Limits { memory_bytes: None, open_files: Some(333), processes: None, nice: 7 },
            log_bytes: 4000,
            lifetime: Lifetime::Own,
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        }
    }

    fn open(&self) -> Local {
        Local::open(self.options()).expect("a place")
    }

    fn attempt(&self, attempt: AttemptId, file: &str) -> PathBuf {
        self.path("state/attempts").join(attempt.to_string()).join(file)
    }

    /// Waits for what a script writes, and reads the process that it names.
    fn process(&self, name: &str) -> Identity {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let text = fs::read_to_string(self.path(name)).unwrap_or_default();
            if let Some(identity) = text.strip_suffix('\n').and_then(|pid| Identity::of(pid.parse().ok()?)) {
                return identity;
            }
            assert!(Instant::now() < deadline, "{name} was not written");
            sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Yard {
    fn drop(&mut self) {
        let files = Files::open(&self.path("state"), None, None).expect("there");
        for attempt in files.attempts() {
            if let Some(identity) = worker::find(&files.attempt(attempt)) {
                tree::end(&identity);
                tree::end_leftovers(attempt, &files.storage(), &Default::default());
            }
        }
    }
}

fn launch(profile: &str) -> Launch {
    Launch {
        attempt: AttemptId::generate(),
        tenant: None,
        profile: profile.parse().expect("a profile"),
        run: None,
        enrolment: SecretString::from(TOKEN),
    }
}

async fn until_ended(local: &Local, attempt: AttemptId) -> End {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        if let Seen::Ended(end) = local.look(attempt).await.expect("looked") {
            return end;
        }
        assert!(Instant::now() < deadline, "it has not ended");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn is_dead(identity: &Identity) -> bool {
    identity.life() != Life::Alive
}

/// Writes the number of the shell that runs it into a file beside the script.
fn note(name: &str) -> String {
    format!("echo $$ > \"$(dirname \"$0\")/{name}\"")
}

#[tokio::test]
async fn an_attempt_is_started_once_whoever_asks_and_however_often() {
    let yard = Yard::new("echo $$ >> \"$(dirname \"$0\")/starts\"; exec sleep 300");
    let (one, other) = (yard.open(), yard.open());
    assert_eq!(one.place(), other.place());
    let wanted = launch("demo");
    let asked = futures::future::join_all((0..10).map(|at| {
        let local = if at % 2 == 0 { &one } else { &other };
        local.launch(wanted.clone())
    }));
    let answers = asked.await;
    assert!(answers.iter().any(Result::is_ok), "{answers:?}");
    assert!(answers.iter().all(|answer| matches!(answer, Ok(()) | Err(LaunchError::Busy))), "{answers:?}");
    yard.process("starts");
    for local in [&one, &other] {
        assert_eq!(local.look(wanted.attempt).await.expect("looked"), Seen::Running);
    }
    one.end(wanted.attempt).await.expect("ended");
    one.launch(wanted.clone()).await.expect("nothing to do");
    let starts = fs::read_to_string(yard.path("starts")).expect("written");
    assert_eq!(starts.lines().count(), 1, "{starts}");
}

#[tokio::test]
async fn a_runner_outlives_its_server_and_the_next_one_finds_it_and_proves_its_death() {
    let yard = Yard::new(&format!("{}; sleep 300", note("runner.pid")));
    let wanted = launch("demo");
    let first = yard.open();
    first.launch(wanted.clone()).await.expect("started");
    first.close().await;
    drop(first);
    let runner = yard.process("runner.pid");
    // As after a kill between the start and the note.
    fs::remove_file(yard.attempt(wanted.attempt, "process.json")).expect("it was noted");
    let second = yard.open();
    assert_eq!(second.look(wanted.attempt).await.expect("looked"), Seen::Running);
    assert_eq!(second.look(AttemptId::generate()).await.expect("looked"), Seen::Absent);
    send(runner.pid, Signal::KILL);
    assert_eq!(until_ended(&second, wanted.attempt).await, End::Unseen);
    assert!(is_dead(&runner));
}

#[tokio::test]
async fn the_exit_of_a_runner_is_seen_and_what_it_was_given_goes() {
    let yard = Yard::new("exit 3");
    let local = yard.open();
    let wanted = launch("demo");
    local.launch(wanted.clone()).await.expect("started");
    assert_eq!(until_ended(&local, wanted.attempt).await, End::Exited(3));
    assert!(!yard.attempt(wanted.attempt, "enrolment").exists());
}

#[tokio::test]
async fn of_two_servers_the_one_that_started_a_runner_says_how_it_ended() {
    let yard = Yard::new("sleep 0.3; exit 3");
    let (one, other) = (yard.open(), yard.open());
    for _ in 0..5 {
        let wanted = launch("demo");
        one.launch(wanted.clone()).await.expect("started");
        let (one, other) =
            tokio::join!(until_ended(&one, wanted.attempt), until_ended(&other, wanted.attempt));
        assert_eq!((one, other), (End::Exited(3), End::Exited(3)));
    }
}

#[tokio::test]
async fn a_runner_ends_with_all_that_it_started_however_far_that_has_run() {
    let script = format!(
        "(setsid sh -c '{}; exec sleep 300' \"$0\" &)\nsetsid sh -c '{}; exec sleep 300' \"$0\" &\n{}; exec sleep 300",
        note("daemon.pid"),
        note("child.pid"),
        note("runner.pid")
    );
    let yard = Yard::new(&script);
    let local = yard.open();
    let wanted = launch("demo");
    local.launch(wanted.clone()).await.expect("started");
    let started = ["daemon.pid", "child.pid", "runner.pid"].map(|name| yard.process(name));
    assert_eq!(local.end(wanted.attempt).await.expect("ended"), Seen::Ended(End::Killed(9)));
    for identity in &started {
        assert!(is_dead(identity), "{identity:?} of {started:?}");
    }
}

#[tokio::test]
async fn a_killed_runners_agent_is_dead_before_its_death_is_said_and_no_other_is_touched() {
    // As agents and their tools are started: with nothing of the environment but a home in the storage, or with not even
    // that in a workspace; in sessions of their own.
    let script = r#"
        while [ $# -gt 0 ]; do case $1 in --state) s=$2;; --name) n=$2;; esac; shift; done
        here=$(dirname "$0"); mkdir -p "$s/workspaces/$n"
        (env -i HOME="$s/sessions/x" PATH=/usr/bin:/bin setsid sh -c 'echo $$ > '"$here/agent-$n"'; exec sleep 300' &)
        cd "$s/workspaces/$n"
        (env -i PATH=/usr/bin:/bin setsid sh -c 'echo $$ > '"$here/tool-$n"'; exec sleep 300' &)
        cd /; echo $$ > "$here/runner-$n"; sleep 300"#;
    let yard = Yard::new(script);
    let local = yard.open();
    let (one, other) = (launch("demo"), launch("demo"));
    local.launch(one.clone()).await.expect("started");
    let [agent, tool, runner] =
        ["agent", "tool", "runner"].map(|name| yard.process(&format!("{name}-{}", one.attempt)));
    local.launch(other.clone()).await.expect("started");
    yard.process(&format!("runner-{}", other.attempt));
    send(runner.pid, Signal::KILL);
    assert_eq!(until_ended(&local, one.attempt).await, End::Killed(9));
    assert!(is_dead(&agent) && is_dead(&tool), "{agent:?} or {tool:?} lives on");
    assert_eq!(local.look(other.attempt).await.expect("looked"), Seen::Running);
}

#[tokio::test]
async fn the_token_is_in_a_private_file_and_nowhere_else() {
    let yard = Yard::new(&format!("{}; sleep 300", note("runner.pid")));
    let local = yard.open();
    let wanted = launch("demo");
    local.launch(wanted.clone()).await.expect("started");
    let runner = yard.process("runner.pid");
    for file in ["cmdline", "environ"] {
        let text = fs::read(format!("/proc/{}/{file}", runner.pid)).expect("readable");
        assert!(!String::from_utf8_lossy(&text).contains(TOKEN), "{file}");
    }
    let file = yard.attempt(wanted.attempt, "enrolment");
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
async fn a_log_does_not_grow_for_ever() {
    let yard = Yard::new("while true; do echo 0123456789012345678901234567890123456789; done");
    let local = yard.open();
    let wanted = launch("demo");
    local.launch(wanted.clone()).await.expect("started");
    let (log, aside) =
        (yard.attempt(wanted.attempt, "runner.log"), yard.attempt(wanted.attempt, "runner.log.1"));
    let size = |path: &Path| fs::metadata(path).map_or(0, |about| about.len());
    let deadline = Instant::now() + Duration::from_secs(10);
    while size(&aside) == 0 {
        assert!(Instant::now() < deadline, "it was not cut at {}", size(&log));
        local.look(wanted.attempt).await.expect("looked");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(size(&aside), 2000);
    local.end(wanted.attempt).await.expect("ended");
}

#[tokio::test]
async fn what_was_to_end_with_a_killed_server_ends_at_the_next_start() {
    let yard = Yard::new(&format!("{}; exec sleep 300", note("runner.pid")));
    let wanted = launch("demo");
    let killed = yard.open();
    killed.launch(wanted.clone()).await.expect("started");
    let runner = yard.process("runner.pid");
    drop(killed);
    let next = Local::open(Options { lifetime: Lifetime::OfServer, ..yard.options() }).expect("a place");
    assert!(matches!(next.look(wanted.attempt).await.expect("looked"), Seen::Ended(_)));
    assert!(is_dead(&runner));
}

#[tokio::test]
async fn a_runner_gets_a_copy_of_its_own_profile_and_of_no_other() {
    let yard = Yard::new("exec sleep 300");
    for profile in ["mine", "theirs"] {
        fs::create_dir_all(yard.path("operators").join(profile)).expect("made");
        fs::write(yard.path("operators").join(profile).join("profile.toml"), "backend = \"codex\"")
            .expect("ok");
        fs::write(yard.path("operators").join(profile).join("credential"), profile).expect("ok");
    }
    let local = yard.open();
    let wanted = launch("mine");
    local.launch(wanted.clone()).await.expect("started");
    let copied = yard.attempt(wanted.attempt, "profiles");
    let names: Vec<_> = fs::read_dir(&copied).expect("copied").flatten().map(|e| e.file_name()).collect();
    assert_eq!(names, ["mine"]);
    let credential = copied.join("mine/credential");
    assert_eq!(fs::metadata(&credential).expect("there").permissions().mode() & 0o777, 0o600);
    local.end(wanted.attempt).await.expect("ended");
    assert!(!credential.exists(), "the copy outlives the runner");

    let unknown = launch("unknown");
    let refused = local.launch(unknown.clone()).await.expect_err("there is no such profile");
    assert!(matches!(refused, LaunchError::Profile(NoProfile(_))), "{refused:?}");
    assert!(local.check(None, &unknown.profile).is_err() && local.check(None, &wanted.profile).is_ok());
    assert_eq!(local.look(unknown.attempt).await.expect("looked"), Seen::Absent);
}

#[tokio::test]
async fn what_was_set_over_the_api_comes_before_the_operators_folder_and_a_tenants_own_before_all() {
    let yard = Yard::new("exec sleep 300");
    fs::create_dir_all(yard.path("operators/mine")).expect("made");
    fs::write(yard.path("operators/mine/profile.toml"), "backend = \"codex\"").expect("ok");
    fs::write(yard.path("operators/mine/credential"), "operators").expect("ok");
    let store = FileStore::open(&yard.path("secrets")).expect("a store");
    let local = Local::open(Options { secrets: Some(store.clone()), ..yard.options() }).expect("a place");
    let (tenant, other) = (TenantId::generate(), TenantId::generate());
    let given = async |tenant: Option<TenantId>| {
        let wanted = Launch { tenant, ..launch("mine") };
        local.launch(wanted.clone()).await.expect("started");
        let file = yard.attempt(wanted.attempt, "profiles/mine/credential");
        assert_eq!(fs::metadata(&file).expect("there").permissions().mode() & 0o777, 0o600);
        let text = fs::read_to_string(file).expect("copied").trim().to_owned();
        local.end(wanted.attempt).await.expect("ended");
        text
    };
    assert_eq!(given(Some(tenant)).await, "operators");
    for (owner, key) in [(Owner::Shared, "shared"), (Owner::Tenant(tenant), "own")] {
        let new = NewProfile { settings: Profile::of(BackendKind::Codex), credential: key.into() };
        store.put(owner, &launch("mine").profile, new).await.expect("kept");
    }
    assert_eq!(given(Some(tenant)).await, "own");
    assert_eq!(given(Some(other)).await, "shared");
    assert_eq!(given(None).await, "shared");

    // One of the tenant's own that is broken is not made up for by another.
    let file = yard.path("secrets/providers").join(tenant.to_string()).join("mine/credential");
    fs::remove_file(file).expect("removed");
    let profile = launch("mine").profile;
    assert!(local.check(Some(tenant), &profile).is_err() && local.check(Some(other), &profile).is_ok());
}

#[tokio::test]
async fn a_runner_is_told_what_is_out_of_reach_or_that_nothing_is() {
    let yard = Yard::new(&format!("{}; sleep 300", note("runner.pid")));
    let hidden = OutOfReach { paths: vec![yard.path("server")], ports: vec![6001, 6002] };
    for out_of_reach in [Some(hidden), None] {
        let local = Local::open(Options { out_of_reach, ..yard.options() }).expect("a place");
        let wanted = launch("demo");
        local.launch(wanted.clone()).await.expect("started");
        let runner = yard.process("runner.pid");
        let words = fs::read(format!("/proc/{}/cmdline", runner.pid)).expect("readable");
        let words = String::from_utf8_lossy(&words).replace('\0', " ");
        let has = |name: &str| words.contains(&format!("--out-of-reach {} ", yard.path(name).display()));
        let hides = has("state") && has("operators") && has("server");
        let closes = words.contains("--closed-port 6001 --closed-port 6002");
        let expected = local.is_contained();
        assert_eq!(
            (hides, closes, words.contains("--uncontained")),
            (expected, expected, !expected),
            "{words}"
        );
        local.end(wanted.attempt).await.expect("ended");
        fs::remove_file(yard.path("runner.pid")).expect("removed");
    }
}
