//! Tenants.

use guildhall_domain::ids::TenantId;
use guildhall_protocol::rest::access::tenants::{MembershipView, TenantView, TenantsView};
use reqwest::Method;
use serde::Serialize;

use crate::client::keyed;
use crate::{Client, ClientError};

#[derive(Serialize)]
struct CreateTenantBody<'a> {
    slug: &'a str,
    name: &'a str,
}

impl Client {
    /// Makes a tenant, owned by the caller. For those who operate the installation.
    pub async fn create_tenant(
        &self,
        slug: &str,
        name: &str,
        idempotency_key: Option<&str>,
    ) -> Result<TenantView, ClientError> {
        let request = self.request(Method::POST, &["tenants"]).json(&CreateTenantBody { slug, name });
        self.call(keyed(request, idempotency_key)).await
    }

    /// Lists the tenants that the caller belongs to, with the role in each.
    pub async fn list_tenants(&self) -> Result<Vec<MembershipView>, ClientError> {
        let view: TenantsView = self.call(self.request(Method::GET, &["tenants"])).await?;
        Ok(view.tenants)
    }

    pub async fn show_tenant(&self, tenant: TenantId) -> Result<TenantView, ClientError> {
        self.call(self.request(Method::GET, &["tenants", &tenant.to_string()])).await
    }
}
