//! Relations: what the signed-in person has granted to agents.

use guildhall_domain::ids::{AgentId, RelationId};
use guildhall_protocol::rest::agents::aid::{AgentAidView, PutAgentAid};
use guildhall_protocol::rest::relations::{
    AcknowledgeNotice, CreateRelation, EndedRelationView, RelationChangeView, RelationHistoryView,
    RelationView, RelationsView, UpdateRelation,
};
use reqwest::Method;

use crate::client::with_idempotency_key;
use crate::{Client, ClientError};

impl Client {
    /// Grants scopes to an agent. Name the manifest that the person was shown.
    pub async fn create_relation(
        &self,
        relation: &CreateRelation,
        idempotency_key: Option<&str>,
    ) -> Result<RelationView, ClientError> {
        let request = self.request(Method::POST, &["relations"]).json(relation);
        self.call(with_idempotency_key(request, idempotency_key)).await
    }

    /// Lists at most 100 relations, the oldest first. The page has the cursor of the next one.
    pub async fn list_relations(
        &self,
        with_ended: bool,
        cursor: Option<&str>,
    ) -> Result<RelationsView, ClientError> {
        let mut query = vec![("ended", with_ended.to_string())];
        query.extend(cursor.map(|cursor| ("cursor", cursor.to_owned())));
        self.call(self.query(&["relations"], &query)).await
    }

    pub async fn get_relation(&self, relation: RelationId) -> Result<RelationView, ClientError> {
        self.call(self.request(Method::GET, &["relations", &relation.to_string()])).await
    }

    /// Changes what is granted, or agrees to a new manifest.
    pub async fn update_relation(
        &self,
        relation: RelationId,
        change: &UpdateRelation,
    ) -> Result<RelationView, ClientError> {
        self.call(self.request(Method::PATCH, &["relations", &relation.to_string()]).json(change)).await
    }

    /// Takes everything back.
    pub async fn delete_relation(&self, relation: RelationId) -> Result<EndedRelationView, ClientError> {
        self.call(self.request(Method::DELETE, &["relations", &relation.to_string()])).await
    }

    /// Lists at most 100 entries of the history of a relation below `before`, newest first.
    pub async fn list_relation_history(
        &self,
        relation: RelationId,
        before: Option<i32>,
    ) -> Result<Vec<RelationChangeView>, ClientError> {
        let query: Vec<_> = before.map(|number| ("before", number.to_string())).into_iter().collect();
        let request = self.query(&["relations", &relation.to_string(), "history"], &query);
        Ok(self.call::<RelationHistoryView>(request).await?.changes)
    }

    /// Says that the person has seen what changed in a version of the manifest.
    pub async fn acknowledge_relation_notice(
        &self,
        relation: RelationId,
        manifest_version: i64,
    ) -> Result<(), ClientError> {
        let segments = ["relations", &relation.to_string(), "acknowledge"];
        self.command(self.request(Method::POST, &segments).json(&AcknowledgeNotice { manifest_version }))
            .await
    }

    /// Returns the AID with which an agent speaks.
    pub async fn get_agent_aid(&self, agent: AgentId) -> Result<AgentAidView, ClientError> {
        self.call(self.request(Method::GET, &["agents", &agent.to_string(), "aid"])).await
    }

    /// Sets the AID of an agent that runs elsewhere.
    pub async fn put_agent_aid(
        &self,
        agent: AgentId,
        aid: &PutAgentAid,
    ) -> Result<AgentAidView, ClientError> {
        self.call(self.request(Method::PUT, &["agents", &agent.to_string(), "aid"]).json(aid)).await
    }

    /// Takes the AID from an agent that runs elsewhere.
    pub async fn delete_agent_aid(&self, agent: AgentId) -> Result<(), ClientError> {
        self.command(self.request(Method::DELETE, &["agents", &agent.to_string(), "aid"])).await
    }
}
