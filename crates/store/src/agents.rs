//! Agents of tenants, and the revisions of their settings.

use guildhall_domain::access::principal::{PrincipalKind, Slug};
use guildhall_domain::agents::Agent;
use guildhall_domain::agents::manifest::version::ManifestPin;
use guildhall_domain::agents::settings::AgentSettings;
use guildhall_domain::ids::{AgentId, PrincipalId, TenantId};
use jiff_sqlx::Timestamp;
use uuid::Uuid;

use crate::agent_manifests::stored_hash;
use crate::principals::{self, NewPrincipal};
use crate::{Store, StoreError, Tx};

/// Values of a new agent.
#[derive(Debug, Clone)]
pub struct NewAgent<'a> {
    pub id: AgentId,
    pub tenant: TenantId,
    pub slug: &'a Slug,
    pub name: &'a str,
    pub is_default: bool,
    pub settings: &'a AgentSettings,
    /// The version of its manifest, which is inserted after it.
    pub manifest_version: Option<i64>,
    pub created_by: PrincipalId,
}

struct Row {
    id: Uuid,
    tenant: Uuid,
    slug: String,
    name: String,
    enabled: bool,
    is_default: bool,
    revision: i64,
    settings: String,
    manifest_version: Option<i64>,
    manifest_hash: Option<Vec<u8>>,
    published: bool,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl Row {
    fn into_agent(self) -> Result<Agent, StoreError> {
        let settings = AgentSettings::from_json(&self.settings).map_err(|error| StoreError::Unreadable {
            column: "agent_revisions.settings",
            source: error.into(),
        })?;
        let manifest = match (self.manifest_version, self.manifest_hash) {
            (Some(version), Some(hash)) => Some(ManifestPin { version, hash: stored_hash(&hash)? }),
            _ => None,
        };
        Ok(Agent {
            id: AgentId::from_uuid(self.id),
            tenant: TenantId::from_uuid(self.tenant),
            slug: self.slug,
            name: self.name,
            enabled: self.enabled,
            is_default: self.is_default,
            revision: self.revision,
            settings,
            manifest,
            published: self.published,
            created_at: self.created_at.to_jiff(),
            updated_at: self.updated_at.to_jiff(),
        })
    }
}

/// Locks the agents of a tenant against concurrent changes. Returns their number.
pub async fn lock_tenant(tx: &mut Tx, tenant: TenantId) -> Result<u32, StoreError> {
    let row = sqlx::query_file!("queries/agents/lock_tenant.sql", tenant.as_uuid())
        .fetch_one(tx.connection())
        .await?;
    Ok(u32::try_from(row.count).unwrap_or(u32::MAX))
}

/// Inserts an agent with its principal and its first settings. Returns `false` if its slug is taken in the tenant. A
/// default replaces the earlier one.
pub async fn insert(tx: &mut Tx, new: &NewAgent<'_>) -> Result<bool, StoreError> {
    let id = new.id.as_uuid();
    let principal = NewPrincipal {
        id: PrincipalId::from_uuid(id),
        kind: PrincipalKind::Agent,
        name: new.name,
        is_operator: false,
    };
    principals::insert(tx, &principal).await?;
    if new.is_default {
        clear_default(tx, new.tenant, new.id).await?;
    }
    let (tenant, slug) = (new.tenant.as_uuid(), new.slug.as_str());
    let inserted = sqlx::query_file!(
        "queries/agents/insert.sql",
        id,
        tenant,
        slug,
        new.is_default,
        new.manifest_version
    )
    .fetch_optional(tx.connection())
    .await?;
    if inserted.is_none() {
        return Ok(false);
    }
    insert_revision(tx, new.id, 1, new.settings, new.created_by).await?;
    Ok(true)
}

pub async fn find(store: &Store, id: AgentId) -> Result<Option<Agent>, StoreError> {
    let row = sqlx::query_file_as!(Row, "queries/agents/find.sql", id.as_uuid())
        .fetch_optional(&store.pool)
        .await?;
    row.map(Row::into_agent).transpose()
}

/// The same in a transaction, which may hold the lock of its tenant.
pub async fn load(tx: &mut Tx, id: AgentId) -> Result<Option<Agent>, StoreError> {
    let row = sqlx::query_file_as!(Row, "queries/agents/find.sql", id.as_uuid())
        .fetch_optional(tx.connection())
        .await?;
    row.map(Row::into_agent).transpose()
}

pub async fn find_tenant(store: &Store, id: AgentId) -> Result<Option<TenantId>, StoreError> {
    let row =
        sqlx::query_file!("queries/agents/find_tenant.sql", id.as_uuid()).fetch_optional(&store.pool).await?;
    Ok(row.map(|row| TenantId::from_uuid(row.tenant)))
}

pub async fn find_id_by_slug(
    store: &Store,
    tenant: TenantId,
    slug: &Slug,
) -> Result<Option<AgentId>, StoreError> {
    let row = sqlx::query_file!("queries/agents/find_id_by_slug.sql", tenant.as_uuid(), slug.as_str())
        .fetch_optional(&store.pool)
        .await?;
    Ok(row.map(|row| AgentId::from_uuid(row.id)))
}

/// Returns the agent for requests of a tenant that name none.
pub async fn find_default_id(store: &Store, tenant: TenantId) -> Result<Option<AgentId>, StoreError> {
    let row = sqlx::query_file!("queries/agents/find_default_id.sql", tenant.as_uuid())
        .fetch_optional(&store.pool)
        .await?;
    Ok(row.map(|row| AgentId::from_uuid(row.id)))
}

/// Lists at most `limit` agents of a tenant, by slug.
pub async fn list(store: &Store, tenant: TenantId, limit: u32) -> Result<Vec<Agent>, StoreError> {
    let rows = sqlx::query_file_as!(Row, "queries/agents/list.sql", tenant.as_uuid(), i64::from(limit))
        .fetch_all(&store.pool)
        .await?;
    rows.into_iter().map(Row::into_agent).collect()
}

/// Writes a changed agent. The caller holds the lock of its tenant.
pub async fn update(
    tx: &mut Tx,
    old: &Agent,
    new: &Agent,
    changed_by: PrincipalId,
) -> Result<(), StoreError> {
    let id = new.id.as_uuid();
    if new.is_default && !old.is_default {
        clear_default(tx, new.tenant, new.id).await?;
    }
    if new.revision != old.revision {
        insert_revision(tx, new.id, new.revision, &new.settings, changed_by).await?;
    }
    if new.name != old.name {
        sqlx::query_file!("queries/principals/rename.sql", id, new.name).execute(tx.connection()).await?;
    }
    sqlx::query_file!(
        "queries/agents/update.sql",
        id,
        new.enabled,
        new.is_default,
        new.revision,
        new.manifest.map(|manifest| manifest.version),
        new.published
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Ends the default of every other agent of a tenant.
async fn clear_default(tx: &mut Tx, tenant: TenantId, except: AgentId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/agents/clear_default.sql", tenant.as_uuid(), except.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(())
}

async fn insert_revision(
    tx: &mut Tx,
    agent: AgentId,
    revision: i64,
    settings: &AgentSettings,
    changed_by: PrincipalId,
) -> Result<(), StoreError> {
    sqlx::query_file!(
        "queries/agent_revisions/insert.sql",
        agent.as_uuid(),
        revision,
        settings.to_json(),
        changed_by.as_uuid()
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}
