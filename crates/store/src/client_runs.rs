//! Turns under the ids of clients.

use std::collections::BTreeSet;

use guildhall_domain::front::ClientTurn;
use guildhall_domain::ids::{CommandId, SessionId};
use guildhall_domain::journal::{Seq, SessionPosition};
use uuid::Uuid;

use crate::{Store, StoreError, Tx};

/// The id that a client chose for a turn of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientRun<'a> {
    pub session: SessionId,
    pub id: &'a str,
    /// The client's id of the message.
    pub message: &'a str,
}

struct Row {
    command: Uuid,
    run_ordinal: i32,
    after_seq: i64,
}

impl Row {
    fn into_turn(self) -> ClientTurn {
        let seq = Seq::new(self.after_seq).unwrap_or_default();
        let start = SessionPosition { ordinal: self.run_ordinal, seq };
        ClientTurn { command: CommandId::from_uuid(self.command), start }
    }
}

/// Returns the turn of an id.
pub async fn find(store: &Store, session: SessionId, id: &str) -> Result<Option<ClientTurn>, StoreError> {
    let row = sqlx::query_file_as!(Row, "queries/client_runs/find.sql", session.as_uuid(), id)
        .fetch_optional(&store.pool)
        .await?;
    Ok(row.map(Row::into_turn))
}

/// Records a turn under an id, and that its thread was used. Returns the turn that has the id: another one if it was
/// recorded before.
pub async fn claim(tx: &mut Tx, run: ClientRun<'_>, turn: ClientTurn) -> Result<ClientTurn, StoreError> {
    let session = run.session.as_uuid();
    let row = sqlx::query_file_as!(
        Row,
        "queries/client_runs/insert.sql",
        session,
        run.id,
        run.message,
        turn.command.as_uuid(),
        turn.start.ordinal,
        turn.start.seq.get()
    )
    .fetch_one(tx.connection())
    .await?;
    sqlx::query_file!("queries/threads/touch.sql", session).execute(tx.connection()).await?;
    Ok(row.into_turn())
}

/// Returns which messages a session has had.
pub async fn list_messages(
    store: &Store,
    session: SessionId,
    messages: &[String],
) -> Result<BTreeSet<String>, StoreError> {
    let rows = sqlx::query_file!("queries/client_runs/list_messages.sql", session.as_uuid(), messages)
        .fetch_all(&store.pool)
        .await?;
    Ok(rows.into_iter().map(|row| row.message).collect())
}
