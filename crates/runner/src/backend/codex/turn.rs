//! One turn: what Codex says, what the runner wants, and the clock, until the turn has ended.

use std::time::Duration;

use guildhall_domain::FailureKind;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use super::session::{Session, report};
use super::terms::{input, sandbox};
use super::trouble::Trouble;
use super::wire::Incoming;
use crate::backend::{BackendEvent, BackendFailure, Control, Refusal, Setting, Sink, TurnEnd};

/// How long an interrupted turn may take to end. Then its process is ended.
const STOP_WITHIN: Duration = Duration::from_secs(10);

/// How long words may wait to be taken.
const STEER_WITHIN: Duration = Duration::from_secs(10);

/// Words that wait to be taken at the same time: more come from nobody.
const STEERS_AT_MOST: usize = 16;

pub(super) struct Turn<'a> {
    session: &'a mut Session,
    sink: &'a Sink,
    id: String,
    until: Instant,
    limits: Limits,
    calls: u32,
    declined: u32,
    steers: Vec<Steer>,
    stop: Option<Stop>,
    ended: Option<TurnEnd>,
}

#[derive(Clone, Copy)]
struct Limits {
    time: Duration,
    calls: u32,
}

/// Words that were sent and not yet taken.
struct Steer {
    id: u64,
    until: Instant,
    taken: oneshot::Sender<Result<(), Refusal>>,
}

/// Why the turn was interrupted, and when it must have ended.
struct Stop {
    why: Why,
    until: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Why {
    Asked,
    TooLong {
        /// The connection to the model was lost and has not come back.
        waits_for_model: bool,
    },
    TooManyCalls,
    TooManyWishes,
}

#[derive(Deserialize)]
struct Ended {
    turn: EndedTurn,
}

#[derive(Deserialize)]
struct EndedTurn {
    id: String,
    status: String,
    error: Option<Trouble>,
}

impl<'a> Turn<'a> {
    pub(super) async fn start(
        session: &'a mut Session,
        setting: &Setting,
        words: &str,
        sink: &'a Sink,
    ) -> Result<Self, BackendFailure> {
        session.translator.turn_begins();
        let until = Instant::now() + setting.turn_timeout;
        let params = json!({
            "threadId": session.thread(), "input": input(words), "approvalPolicy": setting.approval.as_str(),
            "approvalsReviewer": "user", "sandboxPolicy": sandbox(setting),
        });
        let answer = session.demand("turn/start", &params, sink).await?;
        let id = answer["turn"]["id"].as_str();
        let id = id.ok_or_else(|| BackendFailure::dead("codex began a turn without a name"))?.to_owned();
        let limits = Limits { time: setting.turn_timeout, calls: setting.tool_calls_at_most };
        let (steers, stop, ended) = (Vec::new(), None, None);
        Ok(Self { session, sink, id, until, limits, calls: 0, declined: 0, steers, stop, ended })
    }

    pub(super) async fn run(mut self, control: &mut mpsc::Receiver<Control>) -> TurnEnd {
        let end = self.until_the_end(control).await;
        // Whether words were taken by somebody who has died since is not known, so they count as not taken.
        for steer in self.steers {
            let _nobody_waits = steer.taken.send(Err(Refusal::Silent));
        }
        end.unwrap_or_else(TurnEnd::Failed)
    }

    async fn until_the_end(
        &mut self,
        control: &mut mpsc::Receiver<Control>,
    ) -> Result<TurnEnd, BackendFailure> {
        let mut is_controlled = true;
        loop {
            // Words that are on their way are waited for: whether they were taken must be known.
            if self.steers.is_empty()
                && let Some(end) = self.ended.take()
            {
                return Ok(end);
            }
            let (deadline, takes_wishes) = (self.next_deadline(), is_controlled && self.ended.is_none());
            tokio::select! {
                message = self.session.hear() => self.heard(message?).await?,
                wish = control.recv(), if takes_wishes => match wish {
                    Some(wish) => self.wished(wish).await?,
                    None => is_controlled = false,
                },
                () = sleep_until(deadline) => self.late().await?,
            }
        }
    }

    async fn heard(&mut self, message: Incoming) -> Result<(), BackendFailure> {
        match message {
            Incoming::Answer { id, outcome } => self.answered(id, outcome),
            Incoming::Notice { method, params } => {
                let ended = (method == "turn/completed").then(|| self.end_of(&params)).flatten();
                let events = self.session.translator.notice(&method, params);
                self.count(&events).await?;
                report(self.sink, events).await;
                self.ended = self.ended.take().or(ended);
            }
            message @ (Incoming::Request { .. } | Incoming::Noise { .. }) => {
                let events = self.session.take(message).await?;
                self.count(&events).await?;
                report(self.sink, events).await;
            }
        }
        Ok(())
    }

    fn answered(&mut self, id: u64, outcome: Result<Value, String>) {
        let Some(place) = self.steers.iter().position(|steer| steer.id == id) else { return };
        let steer = self.steers.swap_remove(place);
        let _nobody_waits = steer.taken.send(outcome.map(|_| ()).map_err(|why| refusal(&why)));
    }

    /// Counts what the model asks for. One that never has enough is stopped.
    async fn count(&mut self, events: &[BackendEvent]) -> Result<(), BackendFailure> {
        for event in events {
            self.calls += u32::from(matches!(event, BackendEvent::ToolBegan { .. }));
            self.declined += u32::from(matches!(event, BackendEvent::Declined { .. }));
        }
        if self.calls > self.limits.calls {
            self.interrupt(Why::TooManyCalls).await?;
        } else if self.declined > self.limits.calls {
            self.interrupt(Why::TooManyWishes).await?;
        }
        Ok(())
    }

    async fn wished(&mut self, wish: Control) -> Result<(), BackendFailure> {
        match wish {
            Control::Interrupt => self.interrupt(Why::Asked).await,
            // Words for a turn that is being stopped would be taken and lost.
            Control::Steer { taken, .. } if self.stop.is_some() => {
                let _nobody_waits = taken.send(Err(Refusal::NoTurn));
                Ok(())
            }
            Control::Steer { taken, .. } if self.steers.len() >= STEERS_AT_MOST => {
                let _nobody_waits = taken.send(Err(Refusal::Silent));
                Ok(())
            }
            Control::Steer { words, taken } => {
                let params = json!({
                    "threadId": self.session.thread(), "input": input(&words), "expectedTurnId": self.id,
                });
                let id = self.session.send("turn/steer", &params).await?;
                self.steers.push(Steer { id, until: Instant::now() + STEER_WITHIN, taken });
                Ok(())
            }
        }
    }

    /// Asks Codex to stop. Its answer is not waited for, since it may come late or never: the turn's end is.
    async fn interrupt(&mut self, why: Why) -> Result<(), BackendFailure> {
        if self.stop.is_some() || self.ended.is_some() {
            return Ok(());
        }
        self.stop = Some(Stop { why, until: Instant::now() + STOP_WITHIN });
        let params = json!({ "threadId": self.session.thread(), "turnId": self.id });
        self.session.send("turn/interrupt", &params).await?;
        Ok(())
    }

    fn next_deadline(&self) -> Instant {
        let turn = match (&self.ended, &self.stop) {
            (Some(_), _) => None,
            (None, Some(stop)) => Some(stop.until),
            (None, None) => Some(self.until),
        };
        let steers = self.steers.iter().map(|steer| steer.until);
        // There is always one: a turn that has ended waits for words alone.
        turn.into_iter().chain(steers).min().unwrap_or(self.until)
    }

    async fn late(&mut self) -> Result<(), BackendFailure> {
        let now = Instant::now();
        while let Some(place) = self.steers.iter().position(|steer| steer.until <= now) {
            let _nobody_waits = self.steers.swap_remove(place).taken.send(Err(Refusal::Silent));
        }
        if self.ended.is_some() {
            return Ok(());
        }
        match &self.stop {
            Some(stop) if stop.until <= now => {
                let why = self.failure_of(stop.why).map_or_else(String::new, |f| format!("{}; ", f.message));
                Err(BackendFailure::dead(format!(
                    "{why}codex did not stop within {} s and was ended",
                    STOP_WITHIN.as_secs()
                )))
            }
            None if self.until <= now => {
                let waits_for_model = !self.session.translator.is_connected();
                self.interrupt(Why::TooLong { waits_for_model }).await
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Reads the end of our turn, and of no other.
    fn end_of(&self, params: &Value) -> Option<TurnEnd> {
        let turn = Ended::deserialize(params).ok()?.turn;
        if turn.id != self.id {
            return None;
        }
        Some(match turn.status.as_str() {
            "completed" => TurnEnd::Completed,
            "interrupted" => match self.stop.as_ref().and_then(|stop| self.failure_of(stop.why)) {
                Some(failure) => TurnEnd::Failed(failure),
                None => TurnEnd::Interrupted,
            },
            _ => TurnEnd::Failed(turn.error.unwrap_or_default().classify()),
        })
    }

    fn failure_of(&self, why: Why) -> Option<BackendFailure> {
        let Limits { time, calls } = self.limits;
        let message = match why {
            Why::Asked => return None,
            Why::TooLong { waits_for_model: true } => {
                let message =
                    format!("the model provider did not answer for the {} s of the turn", time.as_secs_f32());
                return Some(BackendFailure::new(FailureKind::ProviderUnavailable, message));
            }
            Why::TooLong { waits_for_model: false } => {
                format!("the turn took longer than {} s and was interrupted", time.as_secs_f32())
            }
            Why::TooManyCalls => format!("the model asked for more than {calls} tool calls in one turn"),
            Why::TooManyWishes => format!("the model asked for leave more than {calls} times in one turn"),
        };
        Some(BackendFailure::new(FailureKind::BackendFailed, message))
    }
}

/// Refuses what came after the end.
pub(super) fn refuse_the_rest(control: &mut mpsc::Receiver<Control>) {
    while let Ok(wish) = control.try_recv() {
        match wish {
            Control::Steer { taken, .. } => drop(taken.send(Err(Refusal::NoTurn))),
            Control::Interrupt => {}
        }
    }
}

/// Tells why words were not taken. Codex has one code for all, so the text decides.
fn refusal(why: &str) -> Refusal {
    let ended = why.contains("no active turn") || why.contains("expected active turn id");
    if ended { Refusal::NoTurn } else { Refusal::Unable }
}
