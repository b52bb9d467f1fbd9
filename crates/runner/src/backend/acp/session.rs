//! A conversation with one process of an agent: requests and their answers, and what it says in between.

use std::io;
use std::path::Path;
use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_domain::runs::policy::Approval;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::home::Home;
use super::translate::{Translator, other};
use super::wire::{self, Fault, Incoming};
use super::{Profile, terms, trouble};
use crate::backend::{BackendEvent, BackendFailure, Begin, Setting, Sink};
use crate::child::{Child, Heard, Line, Spec};

/// The version of the protocol that we speak.
const VERSION: u64 = 1;

/// An agent on Node may take ten seconds to say its first word, on a busy machine more. To take up a session, it reads
/// all that was said in it.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// The mode in which agents ask before they do something.
const ASKING_MODE: &str = "default";

#[derive(Debug)]
pub(super) struct Session {
    child: Child,
    thread: String,
    next_id: u64,
    pub(super) translator: Translator,
}

/// What an agent says that it can do, as far as we act on it.
#[derive(Debug, Clone, Copy)]
struct Abilities {
    loads: bool,
    resumes: bool,
}

impl Session {
    /// Starts the process and takes up its session.
    pub(super) async fn open(
        setting: &Setting,
        profile: &Profile,
        home: &Home,
        begin: Begin,
        sink: &Sink,
    ) -> Result<Self, BackendFailure> {
        let Some((program, arguments)) = profile.command.split_first() else {
            return Err(BackendFailure::new(FailureKind::InfraFailed, "the profile names no program"));
        };
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let child = Child::start(&Spec {
            program: Path::new(program),
            arguments: &arguments,
            folder: &setting.workspace,
            environment: home.environment(profile, &setting.secrets),
            bounds: setting.bounds(terms::writable(setting, home)),
        })
        .map_err(|error| cannot_start(&error))?;
        let mut session =
            Self { child, thread: String::new(), next_id: 0, translator: Translator::default() };
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
        let abilities = self.greet(sink).await?;
        let answer = match begin {
            Begin::New => self.begin(setting, sink).await?,
            Begin::Resume(thread) => self.resume(setting, abilities, thread.0, sink).await?,
        };
        self.translator.is_of(self.thread.clone());
        self.choose_mode(setting, &answer, sink).await
    }

    /// Says who we are, and that the agent has neither our files nor a terminal.
    async fn greet(&mut self, sink: &Sink) -> Result<Abilities, BackendFailure> {
        let hello = json!({
            "protocolVersion": VERSION,
            "clientCapabilities": { "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false },
            "clientInfo": { "name": "guildhall", "version": env!("CARGO_PKG_VERSION") },
        });
        let strange = || BackendFailure::dead("the agent does not speak the protocol that we speak");
        let answer = self.ask("initialize", &hello, Some(sink)).await?.map_err(|_| strange())?;
        if answer["protocolVersion"].as_u64() != Some(VERSION) {
            return Err(strange());
        }
        let can = &answer["agentCapabilities"];
        Ok(Abilities {
            loads: can["loadSession"] == true,
            resumes: !can["sessionCapabilities"]["resume"].is_null(),
        })
    }

    async fn begin(&mut self, setting: &Setting, sink: &Sink) -> Result<Value, BackendFailure> {
        let terms = json!({ "cwd": setting.workspace, "mcpServers": [] });
        let answer =
            self.ask("session/new", &terms, Some(sink)).await?.map_err(|fault| trouble::classify(&fault))?;
        let name = answer["sessionId"].as_str();
        self.thread =
            name.ok_or_else(|| BackendFailure::dead("the agent began a session without a name"))?.to_owned();
        Ok(answer)
    }

    /// Takes up a session again, and never another. What was said in it before is not told a second time.
    async fn resume(
        &mut self,
        setting: &Setting,
        abilities: Abilities,
        thread: String,
        sink: &Sink,
    ) -> Result<Value, BackendFailure> {
        let failed = |why: &str| BackendFailure::new(FailureKind::ThreadResumeFailed, why);
        let terms = json!({ "sessionId": thread, "cwd": setting.workspace, "mcpServers": [] });
        self.thread = thread;
        let answer = match abilities {
            Abilities { resumes: true, .. } => self.ask("session/resume", &terms, Some(sink)).await?,
            // It repeats everything before it answers.
            Abilities { loads: true, .. } => self.ask("session/load", &terms, None).await?,
            Abilities { .. } => return Err(failed("this agent cannot take up a session again")),
        };
        answer.map_err(|_| failed("the agent has no record of this session any more"))
    }

    /// Makes the agent ask before it does something. One that offers modes and none that asks is not trusted to.
    async fn choose_mode(
        &mut self,
        setting: &Setting,
        answer: &Value,
        sink: &Sink,
    ) -> Result<(), BackendFailure> {
        let mode = json!({ "sessionId": self.thread, "modeId": ASKING_MODE });
        let Some(modes) = answer["modes"]["availableModes"].as_array() else {
            // It may have modes and not say so, as of a session that is taken up again.
            self.ask("session/set_mode", &mode, Some(sink)).await?.ok();
            return Ok(());
        };
        if modes.iter().any(|mode| mode["id"] == ASKING_MODE) {
            let set = self.ask("session/set_mode", &mode, Some(sink)).await?;
            return set.map(drop).map_err(|_| {
                BackendFailure::new(FailureKind::BackendFailed, "the agent refused the mode in which it asks")
            });
        }
        match setting.approval {
            Approval::Never => Ok(()),
            Approval::OnRequest | Approval::Untrusted => Err(BackendFailure::new(
                FailureKind::TenantPolicyDenied,
                "the agent has no mode in which it asks before it acts",
            )),
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

    pub(super) async fn say(&mut self, line: &str) -> Result<(), BackendFailure> {
        match self.child.say(line).await {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                Err(BackendFailure::dead("the agent does not read what it is told"))
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

    /// Refuses a request that is none for leave. Returns what is reported of it.
    pub(super) async fn refuse(
        &mut self,
        id: &Value,
        method: &str,
        params: Value,
    ) -> Result<Option<BackendEvent>, BackendFailure> {
        self.say(&wire::refusal(id)).await?;
        Ok(Translator::refused(method, params))
    }

    /// Asks and waits for the answer; what is said in between is reported, if there is somebody to report it to.
    async fn ask(
        &mut self,
        method: &str,
        params: &Value,
        sink: Option<&Sink>,
    ) -> Result<Result<Value, Fault>, BackendFailure> {
        let id = self.send(method, params).await?;
        let until = Instant::now() + ANSWER_WITHIN;
        loop {
            let heard = timeout_at(until, self.hear()).await;
            let message =
                heard.map_err(|_| BackendFailure::dead(format!("the agent does not answer {method}")))??;
            let events = match message {
                Incoming::Answer { id: answered, outcome } if answered == id => return Ok(outcome),
                // To a question that nobody waits for any more.
                Incoming::Answer { .. } => Vec::new(),
                Incoming::Request { id, method, params } => {
                    self.refuse(&id, &method, params).await?.into_iter().collect()
                }
                Incoming::Notice { method, params } => self.translator.notice(&method, params),
                Incoming::Noise { bytes } => vec![other("unreadable", json!({ "bytes": bytes }))],
            };
            if let Some(sink) = sink {
                report(sink, events).await;
            }
        }
    }

    fn gone(&mut self) -> BackendFailure {
        BackendFailure::dead(format!("the agent has ended: {}", self.child.epitaph()))
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

fn cannot_start(error: &io::Error) -> BackendFailure {
    if error.kind() == io::ErrorKind::Unsupported {
        let words =
            "the kernel of this machine cannot keep an agent inside its folders; Linux 6.2 and later can";
        return BackendFailure::new(FailureKind::TenantPolicyDenied, words);
    }
    BackendFailure::dead(format!("cannot start the agent: {}", error.kind()))
}

pub(super) async fn report(sink: &Sink, events: Vec<BackendEvent>) {
    for event in events {
        sink.report(event).await;
    }
}
