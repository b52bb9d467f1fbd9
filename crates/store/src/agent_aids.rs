//! AIDs of agents: of those that run elsewhere, and of those that the server answers for.

use guildhall_domain::agents::aid::AgentAid;
use guildhall_domain::identity::Aid;
use guildhall_domain::ids::{AgentId, PrincipalId, TenantId};

use crate::agent_inboxes::parse_aid;
use crate::{Store, StoreError, Tx};

/// Returns the agent that speaks with an AID. An agent with a key of its own does so as long as the owner of the AID is a
/// member of the agent's tenant.
pub async fn find_agent(store: &Store, aid: &Aid) -> Result<Option<AgentId>, StoreError> {
    let found = sqlx::query_file_scalar!("queries/agent_aids/find_agent.sql", aid.to_string())
        .fetch_optional(&store.pool)
        .await?;
    Ok(found.map(AgentId::from_uuid))
}

/// Returns the AID of an agent, of either kind.
pub async fn find(store: &Store, agent: AgentId) -> Result<Option<AgentAid>, StoreError> {
    let row =
        sqlx::query_file!("queries/agent_aids/find.sql", agent.as_uuid()).fetch_optional(&store.pool).await?;
    row.map(|row| Ok(AgentAid { aid: parse_aid(&row.aid)?, is_hosted: row.is_hosted })).transpose()
}

/// Returns the AID of an agent with a key of its own, in a transaction that may hold the lock of the agent's tenant.
pub async fn find_own(tx: &mut Tx, agent: AgentId) -> Result<Option<Aid>, StoreError> {
    let found = sqlx::query_file_scalar!("queries/agent_aids/find_own.sql", agent.as_uuid())
        .fetch_optional(tx.connection())
        .await?;
    found.map(|aid| parse_aid(&aid)).transpose()
}

/// Returns the owner of an AID, if a member of a tenant.
pub async fn find_owner(tx: &mut Tx, aid: &Aid, tenant: TenantId) -> Result<Option<PrincipalId>, StoreError> {
    let found =
        sqlx::query_file_scalar!("queries/agent_aids/find_owner.sql", aid.to_string(), tenant.as_uuid())
            .fetch_optional(tx.connection())
            .await?;
    Ok(found.map(PrincipalId::from_uuid))
}

/// Sets the AID of an agent that runs elsewhere. Returns false where the server answers for the agent, or the AID is that of
/// another agent. The caller holds the lock of the agent's tenant.
pub async fn set(
    tx: &mut Tx,
    agent: AgentId,
    aid: &Aid,
    created_by: PrincipalId,
) -> Result<bool, StoreError> {
    let done = sqlx::query_file!(
        "queries/agent_aids/set.sql",
        agent.as_uuid(),
        aid.to_string(),
        created_by.as_uuid()
    )
    .execute(tx.connection())
    .await;
    match done.map_err(StoreError::from) {
        Ok(done) => Ok(done.rows_affected() == 1),
        // An agent of another tenant was given it meanwhile.
        Err(error) if error.is_duplicate() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Takes the AID from an agent that runs elsewhere.
pub async fn delete(tx: &mut Tx, agent: AgentId) -> Result<Option<Aid>, StoreError> {
    let found = sqlx::query_file_scalar!("queries/agent_aids/delete.sql", agent.as_uuid())
        .fetch_optional(tx.connection())
        .await?;
    found.map(|aid| parse_aid(&aid)).transpose()
}
