//! Secrets go into real agents everywhere; none may come out of the runner anywhere.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use guildhall_domain::profiles::{BackendKind, Profile};
use guildhall_testkit::{TestDb, nats_url, subject_prefix};
use rustix::process::{Pid, Signal, kill_process};

use crate::canary::{Canaries, tables};
use crate::support::agent::{Camp, dismiss};
use crate::support::channels::{Channels, collector, tap_nats};
use crate::support::guildhall;
use crate::support::installation::Installation;
use crate::support::runner::{Watching, Yard, text};
use crate::support::user::{User, stderr, stdout};

/// What goes in, and where it is put.
struct Secrets {
    canaries: Canaries,
    credential: String,
    prompt: String,
    tool: String,
}

impl Secrets {
    fn new() -> Self {
        let mut canaries = Canaries(Vec::new());
        // Of no shape that anybody could know: it is found by its value alone.
        let credential = canaries.invent("credential");
        // What the runner does not know has a shape.
        let letters = canaries.invent("prompt")["Canary".len()..].to_owned();
        canaries.0.pop();
        let prompt = canaries.keep("prompt", format!("sk-proj-7Q{letters}42"));
        let tool = canaries.keep("tool", format!("ghp_{}", letters.repeat(2)));
        Self { canaries, credential, prompt, tool }
    }
}

/// Writes an agent that tells its environment to its stderr, and to a file that its tools can read.
fn indiscreet(folder: &Path, program: &Path, key: &str, tool: &str) -> PathBuf {
    let path = folder.join("indiscreet-agent");
    let text = format!(
        "#!/bin/sh\necho \"the key is ${key}\" >&2\nprintf '%s\\n' \"${key}\" '{tool}' > \"$HOME/leak\"\nexec '{}' \"$@\"\n",
        program.display()
    );
    fs::write(&path, text).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).expect("set");
    path
}

/// Signs in at the first replica and makes a tenant.
fn yard(installation: &Installation, password: &str) -> (String, Yard) {
    let mut init = guildhall();
    init.args(["init", "--password-stdin"])
        .envs(installation.environment.iter().map(|(name, value)| (*name, value)));
    assert!(User::feed(init, password).status.success());
    let url = installation.replicas[0].1.clone();
    let user = User::new();
    let login = user.run_with(&["login", "--url", &url, "--name", "admin", "--password-stdin"], password);
    assert!(login.status.success(), "{}", stderr(&login));
    user.json(&["tenants", "create", "acme"]);
    let enrolment = text(&user.json(&["enrolments", "create", "test", "--tenant", "acme"]), "secret");
    (url, Yard { user, enrolment })
}

/// Sends words and keeps all that the command shows of the turn.
fn turn(camp: &Camp, channels: &mut Channels, run: &str, words: &str) -> String {
    let watched = camp.send(run, words);
    let shown = [stdout(&watched), stderr(&watched)].concat();
    channels.add("command", &shown);
    shown
}

/// Kills the agent in the middle of a turn, so that its last words are reported.
fn kill_in_a_turn(camp: &Camp, channels: &mut Channels, run: &str, marker: &str) {
    let watching = Watching::start(&camp.yard.user, &["runs", "send", run, "slow", "--watch"]);
    let deadline = Instant::now() + Duration::from_secs(60);
    while !camp.model.requests().iter().any(|request| request.body.to_string().contains("slow\"")) {
        assert!(Instant::now() < deadline, "the model was not asked");
        std::thread::sleep(Duration::from_millis(100));
    }
    for id in agents_in(camp.folder.path(), marker) {
        let _already_gone = kill_process(Pid::from_raw(id).expect("a pid"), Signal::KILL);
    }
    let ended = watching.end();
    channels.add("command", [ended.rest.join("\n"), ended.errors].concat());
    assert_eq!(ended.code, Some(1), "an agent that died failed its turn");
}

/// Lists the processes that work in a folder and have a word in their command.
fn agents_in(folder: &Path, marker: &str) -> Vec<i32> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_it = |id: &i32| {
        let inside = fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|cwd| cwd.starts_with(folder));
        let args = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        inside && String::from_utf8_lossy(&args).contains(marker)
    };
    ids.filter(is_it).collect()
}

/// Keeps what the server hands out of a run, in every form.
fn read_out(camp: &Camp, channels: &mut Channels, run: &str) {
    for args in [
        ["runs", "show", run].as_slice(),
        &["runs", "result", run],
        &["runs", "events", run],
        &["runs", "ls", "--all"],
        &["sessions", "ls"],
    ] {
        for json in [false, true] {
            let args: Vec<&str> = args.iter().copied().chain(json.then_some("--json")).collect();
            let output = camp.yard.user.run(&args);
            assert!(output.status.success(), "{args:?}: {}", stderr(&output));
            channels.add("answers", [stdout(&output), stderr(&output)].concat());
        }
    }
    // What fails is logged.
    let unknown = camp.yard.user.run(&["runs", "show", "run_01920000000070008000000000000000"]);
    assert!(!unknown.status.success());
    channels.add("runner", fs::read(camp.log()).expect("a log"));
    for file in fs::read_dir(camp.folder.path().join("state/spool")).into_iter().flatten().flatten() {
        channels.add("runner", fs::read(file.path()).expect("a spool"));
    }
}

/// Takes an agent through everything in which a secret could come out.
async fn tell_no_secret(marker: &str, camp: impl FnOnce(String, Yard, &Secrets) -> Camp) {
    let db = TestDb::new().await;
    let (mut channels, secrets) = (Channels::default(), Secrets::new());
    let messages = tap_nats(&nats_url());
    let (endpoint, spans) = collector();
    let kek = [subject_prefix(), subject_prefix()].map(|it| it[1..].to_owned()).concat();
    let installation = Installation::start(&db, &kek, endpoint);
    tokio::task::block_in_place(|| {
        let (url, yard) = yard(&installation, "correct horse battery");
        let camp = camp(url, yard, &secrets);
        let runner = camp.runner();
        let run = camp.run();
        turn(&camp, &mut channels, &run, &format!("remember {}", secrets.prompt));
        turn(&camp, &mut channels, &run, "run:cat \"$HOME/leak\"; echo it was printed");
        turn(&camp, &mut channels, &run, "r401");
        assert_eq!(camp.result(&run)["failureKind"], "provider-auth-failed");
        kill_in_a_turn(&camp, &mut channels, &run, marker);
        read_out(&camp, &mut channels, &run);
        dismiss(runner);
        let requests = camp.model.requests();
        let bearer = format!("Bearer {}", secrets.credential);
        assert!(requests.iter().all(|it| it.authorization.as_ref().is_none_or(|key| *key == bearer)));
    });
    tables(&mut channels, &db).await;
    let prefix = installation.environment[2].1.clone();
    installation.end(&mut channels);
    channels.add("messages", messages.bytes());
    channels.add("spans", spans.bytes());
    // What may be seen is seen on every channel: none of them was deaf.
    for (channel, text) in [
        ("answers", "[redacted:known]\\n[redacted:"),
        ("answers", "]\\nit was printed"),
        ("answers", "the key is [redacted:known]"),
        ("command", "it was printed"),
        ("logs", "failure.kind"),
        ("messages", &prefix),
        ("runner", "guildhall-runner serves mine"),
        ("spans", "/api/v1/runs"),
        ("tables", "it was printed"),
    ] {
        assert!(channels.holding(text).contains(&channel), "no {text} was heard on {channel}");
    }
    assert_eq!(secrets.canaries.leaks(&channels), []);
}

// covers: R14
#[tokio::test(flavor = "multi_thread")]
async fn codex_tells_no_secret_through_the_runner() {
    tell_no_secret("app-server", |url, yard, secrets| {
        let mut camp = Camp::at(url, yard, &secrets.credential, |base_url| Profile {
            base_url: Some(base_url),
            model: Some("fake-model".to_owned()),
            ..Profile::of(BackendKind::Codex)
        });
        camp.codex = indiscreet(camp.folder.path(), &camp.codex, "OPENAI_API_KEY", &secrets.tool);
        camp
    })
    .await;
}

// covers: R14
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_of_the_protocol_tells_no_secret_through_the_runner() {
    let folder = tempfile::tempdir().expect("a folder");
    tell_no_secret("--acp", |url, yard, secrets| {
        let program = indiscreet(folder.path(), &guildhall_testkit::qwen(), "OPENAI_API_KEY", &secrets.tool);
        Camp::at(url, yard, &secrets.credential, |base_url| Profile {
            command: vec![program.to_string_lossy().into_owned(), "--acp".to_owned()],
            ..crate::runner_acp::qwen(base_url)
        })
    })
    .await;
}
