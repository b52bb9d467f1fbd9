//! `guildhall profiles`, with a real runner and a real Codex that use the stored profiles.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use guildhall_testkit::{FakeModel, Stopwatch};
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::support::agent::{runner_program, stop_runner};
use crate::support::cluster::Cluster;
use crate::support::runner::TenantFixture;
use crate::support::user::{CliUser, DevServer, stderr, stdout};
use crate::support::{ChildProcess, search_path_with};

const PROVIDER_API_KEY: &str = "sk-canary-4711";

fn set_profile(user: &CliUser, model: &FakeModel, key: &str) -> Output {
    let url = model.base_url_requiring_key(PROVIDER_API_KEY);
    let args = ["profiles", "set", "codex", "--base-url", &url, "--model", "fake-model", "--no-check"];
    user.run_with_stdin(&args, key)
}

/// Starts the runner binary on the folder in which the server stores the tenant's profiles.
fn start_runner(server: &DevServer, fixture: &TenantFixture, folder: &TempDir) -> ChildProcess {
    let tenant = fixture.user.json(&["tenants", "ls"])["tenants"][0]["tenant"]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let enrolment = folder.path().join("enrolment");
    fs::write(&enrolment, &fixture.enrolment_token).expect("written");
    fs::set_permissions(&enrolment, fs::Permissions::from_mode(0o600)).expect("set permissions");
    let mut command = Command::new(runner_program());
    command
        .args(["--url", &server.url, "--profile", "codex", "--enrolment-file"])
        .arg(enrolment)
        .arg("--profiles")
        .arg(server.state.join("secrets/providers").join(tenant))
        .arg("--state")
        .arg(folder.path().join("state"))
        .arg("--codex")
        .arg(guildhall_testkit::codex_program())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .stdin(Stdio::null());
    ChildProcess::start_with_stderr(&mut command, Stdio::null())
}

// covers: R22
#[test]
fn profiles_check_reports_whether_the_credential_works() {
    let server = DevServer::ephemeral();
    let fixture = TenantFixture::new(&server);
    let (runtime, folder) = (Runtime::new().expect("a runtime"), tempfile::tempdir().expect("a folder"));
    let model = runtime.block_on(FakeModel::start());
    let stored = set_profile(&fixture.user, &model, &format!("{PROVIDER_API_KEY}\n"));
    assert_eq!(stored.status.code(), Some(0), "{}", stderr(&stored));
    let runner = start_runner(&server, &fixture, &folder);
    let checked = fixture.user.run(&["profiles", "check", "codex"]);
    assert_eq!(checked.status.code(), Some(0), "{} {}", stdout(&checked), stderr(&checked));
    let url = model.base_url_requiring_key(PROVIDER_API_KEY);
    assert_eq!(
        stdout(&checked),
        format!("codex works: codex at {url} accepted the credential and replied\n")
    );
    assert!(
        model
            .requests()
            .iter()
            .any(|request| request.authorization == Some(format!("Bearer {PROVIDER_API_KEY}")))
    );

    set_profile(&fixture.user, &model, "sk-canary-wrong");
    let checked = fixture.user.run(&["profiles", "check", "codex"]);
    let output = stdout(&checked);
    assert_eq!(checked.status.code(), Some(1), "{output} {}", stderr(&checked));
    assert!(
        output.starts_with("codex does not work: ") && output.contains("(provider-auth-failed)"),
        "{output}"
    );
    let view = fixture.user.json(&["profiles", "show", "codex"]);
    assert_eq!(view["lastValidation"]["failureKind"], "provider-auth-failed", "{view}");
    assert!(!view.to_string().contains("canary-wrong"), "{view}");
    stop_runner(runner);
}

#[test]
fn each_provider_gets_only_the_credential_of_its_profile() {
    let path = search_path_with(&[
        &guildhall_testkit::codex_program(),
        &guildhall_testkit::qwen_program(),
        &guildhall_testkit::claude_program(),
        &guildhall_testkit::gemini_program(),
    ]);
    let server = DevServer::ephemeral_with(&[("GUILDHALL_LAUNCHER_KIND", "local"), ("PATH", &path)]);
    let user = CliUser::new();
    user.login(&server);
    let runtime = Runtime::new().expect("a runtime");
    for (profile, agent, key, api) in [
        ("codex", "codex", "sk-canary-openai", "/v1/responses"),
        ("qwen", "qwen", "sk-canary-dashscope", "/v1/chat/completions"),
        ("claude", "claude-agent-acp", "sk-canary-anthropic", "/v1/messages"),
        ("gemini", "gemini", "canary-google", "/v1beta/models/fake-model:streamGenerateContent"),
    ] {
        let model = runtime.block_on(FakeModel::start());
        let url = if profile == "gemini" { model.gemini_base_url() } else { model.base_url() };
        let args = ["profiles", "set", profile, "--base-url", &url, "--model", "fake-model"];
        let set = user.run_with_stdin(&args, key);
        assert_eq!(set.status.code(), Some(0), "{}{}", stdout(&set), stderr(&set));
        let works = format!("{profile} works: {agent} at {url} accepted the credential and replied\n");
        assert!(stdout(&set).ends_with(&works), "{}", stdout(&set));
        let requests = model.requests();
        let received: BTreeSet<_> =
            requests.iter().filter_map(|request| request.authorization.as_deref()).collect();
        assert_eq!(received, BTreeSet::from([format!("Bearer {key}").as_str()]));
        assert!(requests.iter().any(|request| request.path.ends_with(api)), "{requests:?}");
    }
}

#[test]
fn profile_is_set_from_stdin_listed_checked_and_removed() {
    let server = DevServer::ephemeral_with(&[("GUILDHALL_SECRETS_VALIDATE_WITHIN", "2s")]);
    let fixture = TenantFixture::new(&server);
    let user = &fixture.user;
    assert_eq!(
        user.run_with_stdin(&["profiles", "set", "codex"], "\n").status.code(),
        Some(2),
        "an empty credential is rejected"
    );
    let stored = user.run_with_stdin(
        &["profiles", "set", "codex", "--model", "m-1", "--no-check", "--json"],
        PROVIDER_API_KEY,
    );
    let stored: Value = serde_json::from_slice(&stored.stdout).expect("JSON");
    assert_eq!((&stored["configured"], &stored["model"]), (&json!(true), &json!("m-1")), "{stored}");
    let listed = stdout(&user.run(&["profiles", "ls"]));
    let line = |slug: &str| listed.lines().find(|line| line.starts_with(slug)).expect(slug).to_owned();
    assert!(line("codex").contains("yes") && line("codex").contains("m-1"), "{listed}");
    assert!(line("deepseek").contains("no credential"), "{listed}");
    let checked = user.run(&["profiles", "check", "codex", "--json"]);
    let outcome: Value = serde_json::from_slice(&checked.stdout).expect("JSON");
    assert_eq!(
        (checked.status.code(), &outcome["failureKind"]),
        (Some(1), &json!("infra-failed")),
        "{outcome}"
    );
    let shared = user
        .run_with_stdin(&["profiles", "set", "house", "--template", "codex", "--shared"], PROVIDER_API_KEY);
    assert_eq!(shared.status.code(), Some(0), "{}", stderr(&shared));
    assert_eq!(user.json(&["profiles", "show", "house"])["scope"], "shared");
    assert_eq!(user.run(&["profiles", "rm", "codex"]).status.code(), Some(0));
    assert_eq!(user.run(&["profiles", "rm", "codex"]).status.code(), Some(4));
    assert_eq!(user.json(&["profiles", "show", "codex"])["configured"], false);
    let refused = user.run_with_stdin(
        &["profiles", "set", "codex", "--base-url", "http://example.org/v1"],
        PROVIDER_API_KEY,
    );
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        !stderr(&refused).contains("canary") && stderr(&refused).contains("baseUrl"),
        "{}",
        stderr(&refused)
    );
}

// covers: R22
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn validation_completes_after_its_server_is_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let secrets: &'static str = folder.path().join("secrets").display().to_string().leak();
    let settings = [("GUILDHALL_SECRETS_FOLDER", secrets), ("GUILDHALL_SECRETS_VALIDATE_WITHIN", "3s")];
    let cluster = Cluster::start(&settings).await;
    let access = cluster.create_operator().await;
    let (_, key) = cluster.create_tenant(&access, "acme").await;
    let at = |path: &str| format!("/api/v1/provider-profiles/codex{path}");
    let put = cluster
        .request(0, Method::PUT, &at("/credential"), &key)
        .json(&json!({ "credential": PROVIDER_API_KEY }));
    assert_eq!(put.send().await.expect("a response").status(), 200);
    let started = cluster.request(0, Method::POST, &at("/validate"), &key).send().await.expect("a response");
    assert_eq!(started.status(), 202);
    let started: Value = started.json().await.expect("JSON");
    cluster.kill_replica(0);
    let id = started["validationId"].as_str().expect("an id");
    let poll_started = Stopwatch::start();
    let outcome = loop {
        let request = cluster.request(1, Method::GET, &at(&format!("/validations/{id}")), &key);
        let view: Value = request.send().await.expect("a response").json().await.expect("JSON");
        if view["status"] != "pending" {
            break view;
        }
        assert!(poll_started.elapsed() < Duration::from_secs(15), "{view}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    assert_eq!(outcome["failureKind"], "infra-failed", "{outcome}");
}
