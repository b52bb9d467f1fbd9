//! What the server asks for while a turn runs: to interrupt it, to put words into it, to wait for the next.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_domain::ids::CommandId;
use guildhall_domain::runs::Ending;
use guildhall_protocol::rest::runners::WorkView;
use guildhall_protocol::rest::runs::commands::CommandView;
use guildhall_sdk::runner::{HeldRun, PollFrom};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::take::{Taken, take_command};
use super::turn::words;
use super::{POLL_WAIT, REST};
use crate::backend::{Control, Refusal};
use crate::pump::note::Note;
use crate::pump::send::Told;

/// How long a backend may take to say whether it took words into a turn.
const STEER_WITHIN: Duration = Duration::from_secs(10);

/// Looks what the server asks for while a turn runs.
pub(super) struct Watch<'a> {
    pub(super) held: &'a HeldRun,
    pub(super) from: &'a mut PollFrom,
    pub(super) waiting: &'a mut Vec<CommandView>,
    pub(super) id: CommandId,
    pub(super) controls: &'a mpsc::Sender<Control>,
    pub(super) lost: &'a CancellationToken,
    pub(super) stopping: &'a Stopping,
    pub(super) drain: Drain<'a>,
}

/// How a turn comes to its end when the runner was told to stop.
pub(super) struct Drain<'a> {
    pub(super) stop: &'a CancellationToken,
    pub(super) within: Duration,
    pub(super) told: &'a mpsc::Sender<Told>,
    pub(super) epoch: i64,
}

/// That a turn was asked to stop, and on whose account.
#[derive(Debug, Default)]
pub(super) struct Stopping {
    asked: CancellationToken,
    drains: AtomicBool,
}

impl Stopping {
    /// Waits until somebody asks.
    pub(super) async fn asked(&self) {
        self.asked.cancelled().await;
    }

    pub(super) fn is_asked(&self) -> bool {
        self.asked.is_cancelled()
    }

    /// Returns whether the runner itself asked first, because it has to go.
    pub(super) fn drains(&self) -> bool {
        self.drains.load(Ordering::SeqCst)
    }
}

impl Watch<'_> {
    /// Never ends by itself: a run that is lost is noticed by whoever holds it.
    pub(super) async fn run(mut self) -> Infallible {
        let mut drain_at: Option<Instant> = None;
        loop {
            let drained = sleep_until(drain_at.unwrap_or_else(Instant::now));
            let polled = tokio::select! {
                polled = self.held.poll(*self.from, POLL_WAIT) => polled,
                () = self.drain.stop.cancelled(), if drain_at.is_none() => {
                    drain_at = Some(Instant::now() + self.drain.within);
                    let note = Note::draining(self.drain.epoch, self.drain.within);
                    let _pump_gone = self.drain.told.send(Told::Note(note)).await;
                    continue;
                }
                () = drained, if drain_at.is_some() && !self.stopping.is_asked() => {
                    self.stopping.drains.store(true, Ordering::SeqCst);
                    self.interrupt().await;
                    continue;
                }
            };
            match polled {
                Ok(work) => self.heed(work).await,
                Err(error) => {
                    warn!("cannot look for what the server asks: {error}");
                    sleep(REST).await;
                }
            }
        }
    }

    async fn heed(&mut self, work: WorkView) {
        *self.from = PollFrom::after(&work);
        let is_ours = work.cancel_command_ids.iter().any(|id| *id == self.id.to_string());
        if is_ours || work.run_status == "cancelling" {
            self.interrupt().await;
        }
        for steer in work.steers {
            self.steer(steer).await;
        }
        for command in work.commands {
            if command.r#type == "interrupt" {
                self.interrupt().await;
                self.settle(&command, &Ending::COMPLETED).await;
            } else {
                self.waiting.push(command);
            }
        }
    }

    async fn interrupt(&self) {
        self.stopping.asked.cancel();
        let _turn_over = self.controls.send(Control::Interrupt).await;
    }

    /// Puts words into the turn. The command completes only when the backend has taken them.
    async fn steer(&self, command: CommandView) {
        let (taken, answer) = oneshot::channel();
        let control = Control::Steer { words: words(&command.payload), taken };
        let Ok(id) = command.command_id.parse::<CommandId>() else { return };
        if take_command(self.held, id, self.lost).await != Taken::Ours {
            return;
        }
        let sent = self.controls.send(control).await.is_ok();
        let outcome = if sent { timeout(STEER_WITHIN, answer).await } else { Ok(Ok(Err(Refusal::NoTurn))) };
        let ending = match outcome {
            Ok(Ok(Ok(()))) => Ending::COMPLETED,
            Ok(Ok(Err(refusal))) => Ending::failed(FailureKind::BackendFailed, refusal.to_string()),
            Ok(Err(_)) | Err(_) => Ending::failed(FailureKind::BackendFailed, Refusal::Silent.to_string()),
        };
        self.settle(&command, &ending).await;
    }

    async fn settle(&self, command: &CommandView, ending: &Ending) {
        let Ok(id) = command.command_id.parse::<CommandId>() else { return };
        let taken = self.held.ack(id).await;
        let settled = match taken {
            Ok(_) => self.held.finish(id, ending, None).await,
            Err(error) => Err(error),
        };
        if let Err(error) = settled {
            warn!("cannot say how {id} ended: {error}");
        }
    }
}
