//! Agents as users see them.

use std::collections::HashMap;

use guildhall_domain::agents::manifest::version::ManifestPin;
use guildhall_domain::ids::{AgentId, PrincipalId, TenantId};
use guildhall_domain::relations::{KnownAgent, VisibleAgent};

use crate::agent_inboxes::parse_aid;
use crate::agent_manifests::stored_hash;
use crate::{Store, StoreError, Tx};

/// An agent, and the text of its current manifest if it has one.
#[derive(Debug, Clone)]
pub struct AgentWithManifest {
    pub agent: VisibleAgent,
    pub canonical: Option<String>,
}

/// Finds an agent that is published, or of a tenant of the user.
pub async fn find(
    store: &Store,
    agent: AgentId,
    user: PrincipalId,
) -> Result<Option<AgentWithManifest>, StoreError> {
    let row = sqlx::query_file_as!(
        Row,
        "queries/relations/find_visible_agent.sql",
        agent.as_uuid(),
        user.as_uuid()
    )
    .fetch_optional(&store.pool)
    .await?;
    row.map(Row::into_agent).transpose()
}

/// The same in a transaction. The manifest of the agent does not change until its end.
pub async fn lock(
    tx: &mut Tx,
    agent: AgentId,
    user: PrincipalId,
) -> Result<Option<AgentWithManifest>, StoreError> {
    // With two statements: one that waits for the lock would return the manifest from before the wait.
    sqlx::query_file!("queries/relations/lock_agent.sql", agent.as_uuid())
        .fetch_optional(tx.connection())
        .await?;
    let row = sqlx::query_file_as!(
        Row,
        "queries/relations/find_visible_agent.sql",
        agent.as_uuid(),
        user.as_uuid()
    )
    .fetch_optional(tx.connection())
    .await?;
    row.map(Row::into_agent).transpose()
}

/// Returns what a user knows of agents, also of those that they cannot see any more.
pub async fn list_known(
    store: &Store,
    agents: &[AgentId],
    user: PrincipalId,
) -> Result<HashMap<AgentId, KnownAgent>, StoreError> {
    let ids: Vec<_> = agents.iter().map(|agent| agent.as_uuid()).collect();
    let rows = sqlx::query_file!("queries/relations/list_known_agents.sql", &ids, user.as_uuid())
        .fetch_all(&store.pool)
        .await?;
    rows.into_iter()
        .map(|row| {
            let manifest = pin(row.manifest_version, row.manifest_hash)?.filter(|_| row.is_visible);
            let aid = row.aid.as_deref().map(parse_aid).transpose()?;
            let last_seen_version = row.last_seen_version;
            Ok((AgentId::from_uuid(row.id), KnownAgent { name: row.name, aid, manifest, last_seen_version }))
        })
        .collect()
}

struct Row {
    id: uuid::Uuid,
    tenant: uuid::Uuid,
    name: String,
    aid: Option<String>,
    manifest_version: Option<i64>,
    manifest_hash: Option<Vec<u8>>,
    canonical: Option<String>,
}

impl Row {
    fn into_agent(self) -> Result<AgentWithManifest, StoreError> {
        let agent = VisibleAgent {
            id: AgentId::from_uuid(self.id),
            tenant: TenantId::from_uuid(self.tenant),
            name: self.name,
            aid: self.aid.as_deref().map(parse_aid).transpose()?,
            manifest: pin(self.manifest_version, self.manifest_hash)?,
        };
        Ok(AgentWithManifest { agent, canonical: self.canonical })
    }
}

fn pin(version: Option<i64>, hash: Option<Vec<u8>>) -> Result<Option<ManifestPin>, StoreError> {
    match (version, hash) {
        (Some(version), Some(hash)) => Ok(Some(ManifestPin { version, hash: stored_hash(&hash)? })),
        _ => Ok(None),
    }
}
