//! Commands. Whoever changes one holds the lock of its run's journal.

use guildhall_domain::ids::{CommandId, PrincipalId, RunId};
use guildhall_domain::journal::{Epoch, Seq};
use guildhall_domain::runs::command::{CommandKind, CommandState};
use jiff_sqlx::Timestamp;
use sqlx::PgExecutor;
use uuid::Uuid;

use crate::runs::ending;
use crate::{Store, StoreError, Tx};

/// A command to write.
#[derive(Debug, Clone)]
pub struct NewCommand<'a> {
    pub id: CommandId,
    pub run: RunId,
    pub ordinal: i32,
    pub kind: CommandKind,
    pub payload: &'a str,
    pub target: Option<CommandId>,
    pub created_by: PrincipalId,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    pub id: CommandId,
    pub run: RunId,
    pub ordinal: i32,
    pub kind: CommandKind,
    /// JSON, as it was sent.
    pub payload: String,
    /// The turn that a steer is for.
    pub target: Option<CommandId>,
    pub state: CommandState,
    pub created_by: PrincipalId,
    pub created_at: jiff::Timestamp,
    pub acked_at: Option<jiff::Timestamp>,
    /// Where its target stood when it was delivered.
    pub delivered_seq: Option<Seq>,
    pub ended_at: Option<jiff::Timestamp>,
}

/// A row as it comes, whatever the question.
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
    failure_kind: Option<String>,
    failure_message: Option<String>,
    created_by: Uuid,
    created_at: Timestamp,
    acked_at: Option<Timestamp>,
    delivered_seq: Option<i64>,
    ended_at: Option<Timestamp>,
}

impl Row {
    fn read(self) -> Command {
        let ending = ending(Some(&self.state), self.failure_kind.as_deref(), self.failure_message);
        Command {
            id: CommandId::from_uuid(self.id),
            run: RunId::from_uuid(self.run),
            ordinal: self.ordinal,
            // The table has a check: there is no other word.
            kind: CommandKind::from_name(&self.kind).unwrap_or(CommandKind::Turn),
            payload: self.payload,
            target: self.target.map(CommandId::from_uuid),
            state: match (ending, self.epoch) {
                (Some(ending), _) => CommandState::Ended(ending),
                (None, Some(epoch)) if self.state == "running" => {
                    CommandState::Running { epoch: Epoch::new(epoch), cancelling: self.cancelling }
                }
                (None, _) => CommandState::Pending,
            },
            created_by: PrincipalId::from_uuid(self.created_by),
            created_at: self.created_at.to_jiff(),
            acked_at: self.acked_at.map(Timestamp::to_jiff),
            delivered_seq: self.delivered_seq.and_then(Seq::new),
            ended_at: self.ended_at.map(Timestamp::to_jiff),
        }
    }
}

pub async fn insert(tx: &mut Tx, new: &NewCommand<'_>) -> Result<(), StoreError> {
    sqlx::query_file!(
        "queries/commands/insert.sql",
        new.id.as_uuid(),
        new.run.as_uuid(),
        new.ordinal,
        new.kind.as_str(),
        new.payload,
        new.target.map(CommandId::as_uuid),
        new.created_by.as_uuid()
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

pub async fn find(store: &Store, id: CommandId) -> Result<Option<Command>, StoreError> {
    find_on(&store.pool, id).await
}

/// Reads a command within a transaction that holds the lock of its run.
pub async fn load(tx: &mut Tx, id: CommandId) -> Result<Option<Command>, StoreError> {
    find_on(tx.connection(), id).await
}

async fn find_on(executor: impl PgExecutor<'_>, id: CommandId) -> Result<Option<Command>, StoreError> {
    let row =
        sqlx::query_file_as!(Row, "queries/commands/find.sql", id.as_uuid()).fetch_optional(executor).await?;
    Ok(row.map(Row::read))
}

/// Reads the open commands of a run, in order.
pub async fn open(tx: &mut Tx, run: RunId) -> Result<Vec<Command>, StoreError> {
    open_on(tx.connection(), run).await
}

/// Reads the open commands of a run as they stand now.
pub async fn open_now(store: &Store, run: RunId) -> Result<Vec<Command>, StoreError> {
    open_on(&store.pool, run).await
}

async fn open_on(executor: impl PgExecutor<'_>, run: RunId) -> Result<Vec<Command>, StoreError> {
    let rows =
        sqlx::query_file_as!(Row, "queries/commands/open.sql", run.as_uuid()).fetch_all(executor).await?;
    Ok(rows.into_iter().map(Row::read).collect())
}

/// Reads the newest command of a run.
pub async fn latest(store: &Store, run: RunId) -> Result<Option<Command>, StoreError> {
    let row = sqlx::query_file_as!(Row, "queries/commands/latest.sql", run.as_uuid())
        .fetch_optional(&store.pool)
        .await?;
    Ok(row.map(Row::read))
}

/// Reads what a runner has not seen yet, and what it is asked to interrupt.
pub async fn poll(store: &Store, run: RunId, after: i32, limit: u32) -> Result<Vec<Command>, StoreError> {
    let rows = sqlx::query_file_as!(Row, "queries/commands/poll.sql", run.as_uuid(), after, i64::from(limit))
        .fetch_all(&store.pool)
        .await?;
    Ok(rows.into_iter().map(Row::read).collect())
}

/// Writes where a command stands. `delivered` is where its target stood when it was handed over.
pub async fn set_state(
    tx: &mut Tx,
    id: CommandId,
    state: &CommandState,
    delivered: Option<Seq>,
) -> Result<(), StoreError> {
    let (epoch, cancelling, failure) = match state {
        CommandState::Pending => (None, false, None),
        CommandState::Running { epoch, cancelling } => (Some(epoch.get()), *cancelling, None),
        CommandState::Ended(ending) => (None, false, ending.failure.as_ref()),
    };
    sqlx::query_file!(
        "queries/commands/set_state.sql",
        id.as_uuid(),
        state.as_str(),
        epoch,
        cancelling,
        failure.map(|failure| failure.kind.as_str()),
        failure.map(|failure| failure.message.as_str()),
        delivered.map(Seq::get)
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}
