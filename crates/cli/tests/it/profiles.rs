//! `guildhall profiles`, with a real runner and a real Codex that read what the server keeps.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use guildhall_testkit::FakeModel;
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::support::Running;
use crate::support::agent::{dismiss, program};
use crate::support::fleet::Fleet;
use crate::support::runner::Yard;
use crate::support::user::{Server, User, stderr, stdout};

const KEY: &str = "sk-canary-4711";

fn set(user: &User, model: &FakeModel, key: &str) -> Output {
    let url = model.base_url_for(KEY);
    user.run_with(&["profiles", "set", "codex", "--base-url", &url, "--model", "fake-model"], key)
}

/// Starts the runner's program on the very folder in which the server keeps the tenant's profiles.
fn runner(server: &Server, yard: &Yard, folder: &TempDir) -> Running {
    let tenant =
        yard.user.json(&["tenants", "ls"])["tenants"][0]["tenant"]["id"].as_str().expect("an id").to_owned();
    let enrolment = folder.path().join("enrolment");
    fs::write(&enrolment, &yard.enrolment).expect("written");
    fs::set_permissions(&enrolment, fs::Permissions::from_mode(0o600)).expect("ours");
    let mut command = Command::new(program());
    command
        .args(["--url", &server.url, "--profile", "codex", "--enrolment-file"])
        .arg(enrolment)
        .arg("--profiles")
        .arg(server.state.join("secrets/providers").join(tenant))
        .arg("--state")
        .arg(folder.path().join("state"))
        .arg("--codex")
        .arg(guildhall_testkit::codex())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .stdin(Stdio::null());
    Running::start_logging(&mut command, Stdio::null())
}

// covers: R22
#[test]
fn a_check_says_whether_the_provider_takes_the_credential() {
    let server = Server::ephemeral();
    let yard = Yard::new(&server);
    let (runtime, folder) = (Runtime::new().expect("a runtime"), tempfile::tempdir().expect("a folder"));
    let model = runtime.block_on(FakeModel::start());
    let kept = set(&yard.user, &model, &format!("{KEY}\n"));
    assert_eq!(kept.status.code(), Some(0), "{}", stderr(&kept));
    let runner = runner(&server, &yard, &folder);
    let checked = yard.user.run(&["profiles", "check", "codex"]);
    assert_eq!(checked.status.code(), Some(0), "{} {}", stdout(&checked), stderr(&checked));
    assert_eq!(stdout(&checked), "codex works: the provider took its credential and answered\n");
    assert!(model.requests().iter().any(|request| request.authorization == Some(format!("Bearer {KEY}"))));

    set(&yard.user, &model, "sk-canary-wrong");
    let checked = yard.user.run(&["profiles", "check", "codex"]);
    let said = stdout(&checked);
    assert_eq!(checked.status.code(), Some(1), "{said} {}", stderr(&checked));
    assert!(said.starts_with("codex does not work: ") && said.contains("(provider-auth-failed)"), "{said}");
    let shown = yard.user.json(&["profiles", "show", "codex"]);
    assert_eq!(shown["lastValidation"]["failureKind"], "provider-auth-failed", "{shown}");
    assert!(!shown.to_string().contains("canary-wrong"), "{shown}");
    dismiss(runner);
}

#[test]
fn a_profile_is_set_from_a_pipe_listed_checked_and_removed() {
    let server = Server::ephemeral_with(&[("GUILDHALL_SECRETS_VALIDATE_WITHIN", "2s")]);
    let yard = Yard::new(&server);
    let user = &yard.user;
    assert_eq!(user.run_with(&["profiles", "set", "codex"], "\n").status.code(), Some(2), "nothing was sent");
    let kept = user.run_with(&["profiles", "set", "codex", "--model", "m-1", "--json"], KEY);
    let kept: Value = serde_json::from_slice(&kept.stdout).expect("JSON");
    assert_eq!((&kept["configured"], &kept["model"]), (&json!(true), &json!("m-1")), "{kept}");
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
    let shared = user.run_with(&["profiles", "set", "house", "--shared"], KEY);
    assert_eq!(shared.status.code(), Some(0), "{}", stderr(&shared));
    assert_eq!(user.json(&["profiles", "show", "house"])["scope"], "shared");
    assert_eq!(user.run(&["profiles", "rm", "codex"]).status.code(), Some(0));
    assert_eq!(user.run(&["profiles", "rm", "codex"]).status.code(), Some(4));
    assert_eq!(user.json(&["profiles", "show", "codex"])["configured"], false);
    let refused = user.run_with(&["profiles", "set", "codex", "--base-url", "http://example.org/v1"], KEY);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        !stderr(&refused).contains("canary") && stderr(&refused).contains("baseUrl"),
        "{}",
        stderr(&refused)
    );
}

// covers: R22
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_validation_comes_out_though_the_server_that_began_it_was_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let secrets: &'static str = folder.path().join("secrets").display().to_string().leak();
    let settings = [("GUILDHALL_SECRETS_FOLDER", secrets), ("GUILDHALL_SECRETS_VALIDATE_WITHIN", "3s")];
    let fleet = Fleet::start(&settings).await;
    let access = fleet.operator().await;
    let (_, key) = fleet.tenant(&access, "acme").await;
    let at = |path: &str| format!("/api/v1/provider-profiles/codex{path}");
    let put = fleet.request(0, Method::PUT, &at("/credential"), &key).json(&json!({ "credential": KEY }));
    assert_eq!(put.send().await.expect("an answer").status(), 200);
    let begun = fleet.request(0, Method::POST, &at("/validate"), &key).send().await.expect("an answer");
    assert_eq!(begun.status(), 202);
    let begun: Value = begun.json().await.expect("JSON");
    fleet.kill_server(0);
    let id = begun["validationId"].as_str().expect("an id");
    let began = Instant::now();
    let outcome = loop {
        let asked = fleet.request(1, Method::GET, &at(&format!("/validations/{id}")), &key);
        let seen: Value = asked.send().await.expect("an answer").json().await.expect("JSON");
        if seen["status"] != "pending" {
            break seen;
        }
        assert!(began.elapsed() < Duration::from_secs(15), "{seen}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    assert_eq!(outcome["failureKind"], "infra-failed", "{outcome}");
}
