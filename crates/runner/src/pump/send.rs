//! Batches, and the way of a batch to the server: written down, sent until acknowledged, forgotten.

use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_domain::ids::CommandId;
use guildhall_domain::runs::event;
use guildhall_protocol::rest::runners::NewEvent;
use guildhall_sdk::ClientError;
use guildhall_sdk::runner::HeldRun;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::mixer::{Mixer, Report};
use super::note::Note;
use super::veil::Known;
use crate::backend::BackendEvent;
use crate::spool::{Spool, Why};

/// A batch goes out with this many events, or bytes, or after this long.
const EVENTS_AT_MOST: usize = 100;
const BYTES_AT_MOST: usize = 256 * 1024;
const WAIT_AT_MOST: Duration = Duration::from_millis(200);

/// Between two attempts, at most.
const REST_AT_MOST: Duration = Duration::from_secs(2);

/// What the pump is told.
#[derive(Debug)]
pub enum Told {
    /// Something of a command happened.
    Event(CommandId, BackendEvent),
    /// Something of the runner itself.
    Note(Note),
    /// Everything so far shall be with the server before the answer.
    Flush(oneshot::Sender<Flushed>),
}

/// Whether the server has everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flushed {
    Whole,
    /// The run belongs to somebody else now: what is left stays on disk.
    Lost,
}

/// The pump of one run under one epoch.
#[derive(Debug)]
pub struct Pump {
    held: HeldRun,
    spool: Spool,
    known: Known,
    epoch: i64,
    sent: u64,
    /// Events that the server refused for good.
    refused: u64,
    /// The command whose events are mixed now.
    mixing: Option<(CommandId, Mixer)>,
    batch: Vec<NewEvent>,
    bytes: usize,
    /// Cancelled when the run is not ours any more.
    lost: CancellationToken,
}

impl Pump {
    #[must_use]
    pub fn new(held: HeldRun, spool: Spool, known: Known, epoch: i64, lost: CancellationToken) -> Self {
        Self {
            held,
            spool,
            known,
            epoch,
            sent: 0,
            refused: 0,
            mixing: None,
            batch: Vec::new(),
            bytes: 0,
            lost,
        }
    }

    /// Works until everybody who could tell something is gone, or the run is lost.
    pub async fn run(mut self, mut told: mpsc::Receiver<Told>) {
        let mut due = None;
        loop {
            let next = match due {
                Some(at) => timeout_at(at, told.recv()).await.ok(),
                None => Some(told.recv().await),
            };
            match next {
                // The batch has waited long enough.
                None => {
                    self.settle();
                    self.send().await;
                    due = None;
                }
                Some(None) => break,
                Some(Some(Told::Event(command, event))) => {
                    self.take(command, event);
                    due = due.or_else(|| Some(Instant::now() + WAIT_AT_MOST));
                    if self.batch.len() >= EVENTS_AT_MOST || self.bytes >= BYTES_AT_MOST {
                        self.send().await;
                    }
                }
                Some(Some(Told::Note(note))) => {
                    self.settle();
                    self.note(note);
                    due = due.or_else(|| Some(Instant::now() + WAIT_AT_MOST));
                }
                Some(Some(Told::Flush(answer))) => {
                    self.finish_mixing();
                    let flushed = self.send().await;
                    due = None;
                    let _asker_gone = answer.send(flushed);
                }
            }
        }
        self.finish_mixing();
        self.send().await;
        if let Err(error) = self.spool.close().await {
            warn!(error = &error as &dyn std::error::Error, "cannot close the spool");
        }
    }

    fn take(&mut self, command: CommandId, event: BackendEvent) {
        if self.mixing.as_ref().is_none_or(|(mixing, _)| *mixing != command) {
            self.finish_mixing();
            self.mixing = Some((command, Mixer::new(self.known.clone())));
        }
        let Some((_, mixer)) = &mut self.mixing else { return };
        let reports = mixer.push(event);
        self.add(command, reports);
    }

    fn settle(&mut self) {
        let Some((command, mixer)) = &mut self.mixing else { return };
        let (command, reports) = (*command, mixer.settle());
        self.add(command, reports);
    }

    fn finish_mixing(&mut self) {
        let Some((command, mut mixer)) = self.mixing.take() else { return };
        let reports = mixer.finish();
        self.add(command, reports);
    }

    /// Gives reports their ids: the same however often they are sent.
    fn add(&mut self, command: CommandId, reports: Vec<Report>) {
        for report in reports {
            self.sent += 1;
            self.bytes += report.size();
            self.batch.push(NewEvent {
                id: format!("{}-{}", self.epoch, self.sent),
                r#type: report.kind,
                command_id: Some(command.to_string()),
                payload: report.payload,
            });
        }
    }

    /// Sends what waits, until the server has it or the run is lost.
    async fn send(&mut self) -> Flushed {
        let flushed = self.send_batch().await;
        // What was refused is said in the run at once.
        if flushed == Flushed::Whole && !self.batch.is_empty() { self.send_batch().await } else { flushed }
    }

    async fn send_batch(&mut self) -> Flushed {
        let batch = std::mem::take(&mut self.batch);
        self.bytes = 0;
        if self.lost.is_cancelled() {
            self.keep(&batch).await;
            return Flushed::Lost;
        }
        if batch.is_empty() {
            return Flushed::Whole;
        }
        self.keep(&batch).await;
        for part in batch.chunks(EVENTS_AT_MOST) {
            if self.deliver_or_set_aside(part).await == Delivered::Lost {
                return Flushed::Lost;
            }
        }
        if let Err(error) = self.spool.clear().await {
            warn!(error = &error as &dyn std::error::Error, "cannot clear the spool");
        }
        Flushed::Whole
    }

    fn note(&mut self, note: Note) {
        let kind = event::BACKEND_STATUS.to_owned();
        self.batch.push(NewEvent { id: note.id, r#type: kind, command_id: None, payload: note.payload });
    }

    /// Sends events. Of those that the server refuses, each is tried alone: one bad event takes no other with it. It is
    /// set aside on disk and the run says so; the turn goes on.
    async fn deliver_or_set_aside(&mut self, events: &[NewEvent]) -> Delivered {
        let mut parts = vec![events];
        while let Some(part) = parts.pop() {
            match self.deliver(part).await {
                Delivered::Taken => {}
                Delivered::Refused if part.len() > 1 => {
                    let (first, second) = part.split_at(part.len() / 2);
                    parts.extend([second, first]);
                }
                Delivered::Refused => self.set_aside(part).await,
                Delivered::Lost => return Delivered::Lost,
            }
        }
        Delivered::Taken
    }

    async fn set_aside(&mut self, events: &[NewEvent]) {
        // A word about a word that was refused would go on for ever.
        if events.iter().all(|event| event.id.starts_with("refused-")) {
            return;
        }
        self.refused += 1;
        let folder = self.spool.place().1.to_owned();
        let kept = async {
            let mut aside = Spool::open_for(&folder, self.held.run(), self.epoch, Why::Refused).await?;
            aside.keep(events).await?;
            std::io::Result::Ok(aside.place().0)
        };
        match kept.await {
            Ok(file) => self.note(Note::refused(self.epoch, self.refused, events.len(), &file)),
            Err(error) => warn!(error = &error as &dyn std::error::Error, "cannot keep refused events"),
        }
    }

    async fn keep(&mut self, batch: &[NewEvent]) {
        if let Err(error) = self.spool.keep(batch).await {
            warn!(error = &error as &dyn std::error::Error, "cannot write events down before they are sent");
        }
    }

    async fn deliver(&self, events: &[NewEvent]) -> Delivered {
        let mut rest = Duration::from_millis(50);
        loop {
            let answer = tokio::select! {
                answer = self.held.append(events) => answer,
                () = self.lost.cancelled() => return Delivered::Lost,
            };
            match answer {
                Ok(_) => return Delivered::Taken,
                Err(error) if is_over(&error) => {
                    warn!("the run is held by somebody else, or has ended: {error}");
                    self.lost.cancel();
                    return Delivered::Lost;
                }
                Err(error) if is_refused(&error) => {
                    warn!("the server refuses {} events for good: {error}", events.len());
                    return Delivered::Refused;
                }
                Err(error) => warn!("the server did not take {} events: {error}", events.len()),
            }
            tokio::select! {
                () = sleep(rest) => {}
                () = self.lost.cancelled() => return Delivered::Lost,
            }
            rest = (rest * 2).min(REST_AT_MOST);
        }
    }
}

/// What became of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Delivered {
    Taken,
    /// The same words will be refused again.
    Refused,
    Lost,
}

/// Returns whether the run is not ours any more.
pub(crate) fn is_over(error: &ClientError) -> bool {
    matches!(
        error.kind(),
        Some(FailureKind::RunnerLeaseConflict | FailureKind::Unauthenticated | FailureKind::NotFound)
    )
}

/// Returns whether the same request will be refused again.
fn is_refused(error: &ClientError) -> bool {
    error.kind().is_some_and(|kind| kind.row().retry != guildhall_domain::Retry::Later)
}
