//! The setup of a project, in the sandbox of a real runner.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_runner::backend::setup::{ProjectSetup, SetupError, WorkspaceSetup};
use guildhall_runner::backend::{BackendConfig, BackendEvent, BackendFailure, EventSink, ThreadStart};

use crate::suite::{BackendFixture, Harness};

fn project_setup(command: &str) -> ProjectSetup {
    ProjectSetup {
        tenant: "ten_1".to_owned(),
        project: "web".to_owned(),
        command: command.to_owned(),
        allowed_hosts: Vec::new(),
        cache_files: vec![PathBuf::from("package.lock")],
    }
}

fn open(
    setup: &ProjectSetup,
    session: &str,
    harness: &Harness<'_>,
    state: &tempfile::TempDir,
) -> WorkspaceSetup {
    WorkspaceSetup::open(setup.clone(), session, state.path(), &harness.config).expect("open the setup")
}

/// Runs a setup and returns its result and its output.
async fn run(setup: &mut WorkspaceSetup) -> (Result<(), BackendFailure>, String) {
    let (sink, mut events) = EventSink::new();
    let result = setup.run(&sink).await;
    let mut output = String::new();
    while let Ok(event) = events.try_recv() {
        if let BackendEvent::ToolOutput { text, .. } = event {
            output.push_str(&text);
        }
    }
    (result, output)
}

async fn harness(fixture: &BackendFixture) -> (Harness<'_>, tempfile::TempDir) {
    let state = tempfile::Builder::new().prefix("guildhall-setup-").tempdir().expect("temporary directory");
    (Harness::new(fixture).await, state)
}

#[tokio::test]
async fn setup_runs_once_and_fills_a_cache_that_the_agent_can_only_read() {
    let fixture = crate::script::fixture();
    let (mut harness, state) = harness(&fixture).await;
    let declared = project_setup(
        "echo run >> runs; mkdir -p $CARGO_HOME && echo package > $CARGO_HOME/package; echo FAKE=$FAKE_API_KEY",
    );
    let mut setup = open(&declared, "ses_1", &harness, &state);
    let (result, output) = run(&mut setup).await;
    assert_eq!((result, output.as_str()), (Ok(()), "FAKE=\n"), "it sees no credential");
    assert_eq!(run(&mut setup).await, (Ok(()), String::new()));
    // The next runner of the session.
    let mut reopened = open(&declared, "ses_1", &harness, &state);
    assert_eq!(run(&mut reopened).await, (Ok(()), String::new()));
    assert_eq!(fs::read_to_string(harness.path("runs")).expect("read file"), "run\n");

    fs::remove_dir_all(reopened.agent_cache().dir).expect("delete the cache");
    let mut after_deletion = open(&declared, "ses_1", &harness, &state);
    assert_eq!(run(&mut after_deletion).await.0, Ok(()));
    assert_eq!(fs::read_to_string(harness.path("runs")).expect("read file"), "run\nrun\n");

    harness.config.cache = Some(reopened.agent_cache());
    harness.start(ThreadStart::New).await.expect("start a thread");
    let report = harness
        .turn("run:cat $CARGO_HOME/package; echo changed > $CARGO_HOME/package; rm -r $GUILDHALL_CACHE/cargo")
        .await;
    let output = report.tool_output().0;
    assert!(output.starts_with("package\n") && output.contains("Read-only file system"), "{output}");
    let cached = reopened.agent_cache().dir.join("cargo/package");
    assert_eq!(fs::read_to_string(cached).expect("read file"), "package\n");
    harness.finish();
}

#[tokio::test]
async fn workspaces_with_the_same_cache_files_share_a_cache() {
    let fixture = crate::script::fixture();
    let (first, state) = harness(&fixture).await;
    let (second, _unused) = harness(&fixture).await;
    let (third, _unused) = harness(&fixture).await;
    let declared = project_setup("cat $GUILDHALL_CACHE/list; echo used >> $GUILDHALL_CACHE/list");
    for (harness, lock) in [(&first, "a"), (&second, "a"), (&third, "b")] {
        fs::write(harness.path("package.lock"), lock).expect("write file");
    }
    let mut outputs = Vec::new();
    for (number, harness) in [&first, &second, &third].into_iter().enumerate() {
        let mut setup = open(&declared, &format!("ses_{number}"), harness, &state);
        let (result, output) = run(&mut setup).await;
        result.expect("the setup ends");
        outputs.push((output.starts_with("used\n"), setup.agent_cache().dir));
    }
    let [(_, a), (_, also_a), (_, b)] = outputs.as_slice() else { panic!("three setups") };
    assert_eq!(outputs.iter().map(|(found, _)| *found).collect::<Vec<_>>(), [false, true, false]);
    assert!(a == also_a && a != b, "{outputs:?}");
    // The second one changed its copy only.
    assert_eq!(fs::read_to_string(a.join("list")).expect("read file"), "used\n");
    let other_tenant = ProjectSetup { tenant: "ten_2".to_owned(), ..declared };
    assert_ne!(open(&other_tenant, "ses_9", &second, &state).agent_cache().dir, *a);
    for harness in [first, second, third] {
        harness.finish();
    }
}

#[tokio::test]
async fn failed_setup_is_a_failure_with_its_output_and_runs_again() {
    let fixture = crate::script::fixture();
    let (harness, state) = harness(&fixture).await;
    let declared = project_setup("test -e ready || { echo not ready; touch ready; exit 3; }");
    let mut setup = open(&declared, "ses_1", &harness, &state);
    let message = "the setup of the project ended with exit code 3";
    let failure = BackendFailure::new(FailureKind::BackendFailed, message);
    assert_eq!(run(&mut setup).await, (Err(failure), "not ready\n".to_owned()));
    assert!(!setup.agent_cache().dir.exists(), "a failed setup left a cache");
    assert_eq!(run(&mut setup).await.0, Ok(()));
    harness.finish();
}

#[tokio::test]
async fn setup_over_the_timeout_is_killed() {
    let fixture = crate::script::fixture();
    let (mut harness, state) = harness(&fixture).await;
    harness.config.turn_timeout = Duration::from_secs(1);
    let mut setup = open(&project_setup("sleep 60"), "ses_1", &harness, &state);
    let failure =
        BackendFailure::new(FailureKind::BackendFailed, "the setup of the project took longer than 1 s");
    assert_eq!(run(&mut setup).await.0, Err(failure));
    harness.finish();
}

#[tokio::test]
async fn host_that_the_operator_does_not_allow_is_refused() {
    let fixture = crate::script::fixture();
    let (mut harness, state) = harness(&fixture).await;
    harness.config.allowed_hosts = vec!["*.example.com".parse().expect("a pattern")];
    let open = |hosts: &[&str], config: &BackendConfig| {
        let allowed_hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
        let setup = ProjectSetup { allowed_hosts, ..project_setup("true") };
        WorkspaceSetup::open(setup, "ses_1", state.path(), config).map(|_setup| ())
    };
    assert!(open(&["packages.example.com"], &harness.config).is_ok());
    let refused = open(&["packages.example.com", "example.org"], &harness.config);
    assert!(
        matches!(&refused, Err(SetupError::HostNotAllowed(host)) if host == "example.org"),
        "{refused:?}"
    );
    harness.finish();
}

/// The names in the allow-list have no address here: the proxy is asked, and only it decides.
#[tokio::test]
async fn setup_reaches_no_host_but_the_allowed_ones() {
    let fixture = crate::script::fixture();
    let (mut harness, state) = harness(&fixture).await;
    harness.config.allowed_hosts = vec!["*.invalid".parse().expect("a pattern")];
    let ask = |host: &str| {
        format!(
            "exec 3<>/dev/tcp/127.0.0.1/3117; printf 'CONNECT {host}:443 HTTP/1.1\\r\\nhost: {host}:443\\r\\n\\r\\n' >&3; \
             head -1 <&3"
        )
    };
    let script = format!("bash -c '{}'; bash -c '{}'", ask("other.test"), ask("packages.invalid"));
    let script = script.replace("'CONNECT", "\"CONNECT").replace("\\r\\n' >&3", "\\r\\n\" >&3");
    let declared =
        ProjectSetup { allowed_hosts: vec!["packages.invalid".to_owned()], ..project_setup(&script) };
    let (result, output) = run(&mut open(&declared, "ses_1", &harness, &state)).await;
    result.expect("the setup ends");
    let codes: Vec<&str> = output.lines().filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(codes, ["403", "502"], "{output}");
    harness.finish();
}

#[tokio::test]
async fn cache_file_that_is_a_link_is_refused() {
    let fixture = crate::script::fixture();
    let (harness, state) = harness(&fixture).await;
    std::os::unix::fs::symlink("/etc/passwd", harness.path("package.lock")).expect("create symlink");
    let opened =
        WorkspaceSetup::open(project_setup("true"), "ses_1", state.path(), &harness.config).map(|_setup| ());
    assert!(matches!(opened, Err(SetupError::CacheFile { .. })), "{opened:?}");
    harness.finish();
}
