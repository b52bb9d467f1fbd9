//! The questions of a followed run: asked on the terminal, or printed with the commands that answer them.

use std::collections::VecDeque;
use std::future::pending;
use std::io::{self, IsTerminal, stderr, stdout};
use std::time::Duration;

use anyhow::Result;
use guildhall_domain::FailureKind;
use guildhall_domain::runs::event;
use guildhall_protocol::rest::approvals::ApprovalView;
use guildhall_protocol::rest::runs::EventView;
use guildhall_sdk::{Client, ClientError};
use tokio::time::Instant;

use super::event_renderer::format_approval_status;
use super::watch_display::WatchDisplay;
use crate::client::approvals::prompt::{AnswerPrompt, PromptStep, answer_commands};
use crate::client::approvals::question_text::QuestionDetail;
use crate::client::approvals::terminal_input::{TerminalInput, discard_typed_input};
use crate::output::{Colour, format_time, sanitize_line};

/// Delay before a question is read again from an unreachable server.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// The open questions of a followed run or command.
pub(super) struct WatchQuestions<'a> {
    client: &'a Client,
    /// `None` if nobody can type an answer.
    input: Option<TerminalInput>,
    /// Id of the user, read with the first question.
    viewer: Option<String>,
    /// Ids of approvals that were asked and have no answer yet, without the one at the prompt.
    open: VecDeque<String>,
    prompt: Option<AnswerPrompt>,
    /// Whether all earlier events were read: only then it is known which questions are open.
    is_live: bool,
    retry_at: Option<Instant>,
}

/// A question that was read, and who can answer it.
enum OpenQuestion {
    /// The user of this terminal.
    Here(Box<ApprovalView>),
    /// Nobody here; the message says who can.
    Elsewhere(String),
    Over,
}

impl<'a> WatchQuestions<'a> {
    pub(super) fn new(client: &'a Client) -> Self {
        Self {
            client,
            input: TerminalInput::open(),
            viewer: None,
            open: VecDeque::new(),
            prompt: None,
            is_live: false,
            retry_at: None,
        }
    }

    /// Takes an event into account, before it is printed. Ends the prompt if the question is over.
    pub(super) fn apply_event(&mut self, event: &EventView, display: &mut WatchDisplay) -> io::Result<()> {
        let Some(payload) = &event.payload else { return Ok(()) };
        let id = payload["approvalId"].as_str().unwrap_or_default();
        if event.r#type == event::APPROVAL_REQUESTED {
            self.open.push_back(id.to_owned());
        }
        if event.r#type == event::APPROVAL_STATUS && payload["status"] != "pending" {
            self.open.retain(|open| open != id);
            if self.prompt.take_if(|prompt| prompt.approval_id() == id).is_some() {
                display.close_prompt()?;
                self.show_typing(true);
                discard_typed_input();
                // On a terminal, the event is printed next.
                let text = format_approval_status(payload, display.renderer().viewer());
                if let Some(text) = text.filter(|_| !stdout().is_terminal()) {
                    display.print_message(sanitize_line(&text))?;
                }
            }
        }
        Ok(())
    }

    /// Says that all earlier events were read.
    pub(super) fn go_live(&mut self) {
        self.is_live = true;
    }

    /// Starts again with the first event of the run.
    pub(super) fn restart(&mut self, display: &mut WatchDisplay) -> io::Result<()> {
        self.open.clear();
        self.is_live = false;
        self.prompt = None;
        self.show_typing(true);
        display.close_prompt()
    }

    /// Sets whether what is typed is shown: not at the prompt for a secret.
    fn show_typing(&mut self, is_shown: bool) {
        if let Some(input) = &mut self.input {
            input.set_echo(is_shown);
        }
    }

    /// Returns when to call [`WatchQuestions::show_next`] again, if that is before the next event.
    pub(super) fn retry_at(&self) -> Option<Instant> {
        self.retry_at
    }

    /// Shows the next open question, unless one is shown already.
    pub(super) async fn show_next(&mut self, display: &mut WatchDisplay) -> Result<()> {
        if self.retry_at.is_some_and(|at| at > Instant::now()) || !self.is_live {
            return Ok(());
        }
        self.retry_at = None;
        while let Some(id) = self.open.front().filter(|_| self.prompt.is_none()).cloned() {
            let question = self.read_question(&id).await;
            if let Some(viewer) = &self.viewer {
                display.renderer().set_viewer(viewer.clone());
            }
            match question {
                Ok(OpenQuestion::Here(approval)) => self.ask(*approval, display)?,
                Ok(OpenQuestion::Elsewhere(message)) => display.print_message(message)?,
                Ok(OpenQuestion::Over) => {}
                Err(error) if error.is_transient() => {
                    self.retry_at = Some(Instant::now() + RETRY_DELAY);
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            }
            self.open.pop_front();
        }
        Ok(())
    }

    async fn read_question(&mut self, id: &str) -> Result<OpenQuestion, ClientError> {
        let Ok(id) = id.parse() else { return Ok(OpenQuestion::Over) };
        let approval = match self.client.get_approval(id).await {
            Ok(approval) if approval.status == "pending" => approval,
            Ok(_answered) => return Ok(OpenQuestion::Over),
            Err(error) if error.kind() == Some(FailureKind::NotFound) => return Ok(OpenQuestion::Over),
            Err(error) => return Err(error),
        };
        if self.viewer.is_none() {
            self.viewer = Some(self.client.whoami().await?.principal);
        }
        Ok(match (&self.input, approval.can_answer) {
            (Some(_), true) => OpenQuestion::Here(Box::new(approval)),
            (None, true) => OpenQuestion::Elsewhere(waiting_message(&approval)),
            (_, false) => {
                OpenQuestion::Elsewhere(format!("the agent waits for an answer of {}", approvers(&approval)))
            }
        })
    }

    fn ask(&mut self, approval: ApprovalView, display: &mut WatchDisplay) -> io::Result<()> {
        let prompt = AnswerPrompt::new(approval, Colour::of(&stderr()));
        display.print_message(prompt.question(QuestionDetail::Question))?;
        discard_typed_input();
        display.show_prompt(prompt.text())?;
        self.prompt = Some(prompt);
        Ok(())
    }

    /// Waits for a line that is typed at the prompt; for ever if there is no prompt. Dropping the future loses nothing.
    pub(super) async fn next_line(&mut self) -> io::Result<Option<String>> {
        match (&mut self.input, &self.prompt) {
            (Some(input), Some(_)) => input.read_line().await,
            _ => pending().await,
        }
    }

    /// Answers the question at the prompt with a typed line.
    pub(super) async fn answer(&mut self, line: Option<&str>, display: &mut WatchDisplay) -> Result<()> {
        let Some(mut prompt) = self.prompt.take() else { return Ok(()) };
        self.show_typing(true);
        display.leave_prompt(line.is_some());
        match prompt.handle_line(self.client, line).await? {
            PromptStep::AskAgain(text) => {
                display.print_message(text)?;
                self.show_typing(!prompt.hides_input());
                display.show_prompt(prompt.text())?;
                self.prompt = Some(prompt);
            }
            // The event of the answer is printed.
            PromptStep::Answered => {}
            PromptStep::Closed(reason) => display.print_message(reason)?,
        }
        Ok(())
    }
}

/// Returns who may answer a question that is not for the user.
fn approvers(approval: &ApprovalView) -> &'static str {
    match approval.mode.as_str() {
        _ if approval.escalated => "an owner of the tenant",
        "designated" => "the person that the approval policy of the tenant designates",
        "local-only" => "somebody on the machine of the server",
        _ => "who created the run, or of a member with the permission approvals:decide",
    }
}

/// Says that the agent waits, until when, and how to answer.
fn waiting_message(approval: &ApprovalView) -> String {
    let (commands, expires_at) = (answer_commands(approval), format_time(approval.expires_at));
    format!("the agent waits for an answer: {commands}; it is denied at {expires_at} without one")
}
