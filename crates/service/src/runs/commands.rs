//! Commands, for those who send them.

use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::role::Right;
use guildhall_domain::ids::{CommandId, RunId, TenantId};
use guildhall_domain::redact::redact_json;
use guildhall_domain::runs::command::{self, CancelCommand, CommandKind};
use guildhall_domain::runs::event;
pub use guildhall_store::commands::Command;
use guildhall_store::commands::{self as rows, NewCommand};
use guildhall_store::runs::{self, Asked};
use serde_json::{Value, json};

use crate::ServiceError;
use crate::idempotency::{self, Claim, IdempotencyKey};
use crate::runs::{Locked, RunResult, Runs};

/// A command to submit.
#[derive(Debug, Clone)]
pub struct CommandAsk {
    pub kind: CommandKind,
    pub payload: Value,
}

impl Runs {
    /// Submits a command. The same key and the same words give the same command.
    pub async fn submit(
        &self,
        caller: &Caller,
        run: RunId,
        mut ask: CommandAsk,
        key: Option<&IdempotencyKey>,
    ) -> Result<Command, ServiceError> {
        self.load(caller, run, Right::RunsWrite).await?;
        redact_json(&mut ask.payload);
        let mut locked = Locked::begin(&self.store, run).await?;
        let id = CommandId::generate();
        let said = json!(["command", run, ask.kind, ask.payload]);
        if let Claim::Made(made) =
            idempotency::claim(&mut locked.tx, caller, key, &said, id.as_uuid()).await?
        {
            locked.tx.rollback().await?;
            return self.find_command(CommandId::from_uuid(made)).await;
        }
        let turn = locked.open_turn();
        command::submit(&locked.run.state, ask.kind, turn.is_some())?;
        let ordinal = runs::next_ordinal(&mut locked.tx, run).await?;
        let new = NewCommand {
            id,
            run,
            ordinal,
            kind: ask.kind,
            payload: &ask.payload.to_string(),
            target: match ask.kind {
                CommandKind::Turn => None,
                CommandKind::Steer | CommandKind::Interrupt => turn,
            },
            created_by: caller.principal,
        };
        rows::insert(&mut locked.tx, &new).await?;
        let command = rows::load(&mut locked.tx, id).await?.ok_or(ServiceError::NOT_FOUND)?;
        locked.open.push(command.clone());
        let payload = json!({ "status": "pending", "type": ask.kind.as_str(), "ordinal": ordinal });
        locked.say(event::COMMAND_STATUS, Some(id), payload);
        let (tenant, waits) = (locked.run.tenant, locked.run.lease.is_none());
        locked.commit(&self.journals).await?;
        if waits {
            self.offers.announce(tenant).await;
        }
        Ok(command)
    }

    pub async fn command(&self, caller: &Caller, run: RunId, id: CommandId) -> Result<Command, ServiceError> {
        self.load(caller, run, Right::RunsRead).await?;
        let found = rows::find(&self.store, id).await?.filter(|found| found.run == run);
        found.ok_or(ServiceError::NOT_FOUND)
    }

    /// Reads the result of a command.
    pub async fn command_result(
        &self,
        caller: &Caller,
        run: RunId,
        id: CommandId,
    ) -> Result<RunResult, ServiceError> {
        self.result(caller, run, Some(id)).await
    }

    /// Asks a command to end; its run stays open. Asking again changes nothing.
    pub async fn cancel_command(&self, caller: &Caller, id: CommandId) -> Result<Command, ServiceError> {
        let run = self.find_command(id).await?.run;
        self.load(caller, run, Right::RunsWrite).await?;
        let mut locked = Locked::begin(&self.store, run).await?;
        let command = rows::load(&mut locked.tx, id).await?.ok_or(ServiceError::NOT_FOUND)?;
        match command::cancel(&command.state) {
            CancelCommand::Already(_) => locked.tx.rollback().await?,
            CancelCommand::Requested(state) if state == command.state => locked.tx.rollback().await?,
            CancelCommand::Ends(ending) => {
                locked.end_command(id, &ending).await?;
                locked.settle().await?;
                locked.commit(&self.journals).await?;
            }
            CancelCommand::Requested(state) => {
                locked.move_command(id, state, None).await?;
                let at = locked.next_seq();
                let payload = json!({ "status": "cancelling", "by": caller.principal.to_string() });
                locked.say(event::COMMAND_STATUS, Some(id), payload);
                runs::ask_to_cancel(&mut locked.tx, run, at, Asked::Command).await?;
                locked.commit(&self.journals).await?;
            }
        }
        self.find_command(id).await
    }

    /// Returns the tenant that a command belongs to, for the edge to load the caller's role in it.
    pub async fn tenant_of_command(&self, id: CommandId) -> Result<Option<TenantId>, ServiceError> {
        match rows::find(&self.store, id).await? {
            Some(command) => self.tenant_of(command.run).await,
            None => Ok(None),
        }
    }

    async fn find_command(&self, id: CommandId) -> Result<Command, ServiceError> {
        rows::find(&self.store, id).await?.ok_or(ServiceError::NOT_FOUND)
    }
}
