//! A runner that is played by a test, and commands that are watched while it plays.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use guildhall_domain::FailureKind;
use guildhall_domain::ids::{CommandId, RunId};
use guildhall_domain::runs::{Blocker, Ending, TerminalStatus};
use guildhall_protocol::rest::runners::{NewEvent, RegisterRunner};
use guildhall_sdk::runner::{Claim, ClaimAgain, HeldRun, RunnerClient};
use guildhall_sdk::{Client, ClientError};
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::user::{Server, User};

/// A signed-in user with a tenant, and the token with which runners come to it.
pub(crate) struct Yard {
    pub(crate) user: User,
    pub(crate) enrolment: String,
}

impl Yard {
    pub(crate) fn new(server: &Server) -> Self {
        let user = User::new();
        user.login(server);
        user.json(&["tenants", "create", "acme"]);
        let made = user.json(&["enrolments", "create", "test", "--tenant", "acme"]);
        Self { user, enrolment: text(&made, "secret") }
    }

    /// Makes a run, with a first turn if there are words for one.
    pub(crate) fn run(&self, prompt: Option<&str>) -> Made {
        let args: Vec<&str> = ["runs", "create"].into_iter().chain(prompt).collect();
        let made = self.user.json(&args);
        Made {
            run: text(&made["run"], "runId"),
            session: text(&made["run"], "sessionId"),
            command: made["command"]["commandId"].as_str().unwrap_or_default().to_owned(),
        }
    }

    /// Claims a run, as a runner that has just come.
    pub(crate) fn claim(&self, server: &Server, run: &str) -> Played {
        let _already_there = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let runtime = Runtime::new().expect("a runtime");
        let runner = RunnerClient::new(
            Client::new(&server.url).expect("a client"),
            SecretString::from(self.enrolment.clone()),
        );
        let about =
            RegisterRunner { name: "played".to_owned(), placement: json!({}), backend_profiles: vec![] };
        let claim = runtime.block_on(async {
            let registered = runner.register(&about).await.expect("registered");
            let id = registered.runner_id.parse().expect("an id");
            runner.claim(run.parse().expect("a run"), id, ClaimAgain::No).await.expect("an outcome")
        });
        let Claim::Granted { held, .. } = claim else { panic!("not granted: {claim:?}") };
        Played { runtime, held, said: 0 }
    }
}

/// What was made.
pub(crate) struct Made {
    pub(crate) run: String,
    pub(crate) session: String,
    pub(crate) command: String,
}

/// A runner that holds a run.
pub(crate) struct Played {
    runtime: Runtime,
    held: HeldRun,
    said: u32,
}

impl Played {
    pub(crate) fn run(&self) -> RunId {
        self.held.run()
    }

    pub(crate) fn renew(&self) {
        self.runtime.block_on(self.held.renew()).expect("renewed");
    }

    pub(crate) fn take(&self, command: &str) {
        self.runtime.block_on(self.held.ack(id(command))).expect("taken");
    }

    /// Reports one event of a command, until a server has taken it.
    pub(crate) fn report(&mut self, command: &str, kind: &str, payload: Value) {
        self.said += 1;
        let event = NewEvent {
            id: format!("e{}", self.said),
            r#type: kind.to_owned(),
            command_id: Some(command.to_owned()),
            payload,
        };
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            match self.runtime.block_on(self.held.append(std::slice::from_ref(&event))) {
                Ok(_placed) => return,
                Err(error) if error.is_passing() && Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(50));
                }
                Err(error) => panic!("cannot report: {error:?}"),
            }
        }
    }

    pub(crate) fn say(&mut self, command: &str, words: &str) {
        self.report(command, "assistant_message", json!({ "text": words }));
    }

    pub(crate) fn finish(&self, command: &str, ending: &Ending) {
        self.runtime.block_on(self.held.finish(id(command), ending, None)).expect("finished");
    }

    /// Tries to finish a command under a lease that may be another's by now.
    pub(crate) fn try_finish(&self, command: &str) -> Result<(), ClientError> {
        self.runtime.block_on(self.held.finish(id(command), &Ending::COMPLETED, None)).map(drop)
    }

    pub(crate) fn end(&self, ending: &Ending) {
        self.runtime.block_on(self.held.end(ending)).expect("ended");
    }
}

fn id(command: &str) -> CommandId {
    command.parse().expect("a command's id")
}

pub(crate) fn ending(status: TerminalStatus, kind: FailureKind, message: &str) -> Ending {
    Ending { status, failure: Some(Blocker { kind, message: message.to_owned() }) }
}

pub(crate) fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {value}")).to_owned()
}

/// A command under way, ended with this value.
pub(crate) struct Watching {
    child: Child,
    lines: Receiver<String>,
    errors: BufReader<ChildStderr>,
}

/// How a watched command ended.
pub(crate) struct Watched {
    pub(crate) code: Option<i32>,
    pub(crate) rest: Vec<String>,
    pub(crate) errors: String,
}

impl Watching {
    pub(crate) fn start(user: &User, args: &[&str]) -> Self {
        let mut command = user.command(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("runs");
        let out = child.stdout.take().expect("piped");
        let errors = BufReader::new(child.stderr.take().expect("piped"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let _nobody_reads = sender.send(line);
            }
        });
        Self { child, lines, errors }
    }

    /// Waits for one line of its output, at most 20 s.
    pub(crate) fn line(&self) -> String {
        self.lines.recv_timeout(Duration::from_secs(20)).expect("a line within 20 s")
    }

    /// Waits for one line of what it notes beside its output.
    pub(crate) fn note(&mut self) -> String {
        let mut line = String::new();
        self.errors.read_line(&mut line).expect("readable");
        line
    }

    /// Waits for the end, at most 20 s.
    pub(crate) fn end(mut self) -> Watched {
        let deadline = Instant::now() + Duration::from_secs(20);
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a status") {
                break status;
            }
            assert!(Instant::now() < deadline, "still running after 20 s");
            std::thread::sleep(Duration::from_millis(10));
        };
        let mut errors = String::new();
        self.errors.read_to_string(&mut errors).expect("readable");
        Watched { code: status.code(), rest: self.lines.iter().collect(), errors }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _already_gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}
