//! Forwards the questions of a turn to the server, and their answers back.

use std::convert::Infallible;
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use guildhall_domain::FailureKind;
use guildhall_domain::approvals::form::{AnswerContent, AnswerForm};
use guildhall_domain::approvals::state::ApprovalStatus;
use guildhall_domain::ids::{ApprovalId, CommandId};
use guildhall_protocol::rest::approvals::{AskQuestion, CALL_ID_BYTES};
use guildhall_sdk::ClientError;
use guildhall_sdk::runner::LeasedRun;
use secrecy::SecretString;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};
use tracing::warn;

use super::options::{POLL_TIMEOUT, RETRY_DELAY};
use super::watch::TurnInterrupt;
use crate::backend::{AnswerDelivery, PendingQuestion};
use crate::pump::event_pump::FlushResult;
use crate::pump::redact::RunSecrets;

/// Questions that wait for the forwarder.
pub(super) const QUESTION_CAPACITY: usize = 16;

/// How long confirmations may take after the end of a turn.
const CONFIRM_TIMEOUT: Duration = Duration::from_secs(10);

/// How often a question is asked anew because its answer became void.
const MAX_ATTEMPTS: u32 = 3;

/// A question whose turn has come: the pump has the events before it.
#[derive(Debug)]
pub(super) struct QuestionRequest {
    pub(super) question: PendingQuestion,
    /// Told when the server has those events.
    pub(super) delivered: oneshot::Receiver<FlushResult>,
}

/// The questions of one turn.
pub(super) struct QuestionForwarder<'a> {
    sender: QuestionSender<'a>,
    open: FuturesUnordered<BoxFuture<'a, ()>>,
}

/// Who asks.
#[derive(Clone, Copy)]
struct QuestionSender<'a> {
    held: &'a LeasedRun,
    command: CommandId,
    /// The agent's process.
    process: &'a str,
    interrupt: TurnInterrupt<'a>,
    /// Secret answers are not reported when the agent repeats them.
    secrets: &'a RunSecrets,
}

/// What came of a question.
enum AskResult {
    Answer(ApprovalId, String, Option<AnswerContent>),
    /// The answer may not be delivered any more: ask again.
    Void,
    /// Nobody has answered for long: the turn ends, and the answer continues it later.
    Parked(ApprovalId),
    /// Nobody answers: the backend declines.
    NoAnswer,
}

impl<'a> QuestionForwarder<'a> {
    pub(super) fn new(
        held: &'a LeasedRun,
        command: CommandId,
        process: &'a str,
        interrupt: TurnInterrupt<'a>,
        secrets: &'a RunSecrets,
    ) -> Self {
        let sender = QuestionSender { held, command, process, interrupt, secrets };
        Self { sender, open: FuturesUnordered::new() }
    }

    /// Forwards questions until it is dropped.
    pub(super) async fn run(&mut self, questions: &mut mpsc::Receiver<QuestionRequest>) -> Infallible {
        loop {
            tokio::select! {
                Some(question) = questions.recv() => self.open.push(Box::pin(self.sender.forward(question))),
                Some(()) = self.open.next() => {}
                else => std::future::pending().await,
            }
        }
    }

    /// Waits until the server knows of every answer that the process has got. The turn has ended, so no question waits.
    pub(super) async fn finish(mut self) {
        let confirmed = timeout(CONFIRM_TIMEOUT, async { while self.open.next().await.is_some() {} }).await;
        if confirmed.is_err() {
            warn!("cannot confirm the delivery of an answer");
        }
    }
}

impl QuestionSender<'_> {
    async fn forward(self, QuestionRequest { question, delivered }: QuestionRequest) {
        let PendingQuestion { request, call, question, mut reply } = question;
        tokio::select! {
            () = reply.closed() => return,
            // Without the lease, the server refuses the question.
            _result = delivered => {}
        }
        let form = question.form().ok().flatten();
        let mut body = AskQuestion {
            command_id: self.command.to_string(),
            process: self.process.to_owned(),
            request: request.clone(),
            call_id: call
                .map(|call| self.secrets.redact(&call))
                .filter(|call| CALL_ID_BYTES.contains(&call.len())),
            question: question.into(),
        };
        for attempt in 1..=MAX_ATTEMPTS {
            let result = tokio::select! {
                // The turn has ended; the server withdraws the question with it.
                () = reply.closed() => return,
                result = self.ask(&body) => result,
            };
            match result {
                AskResult::Answer(id, option, content) => {
                    self.hide_secrets(form.as_ref(), content.as_ref());
                    let (delivered, confirmed) = oneshot::channel();
                    let is_waiting = reply.send(AnswerDelivery { option, content, delivered }).is_ok();
                    if is_waiting && confirmed.await.is_ok() {
                        self.confirm(id).await;
                    }
                    return;
                }
                AskResult::Void => body.request = format!("{request}~{attempt}"),
                AskResult::Parked(id) => {
                    self.interrupt.park(id).await;
                    // Without the reply, the backend would decline the question before it is interrupted.
                    return reply.closed().await;
                }
                AskResult::NoAnswer => return,
            }
        }
    }

    /// Lets the pump redact the secret values of an answer, before the agent can repeat them.
    fn hide_secrets(&self, form: Option<&AnswerForm>, content: Option<&AnswerContent>) {
        if let (Some(form), Some(content)) = (form, content) {
            self.secrets.add(form.secrets(content).map(SecretString::from));
        }
    }

    /// Asks a question and waits for its answer. Retries until the server responds.
    async fn ask(&self, body: &AskQuestion) -> AskResult {
        let mut body = body.clone();
        let id = loop {
            match self.held.ask(&body).await {
                Ok(view) => match view.approval_id.parse::<ApprovalId>() {
                    Ok(id) => break id,
                    Err(_) => return AskResult::NoAnswer,
                },
                // An older server does not know the field.
                Err(error) if error.kind() == Some(FailureKind::SchemaInvalid) && body.call_id.is_some() => {
                    body.call_id = None;
                    continue;
                }
                Err(error) if is_final(&error) => {
                    warn!("the server does not ask a question: {error}");
                    return AskResult::NoAnswer;
                }
                Err(error) => warn!("cannot ask a question: {error}"),
            }
            sleep(RETRY_DELAY).await;
        };
        loop {
            match self.held.take_answer(id, self.process, POLL_TIMEOUT).await {
                Ok(view) => match (ApprovalStatus::from_name(&view.status), view.option_id) {
                    (Ok(ApprovalStatus::Delivering), Some(option)) => {
                        return AskResult::Answer(id, option, view.content);
                    }
                    (Ok(ApprovalStatus::Pending), _) if view.parked => return AskResult::Parked(id),
                    (Ok(ApprovalStatus::Pending), _) => {}
                    (Ok(ApprovalStatus::Void), _) => return AskResult::Void,
                    (Ok(_) | Err(_), _) => return AskResult::NoAnswer,
                },
                Err(error) if is_final(&error) => return AskResult::NoAnswer,
                Err(error) => {
                    warn!("cannot wait for an answer: {error}");
                    sleep(RETRY_DELAY).await;
                }
            }
        }
    }

    async fn confirm(&self, id: ApprovalId) {
        loop {
            match self.held.confirm_answer(id, self.process).await {
                Ok(_) => return,
                Err(error) if is_final(&error) => return,
                Err(error) => warn!("cannot confirm the delivery of {id}: {error}"),
            }
            sleep(RETRY_DELAY).await;
        }
    }
}

/// Returns whether a retry gets the same response.
fn is_final(error: &ClientError) -> bool {
    matches!(
        error.kind(),
        Some(
            FailureKind::SchemaInvalid
                | FailureKind::Conflict
                | FailureKind::NotFound
                | FailureKind::Forbidden
                | FailureKind::Unauthenticated
                | FailureKind::RunnerLeaseConflict
        )
    )
}
