//! A conversation with one process of Codex: requests and their answers, and what it says in between.

use std::io;
use std::time::Duration;

use guildhall_domain::FailureKind;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::home::Home;
use super::translate::{Translator, UNWANTED, other};
use super::wire::{self, Incoming};
use super::{Profile, leave};
use crate::backend::{BackendEvent, BackendFailure, Begin, Setting, Sink};
use crate::child::{Child, Heard, Line, Spec};

/// A start reads the past of a thread; everything else is answered at once.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct Session {
    child: Child,
    thread: String,
    next_id: u64,
    pub(super) translator: Translator,
}

/// How an attempt to ask came out.
enum Asked {
    Answered(Value),
    /// In Codex's own words, which may hold anything.
    Refused(String),
}

impl Session {
    /// Starts the process and takes up its thread.
    pub(super) async fn open(
        setting: &Setting,
        profile: &Profile,
        home: &Home,
        begin: Begin,
        sink: &Sink,
    ) -> Result<Self, BackendFailure> {
        let child = Child::start(&Spec {
            program: &profile.program,
            arguments: &["app-server"],
            folder: &setting.workspace,
            environment: home.environment(&setting.secrets),
            // Codex has a sandbox of its own for the commands that it runs.
            writable: None,
        })
        .map_err(|error| BackendFailure::dead(format!("cannot start codex: {}", error.kind())))?;
        let is_resumed = matches!(begin, Begin::Resume(_));
        let translator = Translator::new(is_resumed);
        let mut session = Self { child, thread: String::new(), next_id: 0, translator };
        match session.introduce(setting, begin, sink).await {
            Ok(()) => Ok(session),
            Err(failure) => {
                session.bury(sink).await;
                Err(failure)
            }
        }
    }

    async fn introduce(
        &mut self,
        setting: &Setting,
        begin: Begin,
        sink: &Sink,
    ) -> Result<(), BackendFailure> {
        self.greet(sink).await?;
        self.thread = self.take_up(setting, begin, sink).await?;
        self.translator.is_of(self.thread.clone());
        Ok(())
    }

    async fn greet(&mut self, sink: &Sink) -> Result<(), BackendFailure> {
        let hello = json!({
            "clientInfo": { "name": "guildhall", "version": env!("CARGO_PKG_VERSION") },
            "capabilities": {
                "experimentalApi": false, "requestAttestation": false, "optOutNotificationMethods": UNWANTED,
            },
        });
        match self.ask("initialize", &hello, sink).await? {
            Asked::Answered(_) => {}
            Asked::Refused(_) => {
                return Err(BackendFailure::dead("codex does not speak the protocol that we speak"));
            }
        }
        self.say(&wire::notice("initialized")).await
    }

    async fn take_up(
        &mut self,
        setting: &Setting,
        begin: Begin,
        sink: &Sink,
    ) -> Result<String, BackendFailure> {
        let mut terms = json!({
            "cwd": setting.workspace, "approvalPolicy": setting.approval.as_str(), "approvalsReviewer": "user",
            "sandbox": setting.sandbox.as_str(),
        });
        match begin {
            Begin::New => match self.ask("thread/start", &terms, sink).await? {
                Asked::Answered(answer) => thread_of(&answer)
                    .ok_or_else(|| BackendFailure::dead("codex began a thread without a name")),
                Asked::Refused(_) => {
                    Err(BackendFailure::new(FailureKind::BackendFailed, "codex did not begin a thread"))
                }
            },
            Begin::Resume(thread) => {
                terms["threadId"] = json!(thread.0);
                terms["excludeTurns"] = json!(true);
                let answer = self.ask("thread/resume", &terms, sink).await?;
                resumed(answer, &thread.0)
            }
        }
    }

    pub(super) fn thread(&self) -> &str {
        &self.thread
    }

    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Sends a request and returns the id that its answer will bear.
    pub(super) async fn send(&mut self, method: &str, params: &Value) -> Result<u64, BackendFailure> {
        let id = self.next_id;
        self.next_id += 1;
        self.say(&wire::request(id, method, params)).await?;
        Ok(id)
    }

    async fn say(&mut self, line: &str) -> Result<(), BackendFailure> {
        match self.child.say(line).await {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                Err(BackendFailure::dead("codex does not read what it is told"))
            }
            Err(_) => Err(self.gone()),
        }
    }

    /// Waits for the next message. Nothing is lost when the wait is given up.
    pub(super) async fn hear(&mut self) -> Result<Incoming, BackendFailure> {
        match self.child.hear().await {
            Heard::Line(Line::Whole(line)) => Ok(Incoming::parse(&line)),
            Heard::Line(Line::TooLong { bytes }) => Ok(Incoming::Noise { bytes }),
            Heard::End => Err(self.gone()),
        }
    }

    /// Deals with a message that is no answer. Returns what was reported of it.
    pub(super) async fn take(&mut self, message: Incoming) -> Result<Vec<BackendEvent>, BackendFailure> {
        Ok(match message {
            Incoming::Request { id, method, params } => {
                let (line, event) = leave::decline(&id, &method, params);
                self.say(&line).await?;
                vec![event]
            }
            Incoming::Notice { method, params } => self.translator.notice(&method, params),
            Incoming::Noise { bytes } => vec![other("unreadable", json!({ "bytes": bytes }))],
            // To a question that nobody waits for any more.
            Incoming::Answer { .. } => Vec::new(),
        })
    }

    /// Asks and waits for the answer; what is said in between is reported.
    async fn ask(&mut self, method: &str, params: &Value, sink: &Sink) -> Result<Asked, BackendFailure> {
        let id = self.send(method, params).await?;
        let until = Instant::now() + ANSWER_WITHIN;
        loop {
            let heard = timeout_at(until, self.hear()).await;
            let message =
                heard.map_err(|_| BackendFailure::dead(format!("codex does not answer {method}")))??;
            if let Incoming::Answer { id: answered, outcome } = &message
                && *answered == id
            {
                return Ok(outcome.clone().map_or_else(Asked::Refused, Asked::Answered));
            }
            report(sink, self.take(message).await?).await;
        }
    }

    /// Asks for something whose answer is needed to go on.
    pub(super) async fn demand(
        &mut self,
        method: &str,
        params: &Value,
        sink: &Sink,
    ) -> Result<Value, BackendFailure> {
        match self.ask(method, params, sink).await? {
            Asked::Answered(answer) => Ok(answer),
            Asked::Refused(_) => {
                Err(BackendFailure::new(FailureKind::BackendFailed, format!("codex refused {method}")))
            }
        }
    }

    fn gone(&mut self) -> BackendFailure {
        BackendFailure::dead(format!("codex has ended: {}", self.child.epitaph()))
    }

    /// Ends the process and reports its last words, for those who look for the reason.
    pub(super) async fn bury(self, sink: &Sink) {
        let stderr = self.child.complaints();
        drop(self.child);
        if !stderr.is_empty() {
            let detail = json!({ "stderr": stderr });
            sink.report(BackendEvent::Status { phase: "backend-ended".to_owned(), detail }).await;
        }
    }

    pub(super) async fn finish(self, patience: Duration) {
        self.child.finish(patience).await;
    }
}

pub(super) async fn report(sink: &Sink, events: Vec<BackendEvent>) {
    for event in events {
        sink.report(event).await;
    }
}

/// Accepts the thread that was asked for and no other.
fn resumed(answer: Asked, asked: &str) -> Result<String, BackendFailure> {
    let failed = |why: &str| BackendFailure::new(FailureKind::ThreadResumeFailed, why);
    match answer {
        Asked::Answered(answer) => thread_of(&answer)
            .filter(|thread| thread == asked)
            .ok_or_else(|| failed("codex took up another thread than it was asked to")),
        Asked::Refused(why) if why.contains("no rollout found") => {
            Err(failed("codex has no record of this thread any more"))
        }
        Asked::Refused(_) => Err(failed("codex could not read its record of this thread")),
    }
}

fn thread_of(answer: &Value) -> Option<String> {
    answer["thread"]["id"].as_str().map(str::to_owned)
}
