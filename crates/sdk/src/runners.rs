//! The runners of a tenant.

use guildhall_domain::ids::{RunnerId, TenantId};
use guildhall_protocol::rest::runners::{RunnerSummaryView, RunnersView};
use reqwest::Method;

use crate::{Client, ClientError};

/// Which runners to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunnerScope {
    /// Those that hold a run, or asked for one lately.
    Active,
    All,
}

impl Client {
    /// Lists the runners of a tenant, newest first.
    pub async fn list_runners(
        &self,
        tenant: TenantId,
        scope: RunnerScope,
    ) -> Result<Vec<RunnerSummaryView>, ClientError> {
        let all = scope == RunnerScope::All;
        let request = self.query(&["tenants", &tenant.to_string(), "runners"], &[("all", all)]);
        Ok(self.call::<RunnersView>(request).await?.runners)
    }

    pub async fn get_runner(
        &self,
        tenant: TenantId,
        runner: RunnerId,
    ) -> Result<RunnerSummaryView, ClientError> {
        self.call(
            self.request(Method::GET, &["tenants", &tenant.to_string(), "runners", &runner.to_string()]),
        )
        .await
    }

    /// Lets a runner finish its run and gives it no other. Idempotent.
    pub async fn drain_runner(
        &self,
        tenant: TenantId,
        runner: RunnerId,
    ) -> Result<RunnerSummaryView, ClientError> {
        let segments = ["tenants", &tenant.to_string(), "runners", &runner.to_string(), "drain"];
        self.call(self.request(Method::POST, &segments)).await
    }
}
