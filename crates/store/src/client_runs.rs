//! Turns under the ids of clients.

use std::collections::BTreeSet;

use guildhall_domain::front::ClientTurn;
use guildhall_domain::front::external_id::ExternalId;
use guildhall_domain::ids::{ApprovalId, CommandId, SessionId};
use guildhall_domain::journal::{Seq, SessionPosition};
use uuid::Uuid;

use crate::{Store, StoreError, Tx};

/// The id that a client chose for a turn of a session, or for what follows its answers in that turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientRun<'a> {
    pub session: SessionId,
    pub id: &'a ExternalId,
    /// The client's id of the message; none if the run answers the questions of a turn.
    pub message: Option<&'a ExternalId>,
    /// The newest question that the run answers; none if it starts a turn.
    pub resumed: Option<ApprovalId>,
}

/// A run that has an id, beside a request that answers a question under the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResumeMatch {
    pub turn: ClientTurn,
    /// Whether the run answers that question. If not, the run comes before the question.
    pub is_same: bool,
}

/// The turn that has an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimResult {
    pub turn: ClientTurn,
    /// Whether it was recorded now.
    pub is_new: bool,
}

fn turn(command: Uuid, run_ordinal: i32, after_seq: i64) -> ClientTurn {
    ClientTurn { command: CommandId::from_uuid(command), start: position(run_ordinal, after_seq) }
}

fn position(run_ordinal: i32, after_seq: i64) -> SessionPosition {
    SessionPosition { ordinal: run_ordinal, seq: Seq::new(after_seq).unwrap_or_default() }
}

/// Returns the turn of an id.
pub async fn find(
    store: &Store,
    session: SessionId,
    id: &ExternalId,
) -> Result<Option<ClientTurn>, StoreError> {
    let row = sqlx::query_file!("queries/client_runs/find.sql", session.as_uuid(), id.as_str())
        .fetch_optional(&store.pool)
        .await?;
    Ok(row.map(|row| turn(row.command, row.run_ordinal, row.after_seq)))
}

/// Returns the run of an id, for a request that answers a question under this id.
pub async fn find_resume(
    store: &Store,
    session: SessionId,
    id: &ExternalId,
    resumed: ApprovalId,
) -> Result<Option<ResumeMatch>, StoreError> {
    let (session, resumed) = (session.as_uuid(), resumed.as_uuid());
    let row = sqlx::query_file!("queries/client_runs/find_resume.sql", session, id.as_str(), resumed)
        .fetch_optional(&store.pool)
        .await?;
    let found = |turn, is_same| ResumeMatch { turn, is_same };
    Ok(row.map(|row| found(turn(row.command, row.run_ordinal, row.after_seq), row.is_same)))
}

/// Records a turn under an id, and that its thread was used. Returns the turn that has the id: another one if it was
/// recorded before.
pub async fn claim(tx: &mut Tx, run: ClientRun<'_>, new: ClientTurn) -> Result<ClaimResult, StoreError> {
    let session = run.session.as_uuid();
    let row = sqlx::query_file!(
        "queries/client_runs/insert.sql",
        session,
        run.id.as_str(),
        run.message.map(ExternalId::as_str),
        new.command.as_uuid(),
        new.start.ordinal,
        new.start.seq.get(),
        run.resumed.map(|approval| approval.as_uuid())
    )
    .fetch_one(tx.connection())
    .await?;
    sqlx::query_file!("queries/threads/touch.sql", session).execute(tx.connection()).await?;
    Ok(ClaimResult { turn: turn(row.command, row.run_ordinal, row.after_seq), is_new: row.is_new })
}

/// Returns the place in a session before the first event of a turn; none if no client has started the turn.
pub async fn load_start(
    tx: &mut Tx,
    session: SessionId,
    command: CommandId,
) -> Result<Option<SessionPosition>, StoreError> {
    let row = sqlx::query_file!("queries/client_runs/find_start.sql", session.as_uuid(), command.as_uuid())
        .fetch_optional(tx.connection())
        .await?;
    Ok(row.map(|row| position(row.run_ordinal, row.after_seq)))
}

/// Returns which messages a session has had.
pub async fn list_messages(
    store: &Store,
    session: SessionId,
    messages: &[ExternalId],
) -> Result<BTreeSet<String>, StoreError> {
    let messages: Vec<String> = messages.iter().map(ToString::to_string).collect();
    let rows = sqlx::query_file!("queries/client_runs/list_messages.sql", session.as_uuid(), &messages)
        .fetch_all(&store.pool)
        .await?;
    Ok(rows.into_iter().map(|row| row.message).collect())
}
