//! Tenants and their members.

use guildhall_domain::access::authorized::{Authorized, InstallationOperator};
use guildhall_domain::access::caller::{Caller, VisibleTenants};
use guildhall_domain::access::principal::Slug;
use guildhall_domain::access::role::rights::{MembersRead, Membership, TenantRead};
use guildhall_domain::access::role::{MembershipActor, Role, add_member, change_role, remove_member};
use guildhall_domain::access::tenant::Member;
use guildhall_domain::access::tenant::Tenant;
use guildhall_domain::ids::{PrincipalId, TenantId};
use guildhall_store::memberships;
use guildhall_store::tenants;
use guildhall_store::{Store, Tx};
use serde_json::json;

use crate::ServiceError;
use crate::access::audit::{self, AuditEvent, AuditLog};
use crate::idempotency::{self, Claim, IdempotencyKey};

/// Tenants in one list.
const MAX_TENANTS: u32 = 1000;

/// Creates tenants and manages their members.
#[derive(Debug, Clone)]
pub struct Tenants {
    store: Store,
}

impl Tenants {
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self { store }
    }

    /// Creates a tenant, owned by the operator who creates it.
    pub async fn create(
        &self,
        caller: &InstallationOperator,
        slug: &Slug,
        name: &str,
        key: Option<&IdempotencyKey>,
    ) -> Result<Tenant, ServiceError> {
        let mut tx = self.store.begin().await?;
        let id = TenantId::generate();
        let claim =
            idempotency::claim(&mut tx, caller, key, &json!(["tenant", slug.as_str(), name]), id.as_uuid())
                .await?;
        if let Claim::Created(created) = claim {
            let found = tenants::find(&self.store, TenantId::from_uuid(created)).await?;
            return found.ok_or(ServiceError::NOT_FOUND);
        }
        if !tenants::insert(&mut tx, id, slug, name).await? {
            return Err(ServiceError::NameTaken(slug.as_str().to_owned()));
        }
        memberships::upsert(&mut tx, id, caller.principal, Role::Owner).await?;
        let event = tenant_created_event(id, slug, Some(caller.principal));
        audit::record(&mut tx, &event).await?;
        tx.commit().await?;
        Ok(Tenant { id, slug: slug.as_str().to_owned(), name: name.to_owned() })
    }

    /// Creates the first tenant, for the first user. Its audit entry has no actor.
    pub async fn create_first(&self, owner: PrincipalId, slug: &Slug) -> Result<(), ServiceError> {
        let mut tx = self.store.begin().await?;
        let id = TenantId::generate();
        if !tenants::insert(&mut tx, id, slug, slug.as_str()).await? {
            return Err(ServiceError::NameTaken(slug.as_str().to_owned()));
        }
        memberships::upsert(&mut tx, id, owner, Role::Owner).await?;
        let event = tenant_created_event(id, slug, None);
        audit::record(&mut tx, &event).await?;
        Ok(tx.commit().await?)
    }

    /// Finds a tenant by id or slug. Does not check access.
    pub async fn resolve(&self, text: &str) -> Result<Option<TenantId>, ServiceError> {
        match text.parse() {
            Ok(id) => Ok(Some(id)),
            // Not a slug: no tenant has this name, and PostgreSQL may reject the text.
            Err(_) if text.parse::<Slug>().is_err() => Ok(None),
            Err(_) => Ok(tenants::find_by_slug(&self.store, text).await?),
        }
    }

    /// Lists the tenants that the caller belongs to.
    pub async fn list(&self, caller: &Caller) -> Result<Vec<(Tenant, Role)>, ServiceError> {
        let visible = caller.visible_tenants();
        if visible == VisibleTenants::Nothing {
            return Ok(Vec::new());
        }
        let mut found = tenants::list_by_principal(&self.store, caller.principal, MAX_TENANTS).await?;
        if let VisibleTenants::Only(own) = visible {
            found.retain(|(tenant, _)| tenant.id == own);
        }
        Ok(found)
    }

    pub async fn get(&self, caller: &Authorized<TenantRead>) -> Result<Tenant, ServiceError> {
        tenants::find(&self.store, caller.tenant()).await?.ok_or(ServiceError::NOT_FOUND)
    }

    pub async fn list_members(&self, caller: &Authorized<MembersRead>) -> Result<Vec<Member>, ServiceError> {
        Ok(memberships::list(&self.store, caller.tenant()).await?)
    }

    /// Adds a member or changes a member's role.
    pub async fn set_member(
        &self,
        caller: &Authorized<Membership>,
        principal: PrincipalId,
        role: Role,
    ) -> Result<(), ServiceError> {
        let id = caller.tenant();
        let mut tx = self.store.begin().await?;
        let members = memberships::lock_all(&mut tx, id).await?;
        let current = members.iter().find(|member| member.principal == principal).map(|member| member.role);
        match current {
            Some(current) => {
                change_role(membership_actor(caller, principal), current, role, count_owners(&members))?;
            }
            None => add_member(caller.role(), role)?,
        }
        self.write_member(&mut tx, caller, principal, current, role).await?;
        Ok(tx.commit().await?)
    }

    async fn write_member(
        &self,
        tx: &mut Tx,
        caller: &Authorized<Membership>,
        principal: PrincipalId,
        from: Option<Role>,
        to: Role,
    ) -> Result<(), ServiceError> {
        memberships::upsert(tx, caller.tenant(), principal, to).await.map_err(|error| match error {
            // Only the principal can be missing: the tenant was checked.
            error if error.is_missing_reference() => ServiceError::NOT_FOUND,
            error => error.into(),
        })?;
        let detail = json!({ "from": from.map(Role::as_str), "to": to.as_str() });
        audit::record(tx, &AuditEvent::by_member(caller, "member.set", principal.to_string(), detail)).await
    }

    /// Removes a member.
    pub async fn remove_member(
        &self,
        caller: &Authorized<Membership>,
        principal: PrincipalId,
    ) -> Result<(), ServiceError> {
        let id = caller.tenant();
        let mut tx = self.store.begin().await?;
        let members = memberships::lock_all(&mut tx, id).await?;
        let current = members.iter().find(|member| member.principal == principal).map(|member| member.role);
        let Some(current) = current else { return Err(ServiceError::NOT_FOUND) };
        remove_member(membership_actor(caller, principal), current, count_owners(&members))?;
        memberships::delete(&mut tx, id, principal).await?;
        let detail = json!({ "from": current.as_str() });
        audit::record(
            &mut tx,
            &AuditEvent::by_member(caller, "member.removed", principal.to_string(), detail),
        )
        .await?;
        Ok(tx.commit().await?)
    }
}

fn tenant_created_event(id: TenantId, slug: &Slug, actor: Option<PrincipalId>) -> AuditEvent {
    AuditEvent {
        log: AuditLog::Tenant(id),
        action: "tenant.created",
        actor,
        object: id.to_string(),
        detail: json!({ "slug": slug.as_str() }),
    }
}

fn membership_actor(caller: &Authorized<Membership>, principal: PrincipalId) -> MembershipActor {
    if caller.principal == principal {
        return MembershipActor::Themselves;
    }
    MembershipActor::Other(caller.role())
}

fn count_owners(members: &[Member]) -> usize {
    members.iter().filter(|member| member.role == Role::Owner).count()
}
