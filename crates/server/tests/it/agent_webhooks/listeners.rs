//! Listeners: a program asks for the events.

use guildhall_store::{agent_webhooks, retention};
use jiff::SignedDuration;
use reqwest::Method;
use serde_json::{Value, json};

use super::BOTH;
use crate::support::agent_webhooks::{AgentWebhooks, say};
use crate::support::runs::text;
use crate::support::webhook_receiver::WebhookReceiver;

/// Creates a listener. Nobody serves its URL.
async fn listener(fixture: &AgentWebhooks) -> String {
    let body = json!({
        "url": "http://127.0.0.1:9/", "events": BOTH, "agentId": fixture.agent, "sender": "listener",
    });
    let created = fixture.create(body).await;
    assert_eq!(created.status, 201, "{}", created.text);
    text(&created.body, "id")
}

async fn claim(fixture: &AgentWebhooks, listener: &str, wait: u64) -> Vec<Value> {
    let claimed =
        fixture.call(Method::POST, &format!("{listener}/claim"), Some(json!({ "wait": wait }))).await;
    assert_eq!(claimed.status, 200, "{}", claimed.text);
    claimed.body["events"].as_array().expect("events").clone()
}

fn words(events: &[Value]) -> Vec<String> {
    let body = |event: &Value| -> Value { serde_json::from_str(&text(event, "body")).expect("JSON") };
    events.iter().map(|event| text(&body(event)["data"]["envelope"], "text")).collect()
}

#[tokio::test]
async fn listener_gets_events_one_after_the_other() {
    let fixture = AgentWebhooks::start().await;
    let id = listener(&fixture).await;
    let (_, mut socket) = fixture.sender("alice").await;
    say(&mut socket, None, "one").await;
    say(&mut socket, None, "two").await;
    let report = async |event: &Value, status: Option<u16>| {
        let body = json!({
            "eventId": event["eventId"], "claim": event["claim"], "status": status, "durationMs": 7,
        });
        fixture.call(Method::POST, &format!("{id}/reports"), Some(body)).await
    };
    let first = claim(&fixture, &id, 20_000).await;
    assert_eq!(words(&first), ["one"]);
    assert_eq!(claim(&fixture, &id, 0).await, Vec::<Value>::new(), "the second waits for the first");
    // The receiver is down: the event comes again.
    assert_eq!(report(&first[0], None).await.status, 200);
    let again = claim(&fixture, &id, 20_000).await;
    assert_eq!((words(&again), &again[0]["attempt"]), (vec!["one".to_owned()], &json!(2)));
    assert_eq!(again[0]["eventId"], first[0]["eventId"]);
    report(&first[0], Some(200)).await.assert_failure(409, "conflict");
    // 410 of a receiver under development disables nothing.
    assert_eq!(report(&again[0], Some(410)).await.status, 200);
    let third = claim(&fixture, &id, 20_000).await;
    assert_eq!(report(&third[0], Some(204)).await.status, 200);
    assert_eq!(words(&claim(&fixture, &id, 20_000).await), ["two"]);
    let deliveries = fixture.deliveries(&id).await;
    let attempts = deliveries[1]["attempts"].as_array().expect("attempts").iter();
    let attempts: Vec<Value> =
        attempts.map(|attempt| json!([attempt["status"], attempt["durationMs"]])).collect();
    assert_eq!(attempts, [json!([null, 7]), json!([410, 7]), json!([204, 7])]);
}

#[tokio::test]
async fn server_never_calls_the_url_of_a_listener() {
    let fixture = AgentWebhooks::start().await;
    let receiver = WebhookReceiver::start([]).await;
    let body = json!({
        "url": receiver.url(), "events": BOTH, "agentId": fixture.agent, "sender": "listener",
    });
    let id = text(&fixture.create(body).await.body, "id");
    let (called, _) = fixture.add(&receiver.url(), &BOTH).await;
    let (_, mut socket) = fixture.sender("alice").await;
    say(&mut socket, None, "one").await;
    receiver.wait_for(1).await;
    let waiting = "SELECT count(*) FROM webhook_events WHERE state = 'waiting'";
    fixture.wait_for_rows(waiting, 1).await;
    assert_eq!(words(&claim(&fixture, &id, 20_000).await), ["one"]);
    assert_eq!(receiver.received().len(), 1, "from the webhook that the server calls");
    let refused = fixture.call(Method::POST, &format!("{called}/claim"), Some(json!({}))).await;
    refused.assert_failure(409, "conflict");
}

#[tokio::test]
async fn listener_without_a_program_is_deleted() {
    let fixture = AgentWebhooks::start().await;
    let (silent, active) = (listener(&fixture).await, listener(&fixture).await);
    let cluster = &fixture.gateway.cluster;
    cluster
        .db
        .sql()
        .await
        .execute("UPDATE agent_webhooks SET polled_at = now() - interval '16 minutes'")
        .await;
    claim(&fixture, &active, 0).await;
    let store = fixture.store();
    let before = retention::now(&store).await.expect("a time") - SignedDuration::from_mins(15);
    assert_eq!(agent_webhooks::delete_silent(&store, before, 10).await.expect("deleted"), 1);
    fixture.call(Method::GET, &silent, None).await.assert_failure(404, "not-found");
    assert_eq!(fixture.get(&active).await["sender"], "listener");
}

#[tokio::test]
async fn sample_of_each_type_reaches_a_listener_marked_as_a_test() {
    let fixture = AgentWebhooks::start().await;
    let id = listener(&fixture).await;
    for event_type in ["message.new", "artifact_response", "webhook.test"] {
        let body = json!({ "type": event_type });
        let sent = fixture.call(Method::POST, &format!("{id}/trigger"), Some(body)).await;
        assert_eq!(sent.status, 202, "{}", sent.text);
        let claimed = claim(&fixture, &id, 20_000).await;
        assert_eq!((claimed.len(), &claimed[0]["eventId"]), (1, &sent.body["eventId"]));
        let body: Value = serde_json::from_str(&text(&claimed[0], "body")).expect("JSON");
        assert_eq!(json!([body["type"], body["data"]["test"]]), json!([event_type, true]));
    }
    let unknown =
        fixture.call(Method::POST, &format!("{id}/trigger"), Some(json!({ "type": "run.done" }))).await;
    unknown.assert_failure(400, "schema-invalid");
}

#[tokio::test]
async fn poll_of_a_member_who_is_removed_meanwhile_claims_nothing() {
    let fixture = AgentWebhooks::start().await;
    let id = listener(&fixture).await;
    let (cluster, tenant) = (&fixture.gateway.cluster, &fixture.tenant.id);
    let ada = cluster.create_user("ada").await;
    cluster.set_role(tenant, &ada, "operator").await;
    let mut sql = cluster.db.sql().await;
    sql.execute("UPDATE agent_webhooks SET polled_at = now() - interval '5 minutes'").await;
    let (_, mut socket) = fixture.sender("alice").await;
    let path = format!("/api/v1/webhooks/{id}/claim");
    let poll = cluster.second.request_as(Method::POST, &path, &ada.token, Some(json!({ "wait": 20_000 })));
    let remove = async {
        let polled = "SELECT count(*) FROM agent_webhooks WHERE polled_at > now() - interval '2 minutes'";
        fixture.wait_for_rows(polled, 1).await;
        let member = format!("/api/v1/tenants/{tenant}/members/{}", ada.principal);
        let removed = cluster.first.request_as(Method::DELETE, &member, &cluster.operator.token, None).await;
        assert_eq!(removed.status, 200, "{}", removed.text);
        say(&mut socket, None, "one").await;
    };
    let (refused, ()) = tokio::join!(poll, remove);
    refused.assert_failure(404, "not-found");
    assert_eq!(sql.number("SELECT count(*) FROM webhook_lanes WHERE claim IS NOT NULL").await, 0);
    let claimed = claim(&fixture, &id, 20_000).await;
    assert_eq!((words(&claimed), &claimed[0]["attempt"]), (vec!["one".to_owned()], &json!(1)));
}
