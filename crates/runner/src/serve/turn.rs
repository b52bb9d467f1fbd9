//! One command: taken, played by the backend, ended when the server has all of its events.

use std::pin::pin;
use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_domain::ids::CommandId;
use guildhall_domain::runs::{Blocker, Ending, TerminalStatus};
use guildhall_protocol::rest::runs::commands::CommandView;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::REST;
use super::run::Serving;
use super::take::{Taken, take_command};
use super::watch::{Drain, Stopping, Watch};
use crate::backend::{BackendEvent, BackendFailure, Begin, Sink, TurnEnd};
use crate::child;
use crate::pump::send::{Flushed, Told, is_over};

/// How long a turn may take to stop; a backend's own patience ends before.
const STOP_WITHIN: Duration = Duration::from_secs(12);

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
        let mut telling = Telling { id, told: self.told.clone(), reports };
        let ended = match self.ready(&sink, &mut telling).await {
            Ok(()) => self.play(&words(&command.payload), &sink, &mut telling, stop).await,
            Err(failure) => TurnEnd::Failed(failure),
        };
        telling.rest().await;
        if self.flush().await == Flushed::Lost {
            return Flushed::Lost;
        }
        self.end(id, &ending(ended)).await
    }

    /// Begins or resumes the thread, once for each life of the backend.
    async fn ready(&mut self, sink: &Sink, telling: &mut Telling) -> Result<(), BackendFailure> {
        if self.begun {
            return Ok(());
        }
        let begin = self.thread.clone().map_or(Begin::New, Begin::Resume);
        let began = tokio::select! {
            biased;
            () = self.lost.cancelled() => Err(BackendFailure::dead("the run was lost")),
            began = telling.during(self.backend.begin(begin, sink)) => began,
        };
        self.thread = Some(began?);
        self.begun = true;
        Ok(())
    }

    /// Plays a turn: its events go to the pump, and what the server asks for meanwhile goes to the backend. One that
    /// does not stop when it is asked to is ended with all that it started.
    async fn play(
        &mut self,
        words: &str,
        sink: &Sink,
        telling: &mut Telling,
        stop: &CancellationToken,
    ) -> TurnEnd {
        let (controls, mut control) = mpsc::channel(8);
        let (id, stopping) = (telling.id, Stopping::default());
        let Self { backend, told, held, lost, from, waiting, epoch, drain_within, .. } = self;
        let drain = Drain { stop, within: *drain_within, told, epoch: *epoch };
        let watch =
            Watch { held, from, waiting, id, controls: &controls, lost, stopping: &stopping, drain }.run();
        let overdue = async {
            stopping.asked().await;
            sleep(STOP_WITHIN).await;
        };
        let end = tokio::select! {
            biased;
            () = lost.cancelled() => TurnEnd::Failed(BackendFailure::dead("the run was lost")),
            end = telling.during(backend.turn(words, sink, &mut control)) => end,
            () = overdue => {
                child::end_backends();
                TurnEnd::Failed(BackendFailure::dead("the turn did not stop, and was ended"))
            }
            never = watch => match never {},
        };
        if let TurnEnd::Failed(failure) = &end {
            self.begun &= !failure.died;
        }
        settled(end, &stopping)
    }

    pub(super) async fn flush(&self) -> Flushed {
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
            let said = tokio::select! {
                said = self.held.finish(id, ending, thread) => said,
                () = self.lost.cancelled() => return Flushed::Lost,
            };
            match said {
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

/// Says how a turn ended that may have been asked to stop.
fn settled(end: TurnEnd, stopping: &Stopping) -> TurnEnd {
    let died = matches!(&end, TurnEnd::Failed(failure) if failure.died);
    if !stopping.is_asked() || !(died || end == TurnEnd::Interrupted) {
        return end;
    }
    // A backend ends what it knows of; what has left its parents behind is ended here.
    child::end_orphans();
    if stopping.drains() {
        let words = "the runner was told to stop and interrupted the turn: what it did until then is done";
        return TurnEnd::Failed(BackendFailure::new(FailureKind::InfraFailed, words));
    }
    TurnEnd::Interrupted
}

/// Where the reports of one command's backend go.
struct Telling {
    id: CommandId,
    told: mpsc::Sender<Told>,
    reports: mpsc::Receiver<BackendEvent>,
}

impl Telling {
    /// Waits for something of the backend; what it reports meanwhile goes to the pump.
    async fn during<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                biased;
                Some(event) = self.reports.recv() => self.tell(event).await,
                done = &mut work => return done,
            }
        }
    }

    /// Passes on what was reported last: also by a backend that could not begin.
    async fn rest(&mut self) {
        while let Ok(event) = self.reports.try_recv() {
            self.tell(event).await;
        }
    }

    async fn tell(&self, event: BackendEvent) {
        let _pump_gone = self.told.send(Told::Event(self.id, event)).await;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_backend_that_says_more_than_the_sink_holds_and_does_not_begin_is_heard_to_the_end() {
        let (sink, reports) = Sink::new();
        let (told, mut tellings) = mpsc::channel(1000);
        let mut telling = Telling { id: CommandId::generate(), told, reports };
        let beginning = async {
            for number in 0..600 {
                let (item, text) = (number.to_string(), String::new());
                sink.report(BackendEvent::TextDelta { item, text }).await;
            }
            "does not begin"
        };
        let within = Duration::from_secs(10);
        assert_eq!(tokio::time::timeout(within, telling.during(beginning)).await, Ok("does not begin"));
        telling.rest().await;
        drop(telling);
        let mut items = Vec::new();
        while let Some(Told::Event(_, BackendEvent::TextDelta { item, .. })) = tellings.recv().await {
            items.push(item);
        }
        assert_eq!(items, (0..600).map(|number| number.to_string()).collect::<Vec<_>>());
    }
}
