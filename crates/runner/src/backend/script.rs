//! A backend without a model: it does what its words say, the same every time. For demonstrations and tests, and for
//! whoever wants to see a run before they have a key.
//!
//! `run:<command>` runs a shell command in the workspace, `slow` takes its time, `boom`, `r401`, `r429` and `cut` fail as
//! a provider would, `loop:` asks for tools for ever, `big:` prints ten megabytes, `ask:` asks for leave. Anything else
//! is answered, piece by piece.

use std::path::PathBuf;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use guildhall_domain::FailureKind;
use guildhall_domain::run::event::Usage;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout_at};

use super::{
    Backend, BackendEvent, BackendFailure, Begin, Capabilities, Control, Refusal, Setting, Sink, Thread,
    TurnEnd,
};
use crate::child::shell;

const CAPABILITIES: Capabilities =
    Capabilities { name: "script", steers: true, interrupts: true, resumes: true, asks: true };

/// Between two words: quick enough to wait for, slow enough to watch.
const PAUSE: Duration = Duration::from_millis(25);

/// A tool that takes longer is killed.
const TOOL_WITHIN: Duration = Duration::from_secs(60);

/// A script that was started.
#[derive(Debug)]
pub struct Script {
    setting: Setting,
    thread: Option<Thread>,
    turns: u32,
}

/// What made a turn stop before its end.
enum Stop {
    Interrupted,
    Failed(BackendFailure),
}

impl Script {
    #[must_use]
    pub fn new(setting: Setting) -> Self {
        Self { setting, thread: None, turns: 0 }
    }

    fn file(&self, thread: &Thread) -> PathBuf {
        self.setting.state.join(format!("{}.thread", thread.0))
    }

    async fn open(&mut self, begin: Begin) -> Result<Thread, BackendFailure> {
        let thread = match begin {
            Begin::New => Thread(format!("script-{}", uuid::Uuid::now_v7().simple())),
            Begin::Resume(thread) => {
                let lost = |_| {
                    let words = format!("no thread {} in the session's storage", thread.0);
                    BackendFailure::new(FailureKind::ThreadResumeFailed, words)
                };
                let kept = tokio::fs::read_to_string(self.file(&thread)).await.map_err(lost)?;
                self.turns = kept.trim().parse().unwrap_or(0);
                thread
            }
        };
        self.thread = Some(thread.clone());
        self.keep().await?;
        Ok(thread)
    }

    async fn keep(&self) -> Result<(), BackendFailure> {
        let Some(thread) = &self.thread else { return Ok(()) };
        let failed = |error: std::io::Error| {
            let words = format!("cannot keep the thread: {}", error.kind());
            BackendFailure::new(FailureKind::BackendFailed, words)
        };
        tokio::fs::create_dir_all(&self.setting.state).await.map_err(failed)?;
        tokio::fs::write(self.file(thread), self.turns.to_string()).await.map_err(failed)
    }

    async fn play(&mut self, words: &str, stage: &mut Stage<'_>) -> Result<(), Stop> {
        self.turns += 1;
        if let Some(command) = words.split("run:").nth(1) {
            stage.say("I run what you gave me.").await?;
            let code = stage.tool(&self.setting, "c1", command.trim()).await?;
            return stage.answer(&format!("It ended with {code}.")).await;
        }
        match failure_in(words) {
            Some(failure) => {
                stage.say("I ask the model").await?;
                Err(Stop::Failed(failure))
            }
            None if words.contains("loop:") => self.loop_for_ever(stage).await,
            None if words.contains("big:") => {
                let command = "head -c 10000000 /dev/zero | tr '\\0' 'x' | fold -w 100";
                stage.tool(&self.setting, "c1", command).await?;
                stage.answer("That was a lot.").await
            }
            None if words.contains("ask:") => {
                let detail = json!({ "command": words });
                stage.report(BackendEvent::Declined { what: "command".into(), detail }).await;
                stage.answer("I asked, and was not allowed to.").await
            }
            None if words.contains("slow") => {
                for number in 0..40 {
                    stage.piece("m1", &format!("tok{number} ")).await?;
                    stage.pause(Duration::from_millis(250)).await?;
                }
                stage.answer("Done, slowly.").await
            }
            None => self.demonstrate(words, stage).await,
        }
    }

    async fn loop_for_ever(&self, stage: &mut Stage<'_>) -> Result<(), Stop> {
        for call in 0..=self.setting.tool_calls_at_most {
            stage.tool(&self.setting, &format!("c{call}"), "true").await?;
        }
        let words = format!("more than {} tool calls in one turn", self.setting.tool_calls_at_most);
        Err(Stop::Failed(BackendFailure::new(FailureKind::BackendFailed, words)))
    }

    /// Something worth watching: it looks around, writes a note, and says what it did.
    async fn demonstrate(&self, words: &str, stage: &mut Stage<'_>) -> Result<(), Stop> {
        stage.say(&format!("You said: \"{words}\". Let me look around the workspace first. ")).await?;
        stage.tool(&self.setting, "look", "ls -la").await?;
        stage.say("I write down what I was asked, so that you can see that I was here. ").await?;
        let note =
            format!("printf '%s\\n' 'Turn {}: asked, and done.' >> notes.md && cat notes.md", self.turns);
        let code = stage.tool(&self.setting, "note", &note).await?;
        let done = if code == 0 { "It is in notes.md." } else { "The workspace did not let me write." };
        stage.answer(&format!("{done} A real agent takes my place when its profile has a credential.")).await
    }
}

fn failure_in(words: &str) -> Option<BackendFailure> {
    let failure = |kind, message: &str| Some(BackendFailure::new(kind, message));
    if words.contains("r401") {
        failure(FailureKind::ProviderAuthFailed, "the provider refused the credential")
    } else if words.contains("r429") {
        failure(FailureKind::ProviderUnavailable, "the provider is overloaded")
    } else if words.contains("boom") {
        failure(FailureKind::ProviderUnavailable, "the provider failed")
    } else if words.contains("cut") {
        failure(FailureKind::ProviderUnavailable, "the provider's answer broke off")
    } else {
        None
    }
}

/// Where a turn is played: its reports go out, and its controls come in.
struct Stage<'a> {
    sink: &'a Sink,
    control: &'a mut mpsc::Receiver<Control>,
    ends_at: Instant,
    said: Vec<String>,
}

impl Stage<'_> {
    async fn report(&self, event: BackendEvent) {
        self.sink.report(event).await;
    }

    async fn piece(&mut self, item: &str, text: &str) -> Result<(), Stop> {
        self.report(BackendEvent::TextDelta { item: item.into(), text: text.into() }).await;
        self.heed()
    }

    /// Says something on the way, word by word.
    async fn say(&mut self, text: &str) -> Result<(), Stop> {
        let item = format!("m{}", self.said.len() + 1);
        for word in text.split_inclusive(' ') {
            self.piece(&item, word).await?;
            self.pause(PAUSE).await?;
        }
        self.report(BackendEvent::Text { item: item.clone(), text: text.into(), is_final: false }).await;
        self.said.push(item);
        Ok(())
    }

    /// Says the answer of the turn.
    async fn answer(&mut self, text: &str) -> Result<(), Stop> {
        for word in text.split_inclusive(' ') {
            self.piece("answer", word).await?;
            self.pause(PAUSE).await?;
        }
        self.report(BackendEvent::Text { item: "answer".into(), text: text.into(), is_final: true }).await;
        let usage = Usage { input_tokens: 11, output_tokens: 7, ..Usage::default() };
        self.report(BackendEvent::Usage(usage)).await;
        Ok(())
    }

    /// Runs a shell command in the workspace. It dies with all that it started when the turn is interrupted.
    async fn tool(&mut self, setting: &Setting, call: &str, command: &str) -> Result<i64, Stop> {
        let (call, tool) = (call.to_owned(), "shell".to_owned());
        let began = BackendEvent::ToolBegan {
            call: call.clone(),
            tool: tool.clone(),
            command: Some(command.to_owned()),
        };
        self.report(began).await;
        let ended = tokio::select! {
            ended = tokio::time::timeout(TOOL_WITHIN, shell(&setting.workspace, command)) => {
                ended.ok().and_then(Result::ok)
            }
            stop = self.stopped() => return Err(stop),
        };
        let (status, code) = match &ended {
            Some(printed) => {
                for piece in chunks(&printed.text) {
                    self.report(BackendEvent::ToolOutput { call: call.clone(), text: piece.to_owned() })
                        .await;
                }
                let code = printed.code.map_or(-1, i64::from);
                (if code == 0 { "completed" } else { "failed" }, code)
            }
            None => ("failed", -1),
        };
        let ended = BackendEvent::ToolEnded {
            call,
            tool,
            status: status.to_owned(),
            exit_code: Some(code),
            command: Some(command.to_owned()),
        };
        self.report(ended).await;
        self.heed()?;
        Ok(code)
    }

    async fn pause(&mut self, time: Duration) -> Result<(), Stop> {
        tokio::select! {
            () = sleep(time) => Ok(()),
            stop = self.stopped() => Err(stop),
        }
    }

    /// Waits for the end of the turn's time, or for somebody who ends it.
    async fn stopped(&mut self) -> Stop {
        loop {
            match timeout_at(self.ends_at, self.control.recv()).await {
                Err(_) => {
                    let words = "the turn took longer than it may";
                    return Stop::Failed(BackendFailure::new(FailureKind::BackendFailed, words));
                }
                Ok(Some(Control::Interrupt)) => return Stop::Interrupted,
                Ok(Some(Control::Steer { words, taken })) => {
                    self.report(BackendEvent::Status {
                        phase: "steered".into(),
                        detail: json!({ "words": words }),
                    })
                    .await;
                    let _asker_gone = taken.send(Ok(()));
                }
                Ok(None) => sleep(Duration::from_millis(100)).await,
            }
        }
    }

    /// Looks whether somebody wants something, without waiting.
    fn heed(&mut self) -> Result<(), Stop> {
        self.stopped().now_or_never().map_or(Ok(()), Err)
    }
}

fn chunks(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut at = rest.len().min(8192);
        while !rest.is_char_boundary(at) {
            at -= 1;
        }
        let (piece, left) = rest.split_at(at);
        rest = left;
        Some(piece)
    })
}

impl Backend for Script {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn begin<'a>(
        &'a mut self,
        begin: Begin,
        _sink: &'a Sink,
    ) -> BoxFuture<'a, Result<Thread, BackendFailure>> {
        self.open(begin).boxed()
    }

    fn turn<'a>(
        &'a mut self,
        words: &'a str,
        sink: &'a Sink,
        control: &'a mut mpsc::Receiver<Control>,
    ) -> BoxFuture<'a, TurnEnd> {
        async move {
            let ends_at = Instant::now() + self.setting.turn_timeout;
            let mut stage = Stage { sink, control, ends_at, said: Vec::new() };
            let end = match self.play(words, &mut stage).await {
                Ok(()) => TurnEnd::Completed,
                Err(Stop::Interrupted) => TurnEnd::Interrupted,
                Err(Stop::Failed(failure)) => TurnEnd::Failed(failure),
            };
            // Words that came too late went into no turn.
            while let Ok(control) = stage.control.try_recv() {
                if let Control::Steer { taken, .. } = control {
                    let _asker_gone = taken.send(Err(Refusal::NoTurn));
                }
            }
            match self.keep().await {
                Ok(()) => end,
                Err(failure) => TurnEnd::Failed(failure),
            }
        }
        .boxed()
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, ()> {
        async {}.boxed()
    }

    fn process(&self) -> Option<u32> {
        None
    }
}
