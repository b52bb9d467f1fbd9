//! The end of a command or a run, as its runner reports it.

use guildhall_domain::ids::CommandId;
use guildhall_domain::runners::enrolment::RunGrant;
use guildhall_domain::runs::TerminalOutcome;
use guildhall_domain::runs::command;
use guildhall_domain::runs::command::Command;
use guildhall_store::{leases, loaded_runs};

use super::lock_granted;
use crate::ServiceError;
use crate::deps::Deps;
use crate::runs::{RunView, Runs};

/// Ends commands and runs for their runner.
#[derive(Debug, Clone)]
pub struct RunnerStatus {
    deps: Deps,
    runs: Runs,
}

impl RunnerStatus {
    pub(super) fn new(deps: Deps, runs: Runs) -> Self {
        Self { deps, runs }
    }

    /// Ends a command. The run stays open.
    pub async fn end_command(
        &self,
        grant: &RunGrant,
        id: CommandId,
        outcome: TerminalOutcome,
        thread_id: Option<&str>,
    ) -> Result<Command, ServiceError> {
        let mut locked = lock_granted(&self.deps.store, grant).await?;
        let command = locked.find_command(id).await?;
        if command::finish(&command.state, grant.epoch, outcome.clone())?.is_none() {
            locked.tx.rollback().await?;
            return Ok(command);
        }
        locked.new_thread_id = thread_id.map(str::to_owned);
        leases::extend(&mut locked.tx, grant.run, grant.epoch).await?;
        let ended = locked.end_command(id, &outcome).await?;
        locked.end_if_cancelled().await?;
        locked.commit(&self.deps).await?;
        Ok(ended)
    }

    /// Ends the run and every open command of it.
    pub async fn end_run(
        &self,
        grant: &RunGrant,
        outcome: &TerminalOutcome,
    ) -> Result<RunView, ServiceError> {
        let mut locked = lock_granted(&self.deps.store, grant).await?;
        locked.end(outcome).await?;
        locked.commit(&self.deps).await?;
        let ended = loaded_runs::find(&self.deps.store, grant.run, None).await?;
        self.runs.view_loaded(ended.ok_or(ServiceError::NOT_FOUND)?).await
    }
}
