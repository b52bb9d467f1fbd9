//! `examples/tool-agent`: the commands of its README, with the official client.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, Output, Stdio};

use guildhall_testkit::{AunClient, python};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::user::{CliUser, stderr, stdout};
use crate::support::{ChildProcess, free_port, guildhall, search_path_with};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/tool-agent");

/// Returns the commands of a section of the README; of its start for an empty title.
fn commands(readme: &str, title: &str) -> Vec<String> {
    let section = if title.is_empty() { readme } else { section(readme, title) };
    block(section, 0)
}

fn section<'a>(readme: &'a str, title: &str) -> &'a str {
    readme.split(&format!("\n## {title}\n")).nth(1).expect("a section")
}

/// Returns the commands of one of the blocks of a section.
fn block(section: &str, number: usize) -> Vec<String> {
    let block = section.split("```sh\n").nth(number + 1).expect("a block of commands");
    let block = block.split("```").next().expect("an end");
    block.lines().map(str::to_owned).collect()
}

/// A copy of the example beside a `guildhall dev --tls`.
struct Example {
    user: CliUser,
    readme: String,
    port: String,
    receiver_port: String,
    dev: ChildProcess,
}

impl Example {
    fn start() -> Self {
        let user = CliUser::new();
        for file in ["agent.py", "local_names.py", "manifest.json", "receiver.py"] {
            std::fs::copy(Path::new(EXAMPLE).join(file), user.home().join(file)).expect("copied");
        }
        let mut command = guildhall();
        command.args(["dev", "--tls", "--json", "--listen", "127.0.0.1:0"]).current_dir(user.home());
        command.env("GUILDHALL_HTTP_TLS_LISTEN", "127.0.0.1:0");
        let mut dev = ChildProcess::start(&mut command);
        let ready = dev.wait_ready();
        let tls = ready["tls"]["url"].as_str().expect("a url");
        let port = tls.rsplit(':').next().expect("a port").to_owned();
        let readme = std::fs::read_to_string(Path::new(EXAMPLE).join("README.md")).expect("a README");
        let receiver_port = free_port().to_string();
        Self { user, readme, port, receiver_port, dev }
    }

    /// Returns a command of the README, with the port of this server and the installed client.
    fn command(&self, line: &str) -> Command {
        self.command_with(line, &AunClient::Fastaun.python())
    }

    fn command_with(&self, line: &str, python: &Path) -> Command {
        let line = line
            .replace("7443", &self.port)
            .replace("8087", &self.receiver_port)
            .replace("venv/bin/python", &python.display().to_string());
        let program = guildhall();
        let mut command = Command::new("sh");
        command.args(["-c", &format!("exec env {line}")]).current_dir(self.user.home());
        command.env("PATH", search_path_with(&[Path::new(program.get_program())]));
        command.env("XDG_CONFIG_HOME", self.user.home().join("config")).env("LANG", "C.UTF-8");
        // Without compiled files in the sources.
        command.env("PYTHONDONTWRITEBYTECODE", "1").stdin(Stdio::null());
        command
    }

    fn run(&self, line: &str) -> Output {
        let output = self.command(line).output().expect("it runs");
        assert!(output.status.success(), "{line}: {}{}", stdout(&output), stderr(&output));
        output
    }

    fn call(&self, line: &str) -> Value {
        let mut answer: Value = serde_json::from_str(&stdout(&self.run(line))).expect("JSON");
        answer["call_id"].take();
        answer
    }
}

/// The guard, on whose terminal somebody answers.
struct GuardProcess {
    child: Child,
    shown: ChildStderr,
}

impl GuardProcess {
    fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let shown = child.stderr.take().expect("piped");
        Self { child, shown }
    }

    /// Waits for a question, which does not end its line, and answers it. Returns what was shown.
    fn answer(&mut self, question: &str, answer: &str) -> String {
        let (mut shown, mut byte) = (Vec::new(), [0]);
        while !String::from_utf8_lossy(&shown).contains(question) {
            let count = self.shown.read(&mut byte).expect("readable");
            assert_eq!(count, 1, "{}", String::from_utf8_lossy(&shown));
            shown.extend_from_slice(&byte);
        }
        writeln!(self.child.stdin.as_mut().expect("piped"), "{answer}").expect("the guard reads");
        String::from_utf8_lossy(&shown).into_owned()
    }
}

/// The receiver of webhooks, of which the lines are read.
struct ReceiverProcess {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl ReceiverProcess {
    fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        Self { child, lines }
    }

    fn next_line(&mut self) -> String {
        self.lines.next().expect("a line").expect("text")
    }
}

impl Drop for ReceiverProcess {
    fn drop(&mut self) {
        let _already_gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

impl Drop for GuardProcess {
    fn drop(&mut self) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _already_gone = kill_process(pid, Signal::INT);
        }
        let _reaped = self.child.wait();
    }
}

/// The versions that `pip install` would install are those that the example is tested with.
#[test]
fn requirements_of_the_example_are_the_tested_versions() {
    let requirements = std::fs::read_to_string(Path::new(EXAMPLE).join("requirements.txt")).expect("a file");
    let wanted: BTreeSet<String> =
        requirements.lines().filter(|line| !line.starts_with('#')).map(str::to_lowercase).collect();
    let installed = |python: &Path, names: &str| {
        let script = format!(
            "import importlib.metadata as m\nfor d in m.distributions():\n    {names} and print(d.name + '==' + d.version)"
        );
        let output = Command::new(python).args(["-c", &script]).output().expect("it runs");
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output).lines().map(str::to_lowercase).collect::<BTreeSet<_>>()
    };
    let mut tested = installed(&AunClient::Fastaun.python(), "d.name not in ('pip', 'setuptools')");
    tested.extend(installed(&python(), "d.name == 'standardwebhooks'"));
    let without = |left: &BTreeSet<String>, right: &BTreeSet<String>| {
        left.difference(right).cloned().collect::<Vec<_>>()
    };
    assert_eq!(without(&wanted, &tested), Vec::<String>::new(), "not tested");
    assert_eq!(without(&tested, &wanted), Vec::<String>::new(), "not in requirements.txt");
}

// covers: M18, M19, M26, M28
#[test]
fn example_agent_calls_tools_as_its_readme_says() {
    let example = Example::start();
    let first = commands(&example.readme, "");
    let (install, first) = first.split_first().expect("commands");
    // It would take packages from a registry: they are installed already, for other tests.
    assert_eq!(install, "python3 -m venv venv && venv/bin/pip install -r requirements.txt");
    for line in first {
        example.run(line);
    }
    for line in commands(&example.readme, "The side of the agent") {
        example.run(&line);
    }
    let of_user = commands(&example.readme, "The side of the user");
    let (guard, before) = of_user.split_last().expect("commands");
    for line in before {
        example.run(line);
    }
    let mut guard = GuardProcess::start(example.command(guard));
    let shown = guard.answer("Grant them on this device? [y/N] ", "y");
    assert!(
        shown.contains("location:read (high)") && shown.contains("locate: Read where your device is"),
        "{shown}"
    );

    let of_webhook = commands(&example.readme, "The webhook");
    let [add, receive] = of_webhook.as_slice() else { panic!("{of_webhook:?}") };
    example.run(add);
    let mut receiver = ReceiverProcess::start(example.command_with(receive, &python()));
    assert!(receiver.next_line().starts_with("waiting for events"));

    let calls = commands(&example.readme, "Call");
    let [notify, locate] = calls.as_slice() else { panic!("{calls:?}") };
    let result = json!({ "text": "The report is ready." });
    let expected = json!({ "subtype": "tool_response", "call_id": null, "status": "ok", "result": result });
    assert_eq!(example.call(notify), expected);
    assert_eq!(receiver.next_line(), "artifact_response from developer.guildhall.test: sealed");
    for (answer, status, member, value) in
        [("y", "ok", "result", json!({ "place": "here" })), ("n", "denied", "reason", json!("user_refused"))]
    {
        let called = std::thread::scope(|scope| {
            let calling = scope.spawn(|| example.call(locate));
            let shown = guard.answer("[y/N] ", answer);
            assert!(
                shown.contains("wants to run locate") && shown.contains(r#"{"precision":"city"}"#),
                "{shown}"
            );
            calling.join().expect("an answer")
        });
        let expected =
            json!({ "subtype": "tool_response", "call_id": null, "status": status, (member): value });
        assert_eq!(called, expected);
    }
    let log = stdout(&example.run("guildhall guard log"));
    let statuses: Vec<&str> = log.lines().skip(1).filter_map(|line| line.split_whitespace().nth(5)).collect();
    assert_eq!(statuses, ["started", "ok", "started", "ok", "denied"], "{log}");
    assert!(!log.contains("city"), "{log}");
    revoke(&example, notify);
    drop(guard);
    drop(example.dev);
}

/// The user takes everything back: the agent says in one line that its next call is refused.
fn revoke(example: &Example, call: &str) {
    for line in block(section(&example.readme, "Call"), 1) {
        example.run(&line);
    }
    let refused = example.command(call).output().expect("it runs");
    assert!(!refused.status.success(), "{}", stdout(&refused));
    let words = stderr(&refused);
    assert!(words.contains("refused: ") && !words.contains("Traceback"), "{words}");
}
