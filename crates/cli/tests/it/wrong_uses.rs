//! Wrong uses and broken machines: each answer names the fix. `--no-capture` prints all answers.

use std::path::Path;
use std::process::{Command, Output};

use guildhall_engines::Package;
use guildhall_testkit::FakeModel;
use rustix::process::Signal;
use tokio::runtime::Runtime;

use crate::support::user::{CliUser, DevServer, stderr, stdout};
use crate::support::{guildhall, search_path_with, without_bwrap};

/// Checks that a command failed with an exit code, a reason and a fix.
#[expect(clippy::print_stdout, reason = "the answers are read by people too")]
fn assert_names_fix(case: &str, output: &Output, code: i32, reason: &str, fix: &str) {
    let shown = format!("{}{}", stdout(output), stderr(output));
    println!("== {case}\n{shown}[exit {}]\n", output.status.code().unwrap_or(-1));
    assert_eq!(output.status.code(), Some(code), "{case}: {shown}");
    assert!(shown.contains(reason) && shown.contains(fix), "{case}: {shown}");
    assert!(!shown.contains("Error {") && shown.matches("  because: ").count() <= 1, "{case}: {shown}");
}

/// Returns the command in a mount namespace in which a folder has 20 MiB. Needs root.
fn with_small_disk(command: &Command, folder: &Path) -> Command {
    let mut wrapped = Command::new("unshare");
    let script = "mount -t tmpfs -o size=20m,mode=0755 tmpfs \"$0\" && exec \"$@\"";
    wrapped.args(["--mount", "sh", "-c", script]).arg(folder);
    wrapped.arg(command.get_program()).args(command.get_args());
    wrapped
}

fn doctor(state: &Path) -> Command {
    let mut command = guildhall();
    command.args(["doctor", "--state"]).arg(state).env("GUILDHALL_HTTP_LISTEN", "127.0.0.1:0");
    command
}

#[test]
fn broken_machine_is_explained_with_its_fix() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |command: &mut Command| command.output().expect("the command runs");

    let mut no_engine = guildhall();
    no_engine.args(["dev", "--ephemeral", "--listen", "127.0.0.1:0"]);
    let output = run(no_engine.env("GUILDHALL_ENGINE_PG_BIN", folder.path()));
    let fix = Package::Postgres.install_command();
    assert_names_fix("no engine", &output, 1, "PostgreSQL was not found", &fix);

    let small = folder.path().join("small");
    std::fs::create_dir(&small).expect("created");
    let mut no_disk = guildhall();
    no_disk.args(["dev", "--listen", "127.0.0.1:0", "--state"]).arg(small.join("state"));
    let output = run(&mut with_small_disk(&no_disk, &small));
    assert_names_fix("no disk", &output, 1, "256 MiB are required", "fix: du -xh");

    let output = run(&mut without_bwrap(&doctor(&folder.path().join("state"))));
    let fix = Package::Bubblewrap.install_command();
    assert_names_fix("no bwrap", &output, 1, "bubblewrap is not installed", &fix);

    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let output = run(guildhall().args(["dev", "--ephemeral", "--listen", &address]));
    let reason = format!("{address} is used by another program");
    assert_names_fix("port taken", &output, 1, &reason, "choose another address with --listen");
}

#[test]
fn wrong_account_or_server_is_explained_with_its_fix() {
    let (mut server, admin, bob) = (DevServer::ephemeral(), CliUser::new(), CliUser::new());
    admin.login(&server);
    let password = "a long enough password";
    admin.json(&["tenants", "create", "example"]);
    admin.run_with_stdin(&["users", "create", "bob", "--password-stdin"], password);
    admin.json(&["members", "add", "bob", "--role", "viewer", "--tenant", "example"]);
    let login = ["login", "--url", &server.url, "--name", "bob", "--password-stdin"];
    assert_eq!(bob.run_with_stdin(&login, password).status.code(), Some(0));

    let output = bob.run(&["runs", "ls", "--tenant", "acme"]);
    assert_names_fix("wrong tenant", &output, 4, "tenant \"acme\" not found", "`guildhall tenants ls`");

    let output = bob.run(&["runs", "create", "--profile", "demo", "hello"]);
    let fix = "ask an owner or operator of the tenant for a role that has it";
    assert_names_fix("no rights", &output, 4, "lacks the permission runs:write", fix);
    let output = bob.run(&["users", "ls"]);
    let reason = "this command is for operators of the installation";
    assert_names_fix("no rights", &output, 4, reason, "next: ask one of them");

    admin.run(&["users", "end-logins", "bob"]);
    let output = bob.run(&["runs", "ls"]);
    assert_names_fix(
        "expired login",
        &output,
        5,
        "your login has ended",
        "next: `guildhall login` signs you in",
    );

    server.process.signal(Signal::INT);
    assert!(server.process.wait().success());
    let output = admin.run(&["runs", "ls"]);
    let reason = format!("cannot reach the server at {}/", server.url);
    assert_names_fix(
        "server down",
        &output,
        1,
        &reason,
        "start a server on this machine with `guildhall dev`",
    );
}

#[test]
fn unusable_agent_is_explained_with_its_fix() {
    let path = search_path_with(&[&guildhall_testkit::codex_program()]);
    let server = DevServer::ephemeral_with(&[("GUILDHALL_LAUNCHER_KIND", "local"), ("PATH", &path)]);
    let (user, repository) = (CliUser::new(), tempfile::tempdir().expect("a folder"));
    user.login(&server);
    assert!(Command::new("git").args(["init", "-q"]).arg(repository.path()).status().expect("git").success());
    let run = |args: &[&str]| user.command(args).current_dir(repository.path()).output().expect("it runs");

    let output = run(&["run", "hello", "--profile", "qwen"]);
    let reason = "profile \"qwen\" has no credential";
    assert_names_fix("no credential", &output, 1, reason, "run `guildhall profiles set qwen`");
    let output = run(&["profiles", "set", "qwen"]);
    assert_names_fix("no credential", &output, 2, "no credential was given", "pipe it to standard input");

    user.run_with_stdin(&["profiles", "set", "qwen", "--no-check"], "sk-canary");
    let output = run(&["run", "hello", "--upload"]);
    let reason = "`qwen`, the agent of the profile `qwen`, is not installed on the runner's machine";
    assert_names_fix("no agent", &output, 1, reason, "npm install -g @qwen-code/qwen-code");

    let model = Runtime::new().expect("a runtime");
    let provider = model.block_on(FakeModel::start());
    let url = provider.base_url_requiring_key("sk-canary-right");
    let set = ["profiles", "set", "codex", "--base-url", &url, "--model", "fake-model"];
    let output = user.run_with_stdin(&set, "sk-canary-wrong");
    let fix = "set a valid key with `guildhall profiles set PROFILE`";
    assert_names_fix("bad key", &output, 1, "(provider-auth-failed)", fix);
}
