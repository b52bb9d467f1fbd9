//! Handles what the server requests while a turn runs: to interrupt it, to steer it, or to queue the next command.

use std::convert::Infallible;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_domain::ids::{ApprovalId, CommandId};
use guildhall_domain::runs::TerminalOutcome;
use guildhall_protocol::rest::runners::WorkView;
use guildhall_protocol::rest::runs::commands::CommandView;
use guildhall_sdk::runner::{LeasedRun, PollCursor};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::ack::{AckResult, acknowledge_command};
use super::options::{POLL_TIMEOUT, RETRY_DELAY};
use super::prompt::prompt_text;
use crate::backend::{SteerError, TurnControl};
use crate::pump::event_pump::PumpMessage;
use crate::pump::runner_status::RunnerStatus;

/// How long a backend may take to accept or reject a steer.
const STEER_TIMEOUT: Duration = Duration::from_secs(10);

/// Polls the server while a turn runs.
pub(super) struct TurnWatcher<'a> {
    pub(super) held: &'a LeasedRun,
    pub(super) poll_from: &'a mut PollCursor,
    pub(super) queue: &'a mut Vec<CommandView>,
    pub(super) id: CommandId,
    pub(super) interrupt: TurnInterrupt<'a>,
    pub(super) lost: &'a CancellationToken,
    pub(super) drain: DrainSettings<'a>,
}

/// How to end a turn when the runner is asked to stop.
pub(super) struct DrainSettings<'a> {
    pub(super) stop: &'a CancellationToken,
    pub(super) timeout: Duration,
    pub(super) pump: &'a mpsc::Sender<PumpMessage>,
    pub(super) epoch: i64,
}

/// Whether the turn was asked to stop, and by whom.
#[derive(Debug, Default)]
pub(super) struct StopState {
    requested: CancellationToken,
    is_draining: AtomicBool,
    parked: OnceLock<ApprovalId>,
}

/// Interrupts the running turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct TurnInterrupt<'a> {
    pub(super) controls: &'a mpsc::Sender<TurnControl>,
    pub(super) state: &'a StopState,
}

impl TurnInterrupt<'_> {
    async fn send(&self) {
        self.state.requested.cancel();
        let _turn_over = self.controls.send(TurnControl::Interrupt).await;
    }

    /// Interrupts the turn because its question waits for longer than the agent does.
    pub(super) async fn park(&self, question: ApprovalId) {
        if !self.state.is_requested() {
            let _parked_before = self.state.parked.set(question);
        }
        self.send().await;
    }
}

impl StopState {
    /// Waits until a stop is requested.
    pub(super) async fn requested(&self) {
        self.requested.cancelled().await;
    }

    pub(super) fn is_requested(&self) -> bool {
        self.requested.is_cancelled()
    }

    /// Returns the question that the turn was parked for.
    pub(super) fn parked(&self) -> Option<ApprovalId> {
        self.parked.get().copied()
    }

    /// Returns whether the runner itself requested the stop first, because it shuts down.
    pub(super) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::SeqCst)
    }
}

impl TurnWatcher<'_> {
    /// Polls until it is dropped. A lost lease is handled by the lease keeper.
    pub(super) async fn run(mut self) -> Infallible {
        let mut drain_at: Option<Instant> = None;
        loop {
            let drain_timeout = sleep_until(drain_at.unwrap_or_else(Instant::now));
            let response = tokio::select! {
                response = self.held.poll(*self.poll_from, POLL_TIMEOUT) => response,
                () = self.drain.stop.cancelled(), if drain_at.is_none() => {
                    drain_at = Some(Instant::now() + self.drain.timeout);
                    let status = RunnerStatus::draining(self.drain.epoch, self.drain.timeout);
                    let _pump_gone = self.drain.pump.send(PumpMessage::RunnerStatus(status)).await;
                    continue;
                }
                () = drain_timeout, if drain_at.is_some() && !self.interrupt.state.is_requested() => {
                    self.interrupt.state.is_draining.store(true, Ordering::SeqCst);
                    self.interrupt.send().await;
                    continue;
                }
            };
            match response {
                Ok(work) => self.handle(work).await,
                Err(error) => {
                    warn!("cannot poll for commands: {error}");
                    sleep(RETRY_DELAY).await;
                }
            }
        }
    }

    async fn handle(&mut self, work: WorkView) {
        *self.poll_from = PollCursor::after(&work);
        let is_cancelled = work.cancel_command_ids.iter().any(|id| *id == self.id.to_string());
        if is_cancelled || work.run_status == "cancelling" {
            self.interrupt.send().await;
        }
        for steer in work.steers {
            self.steer(steer).await;
        }
        for command in work.commands {
            if command.r#type == "interrupt" {
                self.interrupt.send().await;
                self.finish_command(&command, &TerminalOutcome::COMPLETED).await;
            } else {
                self.queue.push(command);
            }
        }
    }

    /// Sends a steer to the turn. The command completes only when the backend has accepted it.
    async fn steer(&self, command: CommandView) {
        let (reply, response) = oneshot::channel();
        let control = TurnControl::Steer { text: prompt_text(&command.payload), reply };
        let Ok(id) = command.command_id.parse::<CommandId>() else { return };
        if acknowledge_command(self.held, id, self.lost).await != AckResult::Acknowledged {
            return;
        }
        let is_sent = self.interrupt.controls.send(control).await.is_ok();
        let result = if is_sent {
            timeout(STEER_TIMEOUT, response).await
        } else {
            Ok(Ok(Err(SteerError::NoActiveTurn)))
        };
        let failed =
            |error: SteerError| TerminalOutcome::failed(FailureKind::BackendFailed, error.to_string());
        let ending = match result {
            Ok(Ok(Ok(()))) => TerminalOutcome::COMPLETED,
            Ok(Ok(Err(error))) => failed(error),
            Ok(Err(_)) | Err(_) => failed(SteerError::Timeout),
        };
        self.finish_command(&command, &ending).await;
    }

    async fn finish_command(&self, command: &CommandView, ending: &TerminalOutcome) {
        let Ok(id) = command.command_id.parse::<CommandId>() else { return };
        let finished = match self.held.ack(id).await {
            Ok(_) => self.held.finish(id, ending, None).await,
            Err(error) => Err(error),
        };
        if let Err(error) = finished {
            warn!("cannot report the outcome of {id}: {error}");
        }
    }
}
