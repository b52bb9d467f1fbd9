//! Agents.

use guildhall_domain::ids::{AgentId, TenantId};
use guildhall_protocol::rest::agents::inbox::{AgentInboxView, PutAgentInbox};
use guildhall_protocol::rest::agents::manifests::{
    ManifestVersionView, ManifestVersionsView, PublishedAgentView,
};
use guildhall_protocol::rest::agents::{AgentView, AgentsView, CreateAgent, UpdateAgent};
use reqwest::Method;

use crate::client::with_idempotency_key;
use crate::{Client, ClientError};

impl Client {
    pub async fn create_agent(
        &self,
        agent: &CreateAgent,
        idempotency_key: Option<&str>,
    ) -> Result<AgentView, ClientError> {
        let request = self.request(Method::POST, &["agents"]).json(agent);
        self.call(with_idempotency_key(request, idempotency_key)).await
    }

    pub async fn list_agents(&self, tenant: TenantId) -> Result<Vec<AgentView>, ClientError> {
        let request = self.query(&["agents"], &[("tenantId", tenant.to_string())]);
        Ok(self.call::<AgentsView>(request).await?.agents)
    }

    pub async fn get_agent(&self, agent: AgentId) -> Result<AgentView, ClientError> {
        self.call(self.request(Method::GET, &["agents", &agent.to_string()])).await
    }

    pub async fn get_agent_inbox(&self, agent: AgentId) -> Result<AgentInboxView, ClientError> {
        self.call(self.request(Method::GET, &["agents", &agent.to_string(), "inbox"])).await
    }

    /// Gives an agent an inbox, or changes whose messages start its work.
    pub async fn put_agent_inbox(
        &self,
        agent: AgentId,
        inbox: &PutAgentInbox,
    ) -> Result<AgentInboxView, ClientError> {
        self.call(self.request(Method::PUT, &["agents", &agent.to_string(), "inbox"]).json(inbox)).await
    }

    /// Lists at most 100 versions of the manifest of an agent below `before`, newest first.
    pub async fn list_agent_manifests(
        &self,
        agent: AgentId,
        before: Option<i64>,
    ) -> Result<Vec<ManifestVersionView>, ClientError> {
        let query: Vec<_> = before.map(|version| ("before", version.to_string())).into_iter().collect();
        let request = self.query(&["agents", &agent.to_string(), "manifests"], &query);
        Ok(self.call::<ManifestVersionsView>(request).await?.versions)
    }

    pub async fn get_agent_manifest(
        &self,
        agent: AgentId,
        version: i64,
    ) -> Result<ManifestVersionView, ClientError> {
        let segments = ["agents", &agent.to_string(), "manifests", &version.to_string()];
        self.call(self.request(Method::GET, &segments)).await
    }

    /// Returns what everybody may read about a published agent. Needs no token.
    pub async fn get_published_agent(&self, agent: AgentId) -> Result<PublishedAgentView, ClientError> {
        self.call_without_token(self.root_request(&["agents", &agent.to_string()])).await
    }

    pub async fn update_agent(&self, agent: AgentId, change: &UpdateAgent) -> Result<AgentView, ClientError> {
        self.call(self.request(Method::PATCH, &["agents", &agent.to_string()]).json(change)).await
    }
}
