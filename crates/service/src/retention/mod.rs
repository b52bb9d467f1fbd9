//! Retention: how long tenants keep their history, and what is erased when that time is over.

pub mod erase;

use std::time::Duration;

use guildhall_domain::access::authorized::InstallationOperator;
use guildhall_domain::ids::TenantId;
use guildhall_domain::retention::{HistoryCounts, HistoryDays, TechnicalRowCounts};
use guildhall_store::{Store, retention as rows, retention_policies, tenants};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::ServiceError;
use crate::access::audit::{self, AuditEvent, AuditLog};
use crate::deps::Deps;

/// The services of this group.
#[derive(Debug, Clone)]
pub struct Group {
    pub retention: Retention,
}

/// Opens the group. Technical rows are kept for some time after their end.
#[must_use]
pub fn open(deps: &Deps, technical_after: Duration) -> Group {
    Group { retention: Retention { store: deps.store.clone(), technical_after } }
}

/// How long a tenant keeps its history; without a number, for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionDetails {
    pub tenant: TenantId,
    pub history_days: Option<HistoryDays>,
}

/// What would be erased of one tenant now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TenantPlan {
    pub tenant: TenantId,
    pub history_days: Option<HistoryDays>,
    pub count: HistoryCounts,
}

/// What would be erased now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionPlan {
    pub technical: TechnicalRowCounts,
    pub tenants: Vec<TenantPlan>,
}

/// Which tenant a plan is for, and how long it would keep its history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedTenant {
    pub tenant: TenantId,
    /// Instead of what is set.
    pub history_days: Option<HistoryDays>,
}

/// Reads and changes the retention of tenants.
#[derive(Debug, Clone)]
pub struct Retention {
    store: Store,
    technical_after: Duration,
}

impl Retention {
    pub async fn get(
        &self,
        _: &InstallationOperator,
        tenant: TenantId,
    ) -> Result<RetentionDetails, ServiceError> {
        self.check_tenant(tenant).await?;
        Ok(RetentionDetails { tenant, history_days: retention_policies::find(&self.store, tenant).await? })
    }

    /// Sets how long a tenant keeps its history. The next round on any replica erases what is older.
    pub async fn set(
        &self,
        caller: &InstallationOperator,
        tenant: TenantId,
        days: HistoryDays,
    ) -> Result<RetentionDetails, ServiceError> {
        self.check_tenant(tenant).await?;
        let mut tx = self.store.begin().await?;
        let before = retention_policies::load(&mut tx, tenant).await?;
        retention_policies::upsert(&mut tx, tenant, days, caller.principal).await?;
        let event = AuditEvent {
            log: AuditLog::Tenant(tenant),
            action: "retention.set",
            actor: Some(caller.principal),
            object: tenant.to_string(),
            detail: json!({ "from": before.map(HistoryDays::get), "to": days.get() }),
        };
        audit::record(&mut tx, &event).await?;
        tx.commit().await?;
        Ok(RetentionDetails { tenant, history_days: Some(days) })
    }

    /// Lets a tenant keep its history for good. Repeating it changes nothing.
    pub async fn clear(
        &self,
        caller: &InstallationOperator,
        tenant: TenantId,
    ) -> Result<RetentionDetails, ServiceError> {
        self.check_tenant(tenant).await?;
        let mut tx = self.store.begin().await?;
        let before = retention_policies::load(&mut tx, tenant).await?;
        if retention_policies::delete(&mut tx, tenant).await? {
            let event = AuditEvent {
                log: AuditLog::Tenant(tenant),
                action: "retention.cleared",
                actor: Some(caller.principal),
                object: tenant.to_string(),
                detail: json!({ "from": before.map(HistoryDays::get) }),
            };
            audit::record(&mut tx, &event).await?;
        }
        tx.commit().await?;
        Ok(RetentionDetails { tenant, history_days: None })
    }

    /// Counts what would be erased now: of one tenant, or of all that do not keep their history for good.
    pub async fn plan(
        &self,
        _: &InstallationOperator,
        planned: Option<PlannedTenant>,
    ) -> Result<RetentionPlan, ServiceError> {
        let now = rows::now(&self.store).await?;
        let technical = rows::plan_technical(&self.store, earlier(now, self.technical_after)).await?;
        let policies = match planned {
            None => retention_policies::list(&self.store)
                .await?
                .into_iter()
                .map(|(tenant, days)| (tenant, Some(days)))
                .collect(),
            Some(PlannedTenant { tenant, history_days: Some(days) }) => {
                self.check_tenant(tenant).await?;
                vec![(tenant, Some(days))]
            }
            Some(PlannedTenant { tenant, history_days: None }) => {
                self.check_tenant(tenant).await?;
                vec![(tenant, retention_policies::find(&self.store, tenant).await?)]
            }
        };
        let mut tenants = Vec::new();
        for (tenant, history_days) in policies {
            let count = match history_days {
                Some(days) => rows::plan_history(&self.store, tenant, days.cutoff(now)).await?,
                None => HistoryCounts::default(),
            };
            tenants.push(TenantPlan { tenant, history_days, count });
        }
        Ok(RetentionPlan { technical, tenants })
    }

    async fn check_tenant(&self, tenant: TenantId) -> Result<(), ServiceError> {
        tenants::find(&self.store, tenant).await?.map(drop).ok_or(ServiceError::NOT_FOUND)
    }
}

fn later(now: Timestamp, by: Duration) -> Timestamp {
    SignedDuration::try_from(by).ok().and_then(|by| now.checked_add(by).ok()).unwrap_or(Timestamp::MAX)
}

fn earlier(now: Timestamp, by: Duration) -> Timestamp {
    SignedDuration::try_from(by).ok().and_then(|by| now.checked_sub(by).ok()).unwrap_or(Timestamp::MIN)
}
