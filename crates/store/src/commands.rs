//! Commands. Every writer holds the lock of the run's journal head.

use guildhall_domain::ids::{AttemptId, CommandId, PrincipalId, RunId};
use guildhall_domain::journal::{Epoch, Seq};
use guildhall_domain::runs::command::Command;
use guildhall_domain::runs::command::{CommandKind, CommandState};
use jiff_sqlx::{Timestamp, ToSqlx};
use serde::Deserialize;
use sqlx::PgExecutor;
use uuid::Uuid;

use crate::runs::parse_outcome;
use crate::{Store, StoreError, Tx};

/// Values of a new command.
#[derive(Debug, Clone)]
pub struct NewCommand<'a> {
    pub id: CommandId,
    pub run: RunId,
    pub kind: CommandKind,
    pub payload: &'a str,
    /// The exact payload, encrypted, if `payload` is a redacted copy.
    pub sealed_payload: Option<&'a [u8]>,
    pub target: Option<CommandId>,
    /// The parked turn that it continues.
    pub continues: Option<CommandId>,
    pub created_by: PrincipalId,
    /// The title of its run, if that has none.
    pub title: Option<&'a str>,
}

/// The columns that every command query selects.
struct Row {
    id: Uuid,
    run: Uuid,
    ordinal: i32,
    kind: String,
    payload: String,
    target: Option<Uuid>,
    state: String,
    epoch: Option<i64>,
    cancelling: bool,
    attempt: Option<Uuid>,
    failure_kind: Option<String>,
    failure_message: Option<String>,
    created_by: Uuid,
    created_at: Timestamp,
    acked_at: Option<Timestamp>,
    delivered_seq: Option<i64>,
    ended_at: Option<Timestamp>,
}

impl Row {
    fn into_command(self) -> Command {
        let outcome = parse_outcome(Some(&self.state), self.failure_kind.as_deref(), self.failure_message);
        Command {
            id: CommandId::from_uuid(self.id),
            run: RunId::from_uuid(self.run),
            ordinal: self.ordinal,
            // A check constraint of the table allows no other value.
            kind: CommandKind::from_name(&self.kind).unwrap_or(CommandKind::Turn),
            payload: self.payload,
            target: self.target.map(CommandId::from_uuid),
            state: match (outcome, self.epoch) {
                (Some(outcome), _) => CommandState::Ended(outcome),
                (None, Some(epoch)) if self.state == "running" => {
                    CommandState::Running { epoch: Epoch::new(epoch), cancelling: self.cancelling }
                }
                (None, _) => CommandState::Pending,
            },
            attempt: self.attempt.map(AttemptId::from_uuid),
            created_by: PrincipalId::from_uuid(self.created_by),
            created_at: self.created_at.to_jiff(),
            acked_at: self.acked_at.map(Timestamp::to_jiff),
            delivered_seq: self.delivered_seq.and_then(Seq::new),
            ended_at: self.ended_at.map(Timestamp::to_jiff),
        }
    }
}

/// An open command as JSON of a statement that reads its run.
#[derive(Debug, Deserialize)]
pub(crate) struct OpenCommand {
    id: Uuid,
    run: Uuid,
    ordinal: i32,
    kind: String,
    payload: String,
    target: Option<Uuid>,
    state: String,
    epoch: Option<i64>,
    cancelling: bool,
    attempt: Option<Uuid>,
    failure_kind: Option<String>,
    failure_message: Option<String>,
    created_by: Uuid,
    created_at: jiff::Timestamp,
    acked_at: Option<jiff::Timestamp>,
    delivered_seq: Option<i64>,
    ended_at: Option<jiff::Timestamp>,
    is_sealed: bool,
}

impl OpenCommand {
    pub(crate) fn id(&self) -> Uuid {
        self.id
    }

    pub(crate) fn is_sealed(&self) -> bool {
        self.is_sealed
    }

    pub(crate) fn into_command(self) -> Command {
        let row = Row {
            id: self.id,
            run: self.run,
            ordinal: self.ordinal,
            kind: self.kind,
            payload: self.payload,
            target: self.target,
            state: self.state,
            epoch: self.epoch,
            cancelling: self.cancelling,
            attempt: self.attempt,
            failure_kind: self.failure_kind,
            failure_message: self.failure_message,
            created_by: self.created_by,
            created_at: self.created_at.to_sqlx(),
            acked_at: self.acked_at.map(ToSqlx::to_sqlx),
            delivered_seq: self.delivered_seq,
            ended_at: self.ended_at.map(ToSqlx::to_sqlx),
        };
        row.into_command()
    }
}

/// Inserts a command with the next ordinal of its run.
pub async fn insert(tx: &mut Tx, new: &NewCommand<'_>) -> Result<Command, StoreError> {
    let row = sqlx::query_file_as!(
        Row,
        "queries/commands/insert.sql",
        new.id.as_uuid(),
        new.run.as_uuid(),
        new.kind.as_str(),
        new.payload,
        new.sealed_payload,
        new.target.map(CommandId::as_uuid),
        new.created_by.as_uuid(),
        new.title,
        new.continues.map(CommandId::as_uuid)
    )
    .fetch_one(tx.connection())
    .await?;
    Ok(row.into_command())
}

/// Finds the turn that continues a parked one.
pub async fn find_continuation(store: &Store, turn: &Command) -> Result<Option<CommandId>, StoreError> {
    let (run, id) = (turn.run.as_uuid(), turn.id.as_uuid());
    let found = sqlx::query_file_scalar!("queries/commands/find_continuation.sql", run, id);
    Ok(found.fetch_optional(&store.pool).await?.map(CommandId::from_uuid))
}

pub async fn find(store: &Store, id: CommandId) -> Result<Option<Command>, StoreError> {
    find_with(&store.pool, id).await
}

/// Finds a command in a transaction that holds the lock of its run.
pub async fn load(tx: &mut Tx, id: CommandId) -> Result<Option<Command>, StoreError> {
    find_with(tx.connection(), id).await
}

async fn find_with(executor: impl PgExecutor<'_>, id: CommandId) -> Result<Option<Command>, StoreError> {
    let row =
        sqlx::query_file_as!(Row, "queries/commands/find.sql", id.as_uuid()).fetch_optional(executor).await?;
    Ok(row.map(Row::into_command))
}

/// Lists the commands of a run with a higher ordinal than `after`, in order.
pub async fn list(store: &Store, run: RunId, after: i32, limit: u32) -> Result<Vec<Command>, StoreError> {
    let limit = i64::from(limit);
    let rows = sqlx::query_file_as!(Row, "queries/commands/list.sql", run.as_uuid(), after, limit);
    Ok(rows.fetch_all(&store.pool).await?.into_iter().map(Row::into_command).collect())
}

/// Finds the newest command of a run.
pub async fn find_latest(store: &Store, run: RunId) -> Result<Option<Command>, StoreError> {
    let row = sqlx::query_file_as!(Row, "queries/commands/find_latest.sql", run.as_uuid())
        .fetch_optional(&store.pool)
        .await?;
    Ok(row.map(Row::into_command))
}

/// Returns the encrypted exact payloads of those commands that have one.
pub async fn sealed_payloads(
    store: &Store,
    ids: &[CommandId],
) -> Result<Vec<(CommandId, Vec<u8>)>, StoreError> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.as_uuid()).collect();
    let rows = sqlx::query_file!("queries/commands/sealed_payloads.sql", &ids).fetch_all(&store.pool).await?;
    Ok(rows.into_iter().map(|row| (CommandId::from_uuid(row.id), row.sealed_payload)).collect())
}

/// Updates the state of a command, and returns it. A trigger erases the encrypted payload of an ended one. `delivered` is the last event of its target turn at delivery.
pub async fn set_state(
    tx: &mut Tx,
    id: CommandId,
    state: &CommandState,
    delivered: Option<Seq>,
) -> Result<Command, StoreError> {
    let (epoch, cancelling, failure) = match state {
        CommandState::Pending => (None, false, None),
        CommandState::Running { epoch, cancelling } => (Some(epoch.get()), *cancelling, None),
        CommandState::Ended(outcome) => (None, false, outcome.failure.as_ref()),
    };
    let row = sqlx::query_file_as!(
        Row,
        "queries/commands/set_state.sql",
        id.as_uuid(),
        state.as_str(),
        epoch,
        cancelling,
        failure.map(|failure| failure.kind.as_str()),
        failure.map(|failure| failure.message.as_str()),
        delivered.map(Seq::get)
    )
    .fetch_one(tx.connection())
    .await?;
    Ok(row.into_command())
}
