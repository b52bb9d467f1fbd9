//! The approval policies of tenants.

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::{TenantManage, TenantRead};
use guildhall_domain::approvals::policy::{ApprovalPolicy, InvalidPolicy, Mediation, ServerAddress};
use guildhall_domain::ids::TenantId;
use guildhall_store::{Store, approval_policies as rows, memberships};
use serde_json::json;

use super::error::ApprovalError;
use crate::ServiceError;
use crate::access::audit::{self, AuditEvent};
use crate::deps::Deps;

/// Reads and changes the approval policies of tenants.
#[derive(Debug, Clone)]
pub struct Policies {
    store: Store,
    address: ServerAddress,
}

impl Policies {
    pub(super) fn new(deps: &Deps) -> Self {
        Self { store: deps.store.clone(), address: deps.server_address }
    }

    pub async fn get(&self, caller: &Authorized<TenantRead>) -> Result<ApprovalPolicy, ServiceError> {
        Ok(rows::find(&self.store, caller.tenant()).await?)
    }

    /// Replaces the policy of a tenant. It applies to questions that are asked from now on. `expected_version`, if given,
    /// is the version that the caller has read.
    pub async fn set(
        &self,
        caller: &Authorized<TenantManage>,
        policy: ApprovalPolicy,
        expected_version: Option<u32>,
    ) -> Result<ApprovalPolicy, ServiceError> {
        policy.check(self.address).map_err(ApprovalError::from)?;
        let tenant = caller.tenant();
        let mut tx = self.store.begin().await?;
        let before = rows::lock(&mut tx, tenant).await?;
        if expected_version.is_some_and(|expected| expected != before.version) {
            return Err(ApprovalError::PolicyChanged(before.version).into());
        }
        if let Mediation::Designated { approver: Some(approver) } = policy.mediation {
            let role = memberships::lock_member(&mut tx, tenant, approver).await?;
            role.ok_or(ApprovalError::UnknownApprover)?;
        }
        let policy = ApprovalPolicy { version: before.version.saturating_add(1), ..policy };
        rows::insert(&mut tx, tenant, &policy, caller.principal).await?;
        let detail = json!({ "from": before, "to": policy, "version": policy.version });
        let event = AuditEvent::by_member(caller, "approval-policy.set", tenant.to_string(), detail);
        audit::record(&mut tx, &event).await?;
        tx.commit().await?;
        Ok(policy)
    }

    /// Returns the policy of any tenant, for the capabilities that its members see.
    pub async fn of_tenant(&self, tenant: TenantId) -> Result<ApprovalPolicy, ServiceError> {
        Ok(rows::find(&self.store, tenant).await?)
    }
}

/// Checks at the start of a server that it can serve the policies of all tenants.
pub async fn check_policies(store: &Store, address: ServerAddress) -> Result<(), PolicyCheckError> {
    if address == ServerAddress::Public && rows::exists_local_only(store).await? {
        return Err(InvalidPolicy::PublicServer.into());
    }
    Ok(())
}

/// The server cannot serve the policy of a tenant.
#[derive(Debug, thiserror::Error)]
pub enum PolicyCheckError {
    #[error("a tenant's approval policy cannot be served: {0}")]
    Policy(#[from] InvalidPolicy),
    #[error(transparent)]
    Store(#[from] guildhall_store::StoreError),
}
