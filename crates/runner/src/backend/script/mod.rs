//! A backend without a model: it does what its words say, the same every time. For demonstrations and tests, and for
//! whoever wants to see a run before they have a key.
//!
//! `run:<command>` runs a shell command in the workspace, `slow` takes its time, `boom`, `r401`, `r429`, `cut` and `away:`
//! fail as a provider would, `loop:` asks for tools for ever, `big:` prints ten megabytes, `ask:` asks for leave,
//! `echo:<words>` says the words. Anything else is answered, piece by piece.

mod record;
mod stage;

use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use guildhall_domain::FailureKind;
use serde_json::json;
use tokio::sync::mpsc;

use super::{
    Backend, BackendEvent, BackendFailure, Begin, Capabilities, Control, Refusal, Setting, Sink, Thread,
    TurnEnd,
};
use crate::child::Child;
use record::Record;
use stage::{Stage, Stop};

const CAPABILITIES: Capabilities = Capabilities {
    name: "script",
    steers: true,
    interrupts: true,
    resumes: true,
    asks: true,
    unplugs: false,
    lives_apart: false,
};

/// Between two words of `slow`.
const SLOW_PACE: Duration = Duration::from_millis(250);

/// Tools that may have left something running are kept until the end; of more than so many, the first are ended.
const TOOLS_AT_MOST: usize = 64;

/// A script that was started.
#[derive(Debug)]
pub struct Script {
    setting: Setting,
    thread: Option<Thread>,
    record: Record,
    tools: Vec<Child>,
}

impl Script {
    #[must_use]
    pub fn new(setting: Setting) -> Self {
        Self { setting, thread: None, record: Record::default(), tools: Vec::new() }
    }

    async fn open(&mut self, begin: Begin) -> Result<Thread, BackendFailure> {
        self.thread = None;
        let thread = match begin {
            Begin::New => Thread(format!("script-{}", uuid::Uuid::now_v7().simple())),
            Begin::Resume(thread) => {
                self.record = Record::open(&self.setting, &thread).await?;
                thread
            }
        };
        self.record.keep(&self.setting, &thread).await?;
        self.thread = Some(thread.clone());
        Ok(thread)
    }

    async fn work(&mut self, words: &str, sink: &Sink, control: &mut mpsc::Receiver<Control>) -> TurnEnd {
        let Some(thread) = self.thread.clone() else {
            refuse_the_rest(control);
            return TurnEnd::Failed(BackendFailure::dead("no thread was begun"));
        };
        self.record.turns += 1;
        self.record.hear(words);
        // Before the first step: whoever goes on after a lost runner knows what was asked.
        if let Err(failure) = self.record.keep(&self.setting, &thread).await {
            return TurnEnd::Failed(failure);
        }
        let mut stage = Stage::new(sink, control, self.setting.turn_timeout);
        let end = match self.play(words, &mut stage).await {
            Ok(()) => TurnEnd::Completed,
            Err(Stop::Interrupted) => TurnEnd::Interrupted,
            Err(Stop::Failed(failure)) => TurnEnd::Failed(failure),
        };
        let Stage { heard, tools, .. } = stage;
        refuse_the_rest(control);
        heard.iter().for_each(|words| self.record.hear(words));
        self.tools.extend(tools);
        let over = self.tools.len().saturating_sub(TOOLS_AT_MOST);
        self.tools.drain(..over);
        match self.record.keep(&self.setting, &thread).await {
            Ok(()) => end,
            Err(failure) => TurnEnd::Failed(failure),
        }
    }

    async fn play(&self, words: &str, stage: &mut Stage<'_>) -> Result<(), Stop> {
        if let Some(text) = words.strip_prefix("echo:") {
            return stage.answer(&format!("Echo: {text}")).await;
        }
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
                let text: String = (0..40).map(|number| format!("tok{number} ")).collect();
                stage.answer_at(&text, SLOW_PACE).await
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
        let turns = self.record.turns;
        let note = format!("printf '%s\\n' 'Turn {turns}: asked, and done.' >> notes.md && cat notes.md");
        let code = stage.tool(&self.setting, "note", &note).await?;
        let done = if code == 0 { "It is in notes.md." } else { "The workspace did not let me write." };
        stage.answer(&format!("{done} A real agent takes my place when its profile has a credential.")).await
    }
}

/// Refuses what came after the end: it went into no turn.
fn refuse_the_rest(control: &mut mpsc::Receiver<Control>) {
    while let Ok(control) = control.try_recv() {
        if let Control::Steer { taken, .. } = control {
            let _asker_gone = taken.send(Err(Refusal::NoTurn));
        }
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
    } else if words.contains("away:") {
        failure(FailureKind::ProviderUnavailable, "the provider does not answer")
    } else {
        None
    }
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
        self.work(words, sink, control).boxed()
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, ()> {
        async {}.boxed()
    }

    fn process(&self) -> Option<u32> {
        None
    }
}
