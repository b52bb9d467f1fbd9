//! A fake runner that tests control, and CLI commands that tests watch meanwhile.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use guildhall_domain::FailureKind;
use guildhall_domain::ids::{CommandId, RunId};
use guildhall_domain::runs::{FailureReason, TerminalOutcome, TerminalStatus};
use guildhall_protocol::rest::runners::{NewEvent, RegisterRunner};
use guildhall_sdk::runner::{ClaimOutcome, ClaimRetry, LeasedRun, RunnerClient};
use guildhall_sdk::{Client, ClientError};
use rustix::process::{Pid, Signal, kill_process};
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::user::{CliUser, DevServer};

/// A signed-in user with a tenant, and the enrolment token for its runners.
pub(crate) struct TenantFixture {
    pub(crate) user: CliUser,
    pub(crate) enrolment_token: String,
}

impl TenantFixture {
    pub(crate) fn new(server: &DevServer) -> Self {
        let user = CliUser::new();
        user.login(server);
        user.json(&["tenants", "create", "acme"]);
        let created = user.json(&["enrolments", "create", "test", "--tenant", "acme"]);
        Self { user, enrolment_token: string_field(&created, "secret") }
    }

    /// Creates a run, with a first turn if there is a prompt.
    pub(crate) fn create_run(&self, prompt: Option<&str>) -> CreatedRun {
        let args: Vec<&str> = ["runs", "create"].into_iter().chain(prompt).collect();
        let created = self.user.json(&args);
        CreatedRun {
            run: string_field(&created["run"], "runId"),
            session: string_field(&created["run"], "sessionId"),
            command: created["command"]["commandId"].as_str().unwrap_or_default().to_owned(),
        }
    }

    /// Registers a fake runner that claims the run.
    pub(crate) fn claim_run(&self, server: &DevServer, run: &str) -> FakeRunner {
        let _already_installed = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let runtime = Runtime::new().expect("a runtime");
        let runner = RunnerClient::new(
            Client::new(&server.url).expect("a client"),
            SecretString::from(self.enrolment_token.clone()),
        );
        let registration =
            RegisterRunner { name: "fake".to_owned(), placement: json!({}), backend_profiles: vec![] };
        let claim = runtime.block_on(async {
            let registered = runner.register(&registration).await.expect("registered");
            let id = registered.runner_id.parse().expect("an id");
            runner.claim(run.parse().expect("a run"), id, ClaimRetry::No).await.expect("an outcome")
        });
        let ClaimOutcome::Granted { run: leased_run, .. } = claim else { panic!("not granted: {claim:?}") };
        FakeRunner { runtime, leased_run, events_sent: 0 }
    }
}

/// Ids of a new run.
pub(crate) struct CreatedRun {
    pub(crate) run: String,
    pub(crate) session: String,
    pub(crate) command: String,
}

/// A runner controlled by the test, which has claimed a run.
pub(crate) struct FakeRunner {
    runtime: Runtime,
    leased_run: LeasedRun,
    events_sent: u32,
}

impl FakeRunner {
    pub(crate) fn run(&self) -> RunId {
        self.leased_run.run()
    }

    pub(crate) fn renew_lease(&self) {
        self.runtime.block_on(self.leased_run.renew()).expect("renewed");
    }

    pub(crate) fn ack(&self, command: &str) {
        self.runtime.block_on(self.leased_run.ack(command_id(command))).expect("acknowledged");
    }

    /// Appends an event to a command. Retries until the server accepts it.
    pub(crate) fn append_event(&mut self, command: &str, kind: &str, payload: Value) {
        self.events_sent += 1;
        let event = NewEvent {
            id: format!("e{}", self.events_sent),
            r#type: kind.to_owned(),
            command_id: Some(command.to_owned()),
            payload,
        };
        let deadline = Instant::now() + Duration::from_secs(120);
        loop {
            match self.runtime.block_on(self.leased_run.append(std::slice::from_ref(&event))) {
                Ok(_placed) => return,
                Err(error) if error.is_transient() && Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(50));
                }
                Err(error) => panic!("cannot append the event: {error:?}"),
            }
        }
    }

    pub(crate) fn send_message(&mut self, command: &str, text: &str) {
        self.append_event(command, "assistant_message", json!({ "text": text }));
    }

    /// Asks whether a command may be executed. Returns the id of the question.
    pub(crate) fn ask(&self, turn: &str, command: &str) -> String {
        let question = json!({
            "commandId": turn, "process": "p", "request": "0",
            "question": {
                "action": { "kind": "command", "tool": "shell", "arguments": { "command": command } },
                "options": [
                    { "id": "yes", "label": "Allow once", "effect": "allow" },
                    { "id": "no", "label": "Deny", "effect": "deny" },
                ],
            },
        });
        let question = serde_json::from_value(question).expect("a question");
        self.runtime.block_on(self.leased_run.ask(&question)).expect("asked").approval_id
    }

    pub(crate) fn finish_command(&self, command: &str, outcome: &TerminalOutcome) {
        self.runtime.block_on(self.leased_run.finish(command_id(command), outcome, None)).expect("finished");
    }

    /// Tries to finish a command; the lease may be lost.
    pub(crate) fn try_finish_command(&self, command: &str) -> Result<(), ClientError> {
        self.runtime
            .block_on(self.leased_run.finish(command_id(command), &TerminalOutcome::COMPLETED, None))
            .map(drop)
    }

    pub(crate) fn finish_run(&self, outcome: &TerminalOutcome) {
        self.runtime.block_on(self.leased_run.end(outcome)).expect("ended");
    }
}

fn command_id(command: &str) -> CommandId {
    command.parse().expect("a command's id")
}

pub(crate) fn outcome(status: TerminalStatus, kind: FailureKind, message: &str) -> TerminalOutcome {
    TerminalOutcome { status, failure: Some(FailureReason { kind, message: message.to_owned() }) }
}

pub(crate) fn string_field(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {value}")).to_owned()
}

/// A running CLI command, killed when this value is dropped.
pub(crate) struct WatchedCommand {
    child: Child,
    lines: Receiver<String>,
    stderr: BufReader<ChildStderr>,
}

/// The result of a watched command.
pub(crate) struct WatchedOutput {
    pub(crate) code: Option<i32>,
    pub(crate) remaining_lines: Vec<String>,
    pub(crate) stderr: String,
}

impl WatchedCommand {
    pub(crate) fn start(user: &CliUser, args: &[&str]) -> Self {
        Self::start_command(user.command(args))
    }

    pub(crate) fn start_command(mut command: Command) -> Self {
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
        let stdout = child.stdout.take().expect("piped");
        let stderr = BufReader::new(child.stderr.take().expect("piped"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _receiver_dropped = sender.send(line);
            }
        });
        Self { child, lines, stderr }
    }

    /// Waits for one line of stdout, at most 20 s.
    pub(crate) fn read_line(&self) -> String {
        self.lines.recv_timeout(Duration::from_secs(120)).expect("a line within 120 s")
    }

    /// Waits for one line of stderr.
    pub(crate) fn read_stderr_line(&mut self) -> String {
        let mut line = String::new();
        self.stderr.read_line(&mut line).expect("readable");
        line
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).expect("a pid")).expect("a pid");
        kill_process(pid, signal).expect("sent");
    }

    /// Waits for the command to exit, at most 20 s.
    pub(crate) fn wait(mut self) -> WatchedOutput {
        let deadline = Instant::now() + Duration::from_secs(120);
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a status") {
                break status;
            }
            assert!(Instant::now() < deadline, "still running after 120 s");
            std::thread::sleep(Duration::from_millis(10));
        };
        let mut stderr = String::new();
        self.stderr.read_to_string(&mut stderr).expect("readable");
        WatchedOutput { code: status.code(), remaining_lines: self.lines.iter().collect(), stderr }
    }
}

impl Drop for WatchedCommand {
    fn drop(&mut self) {
        let _already_exited = self.child.kill();
        let _reaped = self.child.wait();
    }
}
