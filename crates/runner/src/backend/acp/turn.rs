//! One turn of an ACP agent: its messages, the runner's controls, and the timeouts, until the turn has ended.

use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_domain::runs::event::Usage;
use guildhall_domain::runs::policy::Approval;
use guildhall_protocol::base64_bytes::Base64Bytes;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::error;
use super::open_request::OpenRequest;
use super::profile::AcpProfile;
use super::session::AcpSession;
use crate::backend::jsonl::{Message, PendingStop, Reply, RpcError, StopReason};
use crate::backend::question::OpenQuestions;
use crate::backend::{
    BackendConfig, BackendEvent, BackendFailure, EventSink, Prompt, PromptImage, SteerError, TurnControl,
    TurnOutcome,
};

/// The request of an agent for the permission to act.
const PERMISSION: &str = "session/request_permission";

/// The request of an agent to a person that is not about an action.
const ELICITATION: &str = "elicitation/create";

/// A turn that waits for people only checks its limits this often.
const IDLE_CHECK: Duration = Duration::from_secs(60);

pub(super) struct AcpTurn<'a> {
    pub(super) session: &'a mut AcpSession,
    pub(super) sink: &'a EventSink,
    /// The id of the prompt request; its response ends the turn.
    request_id: u64,
    pub(super) approval: Approval,
    limits: Limits,
    started_at: Instant,
    /// When the model or a tool was last active.
    active_at: Instant,
    activity: u64,
    tool_calls: u32,
    requests: u32,
    /// The last request that was declined, with the reason, until the agent goes on.
    pub(super) declined: Option<String>,
    pub(super) questions: OpenQuestions<OpenRequest>,
    pub(super) stop: Option<PendingStop>,
}

#[derive(Clone, Copy)]
struct Limits {
    timeout: Duration,
    silence_timeout: Duration,
    tool_calls: u32,
}

impl Limits {
    /// An agent sends one request per tool call, and one more after it for a feature that we do not offer.
    fn requests(self) -> u32 {
        self.tool_calls.saturating_mul(2).saturating_add(2)
    }
}

impl<'a> AcpTurn<'a> {
    pub(super) async fn start(
        session: &'a mut AcpSession,
        config: &BackendConfig,
        profile: &AcpProfile,
        prompt: &Prompt,
        sink: &'a EventSink,
    ) -> Result<Self, BackendFailure> {
        if !prompt.images.is_empty() && !session.translator.takes_images {
            return Err(BackendFailure::images_unsupported());
        }
        session.translator.start_turn();
        // The protocol has no place for instructions: they are a text before the first prompt of a thread.
        let instructions = session.translator.instructions.take();
        let blocks = prompt_blocks(instructions.as_deref(), prompt);
        let params = json!({ "sessionId": session.thread(), "prompt": blocks });
        let started_at = Instant::now();
        let request_id = session.send_request("session/prompt", &params).await?;
        let limits = Limits {
            timeout: config.turn_timeout,
            silence_timeout: profile.silence_timeout,
            tool_calls: config.max_tool_calls,
        };
        let activity = session.translator.activity();
        Ok(Self {
            session,
            sink,
            request_id,
            approval: config.approval,
            limits,
            started_at,
            active_at: started_at,
            activity,
            tool_calls: 0,
            requests: 0,
            declined: None,
            questions: OpenQuestions::new(),
            stop: None,
        })
    }

    pub(super) async fn run(mut self, control: &mut mpsc::Receiver<TurnControl>) -> TurnOutcome {
        let response = self.run_to_end(control).await;
        let outcome = match &response {
            Ok(response) => self.outcome(response),
            Err(failure) => TurnOutcome::Failed(failure.clone()),
        };
        let usage = response.ok().and_then(Result::ok).map_or(Value::Null, |result| result["usage"].clone());
        let events = self.session.translator.end_turn(outcome == TurnOutcome::Completed, &usage);
        self.sink.report_all(events).await;
        let active_ms = u64::try_from(self.started_at.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.sink.report(BackendEvent::Usage(Usage { active_ms, ..Usage::default() })).await;
        outcome
    }

    /// Returns the response to the prompt.
    async fn run_to_end(
        &mut self,
        control: &mut mpsc::Receiver<TurnControl>,
    ) -> Result<Result<Value, RpcError>, BackendFailure> {
        let mut is_control_open = true;
        loop {
            let deadline = self.next_deadline();
            tokio::select! {
                message = self.session.receive() => {
                    let message = message?;
                    if let Message::Response { id, result } = &message
                        && *id == self.request_id
                    {
                        return Ok(result.clone());
                    }
                    self.handle_message(message).await?;
                    let activity = self.session.translator.activity();
                    if std::mem::replace(&mut self.activity, activity) != activity {
                        self.active_at = Instant::now();
                    }
                }
                (request, answer) = self.questions.next() => {
                    self.answer(request, answer).await?;
                    self.active_at = Instant::now();
                }
                control = control.recv(), if is_control_open => match control {
                    Some(TurnControl::Interrupt) => self.cancel(StopReason::Interrupted).await?,
                    // The protocol has no message for it.
                    Some(TurnControl::Steer { reply, .. }) => drop(reply.send(Err(SteerError::Unsupported))),
                    None => is_control_open = false,
                },
                () = sleep_until(deadline) => self.handle_timeout().await?,
            }
        }
    }

    async fn handle_message(&mut self, message: Message) -> Result<(), BackendFailure> {
        if let Message::Request { method, params, .. } = &message
            && method == PERMISSION
        {
            // Before the question, which names the call.
            let started = self.session.translator.permission_requested(&params["toolCall"]);
            self.apply(started, None).await?;
        }
        let (events, declined) = match message {
            Message::Request { id, method, params } if method == PERMISSION => {
                self.requests += 1;
                self.handle_permission(id, params).await?
            }
            Message::Request { id, method, params } if method == ELICITATION => {
                self.requests += 1;
                (self.handle_elicitation(id, params).await?, None)
            }
            message @ Message::Request { .. } => {
                self.requests += 1;
                (self.session.handle(message).await?, None)
            }
            message @ (Message::Response { .. } | Message::Notification { .. } | Message::Invalid { .. }) => {
                (self.session.handle(message).await?, None)
            }
        };
        self.apply(events, declined).await
    }

    /// Takes events into account, and what was declined, and reports the events.
    async fn apply(
        &mut self,
        events: Vec<BackendEvent>,
        declined: Option<String>,
    ) -> Result<(), BackendFailure> {
        let goes_on = |event: &BackendEvent| {
            matches!(event, BackendEvent::TextDelta { .. } | BackendEvent::ToolStarted { .. })
        };
        if declined.is_some() || events.iter().any(goes_on) {
            self.declined = declined;
        }
        self.report(events).await
    }

    /// Reports events, and stops a turn that exceeds its limits.
    async fn report(&mut self, events: Vec<BackendEvent>) -> Result<(), BackendFailure> {
        let started = events.iter().filter(|event| matches!(event, BackendEvent::ToolStarted { .. })).count();
        self.tool_calls = self.tool_calls.saturating_add(u32::try_from(started).unwrap_or(u32::MAX));
        self.sink.report_all(events).await;
        if self.tool_calls > self.limits.tool_calls {
            self.cancel(StopReason::TooManyToolCalls(self.limits.tool_calls)).await?;
        }
        if self.requests > self.limits.requests() {
            self.cancel(StopReason::TooManyRequests(self.limits.requests())).await?;
        }
        Ok(())
    }

    /// Tells the agent to stop. The protocol has no response to that, so this waits for the end of the turn.
    async fn cancel(&mut self, reason: StopReason) -> Result<(), BackendFailure> {
        if self.stop.is_some() {
            return Ok(());
        }
        self.stop = Some(PendingStop::new(reason));
        let params = json!({ "sessionId": self.session.thread() });
        self.session.send_notification("session/cancel", Some(&params)).await?;
        // The protocol wants a reply to every open request.
        for request in self.questions.take_all() {
            let (response, _) = request.kind.reply(None, None, true);
            self.session.send_reply(&request.id, &Reply::Result(response)).await?;
        }
        Ok(())
    }

    fn turn_deadline(&self) -> Instant {
        self.started_at + self.limits.timeout + self.questions.waited()
    }

    fn next_deadline(&self) -> Instant {
        match &self.stop {
            Some(stop) => stop.deadline(),
            // Nobody is waited for but people.
            None if !self.questions.is_empty() => Instant::now() + IDLE_CHECK,
            None if self.session.translator.is_tool_running() => self.turn_deadline(),
            None => self.turn_deadline().min(self.active_at + self.limits.silence_timeout),
        }
    }

    async fn handle_timeout(&mut self) -> Result<(), BackendFailure> {
        let now = Instant::now();
        let Limits { timeout, silence_timeout, .. } = self.limits;
        let model_timeout = StopReason::ModelTimeout(silence_timeout.min(timeout));
        match &self.stop {
            Some(stop) if stop.deadline() <= now => Err(stop.overdue_failure("the agent")),
            Some(_) => Ok(()),
            None if !self.questions.is_empty() => Ok(()),
            None if self.turn_deadline() <= now => {
                let is_waiting = self.session.translator.is_waiting_for_model();
                self.cancel(if is_waiting { model_timeout } else { StopReason::TurnTimeout(timeout) }).await
            }
            None => self.cancel(model_timeout).await,
        }
    }

    fn outcome(&self, response: &Result<Value, RpcError>) -> TurnOutcome {
        let stopped = self.stop.as_ref().map(PendingStop::outcome);
        // Some agents end the turn after a declined permission.
        let blocked = self.declined.as_ref().filter(|_| stopped.is_none()).map(|declined| {
            TurnOutcome::Blocked(format!("the agent stopped because its request was declined: {declined}"))
        });
        let failed =
            |message: &str| TurnOutcome::Failed(BackendFailure::new(FailureKind::BackendFailed, message));
        match response {
            Ok(result) => match result["stopReason"].as_str() {
                Some("end_turn") => blocked.unwrap_or(TurnOutcome::Completed),
                Some("cancelled") => {
                    blocked.or(stopped).unwrap_or_else(|| failed("the agent cancelled the turn"))
                }
                Some("max_tokens") => failed("the model reached its token limit"),
                Some("max_turn_requests") => {
                    failed("the agent reached its limit of model requests in one turn")
                }
                Some("refusal") => failed("the agent refused to continue"),
                Some(_) | None => failed("the agent ended the turn for an unknown reason"),
            },
            Err(error) => stopped.unwrap_or_else(|| TurnOutcome::Failed(error::classify(error))),
        }
    }
}

/// Returns the content blocks of a prompt. The text comes last, after what it is about.
fn prompt_blocks(instructions: Option<&str>, prompt: &Prompt) -> Vec<Value> {
    let text = |text: &str| json!({ "type": "text", "text": text });
    let image = |image: &PromptImage| {
        let (mime_type, data) = (image.image_type, Base64Bytes(image.content.clone()));
        json!({ "type": "image", "mimeType": mime_type, "data": data })
    };
    let mut blocks: Vec<Value> = instructions.map(text).into_iter().collect();
    blocks.extend(prompt.images.iter().map(image));
    if !prompt.text.is_empty() || prompt.images.is_empty() {
        blocks.push(text(&prompt.text));
    }
    blocks
}
