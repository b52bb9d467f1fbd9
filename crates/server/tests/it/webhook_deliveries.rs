//! How events are sent to webhooks: signatures, repeated attempts, and their end.

use std::time::Duration;

use guildhall_testkit::NodeScript;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::official_receiver::OfficialReceiver;
use crate::support::runs::text;
use crate::support::webhook_fixture::{HELD_LANES, webhook_fixture};
use crate::support::webhook_receiver::{Answer, WebhookReceiver};

#[tokio::test]
async fn official_npm_library_verifies_events_before_and_after_a_rotation() {
    Box::pin(verify_events_before_and_after_a_rotation(NodeScript::WebhookReceiver)).await;
}

#[tokio::test]
async fn official_pip_library_verifies_events_before_and_after_a_rotation() {
    Box::pin(verify_events_before_and_after_a_rotation(NodeScript::PythonWebhookReceiver)).await;
}

async fn verify_events_before_and_after_a_rotation(library: NodeScript) {
    let fixture = webhook_fixture().await;
    let receiver = OfficialReceiver::start(library);
    let (webhook, first_secret) = fixture.cluster.create_webhook(&fixture.tenant.id, &receiver.url).await;
    receiver.set_secret(&first_secret).await;
    let approval = fixture.create_question("é", "ls").await;
    let received = receiver.wait_for(1).await;
    assert_eq!(json!([received[0]["verified"], received[0]["signatures"]]), json!([true, 1]), "{received:?}");
    assert_eq!(received[0]["payload"]["data"]["approvalId"], json!(approval));

    let rotate = async || {
        let path = format!("{}/{webhook}/rotate", fixture.webhooks_path());
        let rotated = fixture.cluster.second.post_as(&path, &fixture.cluster.operator.token, json!({})).await;
        assert_eq!(rotated.status, 200, "{}", rotated.text);
        rotated.body
    };
    let rotated = rotate().await;
    let listed = fixture.list_webhooks().await;
    assert_eq!(listed[0]["previousSecretEndsAt"], rotated["previousSecretEndsAt"]);
    // Both secrets sign, so the receiver can be changed at any time of the overlap.
    for (count, secret) in [(2, first_secret.clone()), (3, text(&rotated, "secret"))] {
        receiver.set_secret(&secret).await;
        let event = fixture.send_test(&webhook).await;
        let received = receiver.wait_for(count).await[count - 1].clone();
        let outcome = json!([received["id"], received["verified"], received["signatures"]]);
        assert_eq!(outcome, json!([event, true, 2]), "{received}");
    }
    // After the overlap only the new one signs.
    let mut sql = fixture.cluster.db.sql().await;
    sql.execute("UPDATE webhooks SET previous_secret_ends_at = now() - interval '1 second'").await;
    receiver.set_secret(&first_secret).await;
    fixture.send_test(&webhook).await;
    let refused = receiver.wait_for(4).await[3].clone();
    let outcome = json!([refused["verified"], refused["signatures"], refused["error"]]);
    assert_eq!(outcome, json!([false, 1, "No matching signature found"]));
    let failed = fixture.wait_for_webhook(|webhook| webhook["lastFailure"].is_object()).await;
    assert_eq!(failed["lastFailure"]["message"], "the receiver answered 401");
}

#[tokio::test]
async fn failed_attempts_are_repeated_with_the_same_id_and_body() {
    let fixture = webhook_fixture().await;
    let elsewhere = WebhookReceiver::start([]).await;
    let answers = [Answer::Status(500), Answer::Redirect(elsewhere.url()), Answer::Status(204)];
    let receiver = WebhookReceiver::start(answers).await;
    let webhook = fixture.add_webhook(&receiver).await;
    let event = fixture.send_test(&webhook).await;
    receiver.wait_for(3).await;
    fixture.wait_for_empty_queue().await;
    let received = receiver.received();
    assert_eq!(received.len(), 3);
    for attempt in &received {
        assert_eq!((&attempt.id, &attempt.body), (&event, &received[0].body));
    }
    assert!(received.is_sorted_by_key(|attempt| attempt.timestamp));
    assert!(received[0].timestamp < received[2].timestamp, "the time of the attempt");
    assert_ne!(received[0].signature, received[2].signature);
    assert_eq!(elsewhere.received(), [], "a redirect is not followed");
    let listed = fixture.wait_for_webhook(|webhook| webhook["lastSuccessAt"].is_string()).await;
    let failure = &listed["lastFailure"];
    let failure = json!([failure["eventId"], failure["attempt"], failure["message"], failure["isFinal"]]);
    assert_eq!(failure, json!([event, 2, "the receiver answered 302", false]));
}

#[tokio::test]
async fn receiver_chooses_a_longer_pause_within_a_limit() {
    for (retry_after, seconds) in [("600", 590..=600), ("99999999", 3590..=3600), ("soon", 0..=2)] {
        let fixture = webhook_fixture().await;
        let receiver = WebhookReceiver::start([Answer::RetryAfter(retry_after)]).await;
        let webhook = fixture.add_webhook(&receiver).await;
        fixture.send_test(&webhook).await;
        fixture.wait_for_webhook(|webhook| webhook["lastFailure"].is_object()).await;
        let mut sql = fixture.cluster.db.sql().await;
        while seconds.start() > &0 && sql.number(HELD_LANES).await == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        if seconds.start() == &0 {
            receiver.wait_for(2).await;
            continue;
        }
        let pause = "SELECT extract(epoch FROM next_attempt_at - now())::bigint FROM webhook_lanes";
        let pause = sql.number(pause).await;
        assert!(seconds.contains(&pause), "{retry_after}: {pause} s");
        assert_eq!(receiver.received().len(), 1);
    }
}

#[tokio::test]
async fn receiver_that_is_gone_is_disabled() {
    let fixture = webhook_fixture().await;
    let receiver = WebhookReceiver::start([Answer::Status(410)]).await;
    let webhook = fixture.add_webhook(&receiver).await;
    fixture.send_test(&webhook).await;
    let disabled = fixture.wait_for_webhook(|webhook| webhook["enabled"] == false).await;
    assert_eq!(disabled["disabledReason"], "gone");
    fixture.create_question("0", "ls").await;
    fixture.wait_for_empty_queue().await;
    assert_eq!(receiver.received().len(), 1);
    let path = format!("{}/{webhook}/test", fixture.webhooks_path());
    let refused = fixture.cluster.first.post_as(&path, &fixture.cluster.operator.token, json!({})).await;
    refused.assert_failure(409, "conflict");
    let host = receiver.address.to_string();
    let expected = json!(["webhook.disabled", null, { "host": host, "reason": "gone" }]);
    assert_eq!(fixture.audit_entries("webhook.disabled").await, [expected]);
}

#[tokio::test]
async fn silent_receiver_fails_after_ten_seconds_and_others_are_served() {
    let fixture = webhook_fixture().await;
    let silent = WebhookReceiver::start([Answer::Silence]).await;
    let endless = WebhookReceiver::start([Answer::EndlessBody]).await;
    fixture.add_webhook(&silent).await;
    fixture.add_webhook(&endless).await;
    fixture.create_question("0", "ls").await;
    silent.wait_for(1).await;
    endless.wait_for(1).await;
    let failed = fixture.wait_for_webhook(|webhook| webhook["lastFailure"].is_object()).await;
    let message = text(&failed["lastFailure"], "message");
    assert!(message.starts_with("127.0.0.1 did not respond within 10s"), "{message}");
    fixture.wait_for_empty_queue().await;
    let listed = fixture.list_webhooks().await;
    assert_eq!(listed[1]["lastFailure"], Value::Null, "the status is enough: the body is not read");
    assert_eq!((silent.received().len(), endless.received().len()), (2, 1));
}

#[tokio::test]
async fn event_is_sent_when_the_receiver_is_up_again() {
    let fixture = webhook_fixture().await;
    let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr());
    let address = free.expect("a free port");
    let url = format!("http://{address}/hook");
    let (webhook, _) = fixture.cluster.create_webhook(&fixture.tenant.id, &url).await;
    let event = fixture.send_test(&webhook).await;
    let failed = fixture.wait_for_webhook(|webhook| webhook["lastFailure"].is_object()).await;
    let message = text(&failed["lastFailure"], "message");
    assert!(message.starts_with("cannot reach 127.0.0.1"), "{message}");
    let receiver = WebhookReceiver::start_at(address, []).await;
    assert_eq!(receiver.wait_for(1).await[0].id, event);
    fixture.wait_for_webhook(|webhook| webhook["lastSuccessAt"].is_string()).await;
}

#[tokio::test]
async fn last_failed_attempt_is_final_and_visible() {
    let fixture = webhook_fixture().await;
    let receiver = WebhookReceiver::start([Answer::Status(503), Answer::Status(503)]).await;
    let webhook = fixture.add_webhook(&receiver).await;
    fixture.hold_next_attempt().await;
    let event = fixture.send_test(&webhook).await;
    fixture.wait_for_failed_attempt().await;
    fixture.release_held_events(48).await;
    let failed = fixture.wait_for_webhook(|webhook| webhook["lastFailure"]["isFinal"] == true).await;
    let failure = &failed["lastFailure"];
    let expected = json!([event, 49, "the receiver answered 503"]);
    assert_eq!(json!([failure["eventId"], failure["attempt"], failure["message"]]), expected);
    fixture.wait_for_empty_queue().await;
    let mut sql = fixture.cluster.db.sql().await;
    assert_eq!(sql.number("SELECT count(*) FROM webhook_events WHERE state = 'missed'").await, 1);
    assert_eq!(receiver.received().len(), 2);
}

#[tokio::test]
async fn deleted_webhook_receives_nothing_more() {
    let fixture = webhook_fixture().await;
    let receiver = WebhookReceiver::start([Answer::Status(500)]).await;
    let webhook = fixture.add_webhook(&receiver).await;
    fixture.hold_next_attempt().await;
    fixture.send_test(&webhook).await;
    fixture.wait_for_failed_attempt().await;
    let path = format!("{}/{webhook}", fixture.webhooks_path());
    let token = &fixture.cluster.operator.token;
    let deleted = fixture.cluster.first.request_as(Method::DELETE, &path, token, None).await;
    assert_eq!((deleted.status.as_u16(), deleted.body), (200, json!({ "id": webhook, "deleted": true })));
    // Its events are deleted later.
    fixture.wait_for_rows("SELECT count(*) FROM webhook_lanes", 0).await;
    assert_eq!(receiver.received().len(), 1);
    let again = fixture.cluster.second.request_as(Method::DELETE, &path, token, None).await;
    again.assert_failure(404, "not-found");
}
