//! Service keys: long-lived, of one tenant, for programs.

use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::principal::PrincipalKind;
use guildhall_domain::access::role::{Right, Role, add_member};
use guildhall_domain::ids::{PrincipalId, ServiceKeyId, TenantId};
use guildhall_identity::opaque::{Opaque, OpaqueKind};
use guildhall_store::principals::NewPrincipal;
use guildhall_store::service_keys::{self, NewKey, ServiceKey};
use guildhall_store::{Store, memberships, principals};
use secrecy::SecretString;
use serde_json::json;

use crate::ServiceError;
use crate::access::audit;
use crate::access::tenants::event;
use crate::idempotency::{self, Claim, IdempotencyKey};

/// A key that was made; the secret is shown once. A replay has none to show.
#[derive(Debug, Clone)]
pub struct NewServiceKey {
    pub id: ServiceKeyId,
    pub secret: Option<SecretString>,
}

/// Makes, lists and ends keys.
#[derive(Debug, Clone)]
pub struct Keys {
    store: Store,
}

impl Keys {
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self { store }
    }

    /// Makes a key with a role of its own, not above its maker's.
    pub async fn create(
        &self,
        caller: &Caller,
        tenant: TenantId,
        name: &str,
        role: Role,
        key: Option<&IdempotencyKey>,
    ) -> Result<NewServiceKey, ServiceError> {
        let acting = caller.acting(tenant)?;
        acting.require(Right::KeysManage)?;
        add_member(acting.role, role)?;
        let mut tx = self.store.begin().await?;
        let id = ServiceKeyId::generate();
        let said = json!(["key", tenant, name, role.as_str()]);
        if let Claim::Made(made) = idempotency::claim(&mut tx, caller, key, &said, id.as_uuid()).await? {
            return Ok(NewServiceKey { id: ServiceKeyId::from_uuid(made), secret: None });
        }
        let principal = PrincipalId::generate();
        let service = NewPrincipal { id: principal, kind: PrincipalKind::Service, name, is_operator: false };
        principals::insert(&mut tx, &service).await?;
        memberships::set(&mut tx, tenant, principal, role).await?;
        let (secret, hash) = Opaque::generate(OpaqueKind::ServiceKey, id.as_uuid());
        service_keys::insert(&mut tx, &NewKey { id, tenant, principal, name, hash: hash.as_bytes() }).await?;
        let detail = json!({ "name": name, "role": role.as_str() });
        audit::record(&mut tx, &event(caller, tenant, "key.created", id.to_string(), detail)).await?;
        tx.commit().await?;
        Ok(NewServiceKey { id, secret: Some(secret) })
    }

    pub async fn list(&self, caller: &Caller, tenant: TenantId) -> Result<Vec<ServiceKey>, ServiceError> {
        caller.acting(tenant)?.require(Right::KeysRead)?;
        Ok(service_keys::list(&self.store, tenant).await?)
    }

    /// Ends a key, on every replica from the commit on. Ending it again is no error.
    pub async fn revoke(
        &self,
        caller: &Caller,
        tenant: TenantId,
        id: ServiceKeyId,
    ) -> Result<(), ServiceError> {
        caller.acting(tenant)?.require(Right::KeysManage)?;
        let mut tx = self.store.begin().await?;
        if service_keys::revoke(&mut tx, tenant, id).await? {
            audit::record(&mut tx, &event(caller, tenant, "key.revoked", id.to_string(), json!({}))).await?;
        } else if !service_keys::exists(&mut tx, tenant, id).await? {
            return Err(ServiceError::NOT_FOUND);
        }
        Ok(tx.commit().await?)
    }
}
