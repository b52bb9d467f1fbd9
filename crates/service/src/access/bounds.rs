//! Bounds of a tenant's runs: what an operator restricts, within the bounds of the installation.

use std::sync::Arc;

use guildhall_domain::access::authorized::InstallationOperator;
use guildhall_domain::ids::TenantId;
use guildhall_domain::runs::policy::{TenantBounds, TenantRestrictions};
use guildhall_store::{Store, tenant_bounds, tenants};
use serde_json::json;

use crate::ServiceError;
use crate::access::audit::{self, AuditEvent, AuditLog};

/// The restrictions of a tenant, and the bounds that its runs have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundsDetails {
    pub tenant: TenantId,
    pub restrictions: TenantRestrictions,
    pub effective: TenantBounds,
}

/// Reads and changes the bounds of tenants.
#[derive(Debug, Clone)]
pub struct Bounds {
    store: Store,
    installation: Arc<TenantBounds>,
}

impl Bounds {
    #[must_use]
    pub fn new(store: Store, installation: Arc<TenantBounds>) -> Self {
        Self { store, installation }
    }

    pub async fn get(
        &self,
        _: &InstallationOperator,
        tenant: TenantId,
    ) -> Result<BoundsDetails, ServiceError> {
        self.check_tenant(tenant).await?;
        let restrictions = tenant_bounds::find(&self.store, tenant).await?;
        Ok(self.details(tenant, restrictions.unwrap_or_default()))
    }

    /// Replaces the restrictions of a tenant. They apply to new runs and sessions on every replica at once.
    pub async fn set(
        &self,
        caller: &InstallationOperator,
        tenant: TenantId,
        restrictions: TenantRestrictions,
    ) -> Result<BoundsDetails, ServiceError> {
        self.check_tenant(tenant).await?;
        let mut tx = self.store.begin().await?;
        let before = tenant_bounds::load(&mut tx, tenant).await?;
        tenant_bounds::upsert(&mut tx, tenant, &restrictions, caller.principal).await?;
        let event = AuditEvent {
            log: AuditLog::Tenant(tenant),
            action: "bounds.set",
            actor: Some(caller.principal),
            object: tenant.to_string(),
            detail: json!({ "from": before, "to": restrictions }),
        };
        audit::record(&mut tx, &event).await?;
        tx.commit().await?;
        Ok(self.details(tenant, restrictions))
    }

    /// Removes the restrictions of a tenant: the bounds of the installation apply. Repeating it changes nothing.
    pub async fn clear(
        &self,
        caller: &InstallationOperator,
        tenant: TenantId,
    ) -> Result<BoundsDetails, ServiceError> {
        self.check_tenant(tenant).await?;
        let mut tx = self.store.begin().await?;
        let before = tenant_bounds::load(&mut tx, tenant).await?;
        if tenant_bounds::delete(&mut tx, tenant).await? {
            let event = AuditEvent {
                log: AuditLog::Tenant(tenant),
                action: "bounds.cleared",
                actor: Some(caller.principal),
                object: tenant.to_string(),
                detail: json!({ "from": before }),
            };
            audit::record(&mut tx, &event).await?;
        }
        tx.commit().await?;
        Ok(self.details(tenant, TenantRestrictions::default()))
    }

    async fn check_tenant(&self, tenant: TenantId) -> Result<(), ServiceError> {
        tenants::find(&self.store, tenant).await?.map(drop).ok_or(ServiceError::NOT_FOUND)
    }

    fn details(&self, tenant: TenantId, restrictions: TenantRestrictions) -> BoundsDetails {
        BoundsDetails { tenant, effective: self.installation.restrict(&restrictions), restrictions }
    }
}
