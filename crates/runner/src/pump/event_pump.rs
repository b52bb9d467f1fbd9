//! Batches events and delivers each batch: spooled to disk, sent until acknowledged, then cleared.

use std::time::Duration;

use guildhall_domain::ids::CommandId;
use guildhall_domain::runs::event;
use guildhall_protocol::rest::runners::NewEvent;
use guildhall_sdk::ClientError;
use guildhall_sdk::runner::LeasedRun;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::coalesce::{DeltaCoalescer, OutgoingEvent};
use super::redact::RunSecrets;
use super::runner_status::RunnerStatus;
use crate::backend::BackendEvent;
use crate::lease::is_lease_lost;
use crate::run_log::LogLine;
use crate::spool::{Spool, SpoolKind};

/// A batch is sent when it has this many events or bytes, or after this delay.
const MAX_BATCH_EVENTS: usize = 100;
const MAX_BATCH_BYTES: usize = 256 * 1024;
const MAX_BATCH_DELAY: Duration = Duration::from_millis(200);

/// Backoff between two attempts to send a batch.
const MIN_BACKOFF: Duration = Duration::from_millis(50);
const MAX_BACKOFF: Duration = Duration::from_secs(2);

/// A message to the pump.
#[derive(Debug)]
pub enum PumpMessage {
    /// An event of the backend while it works on a command.
    Event(CommandId, BackendEvent),
    /// A status of the runner itself.
    RunnerStatus(RunnerStatus),
    /// A line of the runner's log.
    Log(LogLine),
    /// Deliver the events so far, then reply. The command goes on: what is held back to be redacted stays.
    Deliver(oneshot::Sender<FlushResult>),
    /// Deliver everything so far, then reply. The command has ended.
    Flush(oneshot::Sender<FlushResult>),
}

/// Whether the server has received everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlushResult {
    Delivered,
    /// Another runner holds the run now: the rest stays on disk.
    LeaseLost,
}

/// Delivers the events of one run under one epoch.
#[derive(Debug)]
pub struct EventPump {
    held: LeasedRun,
    spool: Spool,
    secrets: RunSecrets,
    epoch: i64,
    /// Number of events so far; part of their ids.
    event_count: u64,
    /// Number of log lines so far; part of their ids.
    log_count: u64,
    /// Number of times that the server rejected events permanently.
    rejection_count: u64,
    /// The command whose events are coalesced now.
    current: Option<(CommandId, DeltaCoalescer)>,
    batch: Vec<NewEvent>,
    batch_bytes: usize,
    /// Cancelled when the lease is lost.
    lost: CancellationToken,
}

impl EventPump {
    #[must_use]
    pub fn new(
        held: LeasedRun,
        spool: Spool,
        secrets: RunSecrets,
        epoch: i64,
        lost: CancellationToken,
    ) -> Self {
        Self {
            held,
            spool,
            secrets,
            epoch,
            event_count: 0,
            log_count: 0,
            rejection_count: 0,
            current: None,
            batch: Vec::new(),
            batch_bytes: 0,
            lost,
        }
    }

    /// Delivers events until all senders are dropped.
    pub async fn run(mut self, mut messages: mpsc::Receiver<PumpMessage>) {
        let mut send_at = None;
        loop {
            let next = match send_at {
                Some(at) => timeout_at(at, messages.recv()).await.ok(),
                None => Some(messages.recv().await),
            };
            match next {
                // The delay of the batch is over.
                None => {
                    self.flush_pending();
                    self.send().await;
                    send_at = None;
                }
                Some(None) => break,
                Some(Some(PumpMessage::Event(command, event))) => {
                    self.push(command, event);
                    send_at = send_at.or_else(|| Some(Instant::now() + MAX_BATCH_DELAY));
                    if self.batch.len() >= MAX_BATCH_EVENTS || self.batch_bytes >= MAX_BATCH_BYTES {
                        self.send().await;
                    }
                }
                Some(Some(PumpMessage::RunnerStatus(status))) => {
                    self.flush_pending();
                    self.push_status(status);
                    send_at = send_at.or_else(|| Some(Instant::now() + MAX_BATCH_DELAY));
                }
                Some(Some(PumpMessage::Log(line))) => {
                    self.flush_pending();
                    self.push_log(line);
                    send_at = send_at.or_else(|| Some(Instant::now() + MAX_BATCH_DELAY));
                }
                Some(Some(PumpMessage::Deliver(reply))) => {
                    self.flush_pending();
                    let result = self.send().await;
                    send_at = None;
                    let _receiver_gone = reply.send(result);
                }
                Some(Some(PumpMessage::Flush(reply))) => {
                    self.finish_command();
                    let result = self.send().await;
                    send_at = None;
                    let _receiver_gone = reply.send(result);
                }
            }
        }
        self.finish_command();
        self.send().await;
        if let Err(error) = self.spool.close().await {
            warn!(error = &error as &dyn std::error::Error, "cannot close the spool");
        }
    }

    fn push(&mut self, command: CommandId, event: BackendEvent) {
        if self.current.as_ref().is_none_or(|(current, _)| *current != command) {
            self.finish_command();
            self.current = Some((command, DeltaCoalescer::new(self.secrets.clone())));
        }
        let Some((_, coalescer)) = &mut self.current else { return };
        let events = coalescer.push(event);
        self.add_to_batch(command, events);
    }

    fn flush_pending(&mut self) {
        let Some((command, coalescer)) = &mut self.current else { return };
        let (command, events) = (*command, coalescer.flush());
        self.add_to_batch(command, events);
    }

    fn finish_command(&mut self) {
        let Some((command, mut coalescer)) = self.current.take() else { return };
        let events = coalescer.finish();
        self.add_to_batch(command, events);
    }

    /// Adds events to the batch. Each gets an id here, so that sending it again adds no second event.
    fn add_to_batch(&mut self, command: CommandId, events: Vec<OutgoingEvent>) {
        for event in events {
            self.event_count += 1;
            self.batch_bytes += event.size();
            self.batch.push(NewEvent {
                id: format!("{}-{}", self.epoch, self.event_count),
                r#type: event.kind,
                command_id: Some(command.to_string()),
                payload: event.payload,
            });
        }
    }

    fn push_status(&mut self, status: RunnerStatus) {
        let kind = event::BACKEND_STATUS.to_owned();
        self.batch.push(NewEvent { id: status.id, r#type: kind, command_id: None, payload: status.payload });
    }

    fn push_log(&mut self, line: LogLine) {
        self.log_count += 1;
        let message = self.secrets.redact(&line.message);
        self.push_status(RunnerStatus::log(self.epoch, self.log_count, line.level, &message));
    }

    /// Sends the batch until the server has it or the lease is lost.
    async fn send(&mut self) -> FlushResult {
        let result = self.send_batch().await;
        // Rejected events add a status event; send it at once.
        if result == FlushResult::Delivered && !self.batch.is_empty() {
            self.send_batch().await
        } else {
            result
        }
    }

    async fn send_batch(&mut self) -> FlushResult {
        let batch = std::mem::take(&mut self.batch);
        self.batch_bytes = 0;
        if self.lost.is_cancelled() {
            self.write_to_spool(&batch).await;
            return FlushResult::LeaseLost;
        }
        if batch.is_empty() {
            return FlushResult::Delivered;
        }
        self.write_to_spool(&batch).await;
        for chunk in batch.chunks(MAX_BATCH_EVENTS) {
            if self.deliver_or_spool_rejected(chunk).await == DeliveryResult::LeaseLost {
                return FlushResult::LeaseLost;
            }
        }
        if let Err(error) = self.spool.clear().await {
            warn!(error = &error as &dyn std::error::Error, "cannot clear the spool");
        }
        FlushResult::Delivered
    }

    /// Sends events. When the server rejects them, bisects them to find the invalid ones, so that an invalid event
    /// does not block the others. Invalid events are written to a file and reported in the run; the turn continues.
    async fn deliver_or_spool_rejected(&mut self, events: &[NewEvent]) -> DeliveryResult {
        let mut parts = vec![events];
        while let Some(part) = parts.pop() {
            match self.deliver(part).await {
                DeliveryResult::Accepted => {}
                DeliveryResult::Rejected if part.len() > 1 => {
                    let (first, second) = part.split_at(part.len() / 2);
                    parts.extend([second, first]);
                }
                DeliveryResult::Rejected => self.spool_rejected(part).await,
                DeliveryResult::LeaseLost => return DeliveryResult::LeaseLost,
            }
        }
        DeliveryResult::Accepted
    }

    async fn spool_rejected(&mut self, events: &[NewEvent]) {
        // Reporting a rejected rejection report would never end.
        if events.iter().all(|event| RunnerStatus::is_rejection_id(&event.id)) {
            return;
        }
        self.rejection_count += 1;
        let dir = self.spool.dir().to_owned();
        let written = async {
            let mut spool = Spool::open_for(&dir, self.held.run(), self.epoch, SpoolKind::Rejected).await?;
            spool.append(events).await?;
            std::io::Result::Ok(spool.file_name())
        };
        match written.await {
            Ok(file) => {
                let count = self.rejection_count;
                self.push_status(RunnerStatus::rejected_events(self.epoch, count, events.len(), &file));
            }
            Err(error) => warn!(error = &error as &dyn std::error::Error, "cannot save rejected events"),
        }
    }

    async fn write_to_spool(&mut self, batch: &[NewEvent]) {
        if let Err(error) = self.spool.append(batch).await {
            warn!(error = &error as &dyn std::error::Error, "cannot write events to the spool");
        }
    }

    async fn deliver(&self, events: &[NewEvent]) -> DeliveryResult {
        let mut backoff = MIN_BACKOFF;
        loop {
            let response = tokio::select! {
                response = self.held.append(events) => response,
                () = self.lost.cancelled() => return DeliveryResult::LeaseLost,
            };
            match response {
                Ok(_) => return DeliveryResult::Accepted,
                Err(error) if is_lease_lost(&error) => {
                    warn!("another runner holds the run, or it has ended: {error}");
                    self.lost.cancel();
                    return DeliveryResult::LeaseLost;
                }
                Err(error) if is_permanent(&error) => {
                    warn!("the server rejected {} events permanently: {error}", events.len());
                    return DeliveryResult::Rejected;
                }
                Err(error) => warn!("cannot send {} events: {error}", events.len()),
            }
            tokio::select! {
                () = sleep(backoff) => {}
                () = self.lost.cancelled() => return DeliveryResult::LeaseLost,
            }
            backoff = (backoff * 2).min(MAX_BACKOFF);
        }
    }
}

/// The result of sending a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DeliveryResult {
    Accepted,
    /// The server would reject the same events again.
    Rejected,
    LeaseLost,
}

/// Returns whether a retry of the same request would fail again.
fn is_permanent(error: &ClientError) -> bool {
    error.kind().is_some_and(|kind| kind.row().retry != guildhall_domain::Retry::Later)
}
