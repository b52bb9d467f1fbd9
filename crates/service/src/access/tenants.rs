//! Tenants and their members.

use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::principal::Slug;
use guildhall_domain::access::role::{By, Right, Role, add_member, change_role, remove_member};
use guildhall_domain::ids::{PrincipalId, TenantId};
use guildhall_store::memberships::{self, Member};
use guildhall_store::tenants;
pub use guildhall_store::tenants::Tenant;
use guildhall_store::{Store, Tx};
use serde_json::json;

use crate::ServiceError;
use crate::access::audit::{self, Event, Of};
use crate::idempotency::{self, Claim, IdempotencyKey};

/// Tenants listed in one answer.
const TENANTS_AT_MOST: u32 = 1000;

/// Makes tenants and decides on who belongs to them.
#[derive(Debug, Clone)]
pub struct Tenants {
    store: Store,
}

impl Tenants {
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self { store }
    }

    /// Makes a tenant; whoever makes it owns it. For those who operate the installation.
    pub async fn create(
        &self,
        caller: &Caller,
        slug: &Slug,
        name: &str,
        key: Option<&IdempotencyKey>,
    ) -> Result<Tenant, ServiceError> {
        caller.require_operator()?;
        let mut tx = self.store.begin().await?;
        let id = TenantId::generate();
        let claim =
            idempotency::claim(&mut tx, caller, key, &json!(["tenant", slug.as_str(), name]), id.as_uuid())
                .await?;
        if let Claim::Made(made) = claim {
            let found = tenants::find(&self.store, TenantId::from_uuid(made)).await?;
            return found.ok_or(ServiceError::NOT_FOUND);
        }
        if !tenants::insert(&mut tx, id, slug, name).await? {
            return Err(ServiceError::NameTaken(slug.as_str().to_owned()));
        }
        memberships::set(&mut tx, id, caller.principal, Role::Owner).await?;
        let event = event(caller, id, "tenant.created", id.to_string(), json!({ "slug": slug.as_str() }));
        audit::record(&mut tx, &event).await?;
        tx.commit().await?;
        Ok(Tenant { id, slug: slug.as_str().to_owned(), name: name.to_owned() })
    }

    /// Makes the tenant of a user who was just made with the installation: nobody has asked for it.
    pub async fn create_first(&self, owner: PrincipalId, slug: &Slug) -> Result<(), ServiceError> {
        let mut tx = self.store.begin().await?;
        let id = TenantId::generate();
        if !tenants::insert(&mut tx, id, slug, slug.as_str()).await? {
            return Err(ServiceError::NameTaken(slug.as_str().to_owned()));
        }
        memberships::set(&mut tx, id, owner, Role::Owner).await?;
        let event = Event {
            of: Of::Tenant(id),
            action: "tenant.created",
            actor: None,
            object: id.to_string(),
            detail: json!({ "slug": slug.as_str() }),
        };
        audit::record(&mut tx, &event).await?;
        Ok(tx.commit().await?)
    }

    /// Finds a tenant by its id or its slug. That it exists says nothing about whose it is.
    pub async fn resolve(&self, text: &str) -> Result<Option<TenantId>, ServiceError> {
        match text.parse() {
            Ok(id) => Ok(Some(id)),
            // What is no slug names nobody, and may hold what PostgreSQL cannot take.
            Err(_) if text.parse::<Slug>().is_err() => Ok(None),
            Err(_) => Ok(tenants::by_slug(&self.store, text).await?),
        }
    }

    /// Lists the tenants that the caller belongs to.
    pub async fn list(&self, caller: &Caller) -> Result<Vec<(Tenant, Role)>, ServiceError> {
        Ok(tenants::of_principal(&self.store, caller.principal, TENANTS_AT_MOST).await?)
    }

    pub async fn show(&self, caller: &Caller, id: TenantId) -> Result<Tenant, ServiceError> {
        caller.acting(id)?.require(Right::TenantRead)?;
        tenants::find(&self.store, id).await?.ok_or(ServiceError::NOT_FOUND)
    }

    pub async fn members(&self, caller: &Caller, id: TenantId) -> Result<Vec<Member>, ServiceError> {
        caller.acting(id)?.require(Right::MembersRead)?;
        Ok(memberships::list(&self.store, id).await?)
    }

    /// Gives a principal a role, or another one.
    pub async fn set_member(
        &self,
        caller: &Caller,
        id: TenantId,
        principal: PrincipalId,
        role: Role,
    ) -> Result<(), ServiceError> {
        let acting = caller.acting(id)?;
        let mut tx = self.store.begin().await?;
        let members = memberships::lock_all(&mut tx, id).await?;
        let current = members.iter().find(|member| member.principal == principal).map(|member| member.role);
        match current {
            Some(current) => {
                change_role(by(caller, principal, acting.role), current, role, owners(&members))?
            }
            None => add_member(acting.role, role)?,
        }
        self.write_member(&mut tx, caller, id, principal, current, role).await?;
        Ok(tx.commit().await?)
    }

    async fn write_member(
        &self,
        tx: &mut Tx,
        caller: &Caller,
        id: TenantId,
        principal: PrincipalId,
        from: Option<Role>,
        to: Role,
    ) -> Result<(), ServiceError> {
        memberships::set(tx, id, principal, to).await.map_err(|error| match error {
            // The one reference that a caller can get wrong is the principal.
            error if error.is_missing_reference() => ServiceError::NOT_FOUND,
            error => error.into(),
        })?;
        let detail = json!({ "from": from.map(Role::as_str), "to": to.as_str() });
        audit::record(tx, &event(caller, id, "member.set", principal.to_string(), detail)).await
    }

    /// Takes a principal's role away.
    pub async fn remove_member(
        &self,
        caller: &Caller,
        id: TenantId,
        principal: PrincipalId,
    ) -> Result<(), ServiceError> {
        let acting = caller.acting(id)?;
        let mut tx = self.store.begin().await?;
        let members = memberships::lock_all(&mut tx, id).await?;
        let current = members.iter().find(|member| member.principal == principal).map(|member| member.role);
        let Some(current) = current else { return Err(ServiceError::NOT_FOUND) };
        remove_member(by(caller, principal, acting.role), current, owners(&members))?;
        memberships::remove(&mut tx, id, principal).await?;
        let detail = json!({ "from": current.as_str() });
        audit::record(&mut tx, &event(caller, id, "member.removed", principal.to_string(), detail)).await?;
        Ok(tx.commit().await?)
    }
}

fn by(caller: &Caller, principal: PrincipalId, role: Role) -> By {
    if caller.principal == principal { By::Themselves } else { By::Member(role) }
}

fn owners(members: &[Member]) -> usize {
    members.iter().filter(|member| member.role == Role::Owner).count()
}

pub(crate) fn event(
    caller: &Caller,
    tenant: TenantId,
    action: &'static str,
    object: String,
    detail: serde_json::Value,
) -> Event {
    Event { of: Of::Tenant(tenant), action, actor: Some(caller.principal), object, detail }
}
