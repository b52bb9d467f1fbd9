//! Tenants and their members.

use guildhall_domain::access::authorized::{Authorized, InstallationOperator};
use guildhall_domain::access::caller::{Caller, VisibleTenants};
use guildhall_domain::access::principal::{PrincipalKind, Slug};
use guildhall_domain::access::role::rights::{MembersManage, MembersRead, Membership, TenantRead};
use guildhall_domain::access::role::{
    MembershipActor, MembershipError, Right, Role, add_member, change_role, remove_member,
};
use guildhall_domain::access::tenant::Member;
use guildhall_domain::access::tenant::Tenant;
use guildhall_domain::ids::{PrincipalId, TenantId};
use guildhall_store::{Store, Tx, memberships, passwords, principals, tenants};
use serde_json::json;

use crate::ServiceError;
use crate::access::audit::{self, AuditEvent, AuditLog};
use crate::access::error::AccessError;
use crate::access::tenant_cache::TenantCache;
use crate::idempotency::{self, Claim, IdempotencyKey};

/// Tenants in one list.
const MAX_TENANTS: u32 = 1000;

/// Creates tenants and manages their members.
#[derive(Debug, Clone)]
pub struct Tenants {
    store: Store,
    /// By slug: a tenant is never renamed or deleted.
    by_slug: TenantCache<String>,
}

impl Tenants {
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self { store, by_slug: TenantCache::default() }
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
    pub async fn create_first(&self, owner: PrincipalId, slug: &Slug) -> Result<TenantId, ServiceError> {
        let mut tx = self.store.begin().await?;
        let id = TenantId::generate();
        if !tenants::insert(&mut tx, id, slug, slug.as_str()).await? {
            return Err(ServiceError::NameTaken(slug.as_str().to_owned()));
        }
        memberships::upsert(&mut tx, id, owner, Role::Owner).await?;
        let event = tenant_created_event(id, slug, None);
        audit::record(&mut tx, &event).await?;
        tx.commit().await?;
        Ok(id)
    }

    /// Finds a tenant by id or slug. Does not check access.
    pub async fn resolve(&self, text: &str) -> Result<Option<TenantId>, ServiceError> {
        match text.parse() {
            Ok(id) => Ok(Some(id)),
            // Not a slug: no tenant has this name, and PostgreSQL may reject the text.
            Err(_) if text.parse::<Slug>().is_err() => Ok(None),
            Err(_) => self.find_by_slug(text).await,
        }
    }

    async fn find_by_slug(&self, slug: &str) -> Result<Option<TenantId>, ServiceError> {
        if let Some(known) = self.by_slug.get(&slug.to_owned()) {
            return Ok(Some(known));
        }
        let found = tenants::find_by_slug(&self.store, slug).await?;
        if let Some(tenant) = found {
            self.by_slug.insert(slug.to_owned(), tenant);
        }
        Ok(found)
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
        let mut tx = self.store.begin().await?;
        let locked = lock_for_change(&mut tx, caller, principal).await?;
        match locked.member {
            Some(current) => change_role(locked.actor, current, role, locked.owners)?,
            None => check_new_member(&mut tx, &locked, principal, role).await?,
        }
        write_member(&mut tx, caller, principal, locked.member, role).await?;
        Ok(tx.commit().await?)
    }

    /// Adds the user with a name. Adding a member again with the same role changes nothing; another role is an error.
    pub async fn add_member(
        &self,
        caller: &Authorized<MembersManage>,
        name: &str,
        role: Role,
    ) -> Result<PrincipalId, ServiceError> {
        // Without the permission, nobody learns who has an account.
        add_member(caller.role().ok_or(ServiceError::NOT_FOUND)?, role)?;
        let found = passwords::find_principal(&self.store, name).await?;
        let principal = found.ok_or(AccessError::UnknownUserName)?;
        let mut tx = self.store.begin().await?;
        let locked = lock_for_change(&mut tx, caller, principal).await?;
        match locked.member {
            Some(current) if current == role => return Ok(principal),
            Some(current) => return Err(MembershipError::AlreadyMember(current).into()),
            None => check_new_member(&mut tx, &locked, principal, role).await?,
        }
        write_member(&mut tx, caller, principal, None, role).await?;
        tx.commit().await?;
        Ok(principal)
    }

    /// Removes a member.
    pub async fn remove_member(
        &self,
        caller: &Authorized<Membership>,
        principal: PrincipalId,
    ) -> Result<(), ServiceError> {
        let mut tx = self.store.begin().await?;
        let locked = lock_for_change(&mut tx, caller, principal).await?;
        let current = locked.member.ok_or(ServiceError::NOT_FOUND)?;
        remove_member(locked.actor, current, locked.owners)?;
        memberships::delete(&mut tx, caller.tenant(), principal).await?;
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

/// What a change of a membership depends on, locked until the end of the transaction.
struct LockedMembership {
    actor: MembershipActor,
    actor_role: Role,
    /// None if the principal is not a member.
    member: Option<Role>,
    owners: usize,
}

/// Reads the roles again under a lock: the caller may have lost theirs since the request was authorized.
async fn lock_for_change<R: Right>(
    tx: &mut Tx,
    caller: &Authorized<R>,
    principal: PrincipalId,
) -> Result<LockedMembership, ServiceError> {
    let roles = memberships::lock_for_change(tx, caller.tenant(), caller.principal, principal).await?;
    let actor_role = roles.actor.ok_or(ServiceError::NOT_FOUND)?;
    let actor = if caller.principal == principal {
        MembershipActor::Themselves
    } else {
        MembershipActor::Other(actor_role)
    };
    Ok(LockedMembership { actor, actor_role, member: roles.member, owners: roles.owners })
}

/// Checks that a principal can be added. Others than users look like missing ones.
async fn check_new_member(
    tx: &mut Tx,
    locked: &LockedMembership,
    principal: PrincipalId,
    role: Role,
) -> Result<(), ServiceError> {
    add_member(locked.actor_role, role)?;
    let kind = principals::find_kind(tx, principal).await?;
    if kind.is_some_and(PrincipalKind::can_join_tenants) { Ok(()) } else { Err(ServiceError::NOT_FOUND) }
}

async fn write_member<R: Right>(
    tx: &mut Tx,
    caller: &Authorized<R>,
    principal: PrincipalId,
    from: Option<Role>,
    to: Role,
) -> Result<(), ServiceError> {
    memberships::upsert(tx, caller.tenant(), principal, to).await?;
    let detail = json!({ "from": from.map(Role::as_str), "to": to.as_str() });
    audit::record(tx, &AuditEvent::by_member(caller, "member.set", principal.to_string(), detail)).await
}
