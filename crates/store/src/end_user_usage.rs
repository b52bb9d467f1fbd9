//! What external subjects have used of agents.

use guildhall_domain::agents::end_users::EndUserUsage;
use guildhall_domain::ids::{AgentId, PrincipalId, SessionId};
use sqlx::PgExecutor;

use crate::{Store, StoreError, Tx};

/// Returns what a subject has used of an agent, before a turn in a conversation; none for a new conversation.
pub async fn find(
    store: &Store,
    principal: PrincipalId,
    agent: AgentId,
    session: Option<SessionId>,
) -> Result<EndUserUsage, StoreError> {
    let row = sqlx::query_file!("queries/end_user_usage/find.sql", principal.as_uuid(), agent.as_uuid())
        .fetch_optional(&store.pool)
        .await?;
    let (turns, tokens) = row.map_or((0, 0), |row| (row.turns, row.tokens));
    let open_threads = count_open_threads(&store.pool, principal, agent, session).await?;
    Ok(usage(turns, open_threads, tokens))
}

/// Counts a turn of a subject with an agent, and returns what it has used before. Concurrent turns wait until the
/// transaction ends.
pub async fn count_turn(
    tx: &mut Tx,
    principal: PrincipalId,
    agent: AgentId,
    session: SessionId,
) -> Result<EndUserUsage, StoreError> {
    let row =
        sqlx::query_file!("queries/end_user_usage/count_turn.sql", principal.as_uuid(), agent.as_uuid())
            .fetch_one(tx.connection())
            .await?;
    let open_threads = count_open_threads(tx.connection(), principal, agent, Some(session)).await?;
    Ok(usage(row.turns - 1, open_threads, row.tokens))
}

async fn count_open_threads(
    executor: impl PgExecutor<'_>,
    principal: PrincipalId,
    agent: AgentId,
    except: Option<SessionId>,
) -> Result<i64, StoreError> {
    let (principal, agent) = (principal.as_uuid(), agent.as_uuid());
    let except = except.map(SessionId::as_uuid);
    let row = sqlx::query_file!("queries/end_user_usage/count_open_threads.sql", principal, agent, except)
        .fetch_one(executor)
        .await?;
    Ok(row.count)
}

fn usage(turns: i32, open_threads: i64, tokens: i64) -> EndUserUsage {
    EndUserUsage {
        turns: u32::try_from(turns).unwrap_or_default(),
        open_threads: u32::try_from(open_threads).unwrap_or(u32::MAX),
        tokens: u64::try_from(tokens).unwrap_or_default(),
    }
}
