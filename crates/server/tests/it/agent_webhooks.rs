//! Webhooks of agents: what they are told about messages, in which order, and what they have missed.

mod attacks;
mod ended_aids;
mod large_logs;
mod listeners;
mod manifests;
mod missed;

use guildhall_identity::e2ee::ExactJson;
use guildhall_identity::e2ee::v2::{Role, V2Message, V2Recipient};
use guildhall_identity::pki::P256PublicKey;
use guildhall_testkit::NodeScript;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::agent_webhooks::{AGENT_AID, AgentWebhooks, assert_words, say, words};
use crate::support::aun_client::{AunIdentity, AunSocket};
use crate::support::official_receiver::OfficialReceiver;
use crate::support::webhook_fixture::{HELD_LANES, hold_next_attempt, release_held_lanes};
use crate::support::webhook_receiver::{Answer, WebhookReceiver};

const BOTH: [&str; 2] = ["message.new", "artifact_response"];

// covers: M26
#[tokio::test]
async fn message_to_an_agent_is_sent_to_its_webhooks() {
    let fixture = AgentWebhooks::start().await;
    let receiver = WebhookReceiver::start([]).await;
    let (_, mut socket) = fixture.sender("alice").await;
    say(&mut socket, None, "before the webhook").await;
    fixture.add(&receiver.url(), &BOTH).await;
    let sent = say(&mut socket, Some("c-1"), "hello").await;
    let event = receiver.wait_for(1).await.remove(0);
    let sent_at = event.json()["timestamp"].clone();
    let expected = json!({
        "type": "message.new", "timestamp": sent_at,
        "data": {
            "agentId": fixture.agent, "agentAid": AGENT_AID, "from": "alice.guild.example", "conversationId": "c-1",
            "messageId": sent["message_id"], "seq": 2, "sentAt": sent_at, "kind": "plain", "sealed": false,
            "envelope": { "type": "text", "text": "hello", "conversation_id": "c-1" }, "envelopeState": "included",
        },
    });
    assert_eq!(event.json(), expected);
    fixture.wait_for_empty_queue().await;
    assert_eq!(receiver.received().len(), 1, "two replicas send it once, and no message before the webhook");
}

// covers: M26
#[tokio::test]
async fn sealed_tool_response_is_sent_as_it_is_stored() {
    let fixture = AgentWebhooks::start().await;
    let (receiver, messages) = (WebhookReceiver::start([]).await, WebhookReceiver::start([]).await);
    fixture.add(&receiver.url(), &["artifact_response"]).await;
    fixture.add(&messages.url(), &["message.new"]).await;
    let (alice, mut socket) = fixture.sender("alice").await;
    let envelope = send_sealed_response(&alice, &mut socket).await;
    say(&mut socket, None, "and a text").await;
    let response = receiver.wait_for(1).await.remove(0).json();
    let data = &response["data"];
    assert_eq!(response["type"], "artifact_response");
    assert_eq!(
        json!([data["conversationId"], data["sealed"], data["kind"]]),
        json!(["c-9", true, "sealed-v2"])
    );
    assert_eq!(data["envelope"], envelope, "the ciphertext as it was sent");
    assert!(!response.to_string().contains("file content"), "{response}");
    assert_words(&messages, &["and a text"]).await;
    fixture.wait_for_empty_queue().await;
    assert_eq!(
        (receiver.received().len(), messages.received().len()),
        (1, 1),
        "each type where it is wanted"
    );
}

/// Sends a sealed answer to a tool call. Its subtype and its conversation travel in clear.
async fn send_sealed_response(alice: &AunIdentity, socket: &mut AunSocket) -> Value {
    let keys = socket.call("message.v2.bootstrap", json!({ "peer_aid": AGENT_AID })).await.expect("keys");
    let identity_key = keys["peer_devices"][0]["ik_pk"].as_str().expect("a key");
    let agent = V2Recipient {
        aid: AGENT_AID.to_owned(),
        device_id: String::new(),
        role: Role::Peer,
        identity_key: P256PublicKey::from_base64(identity_key).expect("a key"),
        spk: None,
    };
    let inside =
        json!({ "type": "artifact", "artifact": { "subtype": "tool_response", "result": "file content" } });
    let response = V2Message {
        from: &alice.aid,
        from_device: "device-1",
        to: AGENT_AID,
        message_id: "m-1",
        timestamp_ms: 1_700_000_000_000,
        payload: &ExactJson::parse_object(&inside.to_string()).expect("an object"),
    };
    let sealed = response.seal(&alice.key, &[agent]).expect("sealed").to_text();
    let mut envelope: Value = serde_json::from_str(&sealed).expect("JSON");
    envelope["protected_headers"]["msg_subtype"] = json!("artifact_response");
    envelope["protected_headers"]["conversation_id"] = json!("c-9");
    let params = json!({ "to": AGENT_AID, "payload": envelope, "message_id": "m-1" });
    socket.call("message.send", params).await.expect("sent");
    envelope
}

#[tokio::test]
async fn official_libraries_verify_messages_before_and_after_a_rotation() {
    let fixture = AgentWebhooks::start().await;
    let (_, mut socket) = fixture.sender("alice").await;
    for library in [NodeScript::WebhookReceiver, NodeScript::PythonWebhookReceiver] {
        let receiver = OfficialReceiver::start(library);
        let (webhook, secret) = fixture.add(&receiver.url, &BOTH).await;
        receiver.set_secret(&secret).await;
        say(&mut socket, None, "é").await;
        let received = receiver.wait_for(1).await;
        assert_eq!(received[0]["verified"], true, "{received:?}");
        assert_eq!(received[0]["payload"]["data"]["envelope"]["text"], "é");
        let path = format!("/api/v1/tenants/{}/webhooks/{webhook}/rotate", fixture.tenant.id);
        let cluster = &fixture.gateway.cluster;
        let rotated = cluster.first.post_as(&path, &cluster.operator.token, json!({})).await;
        assert_eq!(rotated.status, 200, "{}", rotated.text);
        for (count, secret) in [(2, &secret), (3, &rotated.body["secret"].as_str().expect("text").to_owned())]
        {
            receiver.set_secret(secret).await;
            say(&mut socket, None, "again").await;
            let received = receiver.wait_for(count).await[count - 1].clone();
            assert_eq!(json!([received["verified"], received["signatures"]]), json!([true, 2]), "{received}");
        }
    }
}

#[tokio::test]
async fn conversation_id_with_a_nul_holds_up_no_webhook() {
    let fixture = AgentWebhooks::start().await;
    let receiver = WebhookReceiver::start([]).await;
    fixture.add(&receiver.url(), &BOTH).await;
    let (_, mut alice) = fixture.sender("alice").await;
    say(&mut alice, Some("a\0b"), "one").await;
    say(&mut alice, None, "two").await;
    assert_words(&receiver, &["one", "two"]).await;
}

#[tokio::test]
async fn webhook_whose_events_cannot_be_stored_holds_up_no_other() {
    let fixture = AgentWebhooks::start().await;
    let (receiver, other) = (WebhookReceiver::start([]).await, WebhookReceiver::start([]).await);
    let (webhook, _) = fixture.add(&receiver.url(), &BOTH).await;
    fixture.add(&other.url(), &BOTH).await;
    let trigger = format!(
        "CREATE FUNCTION refuse_event() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN RAISE EXCEPTION 'refused'; END $$; \
         CREATE TRIGGER refuse_event BEFORE INSERT ON webhook_events FOR EACH ROW \
         WHEN (NEW.webhook = '{}') EXECUTE FUNCTION refuse_event()",
        webhook.trim_start_matches("whk_")
    );
    let mut sql = fixture.gateway.cluster.db.sql().await;
    sql.execute(trigger).await;
    let (_, mut alice) = fixture.sender("alice").await;
    say(&mut alice, None, "one").await;
    assert_words(&other, &["one"]).await;
    assert_eq!(receiver.received(), []);
    sql.execute("DROP TRIGGER refuse_event ON webhook_events").await;
    assert_words(&receiver, &["one"]).await;
}

#[tokio::test]
async fn failed_event_holds_up_its_conversation_and_no_other() {
    let fixture = AgentWebhooks::start().await;
    let receiver = WebhookReceiver::start([Answer::Status(500)]).await;
    fixture.add(&receiver.url(), &BOTH).await;
    let db = &fixture.gateway.cluster.db;
    hold_next_attempt(db).await;
    let (_, mut alice) = fixture.sender("alice").await;
    let (_, mut bobby) = fixture.sender("bobby").await;
    say(&mut alice, Some("c-1"), "one").await;
    fixture.wait_for_rows(HELD_LANES, 1).await;
    say(&mut alice, Some("c-1"), "two").await;
    say(&mut alice, Some("c-2"), "other conversation").await;
    // The same conversation of another sender is another one.
    say(&mut bobby, Some("c-1"), "other sender").await;
    say(&mut bobby, None, "no conversation").await;
    let received = receiver.wait_for(4).await;
    let mut others = words(&received[1..]);
    others.sort();
    assert_eq!(others, ["no conversation", "other conversation", "other sender"]);
    fixture.wait_for_rows("SELECT count(*) FROM webhook_events WHERE state = 'waiting'", 2).await;
    release_held_lanes(db).await;
    let received = receiver.wait_for(6).await;
    assert_eq!(words(&received[4..]), ["one", "two"]);
    assert_eq!(received[4].id, received[0].id, "the same event");
    fixture.wait_for_empty_queue().await;
}

#[tokio::test]
async fn many_messages_arrive_once_and_in_order() {
    let fixture = AgentWebhooks::start().await;
    let receiver = WebhookReceiver::start([]).await;
    fixture.add(&receiver.url(), &BOTH).await;
    let (_, mut alice) = fixture.sender("alice").await;
    let (_, mut bobby) = fixture.sender("bobby").await;
    for number in 0..20 {
        say(&mut alice, None, &format!("a{number:02}")).await;
        say(&mut bobby, None, &format!("b{number:02}")).await;
    }
    let received = words(&receiver.wait_for(40).await);
    for sender in ["a", "b"] {
        let of_sender: Vec<&String> = received.iter().filter(|words| words.starts_with(sender)).collect();
        let expected: Vec<String> = (0..20).map(|number| format!("{sender}{number:02}")).collect();
        assert_eq!(of_sender, expected.iter().collect::<Vec<_>>());
    }
    fixture.wait_for_empty_queue().await;
    assert_eq!(receiver.received().len(), 40);
}

#[tokio::test]
async fn recalled_and_large_messages_are_sent_without_their_content() {
    let fixture = AgentWebhooks::start().await;
    let receiver = WebhookReceiver::start([Answer::Status(500)]).await;
    fixture.add(&receiver.url(), &BOTH).await;
    let db = &fixture.gateway.cluster.db;
    hold_next_attempt(db).await;
    let (_, mut socket) = fixture.sender("alice").await;
    let sent = say(&mut socket, None, "a mistake").await;
    fixture.wait_for_rows(HELD_LANES, 1).await;
    let ids = json!({ "message_ids": [sent["message_id"]] });
    socket.call("message.recall", ids).await.expect("recalled");
    say(&mut socket, None, &"x".repeat(70_000)).await;
    release_held_lanes(db).await;
    let received = receiver.wait_for(4).await;
    let seen: Vec<Value> = received
        .iter()
        .map(|event| event.json()["data"].clone())
        .map(|data| json!([data["seq"], data["kind"], data["envelopeState"], data["envelope"].is_null()]))
        .collect();
    let expected = [
        json!([1, "plain", "included", false]),
        json!([1, "plain", "recalled", true]),
        json!([2, "recall", "included", false]),
        json!([3, "plain", "too-large", true]),
    ];
    assert_eq!(seen, expected);
    assert!(received[1..].iter().all(|event| !event.body.contains("a mistake")));
}

#[tokio::test]
async fn deliveries_show_each_attempt_page_by_page() {
    let fixture = AgentWebhooks::start().await;
    let receiver = WebhookReceiver::start([Answer::Status(500), Answer::Status(503)]).await;
    let (webhook, _) = fixture.add(&receiver.url(), &BOTH).await;
    let (_, mut socket) = fixture.sender("alice").await;
    say(&mut socket, None, "one").await;
    say(&mut socket, None, "two").await;
    receiver.wait_for(4).await;
    fixture.wait_for_empty_queue().await;
    let [two, one] = <[Value; 2]>::try_from(fixture.deliveries(&webhook).await).expect("two events");
    let attempts = |delivery: &Value| -> Vec<Value> {
        let attempts = delivery["attempts"].as_array().expect("attempts").iter();
        attempts.map(|attempt| json!([attempt["attempt"], attempt["status"], attempt["error"]])).collect()
    };
    let failed =
        |attempt: u32, status: u16| json!([attempt, status, format!("the receiver answered {status}")]);
    assert_eq!(attempts(&one), [failed(1, 500), failed(2, 503), json!([3, 204, null])]);
    assert_eq!(attempts(&two), [json!([1, 204, null])]);
    assert_eq!(json!([one["type"], one["state"]]), json!(["message.new", "delivered"]));
    assert!(one["attempts"][0]["durationMs"].is_u64() && one["finishedAt"].is_string(), "{one}");

    let page =
        async |query: &str| fixture.call(Method::GET, &format!("{webhook}/deliveries?{query}"), None).await;
    let first = page("limit=1").await.body;
    assert_eq!(first["deliveries"], json!([two]));
    let cursor = first["nextCursor"].as_str().expect("a cursor");
    let second = page(&format!("limit=1&cursor={cursor}")).await.body;
    assert_eq!(second, json!({ "deliveries": [one], "nextCursor": null }));
    assert_eq!(page("state=missed").await.body, json!({ "deliveries": [], "nextCursor": null }));
    for query in ["limit=0", "limit=101", "state=lost", "cursor=x", "cursor=99999999999999999999"] {
        page(query).await.assert_failure(400, "schema-invalid");
    }
}

#[tokio::test]
async fn agent_has_at_most_ten_webhooks_of_its_own_tenant() {
    let fixture = AgentWebhooks::start().await;
    let body =
        json!({ "url": "https://hooks.example.org/", "events": ["message.new"], "agentId": fixture.agent });
    for number in 0..11 {
        let created = fixture.create(body.clone()).await;
        assert_eq!(created.status, if number < 10 { 201 } else { 409 }, "{}", created.text);
    }
    let cluster = &fixture.gateway.cluster;
    // Those of the tenant count apart.
    cluster.create_webhook(&fixture.tenant.id, "https://hooks.example.org/").await;
    let other = cluster.create_tenant("other").await;
    let path = format!("/api/v1/tenants/{other}/webhooks");
    cluster
        .first
        .post_as(&path, &cluster.operator.token, body.clone())
        .await
        .assert_failure(400, "schema-invalid");
    for events in [json!(["approval.requested"]), json!(["webhook.test"]), json!([])] {
        let mut body = body.clone();
        body["events"] = events;
        fixture.create(body).await.assert_failure(400, "schema-invalid");
    }
}

#[tokio::test]
async fn limit_of_the_tenant_is_named_where_it_is_reached() {
    let fixture = AgentWebhooks::start().await;
    let cluster = &fixture.gateway.cluster;
    cluster.create_webhook(&fixture.tenant.id, "https://hooks.example.org/").await;
    let copy = "INSERT INTO webhooks (id, tenant, url, events, description, sealed_secret, created_by) \
                SELECT gen_random_uuid(), tenant, url, events, description, sealed_secret, created_by \
                FROM webhooks CROSS JOIN generate_series(1, 499)";
    cluster.db.sql().await.execute(copy).await;
    let body =
        json!({ "url": "https://hooks.example.org/", "events": ["message.new"], "agentId": fixture.agent });
    let refused = fixture.create(body).await;
    refused.assert_failure(409, "conflict");
    assert!(refused.text.contains("have 500 webhooks already"), "{}", refused.text);
}
