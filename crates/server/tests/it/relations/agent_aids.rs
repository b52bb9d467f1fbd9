//! AIDs of agents that run elsewhere.

use reqwest::Method;
use serde_json::{Value, json};

use super::live::next_event;
use super::{Consents, SCOPES, id_of};
use crate::support::TestResponse;
use crate::support::aun_client::AunSocket;
use crate::support::cluster::SignedInUser;
use crate::support::manifests::manifest_with;

impl Consents {
    async fn aid(
        &self,
        method: Method,
        agent: &str,
        user: &SignedInUser,
        body: Option<Value>,
    ) -> TestResponse {
        let path = format!("/api/v1/agents/{agent}/aid");
        self.second().request_as(method, &path, &user.token, body).await
    }

    async fn set_aid(&self, agent: &str, user: &SignedInUser, aid: &str) -> TestResponse {
        self.aid(Method::PUT, agent, user, Some(json!({ "aid": aid }))).await
    }
}

async fn list_relations(socket: &mut AunSocket) -> Value {
    let listed = socket.call("h2a.relations", json!({})).await.expect("a list");
    listed["relations"].clone()
}

// covers: M1
#[tokio::test]
async fn token_of_the_agents_own_aid_changes_no_manifest() {
    let consents = Consents::new().await;
    let operator = consents.gateway.cluster.operator.clone();
    let own = consents.aid_of(&operator, "own-1").await;
    assert_eq!(consents.set_aid(&consents.agent, &operator, &own.aid).await.status, 200);
    let token = own.log_in(consents.first().address, consents.second().address).await.access;
    let stolen = manifest_with(|value| value["agent_version"] = json!("6.6.6"));
    for path in [format!("/agents/{}", consents.agent), format!("/api/v1/agents/{}", consents.agent)] {
        for body in [json!({ "capability_manifest": stolen }), json!({ "published": false })] {
            let refused = consents.second().request_as(Method::PATCH, &path, &token, Some(body)).await;
            refused.assert_failure(401, "unauthenticated");
        }
    }
    let shown = consents.first().get(&format!("/agents/{}", consents.agent)).await.body;
    assert_eq!(shown["capability_manifest"]["agent_version"], "1.0.0", "{shown}");
}

#[tokio::test]
async fn agent_speaks_with_the_aid_of_who_sets_it_and_no_other() {
    let consents = Consents::new().await;
    let operator = consents.gateway.cluster.operator.clone();
    let mine = consents.aid_of(&operator, "mine").await;
    let foreign = consents.aid_of(&consents.ada, "foreign").await;
    consents.aid(Method::GET, &consents.agent, &operator, None).await.assert_failure(404, "not-found");
    for aid in [foreign.aid.as_str(), "nobody.guild.example"] {
        consents.set_aid(&consents.agent, &operator, aid).await.assert_failure(403, "forbidden");
    }
    consents.set_aid(&consents.agent, &operator, "x").await.assert_failure(400, "schema-invalid");
    consents.set_aid(&consents.agent, &consents.ada, &foreign.aid).await.assert_failure(404, "not-found");
    let expected = json!({ "aid": mine.aid, "hosted": false });
    for _ in 0..2 {
        let set = consents.set_aid(&consents.agent, &operator, &mine.aid).await;
        assert_eq!((set.status.as_u16(), set.body), (200, expected.clone()));
    }
    assert_eq!(consents.aid(Method::GET, &consents.agent, &operator, None).await.body, expected);
    let published = consents.grant(&[]).await;
    assert_eq!(published["agent_aid"], mine.aid.as_str());

    let other = consents.gateway.cluster.create_agent("acme", "other").await;
    consents.set_aid(&other, &operator, &mine.aid).await.assert_failure(409, "conflict");
    let deleted = consents.aid(Method::DELETE, &consents.agent, &operator, None).await;
    assert_eq!(deleted.body, json!({ "agentId": consents.agent, "deleted": true }));
    consents.aid(Method::DELETE, &consents.agent, &operator, None).await.assert_failure(404, "not-found");
    assert_eq!(consents.set_aid(&other, &operator, &mine.aid).await.status, 200);
    let actions = "SELECT kind FROM journal_entries WHERE kind LIKE 'agent.aid-%' ORDER BY seq";
    let actions = consents.gateway.cluster.db.sql().await.texts(actions).await;
    assert_eq!(actions, ["agent.aid-set", "agent.aid-removed", "agent.aid-set"]);
}

#[tokio::test]
async fn agent_has_one_aid_of_either_kind() {
    let consents = Consents::new().await;
    let operator = consents.gateway.cluster.operator.clone();
    let mine = consents.aid_of(&operator, "mine").await;
    let inbox = async |agent: &str, name: &str| {
        let path = format!("/api/v1/agents/{agent}/inbox");
        let body = json!({ "name": name });
        consents.first().request_as(Method::PUT, &path, &operator.token, Some(body)).await
    };
    assert_eq!(consents.set_aid(&consents.agent, &operator, &mine.aid).await.status, 200);
    inbox(&consents.agent, "hosted").await.assert_failure(409, "conflict");
    let other = consents.gateway.cluster.create_agent("acme", "other").await;
    assert_eq!(inbox(&other, "hosted").await.status, 200);
    consents.set_aid(&other, &operator, &mine.aid).await.assert_failure(409, "conflict");
    let second = consents.aid_of(&operator, "second").await;
    consents.set_aid(&other, &operator, &second.aid).await.assert_failure(409, "conflict");
    let expected = json!({ "aid": "hosted.guild.example", "hosted": true });
    assert_eq!(consents.aid(Method::GET, &other, &operator, None).await.body, expected);
    consents.aid(Method::DELETE, &other, &operator, None).await.assert_failure(404, "not-found");
    // The AID of an agent that the server answers for belongs to the agent, not to a member.
    consents
        .set_aid(&consents.agent, &operator, "hosted.guild.example")
        .await
        .assert_failure(403, "forbidden");
}

/// Whoever manages agents would else read the inbox of another member with a webhook.
#[tokio::test]
async fn aid_of_another_member_is_refused() {
    let consents = Consents::new().await;
    let (operator, ada) = (consents.gateway.cluster.operator.clone(), consents.ada.clone());
    consents.gateway.cluster.set_role("acme", &ada, "operator").await;
    let mine = consents.aid_of(&operator, "mine").await;
    let refused = consents.set_aid(&consents.agent, &ada, &mine.aid).await;
    refused.assert_failure(403, "forbidden");
    assert!(refused.text.contains("only its owner"), "{}", refused.text);
    assert_eq!(consents.set_aid(&consents.agent, &operator, &mine.aid).await.status, 200);
    consents.set_aid(&consents.agent, &ada, &mine.aid).await.assert_failure(403, "forbidden");
    // To take it away harms nobody.
    assert_eq!(consents.aid(Method::DELETE, &consents.agent, &ada, None).await.status, 200);
}

/// The key of the AID is the agent's: with it, nobody learns what else the owner has granted.
#[tokio::test]
async fn agent_sees_no_relations_of_the_owner_of_its_aid() {
    let consents = Consents::new().await;
    let ada = consents.ada.clone();
    consents.gateway.cluster.set_role("acme", &ada, "operator").await;
    let device = consents.aid_of(&ada, "ada-1").await;
    let helper = consents.aid_of(&ada, "helper").await;
    assert_eq!(consents.set_aid(&consents.agent, &ada, &helper.aid).await.status, 200);
    let relation = id_of(&consents.grant(&SCOPES).await);
    let mut agent = helper.connected(consents.first().address).await;
    let mut owner = device.connected(consents.first().address).await;
    let granted = list_relations(&mut owner).await;
    assert_eq!(granted[0]["relation_id"], relation);
    assert_eq!(list_relations(&mut agent).await, json!([]));
    consents.revoke(&relation).await;
    let (method, ended) = next_event(&mut owner).await;
    assert_eq!((&*method, &ended["status"]), ("event/h2a.relation_changed", &json!("ended")));
    assert_eq!(list_relations(&mut agent).await, json!([]));
    assert!(!agent.has_event("event/h2a."), "both watch the same replica");
}
