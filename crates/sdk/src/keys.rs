//! Service keys.

use guildhall_domain::access::role::Role;
use guildhall_domain::ids::{ServiceKeyId, TenantId};
use guildhall_protocol::rest::access::keys::{CreateKey, KeyView, KeysView, NewKeyView};
use reqwest::Method;
use secrecy::SecretString;

use crate::client::with_idempotency_key;
use crate::{Client, ClientError};

/// A created service key.
#[derive(Debug, Clone)]
pub struct NewKey {
    pub id: String,
    /// Returned once; a replay of the same request has none.
    pub secret: Option<SecretString>,
}

impl Client {
    /// Creates a service key.
    pub async fn create_key(
        &self,
        tenant: TenantId,
        name: &str,
        role: Role,
        idempotency_key: Option<&str>,
    ) -> Result<NewKey, ClientError> {
        let body = CreateKey { name: name.to_owned(), role: role.as_str().to_owned() };
        let request = self.request(Method::POST, &["tenants", &tenant.to_string(), "keys"]).json(&body);
        let view: NewKeyView = self.call(with_idempotency_key(request, idempotency_key)).await?;
        Ok(NewKey { id: view.id, secret: view.secret.map(SecretString::from) })
    }

    pub async fn list_keys(&self, tenant: TenantId) -> Result<Vec<KeyView>, ClientError> {
        let view: KeysView =
            self.call(self.request(Method::GET, &["tenants", &tenant.to_string(), "keys"])).await?;
        Ok(view.keys)
    }

    /// Revokes a key with immediate effect.
    pub async fn revoke_key(&self, tenant: TenantId, key: ServiceKeyId) -> Result<(), ClientError> {
        let segments = ["tenants", &tenant.to_string(), "keys", &key.to_string()];
        self.command(self.request(Method::DELETE, &segments)).await
    }
}
