//! Webhooks with many messages or events.

use guildhall_runtime::reconcile::Reconciler;
use guildhall_service::webhooks::cleanup::DeleteOldEvents;
use reqwest::Method;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::BOTH;
use crate::support::agent_webhooks::{AGENT_AID, AgentWebhooks, say};
use crate::support::webhook_receiver::WebhookReceiver;

/// Refuses statements that delete more events than a batch has.
const REFUSE_LARGE: &str = "CREATE FUNCTION refuse_large() RETURNS trigger LANGUAGE plpgsql AS \
     $$ BEGIN IF (SELECT count(*) FROM gone) > 1000 THEN RAISE EXCEPTION 'too many'; END IF; RETURN NULL; END $$; \
     CREATE TRIGGER refuse_large AFTER DELETE ON webhook_events REFERENCING OLD TABLE AS gone \
     FOR EACH STATEMENT EXECUTE FUNCTION refuse_large()";

/// Copies the one event of each webhook to a log of 2,500.
const FILL_LOGS: &str = "INSERT INTO webhook_events (webhook, event, event_type, lane, body, state, finished_at) \
     SELECT webhook, gen_random_uuid(), event_type, lane, body, 'delivered', now() \
     FROM webhook_events, generate_series(1, 2499)";

#[tokio::test]
async fn large_log_of_a_deleted_webhook_goes_in_batches() {
    let fixture = AgentWebhooks::start().await;
    let receiver = WebhookReceiver::start([]).await;
    let (webhook, _) = fixture.add(&receiver.url(), &BOTH).await;
    let body = json!({ "url": "https://hooks.example.org/", "events": BOTH, "agentId": fixture.agent, "sender": "listener" });
    fixture.create(body).await;
    let (_, mut socket) = fixture.sender("alice").await;
    say(&mut socket, None, "one").await;
    fixture.wait_for_rows("SELECT count(*) FROM webhook_events", 2).await;
    let mut sql = fixture.gateway.cluster.db.sql().await;
    sql.execute(FILL_LOGS).await;
    sql.execute(REFUSE_LARGE).await;
    fixture.delete(&webhook).await;
    fixture.call(Method::GET, &format!("{webhook}/deliveries"), None).await.assert_failure(404, "not-found");
    // The listener is silent for long; its log goes too, and so do old events although one step fails.
    sql.execute("UPDATE agent_webhooks SET polled_at = now() - interval '1 day'").await;
    let cleanup = DeleteOldEvents { store: fixture.store(), stop: CancellationToken::new() };
    cleanup.round().await.expect("a round");
    for table in ["webhooks", "webhook_lanes", "webhook_events", "webhook_attempts", "deleted_webhooks"] {
        assert_eq!(sql.number(format!("SELECT count(*) FROM {table}")).await, 0, "{table}");
    }
}

#[tokio::test]
async fn failed_step_of_the_cleanup_holds_up_no_other() {
    let fixture = AgentWebhooks::start().await;
    let receiver = WebhookReceiver::start([]).await;
    fixture.add(&receiver.url(), &BOTH).await;
    let body = json!({ "url": "https://hooks.example.org/", "events": BOTH, "agentId": fixture.agent, "sender": "listener" });
    fixture.create(body).await;
    let (_, mut socket) = fixture.sender("alice").await;
    say(&mut socket, None, "one").await;
    receiver.wait_for(1).await;
    let mut sql = fixture.gateway.cluster.db.sql().await;
    sql.execute(
        "UPDATE agent_webhooks SET polled_at = now() - interval '1 day' WHERE polled_at IS NOT NULL; \
         UPDATE webhook_events SET created_at = now() - interval '15 days'; \
         CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$; \
         CREATE TRIGGER refuse BEFORE DELETE ON webhooks FOR EACH ROW EXECUTE FUNCTION refuse()",
    )
    .await;
    let cleanup = DeleteOldEvents { store: fixture.store(), stop: CancellationToken::new() };
    cleanup.round().await.expect_err("the silent listener cannot be deleted");
    assert_eq!(sql.number("SELECT count(*) FROM webhook_events").await, 0);
}

/// Each reads a page in turn, so a backlog delays no other webhook.
#[tokio::test]
async fn backlog_of_some_webhooks_delays_no_other() {
    const BACKLOG: i64 = 3_000;
    let fixture = AgentWebhooks::start().await;
    let receiver = WebhookReceiver::start([]).await;
    // More than replicas, and all of them with lower ids than the one that must not wait.
    for _ in 0..3 {
        fixture.add(&receiver.url(), &BOTH).await;
    }
    let late = fixture.gateway.cluster.create_agent("acme", "late").await;
    let path = format!("/api/v1/agents/{late}/inbox");
    let operator = &fixture.gateway.cluster.operator;
    let inbox =
        fixture.gateway.cluster.first.request_as(Method::PUT, &path, &operator.token, Some(json!({}))).await;
    assert_eq!(inbox.status, 200, "{}", inbox.text);
    let body = json!({ "url": receiver.url(), "events": BOTH, "agentId": late });
    assert_eq!(fixture.create(body).await.status, 201);
    let (_, mut socket) = fixture.sender("alice").await;
    say(&mut socket, None, "one").await;
    let late_aid = inbox.body["aid"].as_str().expect("an AID");
    let words = json!({ "to": late_aid, "payload": { "type": "text", "text": "late" } });
    socket.call("message.send", words).await.expect("sent");
    fixture.wait_for_rows("SELECT count(*) FROM webhook_events", 4).await;
    let mut sql = fixture.gateway.cluster.db.sql().await;
    let grow = format!(
        "BEGIN; \
         INSERT INTO inbox_messages (inbox, seq, sender, message_id, kind, envelope_type, previous_seq, sent_at, expires_at, payload) \
         SELECT inbox, seq + number, sender, message_id || number, kind, envelope_type, seq, sent_at, expires_at, payload \
         FROM inbox_messages JOIN inboxes ON inboxes.id = inbox, generate_series(1, {BACKLOG}) AS number \
         WHERE aid = '{AGENT_AID}' OR number = 1; \
         UPDATE inboxes SET last_seq = last_seq + CASE aid WHEN '{AGENT_AID}' THEN {BACKLOG} ELSE 1 END \
         WHERE last_seq > 0; \
         COMMIT"
    );
    sql.execute(grow).await;
    fixture.wait_for_rows("SELECT count(*) FROM webhook_events", 3 * (BACKLOG + 1) + 2).await;
    let before = "SELECT count(*) FROM webhook_events WHERE number < (SELECT max(number) FROM webhook_events \
                  WHERE webhook = (SELECT max(webhook::text)::uuid FROM agent_webhooks))";
    let before = sql.number(before).await;
    assert!(before < BACKLOG, "{before} events of others came first");
}
