//! One turn of Codex: its messages, the runner's controls, and the timeouts, until the turn has ended.

use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_domain::runs::policy::{Approval, Sandbox};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use super::error::CodexError;
use super::image::turn_input;
use super::policy::{sandbox_policy, text_input};
use super::question::{self, ReplyForm, StartedItems};
use super::session::CodexSession;
use crate::backend::jsonl::{Message, PendingStop, Reply, RpcError, StopReason};
use crate::backend::question::{AnswerDelivery, OpenQuestions};
use crate::backend::{
    BackendConfig, BackendEvent, BackendFailure, EventSink, Prompt, SteerError, TurnControl, TurnOutcome,
};

/// How long Codex may take to accept a steer.
const STEER_TIMEOUT: Duration = Duration::from_secs(10);

/// A turn that waits for people only checks its limits this often.
const IDLE_CHECK: Duration = Duration::from_secs(60);

/// Steers that may wait for a response at the same time.
const MAX_PENDING_STEERS: usize = 16;

pub(super) struct CodexTurn<'a> {
    session: &'a mut CodexSession,
    sink: &'a EventSink,
    id: String,
    timeout: Duration,
    deadline: Instant,
    max_tool_calls: u32,
    tool_calls: u32,
    declined: u32,
    approval: Approval,
    sandbox: Sandbox,
    questions: OpenQuestions<UnansweredRequest>,
    started_items: StartedItems,
    steers: Vec<PendingSteer>,
    stop: Option<PendingStop>,
    /// Set when Codex has ended the turn.
    outcome: Option<TurnOutcome>,
}

/// A request that waits for the answer of a person.
struct UnansweredRequest {
    id: Value,
    reply: ReplyForm,
}

/// A steer that was sent and has no response yet.
struct PendingSteer {
    id: u64,
    deadline: Instant,
    reply: oneshot::Sender<Result<(), SteerError>>,
}

#[derive(Deserialize)]
struct TurnCompletedParams {
    turn: CompletedTurn,
}

#[derive(Deserialize)]
struct CompletedTurn {
    id: String,
    status: String,
    error: Option<CodexError>,
}

impl<'a> CodexTurn<'a> {
    pub(super) async fn start(
        session: &'a mut CodexSession,
        config: &BackendConfig,
        prompt: &Prompt,
        sink: &'a EventSink,
    ) -> Result<Self, BackendFailure> {
        session.translator.start_turn();
        let deadline = Instant::now() + config.turn_timeout;
        let input = turn_input(config, prompt).map_err(|error| {
            let message = format!("cannot write the images of the message: {}", error.kind());
            BackendFailure::new(FailureKind::InfraFailed, message)
        })?;
        let params = json!({
            "threadId": session.thread(), "input": input,
            "approvalPolicy": config.approval.as_str(), "approvalsReviewer": "user",
            "sandboxPolicy": sandbox_policy(config),
        });
        let response = session.require("turn/start", &params, sink).await?;
        let id = response["turn"]["id"].as_str();
        let id = id.ok_or_else(|| BackendFailure::died("codex started a turn without an id"))?.to_owned();
        Ok(Self {
            session,
            sink,
            id,
            timeout: config.turn_timeout,
            deadline,
            max_tool_calls: config.max_tool_calls,
            tool_calls: 0,
            declined: 0,
            approval: config.approval,
            sandbox: config.sandbox,
            questions: OpenQuestions::new(),
            started_items: StartedItems::default(),
            steers: Vec::new(),
            stop: None,
            outcome: None,
        })
    }

    pub(super) async fn run(mut self, control: &mut mpsc::Receiver<TurnControl>) -> TurnOutcome {
        let outcome = self.run_to_end(control).await;
        // Codex died before it answered: whether it accepted these steers is unknown, so they count as not accepted.
        for steer in self.steers {
            let _receiver_gone = steer.reply.send(Err(SteerError::Timeout));
        }
        outcome.unwrap_or_else(TurnOutcome::Failed)
    }

    async fn run_to_end(
        &mut self,
        control: &mut mpsc::Receiver<TurnControl>,
    ) -> Result<TurnOutcome, BackendFailure> {
        let mut is_control_open = true;
        loop {
            // Wait for pending steers: it must be known whether they were accepted.
            if self.steers.is_empty()
                && let Some(outcome) = self.outcome.take()
            {
                return Ok(outcome);
            }
            let (deadline, accepts_control) =
                (self.next_deadline(), is_control_open && self.outcome.is_none());
            tokio::select! {
                message = self.session.receive() => self.handle_message(message?).await?,
                (request, answer) = self.questions.next(), if self.outcome.is_none() => {
                    self.answer(&request, answer).await?;
                }
                control = control.recv(), if accepts_control => match control {
                    Some(control) => self.handle_control(control).await?,
                    None => is_control_open = false,
                },
                () = sleep_until(deadline) => self.handle_timeout().await?,
            }
        }
    }

    async fn handle_message(&mut self, message: Message) -> Result<(), BackendFailure> {
        if self.ask(&message).await {
            return Ok(());
        }
        let outcome = match &message {
            Message::Response { id, result } => {
                self.handle_response(*id, result);
                return Ok(());
            }
            Message::Notification { method, params } if method == "turn/completed" => {
                self.completed_outcome(params)
            }
            Message::Notification { method, params } => {
                self.started_items.track(method, params);
                None
            }
            Message::Request { .. } | Message::Invalid { .. } => None,
        };
        let events = self.session.handle(message).await?;
        self.check_limits(&events).await?;
        self.sink.report_all(events).await;
        self.outcome = self.outcome.take().or(outcome);
        Ok(())
    }

    /// Asks people about a request. Returns false for a message that they are not asked about.
    async fn ask(&mut self, message: &Message) -> bool {
        let Message::Request { id, method, params } = message else { return false };
        if self.stop.is_some() || self.approval == Approval::Never {
            return false;
        }
        let asked = question::of_request(method, params, self.sandbox, &self.started_items);
        let Some((question, reply)) = asked else { return false };
        let call = question::call_of(method, params, &self.started_items);
        let Some(answer) = self.sink.ask(id.to_string(), call, question).await else { return false };
        self.questions.add(UnansweredRequest { id: id.clone(), reply }, answer);
        true
    }

    /// Gives the answer of a person to Codex; no answer declines.
    async fn answer(
        &mut self,
        request: &UnansweredRequest,
        answer: Option<AnswerDelivery>,
    ) -> Result<(), BackendFailure> {
        let (option, content, delivered) = AnswerDelivery::parts(answer);
        let reply = request.reply.reply(option.as_deref(), content);
        self.session.send_reply(&request.id, &Reply::Result(reply)).await?;
        if let Some(delivered) = delivered {
            let _runner_gone = delivered.send(());
        }
        Ok(())
    }

    fn handle_response(&mut self, id: u64, result: &Result<Value, RpcError>) {
        let Some(index) = self.steers.iter().position(|steer| steer.id == id) else { return };
        let steer = self.steers.swap_remove(index);
        let result = result.as_ref().map(|_| ()).map_err(steer_error);
        let _receiver_gone = steer.reply.send(result);
    }

    /// Counts tool calls and declined requests, and stops a turn that exceeds the limit.
    async fn check_limits(&mut self, events: &[BackendEvent]) -> Result<(), BackendFailure> {
        for event in events {
            self.tool_calls += u32::from(matches!(event, BackendEvent::ToolStarted { .. }));
            self.declined += u32::from(matches!(event, BackendEvent::ApprovalDeclined { .. }));
        }
        if self.tool_calls > self.max_tool_calls {
            self.interrupt(StopReason::TooManyToolCalls(self.max_tool_calls)).await?;
        } else if self.declined > self.max_tool_calls {
            self.interrupt(StopReason::TooManyRequests(self.max_tool_calls)).await?;
        }
        Ok(())
    }

    async fn handle_control(&mut self, control: TurnControl) -> Result<(), BackendFailure> {
        match control {
            TurnControl::Interrupt => self.interrupt(StopReason::Interrupted).await,
            // A stopping turn would accept the text and lose it.
            TurnControl::Steer { reply, .. } if self.stop.is_some() => {
                let _receiver_gone = reply.send(Err(SteerError::NoActiveTurn));
                Ok(())
            }
            TurnControl::Steer { reply, .. } if self.steers.len() >= MAX_PENDING_STEERS => {
                let _receiver_gone = reply.send(Err(SteerError::Timeout));
                Ok(())
            }
            TurnControl::Steer { text, reply } => {
                let params = json!({
                    "threadId": self.session.thread(), "input": text_input(&text), "expectedTurnId": self.id,
                });
                let id = self.session.send_request("turn/steer", &params).await?;
                self.steers.push(PendingSteer { id, deadline: Instant::now() + STEER_TIMEOUT, reply });
                Ok(())
            }
        }
    }

    /// Tells Codex to stop. Waits for the end of the turn and not for the response, which may come late or never.
    async fn interrupt(&mut self, reason: StopReason) -> Result<(), BackendFailure> {
        if self.stop.is_some() || self.outcome.is_some() {
            return Ok(());
        }
        self.stop = Some(PendingStop::new(reason));
        let params = json!({ "threadId": self.session.thread(), "turnId": self.id });
        self.session.send_request("turn/interrupt", &params).await?;
        Ok(())
    }

    fn next_deadline(&self) -> Instant {
        let turn = match (&self.outcome, &self.stop) {
            (Some(_), _) => None,
            (None, Some(stop)) => Some(stop.deadline()),
            // Nobody is waited for but people.
            (None, None) if !self.questions.is_empty() => None,
            (None, None) => Some(self.deadline + self.questions.waited()),
        };
        let steers = self.steers.iter().map(|steer| steer.deadline);
        turn.into_iter().chain(steers).min().unwrap_or_else(|| Instant::now() + IDLE_CHECK)
    }

    async fn handle_timeout(&mut self) -> Result<(), BackendFailure> {
        let now = Instant::now();
        while let Some(index) = self.steers.iter().position(|steer| steer.deadline <= now) {
            let _receiver_gone = self.steers.swap_remove(index).reply.send(Err(SteerError::Timeout));
        }
        if self.outcome.is_some() {
            return Ok(());
        }
        match &self.stop {
            Some(stop) if stop.deadline() <= now => Err(stop.overdue_failure("codex")),
            None if self.questions.is_empty() && self.deadline + self.questions.waited() <= now => {
                let reason = if self.session.translator.is_connected() {
                    StopReason::TurnTimeout(self.timeout)
                } else {
                    StopReason::ModelTimeout(self.timeout)
                };
                self.interrupt(reason).await
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Returns the outcome in a `turn/completed` notification of this turn.
    fn completed_outcome(&self, params: &Value) -> Option<TurnOutcome> {
        let turn = TurnCompletedParams::deserialize(params).ok()?.turn;
        if turn.id != self.id {
            return None;
        }
        Some(match turn.status.as_str() {
            "completed" => TurnOutcome::Completed,
            "interrupted" => self.stop.as_ref().map_or(TurnOutcome::Interrupted, PendingStop::outcome),
            _ => TurnOutcome::Failed(turn.error.unwrap_or_default().classify()),
        })
    }
}

/// Returns why Codex rejected a steer. It has one code for all errors, so the text decides.
fn steer_error(error: &RpcError) -> SteerError {
    let message = &error.message;
    let is_over = message.contains("no active turn") || message.contains("expected active turn id");
    if is_over { SteerError::NoActiveTurn } else { SteerError::Unsupported }
}
