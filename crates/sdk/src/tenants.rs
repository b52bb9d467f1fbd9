//! Tenants.

use guildhall_domain::ids::TenantId;
use guildhall_protocol::rest::access::tenants::{MembershipView, TenantView, TenantsView};
use reqwest::Method;
use serde::Serialize;

use crate::client::with_idempotency_key;
use crate::{Client, ClientError};

#[derive(Serialize)]
struct CreateTenantBody<'a> {
    slug: &'a str,
    name: &'a str,
}

impl Client {
    /// Creates a tenant that the caller owns. Requires an operator.
    pub async fn create_tenant(
        &self,
        slug: &str,
        name: &str,
        idempotency_key: Option<&str>,
    ) -> Result<TenantView, ClientError> {
        let request = self.request(Method::POST, &["tenants"]).json(&CreateTenantBody { slug, name });
        self.call(with_idempotency_key(request, idempotency_key)).await
    }

    /// Lists the caller's tenants with the role in each.
    pub async fn list_tenants(&self) -> Result<Vec<MembershipView>, ClientError> {
        let view: TenantsView = self.call(self.request(Method::GET, &["tenants"])).await?;
        Ok(view.tenants)
    }

    pub async fn get_tenant(&self, tenant: TenantId) -> Result<TenantView, ClientError> {
        self.call(self.request(Method::GET, &["tenants", &tenant.to_string()])).await
    }
}
