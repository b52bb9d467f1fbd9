//! What webhooks have missed, and how they get it.

use std::time::Duration;

use guildhall_store::{retention, webhook_events};
use guildhall_testkit::NodeScript;
use jiff::SignedDuration;
use reqwest::Method;
use serde_json::{Value, json};

use super::BOTH;
use crate::support::agent_webhooks::{AgentWebhooks, assert_words, say, words};
use crate::support::official_receiver::OfficialReceiver;
use crate::support::webhook_receiver::{Answer, WebhookReceiver};

/// A signing secret of no webhook.
const OTHER_SECRET: &str = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

/// An address where nobody listens yet.
fn free_address() -> std::net::SocketAddr {
    let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr());
    free.expect("a free port")
}

// covers: M26
#[tokio::test]
async fn receiver_that_was_down_gets_what_it_missed_in_order() {
    let fixture = AgentWebhooks::start().await;
    let address = free_address();
    let (webhook, _) = fixture.add(&format!("http://{address}/hook"), &BOTH).await;
    let (_, mut socket) = fixture.sender("alice").await;
    for number in 0..5 {
        say(&mut socket, None, &format!("m{number}")).await;
    }
    let failed = fixture.wait_for(&webhook, |shown| shown["lastFailure"].is_object()).await;
    let message = failed["lastFailure"]["message"].as_str().expect("text");
    assert!(message.starts_with("cannot reach 127.0.0.1"), "{message}");
    assert!(failed["failingSince"].is_string(), "{failed}");
    let receiver = WebhookReceiver::start_at(address, []).await;
    fixture.end_pauses().await;
    assert_words(&receiver, &["m0", "m1", "m2", "m3", "m4"]).await;
    fixture.wait_for_empty_queue().await;
    assert_eq!(receiver.received().len(), 5);
    let shown = fixture.get(&webhook).await;
    assert_eq!(shown["failingSince"], Value::Null, "a success ends the time of failures");
}

// covers: M26
#[tokio::test]
async fn events_missed_while_disabled_are_replayed_in_order() {
    let fixture = AgentWebhooks::start().await;
    let receiver = WebhookReceiver::start([]).await;
    let (webhook, _) = fixture.add(&receiver.url(), &BOTH).await;
    let (_, mut socket) = fixture.sender("alice").await;
    say(&mut socket, None, "delivered").await;
    assert_words(&receiver, &["delivered"]).await;
    fixture.wait_for_empty_queue().await;
    let set_enabled = async |enabled: bool| {
        let changed = fixture.call(Method::PATCH, &webhook, Some(json!({ "enabled": enabled }))).await;
        assert_eq!(
            (changed.status.as_u16(), &changed.body["enabled"]),
            (200, &json!(enabled)),
            "{}",
            changed.text
        );
        changed.body["disabledReason"].clone()
    };
    assert_eq!(set_enabled(false).await, "manual");
    for number in 0..3 {
        say(&mut socket, None, &format!("missed {number}")).await;
    }
    fixture.wait_for_rows("SELECT count(*) FROM webhook_events WHERE state = 'missed'", 3).await;
    let resend =
        async |body: Value| fixture.call(Method::POST, &format!("{webhook}/resend"), Some(body)).await;
    let window = json!({ "since": "2020-01-01T00:00:00Z" });
    resend(window.clone()).await.assert_failure(409, "conflict");
    assert_eq!(set_enabled(true).await, Value::Null);
    say(&mut socket, None, "after").await;
    receiver.wait_for(2).await;
    fixture.wait_for_empty_queue().await;
    assert_eq!(words(&receiver.received()), ["delivered", "after"], "nothing is sent without a request");

    let early = json!({ "since": "2020-01-01T00:00:00Z", "until": "2020-01-02T00:00:00Z" });
    assert_eq!(resend(early).await.body, json!({ "events": 0 }));
    let resent = resend(window.clone()).await;
    assert_eq!((resent.status.as_u16(), resent.body), (202, json!({ "events": 3 })));
    receiver.wait_for(5).await;
    fixture.wait_for_empty_queue().await;
    let received = receiver.received();
    assert_eq!(words(&received[2..]), ["missed 0", "missed 1", "missed 2"]);
    assert_eq!(resend(window).await.body, json!({ "events": 0 }), "nothing is missed any more");

    let again = resend(json!({ "eventId": received[0].id })).await;
    assert_eq!(again.body, json!({ "events": 1 }));
    assert_eq!(receiver.wait_for(6).await[5].id, received[0].id);
    fixture.wait_for_empty_queue().await;
    let all = resend(json!({ "since": "2020-01-01T00:00:00Z", "only": "all" })).await;
    assert_eq!(all.body, json!({ "events": 5 }));
    let received = receiver.wait_for(11).await;
    assert_eq!(words(&received[6..]), ["delivered", "missed 0", "missed 1", "missed 2", "after"]);
    for body in [
        json!({}),
        json!({ "until": "2020-01-01T00:00:00Z" }),
        json!({ "eventId": "evt_01920000000070008000000000000000", "since": "2020-01-01T00:00:00Z" }),
        json!({ "since": "yesterday" }),
        json!({ "since": "2020-01-01T00:00:00Z", "only": "some" }),
    ] {
        resend(body).await.assert_failure(400, "schema-invalid");
    }
    let unknown = json!({ "eventId": "evt_01920000000070008000000000000000" });
    resend(unknown).await.assert_failure(404, "not-found");
}

// covers: M26
#[tokio::test]
async fn official_libraries_verify_what_was_missed_in_order() {
    let fixture = AgentWebhooks::start().await;
    let (_, mut socket) = fixture.sender("alice").await;
    for library in [NodeScript::WebhookReceiver, NodeScript::PythonWebhookReceiver] {
        let receiver = OfficialReceiver::start(library);
        let (webhook, secret) = fixture.add(&receiver.url, &BOTH).await;
        // It refuses everything, until it has the right secret.
        receiver.set_secret(OTHER_SECRET).await;
        for number in 0..3 {
            say(&mut socket, None, &format!("m{number}")).await;
        }
        let refused = receiver.wait_for(1).await;
        assert_eq!(refused[0]["verified"], false, "{refused:?}");
        receiver.set_secret(&secret).await;
        fixture.end_pauses().await;
        fixture.wait_for_empty_queue().await;
        let verified = |received: &[Value]| -> Vec<Value> {
            let verified = received.iter().filter(|event| event["verified"] == true);
            verified.map(|event| event["payload"]["data"]["envelope"]["text"].clone()).collect()
        };
        assert_eq!(verified(&receiver.wait_for(4).await), ["m0", "m1", "m2"]);
        let all = json!({ "since": "2020-01-01T00:00:00Z", "only": "all" });
        let resent = fixture.call(Method::POST, &format!("{webhook}/resend"), Some(all)).await;
        assert_eq!(resent.body, json!({ "events": 3 }), "{}", resent.text);
        fixture.wait_for_empty_queue().await;
        assert_eq!(verified(&receiver.wait_for(7).await), ["m0", "m1", "m2", "m0", "m1", "m2"]);
        fixture.delete(&webhook).await;
    }
}

#[tokio::test]
async fn webhook_that_failed_for_five_days_is_disabled_and_others_are_told() {
    let fixture = AgentWebhooks::start().await;
    let (receiver, other) =
        (WebhookReceiver::start([Answer::Status(500)]).await, WebhookReceiver::start([]).await);
    let cluster = &fixture.gateway.cluster;
    cluster.create_webhook(&fixture.tenant.id, &other.url()).await;
    let (webhook, _) = fixture.add(&receiver.url(), &BOTH).await;
    let mut sql = cluster.db.sql().await;
    let failing = format!(
        "UPDATE webhooks SET failing_since = now() - interval '5 days' WHERE id = '{}'",
        uuid_of(&webhook)
    );
    sql.execute(failing.as_str()).await;
    let (_, mut socket) = fixture.sender("alice").await;
    say(&mut socket, None, "one").await;
    let disabled = fixture.wait_for(&webhook, |shown| shown["enabled"] == false).await;
    assert_eq!(disabled["disabledReason"], "failing");
    let host = receiver.address.to_string();
    let told = other.wait_for(1).await.remove(0).json();
    let data = json!({ "webhookId": webhook, "agentId": fixture.agent, "host": host, "reason": "failing" });
    assert_eq!((&told["type"], &told["data"]), (&json!("webhook.disabled"), &data));
    let path = format!("/api/v1/tenants/{}/audit?limit=500", fixture.tenant.id);
    let log = cluster.first.get_as(&path, &cluster.operator.token).await.body;
    let entries = log["entries"].as_array().expect("entries").iter();
    let entries: Vec<&Value> = entries.filter(|entry| entry["action"] == "webhook.disabled").collect();
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0]["body"]["detail"], json!({ "host": host, "reason": "failing" }));
    // Members who look see it, also where it is the only webhook.
    let listed = cluster
        .first
        .get_as(&format!("/api/v1/tenants/{}/webhooks", fixture.tenant.id), &cluster.operator.token)
        .await
        .body;
    let listed =
        listed["webhooks"].as_array().expect("webhooks").iter().find(|shown| shown["id"] == webhook.as_str());
    assert_eq!(
        listed.map(|shown| json!([shown["enabled"], shown["disabledReason"]])),
        Some(json!([false, "failing"]))
    );
    // The event that had failed waits for a request, like those that come now.
    say(&mut socket, None, "two").await;
    fixture.wait_for_rows("SELECT count(*) FROM webhook_events WHERE state = 'missed'", 2).await;
    assert_eq!(receiver.received().len(), 1);
}

#[tokio::test]
async fn old_events_and_those_above_the_limit_are_deleted() {
    let fixture = AgentWebhooks::start().await;
    let receiver = WebhookReceiver::start([]).await;
    let (webhook, _) = fixture.add(&receiver.url(), &BOTH).await;
    let (_, mut socket) = fixture.sender("alice").await;
    for number in 0..3 {
        say(&mut socket, None, &format!("m{number}")).await;
    }
    receiver.wait_for(3).await;
    fixture.wait_for_empty_queue().await;
    let mut sql = fixture.gateway.cluster.db.sql().await;
    sql.execute("UPDATE webhook_events SET created_at = now() - interval '15 days' WHERE number = (SELECT min(number) FROM webhook_events)").await;
    let store = fixture.store();
    let now = retention::now(&store).await.expect("a time");
    let fortnight = now - SignedDuration::from_hours(14 * 24);
    assert_eq!(webhook_events::delete_old(&store, fortnight, 10).await.expect("deleted"), 1);
    assert_eq!(webhook_events::delete_excess(&store, 1, 10).await.expect("deleted"), 1);
    assert_eq!(webhook_events::delete_excess(&store, 1, 10).await.expect("deleted"), 0);
    let left = fixture.deliveries(&webhook).await;
    assert_eq!(left.len(), 1, "the newest one: {left:?}");
    assert_eq!(left[0]["eventId"], receiver.received()[2].id.as_str());
    fixture.wait_for_rows("SELECT count(*) FROM webhook_attempts", 1).await;
}

/// An event that a replica of the version before has put into the outbox.
#[tokio::test]
async fn event_in_the_outbox_of_an_earlier_version_is_sent() {
    let fixture = AgentWebhooks::start().await;
    let receiver = WebhookReceiver::start([]).await;
    let cluster = &fixture.gateway.cluster;
    let (webhook, _) = cluster.create_webhook(&fixture.tenant.id, &receiver.url()).await;
    let event = "evt_01920000000070008000000000000001";
    let sent = r#"{"data":{"a":1},"timestamp":"2026-11-17T08:00:00Z","type":"approval.decided"}"#;
    let body = json!({ "tenant": fixture.tenant.id, "webhook": webhook, "event": event, "body": sent });
    let insert = format!(
        "INSERT INTO outbox (id, kind, body) VALUES ('01920000-0000-7000-8000-000000000002', 'webhook.deliver', '{body}')"
    );
    cluster.db.sql().await.execute(insert.as_str()).await;
    let received = receiver.wait_for(1).await.remove(0);
    assert_eq!((received.id.as_str(), received.body.as_str()), (event, sent));
    fixture.wait_for_rows("SELECT count(*) FROM outbox", 0).await;
    tokio::time::timeout(Duration::from_secs(60), fixture.wait_for_empty_queue()).await.expect("in time");
    assert_eq!(receiver.received().len(), 1);
}

/// Returns the id as it is stored.
fn uuid_of(id: &str) -> String {
    id.split_once('_').expect("a prefix").1.to_owned()
}
