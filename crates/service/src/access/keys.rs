//! Service keys: long-lived credentials of one tenant, for programs.

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::principal::PrincipalKind;
use guildhall_domain::access::role::rights::{KeysManage, KeysRead};
use guildhall_domain::access::role::{Role, add_member};
use guildhall_domain::access::service_key::ServiceKey;
use guildhall_domain::ids::{PrincipalId, ServiceKeyId};
use guildhall_identity::opaque::{OpaqueSecret, OpaqueSecretKind};
use guildhall_store::principals::NewPrincipal;
use guildhall_store::service_keys::{self, NewServiceKey};
use guildhall_store::{Store, memberships, principals};
use secrecy::SecretString;
use serde_json::json;

use crate::ServiceError;
use crate::access::audit::{self, AuditEvent};
use crate::idempotency::{self, Claim, IdempotencyKey};

/// A created key. The secret is returned once; an idempotent replay has none.
#[derive(Debug, Clone)]
pub struct CreatedKey {
    pub id: ServiceKeyId,
    pub secret: Option<SecretString>,
}

/// Creates, lists and revokes service keys.
#[derive(Debug, Clone)]
pub struct ServiceKeys {
    store: Store,
}

impl ServiceKeys {
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self { store }
    }

    /// Creates a key with its own role, which must not be above the creator's.
    pub async fn create(
        &self,
        caller: &Authorized<KeysManage>,
        name: &str,
        role: Role,
        key: Option<&IdempotencyKey>,
    ) -> Result<CreatedKey, ServiceError> {
        add_member(caller.role().ok_or(ServiceError::NOT_FOUND)?, role)?;
        let tenant = caller.tenant();
        let mut tx = self.store.begin().await?;
        let id = ServiceKeyId::generate();
        let body = json!(["key", tenant, name, role.as_str()]);
        if let Claim::Created(created) = idempotency::claim(&mut tx, caller, key, &body, id.as_uuid()).await?
        {
            return Ok(CreatedKey { id: ServiceKeyId::from_uuid(created), secret: None });
        }
        let principal = PrincipalId::generate();
        let service = NewPrincipal { id: principal, kind: PrincipalKind::Service, name, is_operator: false };
        principals::insert(&mut tx, &service).await?;
        memberships::upsert(&mut tx, tenant, principal, role).await?;
        let (secret, hash) = OpaqueSecret::generate(OpaqueSecretKind::ServiceKey, id.as_uuid());
        service_keys::insert(&mut tx, &NewServiceKey { id, tenant, principal, name, hash: hash.as_bytes() })
            .await?;
        let detail = json!({ "name": name, "role": role.as_str() });
        audit::record(&mut tx, &AuditEvent::by_member(caller, "key.created", id.to_string(), detail)).await?;
        tx.commit().await?;
        Ok(CreatedKey { id, secret: Some(secret) })
    }

    pub async fn list(&self, caller: &Authorized<KeysRead>) -> Result<Vec<ServiceKey>, ServiceError> {
        Ok(service_keys::list(&self.store, caller.tenant()).await?)
    }

    /// Revokes a key on every replica, effective at commit. Revoking it again succeeds.
    pub async fn revoke(
        &self,
        caller: &Authorized<KeysManage>,
        id: ServiceKeyId,
    ) -> Result<(), ServiceError> {
        let tenant = caller.tenant();
        let mut tx = self.store.begin().await?;
        if service_keys::revoke(&mut tx, tenant, id).await? {
            audit::record(&mut tx, &AuditEvent::by_member(caller, "key.revoked", id.to_string(), json!({})))
                .await?;
        } else if !service_keys::exists(&mut tx, tenant, id).await? {
            return Err(ServiceError::NOT_FOUND);
        }
        Ok(tx.commit().await?)
    }
}
