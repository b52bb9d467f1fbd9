//! A backend without a model: it does what its prompt says, deterministically. For demonstrations, for tests, and for
//! users who have no provider key yet.
//!
//! `run:<command>` runs a shell command in the workspace, `slow` answers slowly, `boom`, `r401`, `r429`, `cut` and
//! `away:` fail like a provider, `loop:` calls tools endlessly, `big:` prints ten megabytes, `ask:<command>` asks
//! before it runs a command, `form:` asks for values and says what it got, `echo:<text>` repeats the text. Any other prompt gets a demonstration.

mod history;
mod turn;

use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use guildhall_domain::FailureKind;
use guildhall_domain::runs::turn_prompt::prompt_message;
use tokio::sync::mpsc;

use super::control::reject_pending;
use super::model::AgentModelProxy;
use super::provider_error::ProviderError;
use super::{
    Backend, BackendConfig, BackendFailure, Capabilities, EventSink, ModelEndpoint, Prompt, ThreadId,
    ThreadStart, TurnControl, TurnOutcome,
};
use history::ThreadHistory;
use turn::{ScriptTurn, TurnAbort};

const CAPABILITIES: Capabilities = Capabilities {
    name: "script",
    can_steer: true,
    can_interrupt: true,
    can_resume: true,
    asks_approval: true,
    is_separate_process: false,
};

/// Delay between two words of `slow`.
const SLOW_WORD_DELAY: Duration = Duration::from_millis(250);

/// A backend that interprets its prompts.
#[derive(Debug)]
pub struct ScriptBackend {
    config: BackendConfig,
    thread: Option<ThreadId>,
    history: ThreadHistory,
    model: AgentModelProxy,
    endpoint: ModelEndpoint,
}

impl ScriptBackend {
    #[must_use]
    pub fn new(config: BackendConfig) -> Self {
        Self {
            config,
            thread: None,
            history: ThreadHistory::default(),
            model: AgentModelProxy::default(),
            endpoint: ModelEndpoint::default(),
        }
    }

    async fn open_thread(&mut self, thread: ThreadStart) -> Result<ThreadId, BackendFailure> {
        self.thread = None;
        // It has no model, but its commands may have network access.
        self.endpoint = self.model.endpoint(&self.config, None).await?;
        let thread = match thread {
            ThreadStart::New => ThreadId(format!("script-{}", uuid::Uuid::now_v7().simple())),
            ThreadStart::Resume(thread) => {
                self.history = ThreadHistory::load(&self.config, &thread).await?;
                thread
            }
        };
        self.history.save(&self.config, &thread).await?;
        self.thread = Some(thread.clone());
        Ok(thread)
    }

    async fn work(
        &mut self,
        prompt: &str,
        sink: &EventSink,
        control: &mut mpsc::Receiver<TurnControl>,
    ) -> TurnOutcome {
        let Some(thread) = self.thread.clone() else {
            reject_pending(control);
            return TurnOutcome::Failed(BackendFailure::died("no thread is open"));
        };
        self.history.turns += 1;
        self.history.add_prompt(prompt);
        // Saved before the first step, so that the next runner knows the prompt if this one is lost.
        if let Err(failure) = self.history.save(&self.config, &thread).await {
            return TurnOutcome::Failed(failure);
        }
        let mut turn = ScriptTurn::new(sink, control, &self.config, &self.endpoint);
        let outcome = match self.interpret(prompt, &mut turn).await {
            Ok(()) => TurnOutcome::Completed,
            Err(TurnAbort::Interrupted) => TurnOutcome::Interrupted,
            Err(TurnAbort::Failed(failure)) => TurnOutcome::Failed(failure),
        };
        let ScriptTurn { steers, .. } = turn;
        reject_pending(control);
        steers.iter().for_each(|text| self.history.add_prompt(text));
        match self.history.save(&self.config, &thread).await {
            Ok(()) => outcome,
            Err(failure) => TurnOutcome::Failed(failure),
        }
    }

    async fn interpret(&self, prompt: &str, turn: &mut ScriptTurn<'_>) -> Result<(), TurnAbort> {
        if let Some(text) = prompt.strip_prefix("echo:") {
            return turn.send_answer(&format!("Echo: {text}")).await;
        }
        if let Some(command) = prompt.split("run:").nth(1) {
            turn.send_message("I run what you gave me.").await?;
            let code = turn.run_tool("c1", command.trim()).await?;
            return turn.send_answer(&format!("It ended with {code}.")).await;
        }
        match provider_error_in(prompt) {
            Some(error) => {
                turn.send_message("I ask the model").await?;
                Err(TurnAbort::Failed(error.into_failure(None)))
            }
            None if prompt.contains("loop:") => self.call_tools_endlessly(turn).await,
            None if prompt.contains("big:") => {
                let command = "head -c 10000000 /dev/zero | tr '\\0' 'x' | fold -w 100";
                turn.run_tool("c1", command).await?;
                turn.send_answer("That was a lot.").await
            }
            None if prompt.contains("ask:") => {
                let command = prompt.split_once("ask:").map_or("", |(_, command)| command);
                if !turn.ask(&format!("turn-{}", self.history.turns), command).await? {
                    return turn.send_answer("I asked, and was not allowed to.").await;
                }
                turn.run_tool("asked", command).await?;
                turn.send_answer("I asked, and did it.").await
            }
            None if prompt.contains("form:") => {
                let answer = turn.ask_form(&format!("turn-{}", self.history.turns)).await?;
                turn.send_answer(&answer).await
            }
            None if prompt.contains("slow") => {
                let text: String = (0..40).map(|number| format!("tok{number} ")).collect();
                turn.send_answer_slowly(&text, SLOW_WORD_DELAY).await
            }
            None => self.demonstrate(prompt, turn).await,
        }
    }

    async fn call_tools_endlessly(&self, turn: &mut ScriptTurn<'_>) -> Result<(), TurnAbort> {
        for call in 0..=self.config.max_tool_calls {
            turn.run_tool(&format!("c{call}"), "true").await?;
        }
        let message = format!("more than {} tool calls in one turn", self.config.max_tool_calls);
        Err(TurnAbort::Failed(BackendFailure::new(FailureKind::BackendFailed, message)))
    }

    /// Lists the workspace, writes a note, and reports what it did.
    async fn demonstrate(&self, prompt: &str, turn: &mut ScriptTurn<'_>) -> Result<(), TurnAbort> {
        let greeting = format!("You said: \"{prompt}\". Let me look around the workspace first. ");
        turn.send_message(&greeting).await?;
        turn.run_tool("look", "ls -la").await?;
        turn.send_message("I write down what I was asked, so that you can see that I was here. ").await?;
        let turns = self.history.turns;
        let note = format!("printf '%s\\n' 'Turn {turns}: asked, and done.' >> notes.md && cat notes.md");
        let code = turn.run_tool("note", &note).await?;
        let result = if code == 0 { "It is in notes.md." } else { "The workspace did not let me write." };
        let answer = format!("{result} A real agent takes my place when its profile has a credential.");
        turn.send_answer(&answer).await
    }
}

fn provider_error_in(prompt: &str) -> Option<ProviderError> {
    if prompt.contains("r401") {
        Some(ProviderError::CredentialRejected)
    } else if prompt.contains("r429") {
        Some(ProviderError::RateLimited)
    } else if prompt.contains("boom") {
        Some(ProviderError::Unavailable)
    } else if prompt.contains("cut") {
        Some(ProviderError::IncompleteResponse)
    } else if prompt.contains("away:") {
        Some(ProviderError::Unavailable)
    } else {
        None
    }
}

impl Backend for ScriptBackend {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn start<'a>(
        &'a mut self,
        thread: ThreadStart,
        _sink: &'a EventSink,
    ) -> BoxFuture<'a, Result<ThreadId, BackendFailure>> {
        self.open_thread(thread).boxed()
    }

    fn run_turn<'a>(
        &'a mut self,
        prompt: &'a Prompt,
        sink: &'a EventSink,
        control: &'a mut mpsc::Receiver<TurnControl>,
    ) -> BoxFuture<'a, TurnOutcome> {
        async move {
            if !prompt.images.is_empty() {
                reject_pending(control);
                return TurnOutcome::Failed(BackendFailure::images_unsupported());
            }
            // A script knows commands, and no context.
            self.work(prompt_message(&prompt.text), sink, control).await
        }
        .boxed()
    }

    fn shutdown(self: Box<Self>) -> BoxFuture<'static, ()> {
        async {}.boxed()
    }

    fn process_id(&self) -> Option<u32> {
        None
    }
}
