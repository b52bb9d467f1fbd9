//! Commands as a runner sees them: polling and acknowledging.

use std::time::Duration;

use guildhall_domain::ids::CommandId;
use guildhall_domain::journal::Seq;
use guildhall_domain::runners::enrolment::RunGrant;
use guildhall_domain::runs::RunState;
use guildhall_domain::runs::command::Command;
use guildhall_domain::runs::command::{self, CommandKind, CommandState};
use guildhall_domain::runs::event;
use guildhall_store::commands as rows;
use guildhall_store::loaded_runs::{self, LoadedRun};
use guildhall_store::runs;
use secrecy::ExposeSecret;
use serde_json::json;

use super::lock_granted;
use super::tokens::SignedRunToken;
use crate::ServiceError;
use crate::deps::Deps;
use crate::run_steps::held_runs::WorkCursor;
use crate::runs::error::RunError;

/// Commands that one poll returns.
const MAX_COMMANDS: u32 = 100;

/// The work of a runner.
#[derive(Debug, Clone)]
pub struct PendingWork {
    /// Commands that the runner has not seen.
    pub commands: Vec<Command>,
    /// Commands to interrupt.
    pub cancelling: Vec<CommandId>,
    pub state: RunState,
    /// The seq of the latest cancellation; sent back, the poll waits for the next.
    pub cancel_seq: Seq,
    /// Whether an idle runner should release the run.
    pub should_release: bool,
}

impl PendingWork {
    /// Returns the work of an open run that has nothing new.
    fn nothing_since(from: PollCursor) -> Self {
        Self {
            commands: Vec::new(),
            cancelling: Vec::new(),
            state: RunState::Open,
            cancel_seq: from.cancel_seq,
            should_release: false,
        }
    }
}

/// What a poll has seen, and how long it waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PollCursor {
    pub after: i32,
    pub cancel_seq: Seq,
    pub limit: u32,
    pub wait: Duration,
}

/// Hands commands to runners.
#[derive(Debug, Clone)]
pub struct RunnerCommands {
    deps: Deps,
}

impl RunnerCommands {
    pub(super) fn new(deps: Deps) -> Self {
        Self { deps }
    }

    /// Waits for a command that the runner has not seen, or for one to interrupt. A run that is known to be unchanged is
    /// not read. Its enrolment is then as old as that knowledge; it is read again before the runner gets anything.
    pub async fn poll(&self, token: &SignedRunToken, from: PollCursor) -> Result<PendingWork, ServiceError> {
        let deadline = tokio::time::Instant::now() + from.wait;
        let grant = &token.grant;
        let seen = WorkCursor { epoch: grant.epoch, after: from.after, cancel_seq: from.cancel_seq };
        let mut watch = self.deps.held_runs.watch(grant.run, seen);
        let mut work = match watch.is_unchanged(seen) && !from.wait.is_zero() {
            true => PendingWork::nothing_since(from),
            false => self.find_work(token, from).await?,
        };
        loop {
            if !work.commands.is_empty() || work.state.is_ended() || work.cancel_seq > from.cancel_seq {
                return Ok(work);
            }
            if watch.last_read().is_some_and(|run| run.must_release) {
                work.should_release = true;
                return Ok(work);
            }
            if tokio::time::timeout_at(deadline, watch.changed()).await.is_err() {
                work.should_release = match watch.last_read() {
                    Some(run) => run.must_release || run.is_needed_elsewhere,
                    None => self.should_release(grant).await?,
                };
                return Ok(work);
            }
            work = self.find_work(token, from).await?;
        }
    }

    /// Returns whether an idle runner is needed elsewhere: it is draining, or another run waits that it could claim.
    async fn should_release(&self, grant: &RunGrant) -> Result<bool, ServiceError> {
        let held = runs::list_held(&self.deps.store, &[grant.run]).await?;
        Ok(held.first().is_some_and(|run| run.must_release || run.is_needed_elsewhere))
    }

    /// Reads the run, its commands and the enrolment of its holder with one statement.
    async fn find_work(&self, token: &SignedRunToken, from: PollCursor) -> Result<PendingWork, ServiceError> {
        let grant = &token.grant;
        let found = loaded_runs::find(&self.deps.store, grant.run, Some(grant.runner)).await?;
        let LoadedRun { run, mut open, sealed, .. } = found
            .filter(|found| found.is_authorized && found.run.tenant == grant.tenant)
            .ok_or(ServiceError::Unauthenticated)?;
        if run.lease.as_ref().is_none_or(|lease| lease.epoch != grant.epoch) {
            return Err(RunError::LeaseLost.into());
        }
        let is_cancelling =
            |command: &Command| matches!(command.state, CommandState::Running { cancelling: true, .. });
        let cancelling = open.iter().filter(|command| is_cancelling(command)).map(|c| c.id).collect();
        open.retain(|command| command.ordinal > from.after);
        open.truncate(usize::try_from(from.limit.clamp(1, MAX_COMMANDS)).unwrap_or(usize::MAX));
        self.restore_payloads(&mut open, &sealed).await?;
        Ok(PendingWork {
            commands: open,
            cancelling,
            state: run.state,
            cancel_seq: run.cancel_seq,
            should_release: false,
        })
    }

    /// Replaces redacted payloads by the exact ones, which only the runner of the command receives.
    async fn restore_payloads(
        &self,
        commands: &mut [Command],
        sealed: &[CommandId],
    ) -> Result<(), ServiceError> {
        let ids: Vec<CommandId> =
            commands.iter().map(|command| command.id).filter(|id| sealed.contains(id)).collect();
        if ids.is_empty() {
            return Ok(());
        }
        for (id, sealed) in rows::sealed_payloads(&self.deps.store, &ids).await? {
            let exact = self.deps.payload_sealer.open(id.as_uuid(), &sealed).map_err(RunError::Payload)?;
            for command in commands.iter_mut().filter(|command| command.id == id) {
                exact.expose_secret().clone_into(&mut command.payload);
            }
        }
        Ok(())
    }

    /// Acknowledges a command. From then on it may have side effects and is never given to another runner.
    pub async fn ack(&self, grant: &RunGrant, id: CommandId) -> Result<Command, ServiceError> {
        let mut locked = lock_granted(&self.deps.store, grant).await?;
        let command = locked.find_command(id).await?;
        let another_turn_runs = locked
            .open
            .iter()
            .any(|open| open.id != id && open.kind == CommandKind::Turn && open.state.is_running());
        let next = command::ack(&command.state, command.kind, grant.epoch, another_turn_runs)?;
        if next == command.state {
            locked.tx.rollback().await?;
            return Ok(command);
        }
        let at = locked.head.last_seq;
        let acked = locked.set_command_state(id, next, Some(at)).await?;
        let payload = json!({ "status": "running", "runnerId": grant.runner.to_string() });
        locked.append_event(event::COMMAND_STATUS, Some(id), payload);
        locked.commit(&self.deps).await?;
        Ok(acked)
    }
}
