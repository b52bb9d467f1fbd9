//! One turn: what the agent says, what the runner wants, and the clock, until the turn has ended.

use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_domain::runs::event::Usage;
use guildhall_domain::runs::policy::Approval;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::leave::{self, Verdict};
use super::session::{Session, report};
use super::translate::other;
use super::wire::{self, Fault, Incoming};
use super::{Profile, trouble};
use crate::backend::unknown::bounded;
use crate::backend::{BackendEvent, BackendFailure, Control, Refusal, Setting, Sink, TurnEnd};

/// How long a cancelled turn may take to end. Then its process is ended.
const STOP_WITHIN: Duration = Duration::from_secs(10);

pub(super) struct Turn<'a> {
    session: &'a mut Session,
    sink: &'a Sink,
    id: u64,
    approval: Approval,
    limits: Limits,
    began: Instant,
    /// When the model, or a tool, last gave a sign.
    heard: Instant,
    signs: u64,
    calls: u32,
    asked: u32,
    declined: u32,
    stop: Option<Stop>,
}

#[derive(Clone, Copy)]
struct Limits {
    time: Duration,
    silence: Duration,
    calls: u32,
}

/// Why the turn was cancelled, and when it must have ended.
struct Stop {
    why: Why,
    until: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Why {
    Asked,
    TooLong,
    /// Nothing came, and no tool was at work: the agent waits for its model.
    Silent,
    TooManyCalls,
    TooManyWishes,
}

impl<'a> Turn<'a> {
    pub(super) async fn start(
        session: &'a mut Session,
        setting: &Setting,
        profile: &Profile,
        words: &str,
        sink: &'a Sink,
    ) -> Result<Self, BackendFailure> {
        session.translator.turn_begins();
        let params = json!({ "sessionId": session.thread(), "prompt": [{ "type": "text", "text": words }] });
        let began = Instant::now();
        let id = session.send("session/prompt", &params).await?;
        let limits = Limits {
            time: setting.turn_timeout,
            silence: profile.silent_at_most,
            calls: setting.tool_calls_at_most,
        };
        let (calls, asked, declined, stop) = (0, 0, 0, None);
        let signs = session.translator.signs();
        let approval = setting.approval;
        Ok(Self {
            session,
            sink,
            id,
            approval,
            limits,
            began,
            heard: began,
            signs,
            calls,
            asked,
            declined,
            stop,
        })
    }

    pub(super) async fn run(mut self, control: &mut mpsc::Receiver<Control>) -> TurnEnd {
        let outcome = self.until_the_end(control).await;
        let end = match &outcome {
            Ok(answer) => self.end_of(answer),
            Err(failure) => TurnEnd::Failed(failure.clone()),
        };
        let cost = outcome.ok().and_then(Result::ok).map_or(Value::Null, |answer| answer["usage"].clone());
        let events = self.session.translator.turn_ends(end == TurnEnd::Completed, &cost);
        report(self.sink, events).await;
        let active_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.sink.report(BackendEvent::Usage(Usage { active_ms, ..Usage::default() })).await;
        end
    }

    /// Returns the agent's answer to the prompt.
    async fn until_the_end(
        &mut self,
        control: &mut mpsc::Receiver<Control>,
    ) -> Result<Result<Value, Fault>, BackendFailure> {
        let mut is_controlled = true;
        loop {
            let deadline = self.next_deadline();
            tokio::select! {
                message = self.session.hear() => {
                    let message = message?;
                    if let Incoming::Answer { id, outcome } = &message
                        && *id == self.id
                    {
                        return Ok(outcome.clone());
                    }
                    self.take(message).await?;
                    let signs = self.session.translator.signs();
                    if std::mem::replace(&mut self.signs, signs) != signs {
                        self.heard = Instant::now();
                    }
                }
                wish = control.recv(), if is_controlled => match wish {
                    Some(Control::Interrupt) => self.cancel(Why::Asked).await?,
                    // The protocol has no word for it.
                    Some(Control::Steer { taken, .. }) => drop(taken.send(Err(Refusal::Unable))),
                    None => is_controlled = false,
                },
                () = sleep_until(deadline) => self.late().await?,
            }
        }
    }

    async fn take(&mut self, message: Incoming) -> Result<(), BackendFailure> {
        let events = match message {
            Incoming::Notice { method, params } => self.session.translator.notice(&method, params),
            Incoming::Request { id, method, params } if method == "session/request_permission" => {
                return self.asked_for_leave(&id, params).await;
            }
            Incoming::Request { id, method, params } => {
                self.asked += 1;
                self.session.refuse(&id, &method, params).await?.into_iter().collect()
            }
            Incoming::Noise { bytes } => vec![other("unreadable", json!({ "bytes": bytes }))],
            // To a question that nobody waits for any more.
            Incoming::Answer { .. } => Vec::new(),
        };
        self.tell(events).await
    }

    async fn asked_for_leave(&mut self, id: &Value, params: Value) -> Result<(), BackendFailure> {
        self.asked += 1;
        let mut events = self.session.translator.asked(&params["toolCall"]);
        let (answer, verdict) = leave::decide(self.approval, &params["options"], self.stop.is_some());
        self.session.say(&wire::answer(id, &answer)).await?;
        if verdict == Verdict::Declined {
            self.declined += 1;
            let what = params["toolCall"]["kind"].as_str().unwrap_or("permission").to_owned();
            events.push(BackendEvent::Declined { what, detail: bounded(params) });
        }
        self.tell(events).await
    }

    /// Reports, and stops a turn that asks for too much.
    async fn tell(&mut self, events: Vec<BackendEvent>) -> Result<(), BackendFailure> {
        let began = events.iter().filter(|event| matches!(event, BackendEvent::ToolBegan { .. })).count();
        self.calls = self.calls.saturating_add(u32::try_from(began).unwrap_or(u32::MAX));
        report(self.sink, events).await;
        if self.calls > self.limits.calls {
            self.cancel(Why::TooManyCalls).await?;
        }
        // An agent asks once for a call, and once more after it for what we do not offer.
        if self.asked > self.limits.calls.saturating_mul(2).saturating_add(2) {
            self.cancel(Why::TooManyWishes).await?;
        }
        Ok(())
    }

    /// Asks the agent to stop. The protocol has no answer to that: the turn's end is waited for.
    async fn cancel(&mut self, why: Why) -> Result<(), BackendFailure> {
        if self.stop.is_some() {
            return Ok(());
        }
        self.stop = Some(Stop { why, until: Instant::now() + STOP_WITHIN });
        let params = json!({ "sessionId": self.session.thread() });
        self.session.say(&wire::notice("session/cancel", &params)).await
    }

    fn next_deadline(&self) -> Instant {
        let turn = self.began + self.limits.time;
        match &self.stop {
            Some(stop) => stop.until,
            None if self.session.translator.tool_works() => turn,
            None => turn.min(self.heard + self.limits.silence),
        }
    }

    async fn late(&mut self) -> Result<(), BackendFailure> {
        let now = Instant::now();
        match &self.stop {
            Some(stop) if stop.until <= now => {
                let why = self.failure_of(stop.why).map_or_else(String::new, |f| format!("{}; ", f.message));
                let seconds = STOP_WITHIN.as_secs();
                Err(BackendFailure::dead(format!(
                    "{why}the agent did not stop within {seconds} s and was ended"
                )))
            }
            Some(_) => Ok(()),
            None if self.began + self.limits.time <= now => {
                let waits = self.session.translator.waits_for_model();
                self.cancel(if waits { Why::Silent } else { Why::TooLong }).await
            }
            None => self.cancel(Why::Silent).await,
        }
    }

    fn end_of(&self, answer: &Result<Value, Fault>) -> TurnEnd {
        let stopped = self
            .stop
            .as_ref()
            .map(|stop| self.failure_of(stop.why).map_or(TurnEnd::Interrupted, TurnEnd::Failed));
        let failed =
            |message: String| TurnEnd::Failed(BackendFailure::new(FailureKind::BackendFailed, message));
        match answer {
            Ok(answer) => match answer["stopReason"].as_str() {
                Some("end_turn") => TurnEnd::Completed,
                // A no is an answer, though some agents end their turn with it.
                Some("cancelled") if stopped.is_none() && self.declined > 0 => TurnEnd::Completed,
                Some("cancelled") => {
                    stopped.unwrap_or_else(|| failed("the agent gave the turn up".to_owned()))
                }
                Some("max_tokens") => failed("the model came to the end of its tokens".to_owned()),
                Some("max_turn_requests") => {
                    failed("the agent asked its model too often in one turn".to_owned())
                }
                Some("refusal") => failed("the agent refuses to go on".to_owned()),
                Some(_) | None => {
                    failed("the agent ended the turn for a reason that we do not know".to_owned())
                }
            },
            Err(fault) => stopped.unwrap_or_else(|| TurnEnd::Failed(trouble::classify(fault))),
        }
    }

    fn failure_of(&self, why: Why) -> Option<BackendFailure> {
        let Limits { time, silence, calls } = self.limits;
        let message = match why {
            Why::Asked => return None,
            Why::Silent => {
                let seconds = silence.min(time).as_secs_f32();
                let message =
                    format!("the agent waited for its model provider and heard nothing for {seconds} s");
                return Some(BackendFailure::new(FailureKind::ProviderUnavailable, message));
            }
            Why::TooLong => format!("the turn took longer than {} s and was interrupted", time.as_secs_f32()),
            Why::TooManyCalls => format!("the model asked for more than {calls} tool calls in one turn"),
            Why::TooManyWishes => {
                format!("the agent asked for more than {} things in one turn", calls * 2 + 2)
            }
        };
        Some(BackendFailure::new(FailureKind::BackendFailed, message))
    }
}
