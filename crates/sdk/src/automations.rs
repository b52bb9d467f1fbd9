//! Automations.

use guildhall_domain::ids::{AutomationId, TenantId};
use guildhall_protocol::rest::agents::automations::{
    AutomationView, AutomationsView, CreateAutomation, StartAutomation, UpdateAutomation,
};
use guildhall_protocol::rest::front::agent_runs::TaskAcceptedResponse;
use reqwest::Method;

use crate::client::with_idempotency_key;
use crate::{Client, ClientError};

impl Client {
    pub async fn create_automation(
        &self,
        automation: &CreateAutomation,
        idempotency_key: Option<&str>,
    ) -> Result<AutomationView, ClientError> {
        let request = self.request(Method::POST, &["automations"]).json(automation);
        self.call(with_idempotency_key(request, idempotency_key)).await
    }

    pub async fn list_automations(&self, tenant: TenantId) -> Result<Vec<AutomationView>, ClientError> {
        let request = self.query(&["automations"], &[("tenantId", tenant.to_string())]);
        Ok(self.call::<AutomationsView>(request).await?.automations)
    }

    pub async fn get_automation(&self, automation: AutomationId) -> Result<AutomationView, ClientError> {
        self.call(self.request(Method::GET, &["automations", &automation.to_string()])).await
    }

    pub async fn update_automation(
        &self,
        automation: AutomationId,
        change: &UpdateAutomation,
    ) -> Result<AutomationView, ClientError> {
        self.call(self.request(Method::PATCH, &["automations", &automation.to_string()]).json(change)).await
    }

    /// Starts a run. The same run id in the same thread is the same run.
    pub async fn start_automation(
        &self,
        automation: AutomationId,
        run: &StartAutomation,
    ) -> Result<TaskAcceptedResponse, ClientError> {
        let path = ["automations", &automation.to_string(), "runs"];
        self.call(self.request(Method::POST, &path).json(run)).await
    }
}
