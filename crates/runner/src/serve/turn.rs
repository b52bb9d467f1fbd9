//! One command: taken, played by the backend, ended when the server has all of its events.

use std::pin::pin;

use guildhall_domain::FailureKind;
use guildhall_domain::ids::CommandId;
use guildhall_domain::run::{Blocker, Ending, TerminalStatus};
use guildhall_protocol::rest::commands::CommandView;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::REST;
use super::run::Serving;
use super::take::{Taken, take_command};
use super::watch::Watch;
use crate::backend::{BackendEvent, BackendFailure, Begin, Sink, TurnEnd};
use crate::pump::send::{Flushed, Told, is_over};

impl Serving {
    /// Works through one command, and says how it ended when the server has all of its events.
    pub(super) async fn turn(&mut self, command: CommandView, stop: &CancellationToken) -> Flushed {
        let Ok(id) = command.command_id.parse::<CommandId>() else { return Flushed::Whole };
        if command.r#type != "turn" {
            let words = "no turn runs that this could go into";
            return self.end(id, &Ending::failed(FailureKind::Conflict, words)).await;
        }
        match take_command(&self.held, id, &self.lost).await {
            Taken::Ours => {}
            // It was cancelled before it began.
            Taken::Gone => return Flushed::Whole,
            Taken::Lost => return Flushed::Lost,
        }
        let (sink, reports) = Sink::new();
        let ended = match self.ready(&sink).await {
            Ok(()) => self.play(id, &words(&command.payload), &sink, reports, stop).await,
            Err(failure) => TurnEnd::Failed(failure),
        };
        if self.flush().await == Flushed::Lost {
            return Flushed::Lost;
        }
        if let TurnEnd::Failed(failure) = &ended {
            self.begun &= !failure.died;
        }
        self.end(id, &ending(ended)).await
    }

    /// Begins or resumes the thread, once for each life of the backend.
    async fn ready(&mut self, sink: &Sink) -> Result<(), BackendFailure> {
        if self.begun {
            return Ok(());
        }
        let begin = self.thread.clone().map_or(Begin::New, Begin::Resume);
        self.thread = Some(self.backend.begin(begin, sink).await?);
        self.begun = true;
        Ok(())
    }

    /// Plays a turn: its events go to the pump, and what the server asks for meanwhile goes to the backend.
    async fn play(
        &mut self,
        id: CommandId,
        words: &str,
        sink: &Sink,
        mut reports: mpsc::Receiver<BackendEvent>,
        stop: &CancellationToken,
    ) -> TurnEnd {
        let (controls, mut control) = mpsc::channel(8);
        let Self { backend, told, held, lost, from, waiting, .. } = self;
        let mut watch = pin!(Watch { held, from, waiting, id, controls: &controls, lost }.run(stop));
        let mut turn = backend.turn(words, sink, &mut control);
        let end = loop {
            tokio::select! {
                biased;
                () = lost.cancelled() => break TurnEnd::Failed(BackendFailure::dead("the run was lost")),
                Some(event) = reports.recv() => {
                    let _pump_gone = told.send(Told::Event(id, event)).await;
                }
                end = &mut turn => break end,
                // It watches for as long as the turn runs.
                () = &mut watch => {}
            }
        };
        drop(turn);
        while let Ok(event) = reports.try_recv() {
            let _pump_gone = told.send(Told::Event(id, event)).await;
        }
        end
    }

    async fn flush(&self) -> Flushed {
        let (answer, flushed) = oneshot::channel();
        if self.told.send(Told::Flush(answer)).await.is_err() {
            return Flushed::Lost;
        }
        flushed.await.unwrap_or(Flushed::Lost)
    }

    /// Says how a command ended, until the server has heard it.
    async fn end(&self, id: CommandId, ending: &Ending) -> Flushed {
        loop {
            let thread = self.thread.as_ref().map(|thread| thread.0.as_str());
            match self.held.finish(id, ending, thread).await {
                Ok(_) => return Flushed::Whole,
                Err(error) if is_over(&error) => return Flushed::Lost,
                Err(error) if error.kind() == Some(FailureKind::Conflict) => return Flushed::Whole,
                Err(error) => warn!("cannot say how {id} ended: {error}"),
            }
            tokio::select! {
                () = sleep(REST) => {}
                () = self.lost.cancelled() => return Flushed::Lost,
            }
        }
    }
}

/// Returns the words of a command.
pub(super) fn words(payload: &Value) -> String {
    let word = |name: &str| payload.get(name).and_then(Value::as_str);
    word("prompt").or_else(|| word("message")).or_else(|| word("text")).unwrap_or_default().to_owned()
}

fn ending(end: TurnEnd) -> Ending {
    match end {
        TurnEnd::Completed => Ending::COMPLETED,
        TurnEnd::Interrupted => Ending::cancelled("the turn was interrupted"),
        TurnEnd::Failed(failure) => Ending {
            status: TerminalStatus::Failed,
            failure: Some(Blocker { kind: failure.kind, message: failure.message }),
        },
    }
}
