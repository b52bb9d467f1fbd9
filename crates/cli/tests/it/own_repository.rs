//! Work on a repository of the user: an agent changes a private copy, and the user applies the changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use guildhall_testkit::FakeModel;
use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::launched_runners::{set_key, start_server};
use crate::support::runner::WatchedCommand;
use crate::support::terminal::TerminalSession;
use crate::support::user::{CliUser, DevServer, stderr, stdout};
use crate::support::{ChildProcess, guildhall, search_path_with};

/// A repository with a change that is not committed, and a server whose runners may copy it.
pub(crate) struct OwnRepository {
    pub(crate) dir: PathBuf,
    pub(crate) user: CliUser,
    _server: DevServer,
    _folder: TempDir,
}

/// Creates a repository whose test fails, with a draft that is not committed.
pub(crate) fn create_repository(folder: &Path) -> PathBuf {
    let dir = folder.canonicalize().expect("a path").join("my repo");
    fs::create_dir_all(dir.join("src")).expect("a folder");
    git(&dir, &["init", "-q", "-b", "main"]);
    fs::write(dir.join("test.sh"), "test \"$(cat answer)\" = 42\n").expect("a file");
    fs::write(dir.join("answer"), "41\n").expect("a file");
    git(&dir, &["add", "."]);
    git(&dir, &["commit", "-q", "-m", "one"]);
    fs::write(dir.join("draft.txt"), "not committed\n").expect("a file");
    dir
}

impl OwnRepository {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let dir = create_repository(folder.path());
        let root = folder.path().canonicalize().expect("a path").display().to_string();
        let below = format!("{root}/*");
        let settings =
            [("GUILDHALL_LAUNCHER_WORKSPACE_ROOTS", &*root), ("GUILDHALL_RUNS_DIRECTORIES", &below)];
        let (server, user) = start_server(&settings);
        Self { dir, user, _server: server, _folder: folder }
    }

    /// Runs a turn in a copy of the repository, and returns the run.
    fn run_turn(&self, profile: &str, prompt: &str) -> String {
        let workspace = format!("copy:{}", self.dir.display());
        let args = ["runs", "create", prompt, "--profile", profile, "--workspace", &workspace, "--watch"];
        let watched = self.user.run(&args);
        assert_eq!(watched.status.code(), Some(0), "{}{}", stdout(&watched), stderr(&watched));
        let runs = self.user.json(&["runs", "ls"]);
        runs["runs"][0]["runId"].as_str().expect("a run").to_owned()
    }

    /// Returns `guildhall run` in the repository.
    pub(crate) fn run_command(&self, args: &[&str]) -> Command {
        let mut command = self.user.command(&[&["run"], args].concat());
        command.current_dir(&self.dir);
        command
    }

    fn apply(&self, run: &str) -> std::process::Output {
        let mut apply = self.user.command(&["runs", "apply", run]);
        apply.current_dir(&self.dir).output().expect("the command runs")
    }

    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.dir.join(file)).expect("a file")
    }
}

pub(crate) fn git(dir: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(args);
    let done = command.current_dir(dir).env("GIT_CONFIG_GLOBAL", "/dev/null").status();
    assert!(done.expect("git").success(), "{args:?}");
}

/// The agent sees the draft of the user, and makes the test pass.
const FIX: &str =
    "run:grep -q committed draft.txt && ! sh test.sh && echo 42 > answer && sh test.sh && rm draft.txt";

#[test]
fn changes_of_a_private_copy_are_shown_and_applied() {
    let repository = OwnRepository::start();
    let run = repository.run_turn("demo", FIX);
    assert_eq!(
        (repository.read("answer"), repository.read("draft.txt")),
        ("41\n".into(), "not committed\n".into())
    );
    let diff = stdout(&repository.user.run(&["runs", "diff", &run]));
    assert!(diff.contains("-41\n+42\n") && diff.contains("deleted file"), "{diff}");
    let applied = repository.apply(&run);
    assert_eq!(
        (applied.status.code(), stdout(&applied)),
        (Some(0), "applied:\n  answer\n  draft.txt\n".to_owned()),
        "{}",
        stderr(&applied)
    );
    assert_eq!(
        (repository.read("answer"), repository.dir.join("draft.txt").exists()),
        ("42\n".into(), false)
    );

    let again = repository.apply(&run);
    assert_eq!(again.status.code(), Some(1));
    assert!(stderr(&again).contains("nothing was applied"), "{}", stderr(&again));
    let elsewhere = repository.user.run(&["runs", "apply", &run]);
    assert!(stderr(&elsewhere).contains("this is not a Git repository"), "{}", stderr(&elsewhere));
    let idle = repository.run_turn("demo", "run:true");
    let nothing = repository.apply(&idle);
    assert_eq!(
        (nothing.status.code(), stdout(&nothing).as_str()),
        (Some(0), "the agent has changed nothing\n")
    );
    assert_eq!(repository.user.json(&["runs", "diff", &idle])["bytes"], json!(0));
}

pub(crate) fn git_output(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git").args(args).current_dir(dir).output().expect("git");
    assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    stdout(&output)
}

#[test]
fn changes_become_a_branch_or_are_discarded() {
    let repository = OwnRepository::start();
    let dir = &repository.dir;
    let run_in = |args: &[&str]| {
        let mut command = repository.user.command(args);
        command.env("GIT_AUTHOR_NAME", "t").env("GIT_AUTHOR_EMAIL", "t@example.org");
        command.env("GIT_COMMITTER_NAME", "t").env("GIT_COMMITTER_EMAIL", "t@example.org");
        command.current_dir(dir).output().expect("the command runs")
    };
    let fix = repository.run_turn("demo", "run:echo 42 > answer");
    let before = git_output(dir, &["status", "--porcelain"]);
    let committed = run_in(&["runs", "branch", &fix, "fixed"]);
    assert_eq!(
        stdout(&committed),
        format!("committed the changes of {fix} to the branch fixed; `git merge fixed` takes them over\n"),
        "{}",
        stderr(&committed)
    );
    assert_eq!(git_output(dir, &["status", "--porcelain"]), before, "the working tree is unchanged");
    assert_eq!(repository.read("answer"), "41\n");
    assert_eq!(git_output(dir, &["diff", "--stat", "main", "fixed", "--", "answer"]).lines().count(), 2);
    let message = git_output(dir, &["log", "-1", "--format=%B", "fixed"]);
    assert_eq!(message.trim(), format!("run:echo 42 > answer\n\nGuildhall-Run: {fix}"));
    let again = run_in(&["runs", "branch", &fix, "fixed"]);
    assert!(stderr(&again).contains("cannot create the branch"), "{}", stderr(&again));

    let of_draft = repository.run_turn("demo", "run:echo more >> draft.txt");
    let refused = run_in(&["runs", "branch", &of_draft]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("do not fit the last commit"), "{}", stderr(&refused));
    let discarded = stdout(&run_in(&["runs", "discard", &of_draft]));
    assert_eq!(discarded, format!("discarded the changes of {of_draft}; the run is closed\n"));
    assert_eq!(run_in(&["runs", "diff", &of_draft]).status.code(), Some(4), "there is nothing any more");
    assert_eq!(run_in(&["runs", "discard", &of_draft]).status.code(), Some(0), "it can be repeated");
}

#[test]
fn log_of_a_run_says_that_its_changes_are_too_large() {
    let repository = OwnRepository::start();
    let run = repository.run_turn("demo", "run:head -c 2000000 /dev/urandom > big");
    let deadline = Instant::now() + Duration::from_secs(120);
    let expected =
        "  warn   cannot collect the changes of the workspace: the changes are too large for a diff\n";
    loop {
        let logs = stdout(&repository.user.run(&["runs", "logs", &run]));
        if logs.contains(expected) {
            return;
        }
        assert!(Instant::now() < deadline, "{logs}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn run_is_closed_if_its_changes_cannot_be_read() {
    let repository = OwnRepository::start();
    let prompt = "run:head -c 2000000 /dev/urandom > big";
    let output = repository.run_command(&[prompt, "--profile", "demo"]).output().expect("the command runs");
    assert!(!output.status.success(), "{}", stdout(&output));
    assert!(stderr(&output).contains("cannot read the changes of run_"), "{}", stderr(&output));
    let open = stdout(&repository.user.run(&["runs", "ls"]));
    assert!(open.contains("no open runs"), "{open}");
}

#[test]
fn codex_fixes_a_test_in_a_copy_and_the_user_applies_it() {
    let repository = OwnRepository::start();
    let model = Runtime::new().expect("a runtime");
    let fake = model.block_on(FakeModel::start());
    set_key(&repository.user, &fake.base_url());
    let run = repository.run_turn("codex", FIX);
    let applied = repository.apply(&run);
    assert_eq!(stdout(&applied), "applied:\n  answer\n  draft.txt\n", "{}", stderr(&applied));
    assert_eq!(repository.read("answer"), "42\n");
}

#[test]
fn codex_asks_on_the_terminal_and_an_early_yes_applies_nothing() {
    let repository = OwnRepository::start();
    let runtime = Runtime::new().expect("a runtime");
    let model = runtime.block_on(FakeModel::start());
    set_key(&repository.user, &model.base_url());
    let mut terminal = TerminalSession::start(&repository.run_command(&["ask:echo 42 > answer"]));
    let question = terminal.wait_for("d shows details: ");
    assert!(question.contains("echo 42 > answer") && question.contains("sandbox of codex"), "{question}");
    // The second y is typed before the changes are shown: it does not apply them.
    terminal.type_keys("y\ny\n");
    let changes = terminal.wait_for("Apply these changes? [y/N] ");
    assert!(changes.contains("-41\r\n+42\r\n"), "{changes}");
    terminal.type_keys("n\n");
    let (code, output) = terminal.wait();
    assert_eq!((code, repository.read("answer").as_str()), (Some(0), "41\n"), "{output}");
    assert!(output.contains("not applied"), "{output}");
}

#[test]
fn run_without_a_terminal_says_that_the_agent_waits_and_how_to_answer() {
    let repository = OwnRepository::start();
    let command = repository.run_command(&["ask:echo 42 > answer", "--profile", "demo", "--apply"]);
    let mut watched = WatchedCommand::start_command(command);
    let allow = loop {
        let line = watched.read_stderr_line();
        if let Some((_, rest)) = line.split_once("the agent waits for an answer: `guildhall ") {
            break rest.split('`').next().expect("a command").to_owned();
        }
        assert!(!line.is_empty(), "it ended without a question");
    };
    let allowed = repository.user.run(&allow.split(' ').collect::<Vec<_>>());
    assert_eq!(stdout(&allowed), "allowed: shell: echo 42 > answer\n", "{}", stderr(&allowed));
    let output = watched.wait();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(repository.read("answer"), "42\n");

    let never = ["ask:echo 43 > answer", "--profile", "demo", "--approval", "never"];
    let unasked = repository.run_command(&never).output().expect("the command runs");
    assert!(stdout(&unasked).contains("I asked, and was not allowed to."), "{}", stderr(&unasked));
}

#[test]
fn default_approval_policy_is_that_of_a_tenant_that_asks_more_often() {
    let repository = OwnRepository::start();
    let policy_of_new_run = || {
        let output = repository.run_command(&["run:true", "--profile", "demo"]).output().expect("it runs");
        assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
        let runs = repository.user.json(&["runs", "ls", "--all"]);
        runs["runs"][0]["executionPolicy"]["approval"].clone()
    };
    assert_eq!(policy_of_new_run(), "on-request");
    let tenant = repository.user.json(&["tenants", "ls"])["tenants"][0]["tenant"]["slug"].clone();
    let tenant = tenant.as_str().expect("a slug");
    repository.user.json(&["tenants", "bounds", "set", tenant, "--approval", "untrusted"]);
    assert_eq!(policy_of_new_run(), "untrusted");
    let refused = repository.run_command(&["run:true", "--profile", "demo", "--approval", "on-request"]);
    let refused = { refused }.output().expect("it runs");
    assert!(stderr(&refused).contains("executionPolicy.approval"), "{}", stderr(&refused));
}

/// Runs the commands of the guide in a repository, with the default state directory and one agent on the search path.
/// There is no terminal: `run_args` are for agents that would ask.
fn follow_the_guide(profile: &str, agent: &Path, run_args: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let (home, dir) = (folder.path().join("home"), create_repository(folder.path()));
    fs::create_dir(&home).expect("a folder");
    let nats = guildhall_engines::inspect::nats_program().expect("NATS").path;
    let path = search_path_with(&[agent, &nats]);
    let command = |dir: &Path, args: &[&str]| {
        let mut command = guildhall();
        command.args(args).current_dir(dir).env("HOME", &home).env("PATH", &path).stdin(Stdio::null());
        command.env_remove("XDG_STATE_HOME").env_remove("XDG_CONFIG_HOME");
        command
    };
    let run = |dir: &Path, args: &[&str]| {
        let output = command(dir, args).output().expect("the command runs");
        assert!(output.status.success(), "{args:?}: {}{}", stdout(&output), stderr(&output));
        stdout(&output)
    };
    let mut server = ChildProcess::start(&mut command(&dir, &["dev", "--json", "--listen", "127.0.0.1:0"]));
    let ready = server.wait_ready();
    let state = PathBuf::from(ready["state"].as_str().expect("a folder"));
    assert!(state.starts_with(home.join(".local/state/guildhall")), "{}", state.display());
    assert!(!dir.join(".guildhall").exists(), "the repository is unchanged");
    assert!(ready["agents"].as_array().is_some_and(|agents| agents.contains(&json!(profile))), "{ready}");
    run(&dir.join("src"), &["login"]);
    let runtime = Runtime::new().expect("a runtime");
    let model = runtime.block_on(FakeModel::start());
    let url = model.base_url();
    let set = command(&dir, &["profiles", "set", profile, "--base-url", &url, "--model", "fake-model"]);
    let stored = CliUser::run_with_input(set, "sk-canary-4711");
    assert!(stored.status.success(), "{}{}", stdout(&stored), stderr(&stored));
    let works = format!("{profile} works: {profile} at {url} accepted the credential and replied\n");
    assert!(stdout(&stored).ends_with(&works), "{}", stdout(&stored));

    let output = run(&dir.join("src"), &[&["run", FIX], run_args].concat());
    let first = output.lines().next().expect("a line");
    let copied =
        format!("{profile} works on a copy of {} (with 1 file that is not committed)", dir.display());
    assert_eq!(first, copied, "{output}");
    assert!(output.contains("-41\n+42\n"), "{output}");
    let answer = || fs::read_to_string(dir.join("answer")).expect("a file");
    assert_eq!(answer(), "41\n", "nothing is applied without a yes");
    assert!(run(&dir, &["runs", "ls"]).contains("no open runs"), "the run is closed");
    let output = run(&dir.join("src"), &[&["run", "--apply", FIX], run_args].concat());
    assert!(output.ends_with("applied:\n  answer\n  draft.txt\n"), "{output}");
    assert_eq!(answer(), "42\n");
}

#[test]
fn guide_from_dev_to_applied_changes_works_with_codex() {
    follow_the_guide("codex", &guildhall_testkit::codex_program(), &[]);
}

#[test]
fn guide_from_dev_to_applied_changes_works_with_qwen() {
    // Qwen Code asks before each command.
    follow_the_guide("qwen", &guildhall_testkit::qwen_program(), &["--approval", "never"]);
}
