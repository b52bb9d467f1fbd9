//! Runs one command: acknowledged, worked on by the backend, and finished once the server has all of its events.

use std::sync::OnceLock;
use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_domain::approvals::approval::BlockingQuestion;
use guildhall_domain::ids::CommandId;
use guildhall_domain::runs::{FailureReason, TerminalOutcome, TerminalStatus};
use guildhall_protocol::rest::runs::commands::CommandView;
use guildhall_sdk::runner::LeasedRun;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::warn;
use uuid::Uuid;

use super::ack::{AckResult, acknowledge_command};
use super::active_run::ActiveRun;
use super::event_forwarder::EventForwarder;
use super::options::RETRY_DELAY;
use super::prompt::read_prompt;
use super::questions::{QUESTION_CAPACITY, QuestionForwarder, QuestionRequest};
use super::watch::{DrainSettings, StopState, TurnInterrupt, TurnWatcher};
use crate::backend::{Backend, BackendFailure, EventSink, ThreadId, ThreadStart, TurnControl, TurnOutcome};
use crate::child::{self, BackendProcesses};
use crate::lease::is_lease_lost;
use crate::pump::event_pump::{FlushResult, PumpMessage};

/// How long a turn may take to stop; longer than the backend's own timeout.
const STOP_TIMEOUT: Duration = Duration::from_secs(12);

/// Controls that wait for the backend.
const CONTROL_CAPACITY: usize = 8;

impl ActiveRun {
    /// Runs one command, and reports its outcome once the server has all of its events.
    pub(super) async fn run_command(
        &mut self,
        command: CommandView,
        stop: &CancellationToken,
    ) -> FlushResult {
        let Ok(id) = command.command_id.parse::<CommandId>() else { return FlushResult::Delivered };
        if command.r#type != "turn" {
            let message = "no turn is running that this command could apply to";
            return self.finish_command(id, &TerminalOutcome::failed(FailureKind::Conflict, message)).await;
        }
        match acknowledge_command(&self.held, id, &self.lost).await {
            AckResult::Acknowledged => {}
            // It was cancelled before it started.
            AckResult::AlreadyEnded => return FlushResult::Delivered,
            AckResult::LeaseLost => return FlushResult::LeaseLost,
        }
        let (sink, events) = EventSink::new();
        let (questions, pending) = mpsc::channel(QUESTION_CAPACITY);
        let (ordered, asked) = mpsc::channel(QUESTION_CAPACITY);
        let sink = sink.with_questions(questions);
        let mut forwarder =
            EventForwarder { id, pump: self.pump.clone(), events, questions: pending, ordered };
        let outcome = self.run_turn(&command.payload, &sink, asked, &mut forwarder, stop).await;
        forwarder.forward_remaining().await;
        if self.flush().await == FlushResult::LeaseLost {
            return FlushResult::LeaseLost;
        }
        if let Some(changes) = &self.changes {
            tokio::select! {
                () = changes.report(&self.held, id) => {}
                () = self.lost.cancelled() => return FlushResult::LeaseLost,
            }
        }
        self.finish_command(id, &ending(outcome)).await
    }

    /// Runs a turn: its events go to the pump, and the server's requests go to the backend. Starts the backend with a new
    /// or resumed thread first, unless it already runs. A backend that does not stop in time is killed with everything
    /// that it started.
    async fn run_turn(
        &mut self,
        payload: &Value,
        sink: &EventSink,
        mut asked: mpsc::Receiver<QuestionRequest>,
        forwarder: &mut EventForwarder,
        stop: &CancellationToken,
    ) -> TurnOutcome {
        let (controls, mut control) = mpsc::channel(CONTROL_CAPACITY);
        let (id, stop_state) = (forwarder.id, &StopState::default());
        let thread =
            (!self.is_started).then(|| self.thread.clone().map_or(ThreadStart::New, ThreadStart::Resume));
        if thread.is_some() {
            self.process = Uuid::now_v7().to_string();
        }
        let secrets = self.secrets.clone();
        let Self { backend, pump, held, lost, poll_from, queue, epoch, drain_timeout, process, .. } = self;
        let interrupt = TurnInterrupt { controls: &controls, state: stop_state };
        let mut question_forwarder = QuestionForwarder::new(held, id, process, interrupt, &secrets);
        let drain = DrainSettings { stop, timeout: *drain_timeout, pump, epoch: *epoch };
        let watcher = TurnWatcher { held, poll_from, queue, id, interrupt, lost, drain }.run();
        let stop_overdue = async {
            stop_state.requested().await;
            sleep(STOP_TIMEOUT).await;
        };
        let started = StartedBackend::default();
        let work = TurnWork { backend, held, payload, thread, sink, stop_state, started: &started };
        let work = work.run(&mut control);
        let outcome = tokio::select! {
            biased;
            () = lost.cancelled() => TurnOutcome::Failed(lease_lost()),
            outcome = forwarder.forward_during(work) => outcome,
            () = stop_overdue => {
                child::kill_backends();
                TurnOutcome::Failed(BackendFailure::died("the turn did not stop in time, and was killed"))
            }
            never = watcher => match never {},
            never = question_forwarder.run(&mut asked) => match never {},
        };
        // Closes the questions that nobody waits for.
        drop(asked);
        if !lost.is_cancelled() {
            question_forwarder.finish().await;
        }
        if let Some(thread) = started.thread.get() {
            self.thread = Some(thread.clone());
            self.is_started = true;
        }
        if let TurnOutcome::Failed(failure) = &outcome {
            self.is_started &= !failure.died;
        }
        let outcome = outcome_after_stop(outcome, stop_state, started.processes.get());
        self.is_parked = stop_state.parked().is_some() && outcome == TurnOutcome::Interrupted;
        blocked_if_parked(outcome, stop_state)
    }

    /// Delivers all events to the server.
    pub(super) async fn flush(&self) -> FlushResult {
        let (reply, result) = oneshot::channel();
        if self.pump.send(PumpMessage::Flush(reply)).await.is_err() {
            return FlushResult::LeaseLost;
        }
        result.await.unwrap_or(FlushResult::LeaseLost)
    }

    /// Reports the outcome of a command. Retries until the server responds.
    async fn finish_command(&self, id: CommandId, ending: &TerminalOutcome) -> FlushResult {
        loop {
            let thread = self.thread.as_ref().map(|thread| thread.0.as_str());
            let response = tokio::select! {
                response = self.held.finish(id, ending, thread) => response,
                () = self.lost.cancelled() => return FlushResult::LeaseLost,
            };
            match response {
                Ok(_) => return FlushResult::Delivered,
                Err(error) if is_lease_lost(&error) => return FlushResult::LeaseLost,
                Err(error) if error.kind() == Some(FailureKind::Conflict) => return FlushResult::Delivered,
                Err(error) => warn!("cannot report the outcome of {id}: {error}"),
            }
            tokio::select! {
                () = sleep(RETRY_DELAY) => {}
                () = self.lost.cancelled() => return FlushResult::LeaseLost,
            }
        }
    }
}

fn lease_lost() -> BackendFailure {
    BackendFailure::died("the lease of the run was lost")
}

/// What is known of a backend once it has started.
#[derive(Default)]
struct StartedBackend {
    thread: OnceLock<ThreadId>,
    /// The processes before the turn.
    processes: OnceLock<BackendProcesses>,
}

/// What the backend does in one turn.
struct TurnWork<'a> {
    backend: &'a mut Box<dyn Backend>,
    held: &'a LeasedRun,
    payload: &'a Value,
    /// None if the backend has its thread open.
    thread: Option<ThreadStart>,
    sink: &'a EventSink,
    stop_state: &'a StopState,
    started: &'a StartedBackend,
}

impl TurnWork<'_> {
    async fn run(self, control: &mut mpsc::Receiver<TurnControl>) -> TurnOutcome {
        let Self { backend, held, payload, thread, sink, stop_state, started } = self;
        let prompt = tokio::select! {
            biased;
            () = stop_state.requested() => return TurnOutcome::Interrupted,
            prompt = read_prompt(held, payload) => prompt,
        };
        let prompt = match prompt {
            Ok(prompt) => prompt,
            Err(failure) => return TurnOutcome::Failed(failure),
        };
        if let Some(thread) = thread {
            let opened = tokio::select! {
                biased;
                () = stop_state.requested() => return TurnOutcome::Interrupted,
                opened = backend.start(thread, sink) => opened,
            };
            match opened {
                Ok(thread) => drop(started.thread.set(thread)),
                Err(failure) => return TurnOutcome::Failed(failure),
            }
        }
        drop(started.processes.set(BackendProcesses::list()));
        backend.run_turn(&prompt, sink, control).await
    }
}

/// Returns the outcome of a turn that may have been asked to stop. Nothing that such a turn started continues; `before`
/// are the processes before the turn, if it began.
fn outcome_after_stop(
    outcome: TurnOutcome,
    stop_state: &StopState,
    before: Option<&BackendProcesses>,
) -> TurnOutcome {
    let died = matches!(&outcome, TurnOutcome::Failed(failure) if failure.died);
    if !stop_state.is_requested() || !(died || outcome == TurnOutcome::Interrupted) {
        return outcome;
    }
    if let Some(before) = before {
        before.kill_newer();
    }
    if stop_state.is_draining() {
        let message = "the runner is shutting down and interrupted the turn: changes made before that remain";
        return TurnOutcome::Failed(BackendFailure::new(FailureKind::InfraFailed, message));
    }
    TurnOutcome::Interrupted
}

/// Returns the outcome of a turn: one that was interrupted because nobody answers its question names the question.
fn blocked_if_parked(outcome: TurnOutcome, stop_state: &StopState) -> TurnOutcome {
    match stop_state.parked() {
        Some(question) if outcome == TurnOutcome::Interrupted => {
            TurnOutcome::Blocked(BlockingQuestion(question).to_string())
        }
        Some(_) | None => outcome,
    }
}

fn ending(outcome: TurnOutcome) -> TerminalOutcome {
    match outcome {
        TurnOutcome::Completed => TerminalOutcome::COMPLETED,
        TurnOutcome::Interrupted => TerminalOutcome::cancelled("the turn was interrupted"),
        TurnOutcome::Blocked(message) => TerminalOutcome {
            status: TerminalStatus::Blocked,
            failure: Some(FailureReason { kind: FailureKind::TenantPolicyDenied, message }),
        },
        TurnOutcome::Failed(failure) => TerminalOutcome {
            status: TerminalStatus::Failed,
            failure: Some(FailureReason { kind: failure.kind, message: failure.message }),
        },
    }
}
