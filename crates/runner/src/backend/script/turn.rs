//! One turn of a script: reports events and handles controls in between.

use std::time::Duration;

use futures::FutureExt;
use guildhall_domain::FailureKind;
use guildhall_domain::approvals::form::AnswerContent;
use guildhall_domain::approvals::question::{Action, OptionEffect, Question, QuestionKind};
use guildhall_domain::runs::event::Usage;
use guildhall_domain::runs::policy::Approval;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::backend::question::{AnswerDelivery, answer_option, empty_action};
use crate::backend::shell;
use crate::backend::tool_output::ToolOutputBuffer;
use crate::backend::{BackendConfig, BackendEvent, BackendFailure, EventSink, ModelEndpoint, TurnControl};

/// Delay between two words: visible, but not slow.
const WORD_DELAY: Duration = Duration::from_millis(25);

/// Longer than any question waits.
const MAX_WAIT: Duration = Duration::from_secs(365 * 24 * 3600);

/// The options of a question.
const ALLOW: &str = "allow";
const DENY: &str = "deny";
const ANSWER: &str = "answer";

/// A tool that takes longer is killed.
const TOOL_TIMEOUT: Duration = Duration::from_secs(60);

pub(super) struct ScriptTurn<'a> {
    sink: &'a EventSink,
    control: &'a mut mpsc::Receiver<TurnControl>,
    config: &'a BackendConfig,
    endpoint: &'a ModelEndpoint,
    deadline: Instant,
    messages: usize,
    /// Texts that the turn was steered with.
    pub(super) steers: Vec<String>,
}

/// Why a turn stopped before its end.
pub(super) enum TurnAbort {
    Interrupted,
    Failed(BackendFailure),
}

impl<'a> ScriptTurn<'a> {
    pub(super) fn new(
        sink: &'a EventSink,
        control: &'a mut mpsc::Receiver<TurnControl>,
        config: &'a BackendConfig,
        endpoint: &'a ModelEndpoint,
    ) -> Self {
        let deadline = Instant::now() + config.turn_timeout;
        Self { sink, control, config, endpoint, deadline, messages: 0, steers: Vec::new() }
    }

    pub(super) async fn report(&self, event: BackendEvent) {
        self.sink.report(event).await;
    }

    /// Sends an intermediate message, word by word.
    pub(super) async fn send_message(&mut self, text: &str) -> Result<(), TurnAbort> {
        self.messages += 1;
        let item = format!("m{}", self.messages);
        self.stream(&item, text, WORD_DELAY).await?;
        self.report(BackendEvent::Text { item, text: text.into(), is_final: false }).await;
        Ok(())
    }

    /// Sends the answer of the turn.
    pub(super) async fn send_answer(&mut self, text: &str) -> Result<(), TurnAbort> {
        self.send_answer_slowly(text, WORD_DELAY).await
    }

    /// Sends the answer of the turn with a delay between words.
    pub(super) async fn send_answer_slowly(
        &mut self,
        text: &str,
        word_delay: Duration,
    ) -> Result<(), TurnAbort> {
        self.stream("answer", text, word_delay).await?;
        self.report(BackendEvent::Text { item: "answer".into(), text: text.into(), is_final: true }).await;
        let usage = Usage { input_tokens: 11, output_tokens: 7, ..Usage::default() };
        self.report(BackendEvent::Usage(usage)).await;
        Ok(())
    }

    async fn stream(&mut self, item: &str, text: &str, word_delay: Duration) -> Result<(), TurnAbort> {
        for word in text.split_inclusive(' ') {
            self.report(BackendEvent::TextDelta { item: item.into(), text: word.into() }).await;
            self.check_control()?;
            self.pause(word_delay).await?;
        }
        Ok(())
    }

    /// Asks whether a command may be run. Nobody to ask means no.
    pub(super) async fn ask(&mut self, request: &str, command: &str) -> Result<bool, TurnAbort> {
        let (option, _) = self.ask_person(request, "command", command_question(command)).await?;
        Ok(option.as_deref() == Some(ALLOW))
    }

    /// Asks for values. Returns what to say about them.
    pub(super) async fn ask_form(&mut self, request: &str) -> Result<String, TurnAbort> {
        let (_, content) = self.ask_person(request, "form", form_question()).await?;
        Ok(match content {
            Some(content) => format!("You answered: {}", content.to_json()),
            None => "I asked, and got no answer.".to_owned(),
        })
    }

    /// Asks a question. Returns the chosen option and the values; nothing if nobody answers.
    async fn ask_person(
        &mut self,
        request: &str,
        what: &str,
        question: Question,
    ) -> Result<(Option<String>, Option<AnswerContent>), TurnAbort> {
        let detail = json!(question.action.arguments);
        let answer = match self.config.approval {
            Approval::Never => None,
            Approval::OnRequest | Approval::Untrusted => {
                self.sink.ask(request.to_owned(), None, question).await
            }
        };
        let Some(answer) = answer else {
            self.report(BackendEvent::ApprovalDeclined { what: what.into(), detail }).await;
            return Ok((None, None));
        };
        // The limit of the turn does not count the time of people.
        let left = self.deadline.saturating_duration_since(Instant::now());
        self.deadline = Instant::now() + MAX_WAIT;
        let taken = tokio::select! {
            taken = answer => taken.ok(),
            abort = self.aborted() => return Err(abort),
        };
        self.deadline = Instant::now() + left;
        let (option, content, delivered) = AnswerDelivery::parts(taken);
        if let Some(delivered) = delivered {
            let _runner_gone = delivered.send(());
        }
        Ok((option, content))
    }

    /// Runs a shell command in the workspace. Its descendants end with it.
    pub(super) async fn run_tool(&mut self, call: &str, command: &str) -> Result<i64, TurnAbort> {
        let (call, tool, command) = (call.to_owned(), "shell".to_owned(), Some(command.to_owned()));
        let started = BackendEvent::ToolStarted {
            call: call.clone(),
            tool: tool.clone(),
            command: command.clone(),
            arguments: None,
        };
        self.report(started).await;
        let command_line = command.as_deref().unwrap_or_default();
        let code = self.run_command(&call, command_line).await?.unwrap_or(-1);
        let status = if code == 0 { "completed" } else { "failed" }.to_owned();
        let (exit_code, arguments) = (Some(code), None);
        self.report(BackendEvent::ToolFinished { call, tool, status, exit_code, command, arguments }).await;
        self.check_control()?;
        Ok(code)
    }

    /// Returns the exit code of a command; `None` when it did not exit, or could not be started.
    async fn run_command(&mut self, call: &str, command: &str) -> Result<Option<i64>, TurnAbort> {
        let mut child = match shell::start(self.config, self.endpoint, command) {
            Ok(child) => child,
            Err(error) => {
                let message = format!("cannot start a command: {}", error.kind());
                return Err(TurnAbort::Failed(BackendFailure::new(FailureKind::InfraFailed, message)));
            }
        };
        let mut output = ToolOutputBuffer::default();
        let sink = self.sink.clone();
        let read = timeout(TOOL_TIMEOUT, shell::report_output(&mut child, &mut output, &sink, call));
        let _timed_out = tokio::select! {
            finished = read => finished,
            abort = self.aborted() => return Err(abort),
        };
        if let Some(output) = output.finish(call, None) {
            self.report(output).await;
        }
        if let Some(limit) = child.exceeded_limit() {
            let failure =
                BackendFailure::new(FailureKind::BudgetExceeded, format!("a command was killed: {limit}"));
            return Err(TurnAbort::Failed(failure));
        }
        Ok(child.exit_code().map(i64::from))
    }

    pub(super) async fn pause(&mut self, time: Duration) -> Result<(), TurnAbort> {
        tokio::select! {
            () = sleep(time) => Ok(()),
            abort = self.aborted() => Err(abort),
        }
    }

    /// Waits for an interrupt or the turn timeout. Accepts steers meanwhile.
    async fn aborted(&mut self) -> TurnAbort {
        loop {
            match timeout_at(self.deadline, self.control.recv()).await {
                Err(_) => {
                    let message = format!(
                        "the turn took longer than {} s and was interrupted",
                        self.config.turn_timeout.as_secs_f32()
                    );
                    return TurnAbort::Failed(BackendFailure::new(FailureKind::BackendFailed, message));
                }
                Ok(Some(TurnControl::Interrupt)) => return TurnAbort::Interrupted,
                Ok(Some(TurnControl::Steer { text, reply })) => {
                    let detail = json!({ "words": text });
                    self.report(BackendEvent::Status { phase: "steered".into(), detail }).await;
                    self.steers.push(text);
                    let _receiver_gone = reply.send(Ok(()));
                }
                Ok(None) => sleep(Duration::from_millis(100)).await,
            }
        }
    }

    /// Handles pending controls without waiting.
    fn check_control(&mut self) -> Result<(), TurnAbort> {
        self.aborted().now_or_never().map_or(Ok(()), Err)
    }
}

fn command_question(command: &str) -> Question {
    let action = Action {
        arguments: Some(json!({ "command": command })),
        ..empty_action(QuestionKind::Command, "shell")
    };
    let options = vec![
        answer_option(ALLOW, "Allow once", OptionEffect::Allow),
        answer_option(DENY, "Deny", OptionEffect::Deny),
    ];
    Question { action, options, reason: None, answer_schema: None }
}

/// A form with a field of each kind that people fill in.
fn form_question() -> Question {
    let schema = json!({
        "type": "object",
        "properties": {
            "colour": { "type": "string", "title": "Colour", "enum": ["red", "blue"] },
            "count": { "type": "integer", "title": "How many", "minimum": 1, "maximum": 9, "default": 2 },
            "gift": { "type": "boolean", "title": "Wrap it as a gift" },
            "voucher": { "type": "string", "title": "Voucher", "minLength": 6, "writeOnly": true },
        },
        "required": ["colour", "count"],
    });
    let message = "What do you want to order?";
    let action = Action {
        arguments: Some(json!({ "message": message, "requestedSchema": schema })),
        ..empty_action(QuestionKind::ElicitationForm, "demo")
    };
    let options = vec![
        answer_option(ANSWER, "Send the answer", OptionEffect::Answer),
        answer_option(DENY, "Do not answer", OptionEffect::Deny),
    ];
    Question { action, options, reason: Some(message.to_owned()), answer_schema: Some(schema) }
}
