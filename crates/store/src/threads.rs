//! Conversations under the ids of clients.

use guildhall_domain::front::ThreadKey;
use guildhall_domain::ids::SessionId;

use crate::{Store, StoreError, Tx};

/// Returns the session of a thread.
pub async fn find(store: &Store, key: &ThreadKey<'_>) -> Result<Option<SessionId>, StoreError> {
    let (agent, owner) = (key.agent.as_uuid(), key.owner.as_uuid());
    let row = sqlx::query_file!("queries/threads/find.sql", agent, owner, key.thread)
        .fetch_optional(&store.pool)
        .await?;
    Ok(row.map(|row| SessionId::from_uuid(row.session)))
}

/// Inserts a thread. Returns `false` if there is one already.
pub async fn insert(tx: &mut Tx, key: &ThreadKey<'_>, session: SessionId) -> Result<bool, StoreError> {
    let (agent, owner) = (key.agent.as_uuid(), key.owner.as_uuid());
    let row = sqlx::query_file!("queries/threads/insert.sql", agent, owner, key.thread, session.as_uuid())
        .fetch_optional(tx.connection())
        .await?;
    Ok(row.is_some())
}
