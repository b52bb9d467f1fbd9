//! A tenant whose agent has an AID and webhooks, on two replicas.

use std::time::{Duration, Instant};

use guildhall_store::{Store, StoreOptions};
use reqwest::Method;
use serde_json::{Value, json};

use super::TestResponse;
use super::agent_threads::tenant_with_agent;
use super::aun_client::{AunIdentity, AunSocket};
use super::gateway::Gateway;
use super::runs::{TestTenant, text};
use super::webhook_receiver::{ReceivedEvent, WebhookReceiver};

/// The AID of the agent.
pub(crate) const AGENT_AID: &str = "helper.guild.example";

/// An agent with an AID, on servers that may call loopback addresses.
pub(crate) struct AgentWebhooks {
    pub(crate) gateway: Gateway,
    pub(crate) tenant: TestTenant,
    pub(crate) agent: String,
}

impl AgentWebhooks {
    pub(crate) async fn start() -> Self {
        let gateway = Gateway::with(|setup| setup.with("egress.allow", "127.0.0.0/8")).await;
        Self::of(gateway).await
    }

    pub(crate) async fn of(gateway: Gateway) -> Self {
        let tenant = tenant_with_agent(&gateway.cluster).await;
        let (server, token) = (&gateway.cluster.first, &gateway.cluster.operator.token);
        let agents = server.get_as("/api/v1/agents?tenantId=acme", token).await.body;
        let agent = text(&agents["agents"][0], "id");
        let path = format!("/api/v1/agents/{agent}/inbox");
        let put = server.request_as(Method::PUT, &path, token, Some(json!({}))).await;
        assert_eq!(put.status, 200, "{}", put.text);
        Self { gateway, tenant, agent }
    }

    /// Creates a webhook of the agent. Returns its id and its secret.
    pub(crate) async fn add(&self, url: &str, events: &[&str]) -> (String, String) {
        let body = json!({ "url": url, "events": events, "agentId": self.agent });
        let created = self.create(body).await;
        assert_eq!(created.status, 201, "{}", created.text);
        (text(&created.body, "id"), text(&created.body, "secret"))
    }

    pub(crate) async fn create(&self, body: Value) -> TestResponse {
        let path = format!("/api/v1/tenants/{}/webhooks", self.tenant.id);
        self.gateway.cluster.first.post_as(&path, &self.gateway.cluster.operator.token, body).await
    }

    /// Calls a route of a webhook, at the second replica.
    pub(crate) async fn call(&self, method: Method, path: &str, body: Option<Value>) -> TestResponse {
        let cluster = &self.gateway.cluster;
        let path = format!("/api/v1/webhooks/{path}");
        cluster.second.request_as(method, &path, &cluster.operator.token, body).await
    }

    pub(crate) async fn delete(&self, webhook: &str) {
        let cluster = &self.gateway.cluster;
        let path = format!("/api/v1/tenants/{}/webhooks/{webhook}", self.tenant.id);
        let deleted = cluster.second.request_as(Method::DELETE, &path, &cluster.operator.token, None).await;
        assert_eq!(deleted.status, 200, "{}", deleted.text);
    }

    pub(crate) async fn get(&self, webhook: &str) -> Value {
        let shown = self.call(Method::GET, webhook, None).await;
        assert_eq!(shown.status, 200, "{}", shown.text);
        shown.body
    }

    /// Returns the newest deliveries, newest first.
    pub(crate) async fn deliveries(&self, webhook: &str) -> Vec<Value> {
        let page = self.call(Method::GET, &format!("{webhook}/deliveries?limit=100"), None).await;
        assert_eq!(page.status, 200, "{}", page.text);
        page.body["deliveries"].as_array().expect("deliveries").clone()
    }

    /// Waits until the webhook meets a condition.
    pub(crate) async fn wait_for(&self, webhook: &str, condition: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + Duration::from_secs(120);
        loop {
            let shown = self.get(webhook).await;
            if condition(&shown) {
                return shown;
            }
            assert!(Instant::now() < deadline, "{shown}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until a query returns a number.
    pub(crate) async fn wait_for_rows(&self, query: &str, count: i64) {
        let mut sql = self.gateway.cluster.db.sql().await;
        let deadline = Instant::now() + Duration::from_secs(120);
        loop {
            let found = sql.number(query).await;
            if found == count {
                return;
            }
            assert!(Instant::now() < deadline, "{found}, not {count}: {query}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until no event waits any more.
    pub(crate) async fn wait_for_empty_queue(&self) {
        self.wait_for_rows("SELECT count(*) FROM webhook_events WHERE state = 'waiting'", 0).await;
    }

    /// Makes all pauses end now.
    pub(crate) async fn end_pauses(&self) {
        let end = "UPDATE webhook_lanes SET next_attempt_at = now() WHERE claim IS NULL";
        self.gateway.cluster.db.sql().await.execute(end).await;
    }

    /// Opens the database as a replica does.
    pub(crate) fn store(&self) -> Store {
        let timeout = Duration::from_secs(30);
        let options = StoreOptions {
            url: self.gateway.cluster.db.url(),
            max_connections: 2,
            acquire_timeout: timeout,
            statement_timeout: timeout,
        };
        Store::new(&options).expect("a store")
    }

    /// Registers an AID, connected to the second replica.
    pub(crate) async fn sender(&self, name: &str) -> (AunIdentity, AunSocket) {
        let identity = self.gateway.register(name).await;
        let socket = identity.connected(self.gateway.cluster.second.address).await;
        (identity, socket)
    }
}

/// Sends a text to the agent, in a conversation.
pub(crate) async fn say(socket: &mut AunSocket, conversation: Option<&str>, words: &str) -> Value {
    let mut payload = json!({ "type": "text", "text": words });
    if let Some(conversation) = conversation {
        payload["conversation_id"] = json!(conversation);
    }
    socket.call("message.send", json!({ "to": AGENT_AID, "payload": payload })).await.expect("sent")
}

/// Returns the texts of received messages.
pub(crate) fn words(received: &[ReceivedEvent]) -> Vec<String> {
    received.iter().map(|event| text(&event.json()["data"]["envelope"], "text")).collect()
}

/// Waits until a receiver has these texts, each once and in this order.
pub(crate) async fn assert_words(receiver: &WebhookReceiver, expected: &[&str]) {
    assert_eq!(words(&receiver.wait_for(expected.len()).await), expected);
}
