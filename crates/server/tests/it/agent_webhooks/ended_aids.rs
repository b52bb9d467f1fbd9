//! AIDs that agents do not speak with any more.

use reqwest::Method;
use serde_json::json;

use super::BOTH;
use crate::support::agent_webhooks::{AgentWebhooks, assert_words};
use crate::support::aun_client::AunSocket;
use crate::support::cluster::SignedInUser;
use crate::support::webhook_receiver::WebhookReceiver;

/// Webhooks that have not read their inbox to the end.
const BEHIND: &str =
    "SELECT count(*) FROM agent_webhooks JOIN inboxes ON inboxes.id = inbox WHERE last_seq > read_to";

/// Starts with an agent that has a key of its own, and a webhook of it.
async fn start() -> (AgentWebhooks, WebhookReceiver) {
    let mut fixture = AgentWebhooks::start().await;
    fixture.agent = fixture.gateway.cluster.create_agent("acme", "robot").await;
    let receiver = WebhookReceiver::start([]).await;
    fixture.add(&receiver.url(), &BOTH).await;
    (fixture, receiver)
}

async fn set_aid(fixture: &AgentWebhooks, user: &SignedInUser, aid: &str) {
    let (path, body) = (format!("/api/v1/agents/{}/aid", fixture.agent), json!({ "aid": aid }));
    let set = fixture.gateway.cluster.second.request_as(Method::PUT, &path, &user.token, Some(body)).await;
    assert_eq!(set.status, 200, "{}", set.text);
}

async fn delete(fixture: &AgentWebhooks, path: &str) {
    let cluster = &fixture.gateway.cluster;
    let deleted = cluster.first.request_as(Method::DELETE, path, &cluster.operator.token, None).await;
    assert_eq!(deleted.status, 200, "{}", deleted.text);
}

async fn say_to(socket: &mut AunSocket, aid: &str, words: &str) {
    let payload = json!({ "type": "text", "text": words });
    socket.call("message.send", json!({ "to": aid, "payload": payload })).await.expect("sent");
}

#[tokio::test]
async fn message_after_the_aid_was_taken_away_is_no_event() {
    let (fixture, receiver) = start().await;
    let operator = &fixture.gateway.cluster.operator;
    let first = fixture.gateway.register_for(operator, "robot-1").await;
    let second = fixture.gateway.register_for(operator, "robot-2").await;
    let (_, mut socket) = fixture.sender("alice").await;
    set_aid(&fixture, operator, &first.aid).await;
    say_to(&mut socket, &first.aid, "one").await;
    assert_words(&receiver, &["one"]).await;

    delete(&fixture, &format!("/api/v1/agents/{}/aid", fixture.agent)).await;
    say_to(&mut socket, &first.aid, "after the end").await;
    say_to(&mut socket, &second.aid, "before the start").await;
    set_aid(&fixture, operator, &second.aid).await;
    say_to(&mut socket, &second.aid, "two").await;
    assert_words(&receiver, &["one", "two"]).await;
    // The first AID again: what it got meanwhile is no event either.
    set_aid(&fixture, operator, &first.aid).await;
    say_to(&mut socket, &second.aid, "after its end").await;
    say_to(&mut socket, &first.aid, "three").await;
    assert_words(&receiver, &["one", "two", "three"]).await;
    fixture.wait_for_rows(BEHIND, 0).await;
    fixture.wait_for_empty_queue().await;
    assert_eq!(receiver.received().len(), 3);
}

#[tokio::test]
async fn message_after_the_owner_of_the_aid_has_left_is_no_event() {
    let (fixture, receiver) = start().await;
    let (cluster, tenant) = (&fixture.gateway.cluster, &fixture.tenant.id);
    let ada = cluster.create_user("ada").await;
    cluster.set_role(tenant, &ada, "operator").await;
    let robot = fixture.gateway.register_for(&ada, "robot-1").await;
    set_aid(&fixture, &ada, &robot.aid).await;
    let (_, mut socket) = fixture.sender("alice").await;
    say_to(&mut socket, &robot.aid, "one").await;
    assert_words(&receiver, &["one"]).await;

    delete(&fixture, &format!("/api/v1/tenants/{tenant}/members/{}", ada.principal)).await;
    say_to(&mut socket, &robot.aid, "of a stranger").await;
    fixture.wait_for_rows(BEHIND, 0).await;
    assert_eq!(cluster.db.sql().await.number("SELECT count(*) FROM webhook_events").await, 1);
    // Nobody is asked when they become a member again, so what came meanwhile stays theirs.
    cluster.set_role(tenant, &ada, "viewer").await;
    say_to(&mut socket, &robot.aid, "two").await;
    assert_words(&receiver, &["one", "two"]).await;
    fixture.wait_for_empty_queue().await;
    assert_eq!(receiver.received().len(), 2);
}

/// What is sent again is read again: the inbox of somebody who has left is theirs.
#[tokio::test]
async fn replay_after_the_owner_of_the_aid_has_left_has_no_content() {
    let (fixture, receiver) = start().await;
    let (cluster, tenant) = (&fixture.gateway.cluster, &fixture.tenant.id);
    let ada = cluster.create_user("ada").await;
    cluster.set_role(tenant, &ada, "operator").await;
    let robot = fixture.gateway.register_for(&ada, "robot-1").await;
    set_aid(&fixture, &ada, &robot.aid).await;
    let (_, mut socket) = fixture.sender("alice").await;
    say_to(&mut socket, &robot.aid, "private").await;
    assert_words(&receiver, &["private"]).await;
    fixture.wait_for_empty_queue().await;
    let replay = async |count: usize| {
        let webhooks = format!("/api/v1/tenants/{tenant}/webhooks");
        let listed = cluster.first.get_as(&webhooks, &cluster.operator.token).await.body;
        let webhook = listed["webhooks"][0]["id"].as_str().expect("an id").to_owned();
        let all = json!({ "since": "2020-01-01T00:00:00Z", "only": "all" });
        let resent = fixture.call(Method::POST, &format!("{webhook}/resend"), Some(all)).await;
        assert_eq!(resent.body, json!({ "events": 1 }), "{}", resent.text);
        let received = receiver.wait_for(count).await;
        fixture.wait_for_empty_queue().await;
        received[count - 1].json()["data"].clone()
    };
    let before = replay(2).await;
    assert_eq!(before["envelopeState"], "included");
    delete(&fixture, &format!("/api/v1/tenants/{tenant}/members/{}", ada.principal)).await;
    let after = replay(3).await;
    assert_eq!(json!([after["envelope"], after["envelopeState"]]), json!([null, "withdrawn"]), "{after}");
    assert_eq!(after["messageId"], before["messageId"]);
}
