//! Automations of tenants.

use guildhall_domain::access::principal::Slug;
use guildhall_domain::agents::automation::{Automation, AutomationSettings};
use guildhall_domain::ids::{AgentId, AutomationId, PrincipalId, TenantId};
use jiff_sqlx::Timestamp;
use serde_json::json;
use uuid::Uuid;

use crate::{Store, StoreError, Tx};

/// Values of a new automation.
#[derive(Debug, Clone)]
pub struct NewAutomation<'a> {
    pub id: AutomationId,
    pub tenant: TenantId,
    pub agent: AgentId,
    pub slug: &'a Slug,
    pub name: &'a str,
    pub settings: &'a AutomationSettings,
    pub created_by: PrincipalId,
}

struct Row {
    id: Uuid,
    tenant: Uuid,
    agent: Uuid,
    slug: String,
    name: String,
    enabled: bool,
    revision: i64,
    settings: String,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl Row {
    fn into_automation(self) -> Result<Automation, StoreError> {
        let settings = serde_json::from_str(&self.settings).map_err(|error| StoreError::Unreadable {
            column: "automations.settings",
            source: error.into(),
        })?;
        Ok(Automation {
            id: AutomationId::from_uuid(self.id),
            tenant: TenantId::from_uuid(self.tenant),
            agent: AgentId::from_uuid(self.agent),
            slug: self.slug,
            name: self.name,
            enabled: self.enabled,
            revision: self.revision,
            settings,
            created_at: self.created_at.to_jiff(),
            updated_at: self.updated_at.to_jiff(),
        })
    }
}

/// Locks the automations of a tenant against concurrent changes. Returns their number.
pub async fn lock_tenant(tx: &mut Tx, tenant: TenantId) -> Result<u32, StoreError> {
    let row = sqlx::query_file!("queries/automations/lock_tenant.sql", tenant.as_uuid())
        .fetch_one(tx.connection())
        .await?;
    Ok(u32::try_from(row.count).unwrap_or(u32::MAX))
}

/// Inserts an automation. Returns `false` if its slug is taken in the tenant.
pub async fn insert(tx: &mut Tx, new: &NewAutomation<'_>) -> Result<bool, StoreError> {
    let row = sqlx::query_file!(
        "queries/automations/insert.sql",
        new.id.as_uuid(),
        new.tenant.as_uuid(),
        new.agent.as_uuid(),
        new.slug.as_str(),
        new.name,
        json!(new.settings).to_string(),
        new.created_by.as_uuid()
    )
    .fetch_optional(tx.connection())
    .await?;
    Ok(row.is_some())
}

pub async fn find(store: &Store, id: AutomationId) -> Result<Option<Automation>, StoreError> {
    let row = sqlx::query_file_as!(Row, "queries/automations/find.sql", id.as_uuid())
        .fetch_optional(&store.pool)
        .await?;
    row.map(Row::into_automation).transpose()
}

/// The same in a transaction, which may hold the lock of its tenant.
pub async fn load(tx: &mut Tx, id: AutomationId) -> Result<Option<Automation>, StoreError> {
    let row = sqlx::query_file_as!(Row, "queries/automations/find.sql", id.as_uuid())
        .fetch_optional(tx.connection())
        .await?;
    row.map(Row::into_automation).transpose()
}

pub async fn find_tenant(store: &Store, id: AutomationId) -> Result<Option<TenantId>, StoreError> {
    let row = sqlx::query_file!("queries/automations/find_tenant.sql", id.as_uuid())
        .fetch_optional(&store.pool)
        .await?;
    Ok(row.map(|row| TenantId::from_uuid(row.tenant)))
}

pub async fn find_id_by_slug(
    store: &Store,
    tenant: TenantId,
    slug: &Slug,
) -> Result<Option<AutomationId>, StoreError> {
    let row = sqlx::query_file!("queries/automations/find_id_by_slug.sql", tenant.as_uuid(), slug.as_str())
        .fetch_optional(&store.pool)
        .await?;
    Ok(row.map(|row| AutomationId::from_uuid(row.id)))
}

/// Lists at most `limit` automations of a tenant, by slug.
pub async fn list(store: &Store, tenant: TenantId, limit: u32) -> Result<Vec<Automation>, StoreError> {
    let rows = sqlx::query_file_as!(Row, "queries/automations/list.sql", tenant.as_uuid(), i64::from(limit))
        .fetch_all(&store.pool)
        .await?;
    rows.into_iter().map(Row::into_automation).collect()
}

/// Writes a changed automation. The caller holds the lock of its tenant.
pub async fn update(tx: &mut Tx, changed: &Automation) -> Result<(), StoreError> {
    sqlx::query_file!(
        "queries/automations/update.sql",
        changed.id.as_uuid(),
        changed.name,
        changed.enabled,
        changed.revision,
        json!(changed.settings).to_string()
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}
