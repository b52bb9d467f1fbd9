//! Retention of tenants. Requires an operator.

use guildhall_domain::ids::TenantId;
use guildhall_protocol::rest::retention::{RetentionPlanView, RetentionView, SetRetention};
use reqwest::{Method, RequestBuilder};

use crate::{Client, ClientError};

impl Client {
    pub async fn get_retention(&self, tenant: TenantId) -> Result<RetentionView, ClientError> {
        self.call(self.retention_request(Method::GET, tenant)).await
    }

    pub async fn set_retention(
        &self,
        tenant: TenantId,
        history_days: u32,
    ) -> Result<RetentionView, ClientError> {
        self.call(self.retention_request(Method::PUT, tenant).json(&SetRetention { history_days })).await
    }

    /// Lets a tenant keep its history for good.
    pub async fn clear_retention(&self, tenant: TenantId) -> Result<RetentionView, ClientError> {
        self.call(self.retention_request(Method::DELETE, tenant)).await
    }

    /// Shows what would be erased now: of one tenant, or of all that do not keep their history for good.
    pub async fn plan_retention(
        &self,
        tenant: Option<TenantId>,
        history_days: Option<u32>,
    ) -> Result<RetentionPlanView, ClientError> {
        let tenant = tenant.map(|tenant| ("tenant", tenant.to_string()));
        let days = history_days.map(|days| ("historyDays", days.to_string()));
        let query: Vec<(&str, String)> = tenant.into_iter().chain(days).collect();
        self.call(self.query(&["retention", "plan"], &query)).await
    }

    fn retention_request(&self, method: Method, tenant: TenantId) -> RequestBuilder {
        self.request(method, &["tenants", &tenant.to_string(), "retention"])
    }
}
