//! Agents that answer messages.

use guildhall_identity::e2ee::ExactJson;
use guildhall_identity::e2ee::v2::{Role, V2Envelope, V2Message, V2Reader, V2Recipient};
use guildhall_identity::pki::{P256PublicKey, ParsedCertificate, pem_to_der};
use guildhall_testkit::Stopwatch;
use reqwest::Method;
use serde_json::{Value, json};

use super::{send, text};
use crate::support::agent_threads::{TestTurn, tenant_with_agent};
use crate::support::aun_client::{AunIdentity, AunSocket};
use crate::support::gateway::Gateway;
use crate::support::runs::TestTenant;

pub(super) const AGENT: &str = "helper.guild.example";

/// A tenant with an agent that has an inbox.
pub(super) struct AgentFixture {
    pub(super) gateway: Gateway,
    pub(super) tenant: TestTenant,
    pub(super) agent: String,
}

impl AgentFixture {
    pub(super) async fn open(inbox: Value) -> Self {
        let gateway = Gateway::start().await;
        let tenant = tenant_with_agent(&gateway.cluster).await;
        let (server, token) = (&gateway.cluster.first, &gateway.cluster.operator.token);
        let agents = server.get_as("/api/v1/agents?tenantId=acme", token).await.body;
        let agent = agents["agents"][0]["id"].as_str().expect("an agent").to_owned();
        let fixture = Self { gateway, tenant, agent };
        let expected = json!({
            "aid": AGENT, "endToEndEncrypted": false,
            "senders": inbox.get("senders").cloned().unwrap_or_else(|| json!("members")),
        });
        assert_eq!(fixture.put_inbox(inbox).await, expected);
        fixture
    }

    async fn put_inbox(&self, body: Value) -> Value {
        let (server, token) = (&self.gateway.cluster.first, &self.gateway.cluster.operator.token);
        let path = format!("/api/v1/agents/{}/inbox", self.agent);
        let put = server.request_as(Method::PUT, &path, token, Some(body)).await;
        assert_eq!(put.status, 200, "{}", put.text);
        put.body
    }

    /// Registers an AID that a member of the tenant owns.
    pub(super) async fn member(&self, name: &str) -> AunIdentity {
        let owner = &self.gateway.cluster.operator.principal;
        self.register_reserved(json!({ "name": name, "address": "127.0.0.1", "owner": owner })).await
    }

    /// Reserves a name, and registers it as somebody else.
    async fn register_reserved(&self, body: Value) -> AunIdentity {
        let (server, token) = (&self.gateway.cluster.first, &self.gateway.cluster.operator.token);
        let name = body["name"].as_str().expect("a name").to_owned();
        let reserved = server.post_as("/api/v1/aid-reservations", token, body).await;
        assert_eq!(reserved.status, 201, "{}", reserved.text);
        self.gateway.register(&name).await
    }

    /// Waits until a run has an open command.
    async fn open_command(&self, run: &str) -> String {
        let (server, token) = (&self.gateway.cluster.first, &self.gateway.cluster.operator.token);
        let limit = Stopwatch::start();
        loop {
            let run = server.get_as(&format!("/api/v1/runs/{run}"), token).await.body;
            if let Some(open) = run["openCommandIds"][0].as_str() {
                return open.to_owned();
            }
            assert!(limit.elapsed().as_secs() < 30, "{run}");
        }
    }

    async fn runs(&self) -> usize {
        let (server, token) = (&self.gateway.cluster.first, &self.gateway.cluster.operator.token);
        let runs = server.get_as("/api/v1/runs?tenantId=acme", token).await.body;
        runs["runs"].as_array().expect("runs").len()
    }
}

/// Returns the next message with this type; what else comes is skipped.
pub(super) async fn next_of_type(socket: &mut AunSocket, kind: &str) -> Value {
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
    let fixture = AgentFixture::open(json!({})).await;
    let cluster = &fixture.gateway.cluster;
    let alice = fixture.member("alice").await;
    let mut socket = alice.connected(cluster.second.address).await;
    let question = json!({ "to": AGENT, "payload": text("hello"), "message_id": "m-1" });
    socket.call("message.send", question.clone()).await.expect("sent");

    let mut turn = TestTurn::claim(&cluster.first, &fixture.tenant).await;
    turn.say(&cluster.first, "m1", "good morning").await;
    let progress = next_of_type(&mut socket, "status").await;
    let expected =
        json!({ "type": "status", "status": "working", "text": "good morning", "in_reply_to": "m-1" });
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
    let second = fixture.open_command(&turn.claim.run).await;
    turn.take_next(&cluster.second, &second).await;
    turn.say(&cluster.second, "m2", "still here").await;
    turn.complete(&cluster.second).await;
    let answer = next_of_type(&mut socket, "text").await;
    assert_eq!(answer["payload"]["text"], "still here");
    assert_eq!(fixture.runs().await, 1);
    let mut other = alice.connected_device(cluster.first.address, "device-2").await;
    let page = super::pull(&mut other, 0).await;
    assert_eq!(super::texts(&page).iter().filter(|text| *text == "good morning").count(), 1);
}

/// Asks the agent for work, which it refuses.
async fn assert_refused(fixture: &AgentFixture, socket: &mut AunSocket) {
    let question = json!({ "to": AGENT, "payload": text("work for me"), "message_id": "m-1" });
    socket.call("message.send", question).await.expect("sent");
    let refusal = next_of_type(socket, "error").await;
    let expected = json!({
        "type": "error", "code": "forbidden", "text": "this agent works for members of its tenant only",
        "in_reply_to": "m-1",
    });
    assert_eq!(refusal["payload"], expected);
    assert_eq!(fixture.runs().await, 0);
}

/// Whoever registers a name that an operator has reserved does not act for the operator.
#[tokio::test]
async fn stranger_with_a_reserved_name_has_no_rights_of_the_operator() {
    let fixture = AgentFixture::open(json!({ "senders": "members" })).await;
    let cluster = &fixture.gateway.cluster;
    let stranger = fixture.register_reserved(json!({ "name": "mallory", "address": "127.0.0.1" })).await;
    let path = format!("/api/v1/aids/{}", stranger.aid);
    let owner = cluster.second.get_as(&path, &cluster.operator.token).await.body["owner"].clone();
    let members = cluster.first.get_as("/api/v1/tenants/acme/members", &cluster.operator.token).await;
    assert_eq!(members.status, 200, "{}", members.text);
    let owner = owner.as_str().expect("an owner");
    assert!(
        owner != cluster.operator.principal && !members.text.contains(owner),
        "{owner}: {}",
        members.text
    );
    let mut socket = stranger.connected(cluster.first.address).await;
    assert_refused(&fixture, &mut socket).await;
}

#[tokio::test]
async fn stranger_starts_no_work_unless_anyone_may() {
    let fixture = AgentFixture::open(json!({ "senders": "members" })).await;
    let cluster = &fixture.gateway.cluster;
    let mallory = fixture.gateway.register("mallory").await;
    let mut socket = mallory.connected(cluster.first.address).await;
    assert_refused(&fixture, &mut socket).await;

    fixture.put_inbox(json!({ "senders": "anyone" })).await;
    send(&mut socket, AGENT, "and now?").await;
    let turn = TestTurn::claim(&cluster.second, &fixture.tenant).await;
    turn.say(&cluster.second, "m1", "gladly").await;
    turn.complete(&cluster.second).await;
    assert_eq!(next_of_type(&mut socket, "text").await["payload"]["text"], "gladly");
    // A session of the stranger's own, and no other right in the tenant.
    let token = fixture.gateway.log_in(&mallory).await.access;
    assert_eq!(cluster.first.get_as("/api/v1/runs?tenantId=acme", &token).await.status, 401);
}

#[tokio::test]
async fn only_words_of_people_start_work() {
    let fixture = AgentFixture::open(json!({ "senders": "anyone" })).await;
    let cluster = &fixture.gateway.cluster;
    let robot = fixture.gateway.register("robot").await;
    let person = fixture.gateway.register("person").await;
    // As if the server answered for the robot too.
    let second = crate::support::runs::agent_request("acme", "second");
    let created = cluster.first.post_as("/api/v1/agents", &cluster.operator.token, second).await;
    assert_eq!(created.status, 201, "{}", created.text);
    let insert = "INSERT INTO agent_inboxes (agent, inbox, aid, senders) \
        SELECT agents.id, inboxes.id, aid, 'anyone' FROM agents, inboxes \
        WHERE slug = 'second' AND aid LIKE 'robot%'";
    let mut socket = robot.connected(cluster.first.address).await;
    cluster.db.sql().await.execute(insert).await;
    send(&mut socket, AGENT, "let us talk for ever").await;
    let mut socket = person.connected(cluster.second.address).await;
    for payload in [json!({ "type": "status", "text": "typing" }), json!({ "type": "text", "text": "" })] {
        socket.call("message.send", json!({ "to": AGENT, "payload": payload })).await.expect("sent");
    }
    send(&mut socket, AGENT, "words").await;
    let turn = TestTurn::claim(&cluster.first, &fixture.tenant).await;
    turn.complete(&cluster.first).await;
    next_of_type(&mut socket, "text").await;
    assert_eq!(fixture.runs().await, 1);
}

#[tokio::test]
async fn failed_turn_is_answered_with_its_error() {
    let fixture = AgentFixture::open(json!({})).await;
    let cluster = &fixture.gateway.cluster;
    let alice = fixture.member("alice").await;
    let mut socket = alice.connected(cluster.first.address).await;
    let question = json!({ "to": AGENT, "payload": text("hello"), "message_id": "m-1" });
    socket.call("message.send", question).await.expect("sent");
    let turn = TestTurn::claim(&cluster.second, &fixture.tenant).await;
    let body = json!({ "status": "failed", "failureKind": "backend-failed", "message": "no model" });
    assert_eq!(cluster.second.finish(&turn.claim, &turn.command, body).await.status, 200);
    let answer = next_of_type(&mut socket, "error").await;
    let expected =
        json!({ "type": "error", "code": "backend-failed", "text": "no model", "in_reply_to": "m-1" });
    assert_eq!(answer["payload"], expected);
}

#[tokio::test]
async fn long_answer_arrives_whatever_its_characters() {
    let fixture = AgentFixture::open(json!({})).await;
    let cluster = &fixture.gateway.cluster;
    let mut socket = fixture.member("alice").await.connected(cluster.first.address).await;
    send(&mut socket, AGENT, "print the log").await;
    let turn = TestTurn::claim(&cluster.first, &fixture.tenant).await;
    // Six bytes each in JSON.
    turn.say(&cluster.first, "m1", &"\u{1}".repeat(40_000)).await;
    turn.complete(&cluster.first).await;
    let answer = next_of_type(&mut socket, "text").await;
    assert_eq!(answer["payload"]["text"].as_str().map(str::len), Some(33_333));
}

#[tokio::test]
async fn aid_of_an_agent_stays_and_its_messages_are_labelled() {
    let fixture = AgentFixture::open(json!({ "name": "helper" })).await;
    let cluster = &fixture.gateway.cluster;
    let token = &cluster.operator.token;
    let path = format!("/api/v1/agents/{}/inbox", fixture.agent);
    let renamed = Some(json!({ "name": "other" }));
    let other = cluster.first.request_as(Method::PUT, &path, token, renamed).await;
    assert_eq!(other.status, 409, "{}", other.text);
    let shown = cluster.second.get_as(&path, token).await;
    assert_eq!(shown.body, json!({ "aid": AGENT, "senders": "members", "endToEndEncrypted": false }));
    let mut socket = fixture.member("alice").await.connected(cluster.first.address).await;
    let keys = socket.call("message.v2.bootstrap", json!({ "peer_aid": AGENT })).await.expect("keys");
    assert_eq!(keys["hosted"], true);
}

#[tokio::test]
async fn sealed_question_is_answered_sealed() {
    let fixture = AgentFixture::open(json!({})).await;
    let cluster = &fixture.gateway.cluster;
    let alice = fixture.member("alice").await;
    let mut socket = alice.connected(cluster.first.address).await;
    ask_sealed(&alice, &mut socket, "hello, sealed").await;
    let turn = TestTurn::claim(&cluster.second, &fixture.tenant).await;
    assert!(turn.grant.to_string().contains("hello, sealed"), "{}", turn.grant);
    turn.say(&cluster.second, "m1", "sealed too").await;
    turn.complete(&cluster.second).await;
    // No report of the progress comes before it: those would be in clear.
    let opened = open_answer(&alice, &mut socket).await;
    assert_eq!(opened, json!({ "type": "text", "text": "sealed too", "in_reply_to": "m-1" }));
}

/// Sends a message to the agent that is sealed for the key of its certificate.
pub(super) async fn ask_sealed(from: &AunIdentity, socket: &mut AunSocket, words: &str) {
    let keys = socket.call("message.v2.bootstrap", json!({ "peer_aid": AGENT })).await.expect("keys");
    let identity_key = keys["peer_devices"][0]["ik_pk"].as_str().expect("a key");
    let agent = V2Recipient {
        aid: AGENT.to_owned(),
        device_id: String::new(),
        role: Role::Peer,
        identity_key: P256PublicKey::from_base64(identity_key).expect("a key"),
        spk: None,
    };
    let payload = ExactJson::parse_object(&text(words).to_string()).expect("an object");
    let question = V2Message {
        from: &from.aid,
        from_device: "device-1",
        to: AGENT,
        message_id: "m-1",
        timestamp_ms: 1_700_000_000_000,
        payload: &payload,
    };
    let envelope = question.seal(&from.key, &[agent]).expect("sealed").to_text();
    let envelope: Value = serde_json::from_str(&envelope).expect("JSON");
    let params = json!({ "to": AGENT, "payload": envelope, "message_id": "m-1" });
    socket.call("message.send", params).await.expect("sent");
}

/// Waits for the one sealed answer of the agent, and opens it.
pub(super) async fn open_answer(reader: &AunIdentity, socket: &mut AunSocket) -> Value {
    let limit = Stopwatch::start();
    while socket.next_event().await.0 != "event/peer.v2.message_received" {
        assert!(limit.elapsed().as_secs() < 30, "no sealed answer");
    }
    let keys = socket.call("message.v2.bootstrap", json!({ "peer_aid": AGENT })).await.expect("keys");
    let page = socket.call("message.v2.pull", json!({ "after_seq": 0 })).await.expect("a page");
    let rows = page["messages"].as_array().expect("rows");
    assert_eq!(rows.len(), 1, "{page}");
    let envelope = rows[0]["envelope_json"].as_str().expect("an envelope");
    let envelope = V2Envelope::parse(envelope).expect("an envelope");
    let certificate = keys["certs"][AGENT]["cert_pem"].as_str().expect("a certificate");
    let certificate =
        ParsedCertificate::from_der(&pem_to_der(certificate).expect("PEM")).expect("a certificate");
    let reader = V2Reader { aid: &reader.aid, device_id: "", identity: &reader.key, spk: None };
    serde_json::from_str(&envelope.open(&reader, &certificate).expect("opened")).expect("JSON")
}
