//! Relations: what people have granted to agents.

mod agent_aids;
mod changed_manifests;
mod grants;
mod live;
mod page;
mod rows;
mod tool_calls;

use std::time::Duration;

use guildhall_testkit::Stopwatch;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::TestResponse;
use crate::support::TestServer;
use crate::support::aun_client::AunIdentity;
use crate::support::cluster::SignedInUser;
use crate::support::gateway::Gateway;
use crate::support::manifests::manifest;

const RELATIONS: &str = "/h2a/relations";

/// All scopes of the usual manifest.
const SCOPES: [&str; 3] = ["filesystem:read", "location:read", "notification:send"];

/// Two replicas with a published agent, and a person of no tenant.
struct Consents {
    gateway: Gateway,
    agent: String,
    ada: SignedInUser,
}

impl Consents {
    async fn new() -> Self {
        Self::in_gateway(Gateway::start().await).await
    }

    async fn in_gateway(gateway: Gateway) -> Self {
        gateway.cluster.create_tenant("acme").await;
        let agent = gateway.cluster.create_declared_agent("acme", "helper", manifest()).await;
        gateway.cluster.change_agent(&agent, json!({ "published": true })).await;
        let ada = gateway.cluster.create_user("ada").await;
        Self { gateway, agent, ada }
    }

    fn first(&self) -> &TestServer {
        &self.gateway.cluster.first
    }

    fn second(&self) -> &TestServer {
        &self.gateway.cluster.second
    }

    async fn try_grant(&self, user: &SignedInUser, body: Value) -> TestResponse {
        self.first().post_as(RELATIONS, &user.token, body).await
    }

    /// Grants scopes as Ada. Returns the relation.
    async fn grant(&self, scopes: &[&str]) -> Value {
        let granted =
            self.try_grant(&self.ada, json!({ "agent_id": self.agent, "granted_scopes": scopes })).await;
        assert_eq!(granted.status, 201, "{}", granted.text);
        granted.body
    }

    async fn read(&self, relation: &str) -> Value {
        let read = self.second().get_as(&format!("{RELATIONS}/{relation}"), &self.ada.token).await;
        assert_eq!(read.status, 200, "{}", read.text);
        read.body
    }

    async fn patch(&self, relation: &str, body: Value) -> TestResponse {
        let path = format!("{RELATIONS}/{relation}");
        self.second().request_as(Method::PATCH, &path, &self.ada.token, Some(body)).await
    }

    async fn revoke(&self, relation: &str) -> Value {
        let path = format!("{RELATIONS}/{relation}");
        let ended = self.first().request_as(Method::DELETE, &path, &self.ada.token, None).await;
        assert_eq!(ended.status, 200, "{}", ended.text);
        ended.body
    }

    /// Changes the manifest, and waits until all relations were compared with it.
    async fn declare(&self, manifest: &Value) {
        self.gateway.cluster.change_agent(&self.agent, json!({ "capability_manifest": manifest })).await;
        self.wait_for_checks().await;
    }

    async fn wait_for_checks(&self) {
        let mut sql = self.gateway.cluster.db.sql().await;
        let limit = Stopwatch::start();
        while sql.number("SELECT count(*) FROM relation_checks WHERE ended_at IS NULL").await > 0 {
            assert!(limit.elapsed() < Duration::from_secs(120), "the comparison does not end");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Returns the notices of all relations: kind, version and scopes.
    async fn notices(&self) -> Vec<String> {
        let select = "SELECT kind || ' ' || manifest_version || ' ' || scopes FROM relation_notices \
                      ORDER BY relation, manifest_version";
        self.gateway.cluster.db.sql().await.texts(select).await
    }

    /// Registers an AID, and gives it to a person.
    async fn aid_of(&self, user: &SignedInUser, name: &str) -> AunIdentity {
        self.gateway.register_for(user, name).await
    }
}

fn id_of(relation: &Value) -> String {
    relation["id"].as_str().expect("an id").to_owned()
}
