//! The end of a command or a run, as its runner reports it.

use guildhall_domain::ids::CommandId;
use guildhall_domain::runners::enrolment::RunGrant;
use guildhall_domain::runs::TerminalOutcome;
use guildhall_domain::runs::command;
use guildhall_domain::runs::command::Command;
use guildhall_store::commands;
use guildhall_store::{leases, runs as rows, sessions};

use super::commands::load_command;
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
        let command = load_command(&mut locked, id).await?;
        match command::finish(&command.state, grant.epoch, outcome.clone())? {
            None => locked.tx.rollback().await?,
            Some(_) => {
                if let Some(thread) = thread_id {
                    sessions::set_thread(&mut locked.tx, locked.run.session, thread).await?;
                }
                leases::extend(&mut locked.tx, grant.run, grant.epoch).await?;
                locked.end_command(id, &outcome).await?;
                locked.end_if_cancelled().await?;
                locked.commit(&self.deps).await?;
            }
        }
        commands::find(&self.deps.store, id).await?.ok_or(ServiceError::NOT_FOUND)
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
        let run = rows::find(&self.deps.store, grant.run).await?.ok_or(ServiceError::NOT_FOUND)?;
        self.runs.view(run).await
    }
}
