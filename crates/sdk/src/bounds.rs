//! Bounds of a tenant's runs. Requires an operator.

use guildhall_domain::ids::TenantId;
use guildhall_protocol::rest::access::bounds::{SetTenantBounds, TenantBoundsView};
use reqwest::{Method, RequestBuilder};

use crate::{Client, ClientError};

impl Client {
    pub async fn get_tenant_bounds(&self, tenant: TenantId) -> Result<TenantBoundsView, ClientError> {
        self.call(self.bounds_request(Method::GET, tenant)).await
    }

    /// Replaces the restrictions of a tenant.
    pub async fn set_tenant_bounds(
        &self,
        tenant: TenantId,
        restrictions: &SetTenantBounds,
    ) -> Result<TenantBoundsView, ClientError> {
        self.call(self.bounds_request(Method::PUT, tenant).json(restrictions)).await
    }

    /// Removes the restrictions of a tenant.
    pub async fn clear_tenant_bounds(&self, tenant: TenantId) -> Result<TenantBoundsView, ClientError> {
        self.call(self.bounds_request(Method::DELETE, tenant)).await
    }

    fn bounds_request(&self, method: Method, tenant: TenantId) -> RequestBuilder {
        self.request(method, &["tenants", &tenant.to_string(), "bounds"])
    }
}
