//! Gives canary secrets to real agents and asserts that no output of the runner contains one.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use guildhall_domain::profiles::{BackendKind, Profile};
use guildhall_testkit::{TestDb, nats_url, subject_prefix};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::canary::{Canaries, capture_tables};
use crate::support::agent::{AgentFixture, stop_runner};
use crate::support::channels::{CapturedOutput, capture_nats, start_trace_collector};
use crate::support::guildhall;
use crate::support::logged_replicas::LoggedReplicas;
use crate::support::runner::{TenantFixture, WatchedCommand, string_field};
use crate::support::user::{CliUser, stderr, stdout};

/// The canary secrets by place.
struct AgentSecrets {
    canaries: Canaries,
    credential: String,
    prompt: String,
    tool: String,
}

impl AgentSecrets {
    fn new() -> Self {
        let mut canaries = Canaries(Vec::new());
        // The credential matches no known pattern: it must be redacted by its value.
        let credential = canaries.generate("credential");
        // The runner does not know these values, so they match known patterns.
        let letters = canaries.generate("prompt")["Canary".len()..].to_owned();
        canaries.0.pop();
        let prompt = canaries.add("prompt", format!("sk-proj-7Q{letters}42"));
        let tool = canaries.add("tool", format!("ghp_{}", letters.repeat(2)));
        Self { canaries, credential, prompt, tool }
    }

    /// A prompt full of things that look like secrets. The model repeats it in its reasoning and in its reply.
    fn prompt_text(&self) -> String {
        let secret = &self.prompt;
        format!(
            "think: remember {secret}\n\tpassword: {secret}\nexport API_TOKEN='{secret}'\n\
             Authorization: Bearer {secret}\npostgres://app:{secret}@db/app  \u{1F511}"
        )
    }
}

/// Returns whether a text occurs unchanged in a request to the model.
fn model_received(fixture: &AgentFixture, text: &str) -> bool {
    fn occurs(value: &Value, text: &str) -> bool {
        match value {
            Value::String(found) => found.contains(text),
            Value::Array(items) => items.iter().any(|item| occurs(item, text)),
            Value::Object(fields) => fields.values().any(|field| occurs(field, text)),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
    fixture.model.requests().iter().any(|request| occurs(&request.body, text))
}

/// Writes an agent wrapper that leaks its API key to stderr and to a file that its tools can read.
fn leaking_agent(folder: &Path, program: &Path, key: &str, tool: &str) -> PathBuf {
    let path = folder.join("indiscreet-agent");
    let text = format!(
        "#!/bin/sh\necho \"the key is ${key}\" >&2\nprintf '%s\\n' \"${key}\" '{tool}' > \"$HOME/leak\"\nexec '{}' \"$@\"\n",
        program.display()
    );
    fs::write(&path, text).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("set");
    path
}

/// Signs in at the first replica and creates a tenant.
fn create_tenant(replicas: &LoggedReplicas, password: &str) -> (String, TenantFixture) {
    let mut init = guildhall();
    init.args(["init", "--password-stdin"])
        .envs(replicas.environment.iter().map(|(name, value)| (*name, value)));
    assert!(CliUser::run_with_input(init, password).status.success());
    let url = replicas.processes[0].1.clone();
    let user = CliUser::new();
    let login =
        user.run_with_stdin(&["login", "--url", &url, "--name", "admin", "--password-stdin"], password);
    assert!(login.status.success(), "{}", stderr(&login));
    user.json(&["tenants", "create", "acme"]);
    let enrolment_token =
        string_field(&user.json(&["enrolments", "create", "test", "--tenant", "acme"]), "secret");
    (url, TenantFixture { user, enrolment_token })
}

/// Sends a prompt and captures the output of the command.
fn send_turn(fixture: &AgentFixture, channels: &mut CapturedOutput, run: &str, prompt: &str) -> String {
    let watched = fixture.send_and_watch(run, prompt);
    let output = [stdout(&watched), stderr(&watched)].concat();
    channels.add("command", &output);
    output
}

/// Kills the agent during a turn, so that the runner reports its stderr.
fn kill_agent_during_turn(fixture: &AgentFixture, channels: &mut CapturedOutput, run: &str, marker: &str) {
    let turn = WatchedCommand::start(&fixture.tenant.user, &["runs", "send", run, "slow", "--watch"]);
    let deadline = Instant::now() + Duration::from_secs(120);
    while !fixture.model.requests().iter().any(|request| request.body.to_string().contains("slow\"")) {
        assert!(Instant::now() < deadline, "the model received no request");
        std::thread::sleep(Duration::from_millis(100));
    }
    for id in agents_in(fixture.folder.path(), marker) {
        let _already_gone = kill_process(Pid::from_raw(id).expect("a pid"), Signal::KILL);
    }
    let ended = turn.wait();
    channels.add("command", [ended.remaining_lines.join("\n"), ended.stderr].concat());
    assert_eq!(ended.code, Some(1), "the turn of a killed agent fails");
}

/// Lists the processes with a working directory below a folder and a marker in their command line.
fn agents_in(folder: &Path, marker: &str) -> Vec<i32> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_agent = |id: &i32| {
        let is_in_folder = fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|cwd| cwd.starts_with(folder));
        let args = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        is_in_folder && String::from_utf8_lossy(&args).contains(marker)
    };
    ids.filter(is_agent).collect()
}

/// Captures what the server returns for a run, as text and as JSON, and the runner's log and spool.
fn capture_run_output(fixture: &AgentFixture, channels: &mut CapturedOutput, run: &str) {
    for args in [
        ["runs", "show", run].as_slice(),
        &["runs", "result", run],
        &["runs", "events", run],
        &["runs", "ls", "--all"],
        &["sessions", "ls"],
    ] {
        for json in [false, true] {
            let args: Vec<&str> = args.iter().copied().chain(json.then_some("--json")).collect();
            let output = fixture.tenant.user.run(&args);
            assert!(output.status.success(), "{args:?}: {}", stderr(&output));
            channels.add("responses", [stdout(&output), stderr(&output)].concat());
        }
    }
    // A failed request is logged.
    let unknown = fixture.tenant.user.run(&["runs", "show", "run_01920000000070008000000000000000"]);
    assert!(!unknown.status.success());
    channels.add("runner", fs::read(fixture.log_path()).expect("a log"));
    let spool = fixture.folder.path().join(".guildhall-runner/spool");
    for file in fs::read_dir(spool).expect("the folder of spools").flatten() {
        channels.add("runner", fs::read(file.path()).expect("a spool"));
    }
}

/// Drives an agent through every step that could leak a secret and checks all channels.
async fn assert_no_secret_leaks(
    marker: &str,
    create_fixture: impl FnOnce(String, TenantFixture, &AgentSecrets) -> AgentFixture,
) {
    let db = TestDb::new().await;
    let (mut channels, secrets) = (CapturedOutput::default(), AgentSecrets::new());
    let nats_messages = capture_nats(&nats_url());
    let (endpoint, spans) = start_trace_collector();
    let kek = [subject_prefix(), subject_prefix()].map(|it| it[1..].to_owned()).concat();
    let replicas = LoggedReplicas::start(&db, &kek, endpoint);
    tokio::task::block_in_place(|| {
        let (url, tenant) = create_tenant(&replicas, "correct horse battery");
        let fixture = create_fixture(url, tenant, &secrets);
        let runner = fixture.start_runner();
        let run = fixture.create_run();
        let prompt = secrets.prompt_text();
        send_turn(&fixture, &mut channels, &run, &prompt);
        assert!(model_received(&fixture, &prompt), "the model gets the prompt byte for byte");
        let command = format!("KEY={} cat \"$HOME/leak\"; echo it was printed", secrets.prompt);
        send_turn(&fixture, &mut channels, &run, &format!("run:{command}"));
        send_turn(&fixture, &mut channels, &run, "r401");
        assert_eq!(fixture.result(&run)["failureKind"], "provider-auth-failed");
        kill_agent_during_turn(&fixture, &mut channels, &run, marker);
        capture_run_output(&fixture, &mut channels, &run);
        stop_runner(runner);
        let requests = fixture.model.requests();
        let bearer = format!("Bearer {}", secrets.credential);
        assert!(requests.iter().all(|it| it.authorization.as_ref().is_none_or(|key| *key == bearer)));
    });
    capture_tables(&mut channels, &db).await;
    let prefix = replicas.environment[2].1.clone();
    replicas.stop(&mut channels);
    channels.add("messages", nats_messages.bytes());
    channels.add("spans", spans.bytes());
    // Public values appear on every channel, so each channel was really captured.
    for (channel, text) in [
        // The model proxy has the credential; the agent has a placeholder.
        ("responses", "held-by-the-model-proxy\\n[redacted:"),
        ("responses", "]\\nit was printed"),
        ("responses", "the key is held-by-the-model-proxy"),
        ("responses", "The user wants:\\n\\nthink: remember [redacted:"),
        ("responses", "\"arguments\":{\"command\":\""),
        ("command", "it was printed"),
        ("logs", "failure.kind"),
        ("messages", &prefix),
        ("runner", "guildhall-runner serves mine"),
        ("spans", "/api/v1/runs"),
        ("tables", "it was printed"),
    ] {
        assert!(channels.channels_containing(text).contains(&channel), "no {text} was captured on {channel}");
    }
    assert_eq!(secrets.canaries.leaks(&channels), []);
}

// covers: R14
#[tokio::test(flavor = "multi_thread")]
async fn codex_secrets_appear_in_no_output() {
    assert_no_secret_leaks("app-server", |url, tenant, secrets| {
        let mut fixture = AgentFixture::start_on(url, tenant, &secrets.credential, |base_url| Profile {
            base_url: Some(base_url),
            model: Some("fake-model".to_owned()),
            ..Profile::new(BackendKind::Codex)
        });
        fixture.codex = leaking_agent(fixture.folder.path(), &fixture.codex, "OPENAI_API_KEY", &secrets.tool);
        fixture
    })
    .await;
}

// covers: R14
#[tokio::test(flavor = "multi_thread")]
async fn acp_agent_secrets_appear_in_no_output() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_no_secret_leaks("--acp", |url, tenant, secrets| {
        let program =
            leaking_agent(folder.path(), &guildhall_testkit::qwen_program(), "OPENAI_API_KEY", &secrets.tool);
        AgentFixture::start_on(url, tenant, &secrets.credential, |base_url| Profile {
            command: vec![program.to_string_lossy().into_owned(), "--acp".to_owned()],
            ..crate::runner_acp::qwen_profile(base_url)
        })
    })
    .await;
}
