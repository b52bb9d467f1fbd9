//! Agents that answer messages.

use guildhall_testkit::Stopwatch;
use serde_json::{Value, json};

use super::{send, text};
use crate::support::agent_threads::{TestTurn, tenant_with_agent};
use crate::support::aun_client::{AunIdentity, AunSocket};
use crate::support::gateway::Gateway;
use crate::support::runs::TestTenant;

const AGENT: &str = "helper.guild.example";

/// A tenant with an agent that has an inbox.
struct Office {
    gateway: Gateway,
    tenant: TestTenant,
    agent: String,
}

impl Office {
    async fn open(inbox: Value) -> Self {
        let gateway = Gateway::start().await;
        let tenant = tenant_with_agent(&gateway.cluster).await;
        let (server, token) = (&gateway.cluster.first, &gateway.cluster.operator.token);
        let agents = server.get_as("/api/v1/agents?tenantId=acme", token).await.json();
        let agent = agents["agents"][0]["id"].as_str().expect("an agent").to_owned();
        let office = Self { gateway, tenant, agent };
        let expected = json!({
            "aid": AGENT, "endToEndEncrypted": false,
            "senders": inbox.get("senders").cloned().unwrap_or_else(|| json!("members")),
        });
        assert_eq!(office.put_inbox(inbox).await, expected);
        office
    }

    async fn put_inbox(&self, body: Value) -> Value {
        let (server, token) = (&self.gateway.cluster.first, &self.gateway.cluster.operator.token);
        let put = server.put_as(&format!("/api/v1/agents/{}/inbox", self.agent), token, body).await;
        assert_eq!(put.status, 200, "{}", put.text);
        put.json()
    }

    /// Registers an AID that a member of the tenant owns.
    async fn member(&self, name: &str) -> AunIdentity {
        let (server, token) = (&self.gateway.cluster.first, &self.gateway.cluster.operator.token);
        let body = json!({ "name": name, "address": "127.0.0.1" });
        let reserved = server.post_as("/api/v1/aid-reservations", token, body).await;
        assert_eq!(reserved.status, 201, "{}", reserved.text);
        self.gateway.register(name).await
    }

    async fn runs(&self) -> usize {
        let (server, token) = (&self.gateway.cluster.first, &self.gateway.cluster.operator.token);
        let runs = server.get_as("/api/v1/runs?tenantId=acme", token).await.json();
        runs["runs"].as_array().expect("runs").len()
    }
}

/// Returns the next message with this type; what else comes is skipped.
async fn next_of_type(socket: &mut AunSocket, kind: &str) -> Value {
    let limit = Stopwatch::start();
    loop {
        let (method, event) = socket.next_event().await;
        if method == "event/message.received" && event["payload"]["type"] == kind {
            return event;
        }
        assert!(limit.elapsed().as_secs() < 30, "no message of the type {kind}");
    }
}

#[tokio::test]
async fn message_to_an_agent_is_a_turn_and_its_answer_a_message() {
    let office = Office::open(json!({})).await;
    let cluster = &office.gateway.cluster;
    let alice = office.member("alice").await;
    let mut socket = alice.connected(cluster.second.address).await;
    let question = json!({ "to": AGENT, "payload": text("hello"), "message_id": "m-1" });
    socket.call("message.send", question.clone()).await.expect("sent");

    let turn = TestTurn::claim(&cluster.first, &office.tenant).await;
    turn.say(&cluster.first, "m1", "good morning").await;
    let progress = next_of_type(&mut socket, "status").await;
    let expected = json!({ "type": "status", "status": "working", "text": "good morning", "in_reply_to": "m-1" });
    assert_eq!((&progress["payload"], &progress["delivery_mode"]), (&expected, &json!("queue")));
    turn.complete(&cluster.first).await;
    let answer = next_of_type(&mut socket, "text").await;
    let expected = json!({ "type": "text", "text": "good morning", "in_reply_to": "m-1" });
    assert_eq!((&answer["payload"], &answer["from"]), (&expected, &json!(AGENT)));
    assert_eq!(answer["delivery_mode"], "fanout");

    // The same message again is the same turn.
    let again = socket.call("message.send", question).await.expect("sent");
    assert_eq!(again["status"], "duplicate");
    // The next one continues the conversation.
    send(&mut socket, AGENT, "and now?").await;
    let next = TestTurn::claim(&cluster.second, &office.tenant).await;
    next.say(&cluster.second, "m2", "still here").await;
    next.complete(&cluster.second).await;
    let answer = next_of_type(&mut socket, "text").await;
    assert_eq!(answer["payload"]["text"], "still here");
    assert_eq!(next.grant["run"]["sessionId"], turn.grant["run"]["sessionId"]);
    let mut other = alice.connected(cluster.first.address).await;
    let page = super::pull(&mut other, 0).await;
    assert_eq!(super::texts(&page).iter().filter(|text| *text == "good morning").count(), 1);
}

#[tokio::test]
async fn stranger_starts_no_work_unless_anyone_may() {
    let office = Office::open(json!({ "senders": "members" })).await;
    let cluster = &office.gateway.cluster;
    let mallory = office.gateway.register("mallory").await;
    let mut socket = mallory.connected(cluster.first.address).await;
    let question = json!({ "to": AGENT, "payload": text("work for me"), "message_id": "m-1" });
    socket.call("message.send", question).await.expect("sent");
    let refusal = next_of_type(&mut socket, "error").await;
    let expected = json!({
        "type": "error", "code": "forbidden", "text": "this agent works for members of its tenant only",
        "in_reply_to": "m-1",
    });
    assert_eq!(refusal["payload"], expected);
    assert_eq!(office.runs().await, 0);

    office.put_inbox(json!({ "senders": "anyone" })).await;
    send(&mut socket, AGENT, "and now?").await;
    let turn = TestTurn::claim(&cluster.second, &office.tenant).await;
    turn.say(&cluster.second, "m1", "gladly").await;
    turn.complete(&cluster.second).await;
    assert_eq!(next_of_type(&mut socket, "text").await["payload"]["text"], "gladly");
    // A session of the stranger's own, and no other right in the tenant.
    let token = office.gateway.log_in(&mallory).await.access;
    assert_eq!(cluster.first.get_as("/api/v1/runs?tenantId=acme", &token).await.status, 401);
}

#[tokio::test]
async fn only_words_of_people_start_work() {
    let office = Office::open(json!({ "senders": "anyone" })).await;
    let cluster = &office.gateway.cluster;
    let robot = office.gateway.register("robot").await;
    let person = office.gateway.register("person").await;
    // As if the server answered for the robot too.
    let second = crate::support::runs::agent_request("acme", "second");
    let created = cluster.first.post_as("/api/v1/agents", &cluster.operator.token, second).await;
    assert_eq!(created.status, 201, "{}", created.text);
    let insert = "INSERT INTO agent_inboxes (agent, inbox, aid, senders, sealed_key) \
        SELECT agents.id, inboxes.id, aid, 'anyone', '' FROM agents, inboxes \
        WHERE slug = 'second' AND aid LIKE 'robot%'";
    let mut socket = robot.connected(cluster.first.address).await;
    assert_eq!(cluster.db.sql().await.execute(insert).await, 1);
    send(&mut socket, AGENT, "let us talk for ever").await;
    let mut socket = person.connected(cluster.second.address).await;
    for payload in [json!({ "type": "status", "text": "typing" }), json!({ "type": "text", "text": "" })] {
        socket.call("message.send", json!({ "to": AGENT, "payload": payload })).await.expect("sent");
    }
    send(&mut socket, AGENT, "words").await;
    let turn = TestTurn::claim(&cluster.first, &office.tenant).await;
    turn.complete(&cluster.first).await;
    next_of_type(&mut socket, "text").await;
    assert_eq!(office.runs().await, 1);
}

#[tokio::test]
async fn failed_turn_is_answered_with_its_error() {
    let office = Office::open(json!({})).await;
    let cluster = &office.gateway.cluster;
    let alice = office.member("alice").await;
    let mut socket = alice.connected(cluster.first.address).await;
    let question = json!({ "to": AGENT, "payload": text("hello"), "message_id": "m-1" });
    socket.call("message.send", question).await.expect("sent");
    let turn = TestTurn::claim(&cluster.second, &office.tenant).await;
    let body = json!({ "status": "failed", "failureKind": "backend-failed", "message": "no model" });
    assert_eq!(cluster.second.finish(&turn.claim, &turn.command, body).await.status, 200);
    let answer = next_of_type(&mut socket, "error").await;
    let expected =
        json!({ "type": "error", "code": "backend-failed", "text": "no model", "in_reply_to": "m-1" });
    assert_eq!(answer["payload"], expected);
}

#[tokio::test]
async fn aid_of_an_agent_stays_and_its_key_is_no_secret_of_the_log() {
    let office = Office::open(json!({ "name": "helper" })).await;
    let cluster = &office.gateway.cluster;
    let token = &cluster.operator.token;
    let path = format!("/api/v1/agents/{}/inbox", office.agent);
    let other = cluster.first.put_as(&path, token, json!({ "name": "other" })).await;
    assert_eq!(other.status, 409, "{}", other.text);
    let shown = cluster.second.get_as(&path, token).await;
    assert_eq!(shown.json(), json!({ "aid": AGENT, "senders": "members", "endToEndEncrypted": false }));
    let mut socket = office.member("alice").await.connected(cluster.first.address).await;
    let keys = socket.call("message.v2.bootstrap", json!({ "peer_aid": AGENT })).await.expect("keys");
    assert_eq!(keys["hosted"], true);
}
