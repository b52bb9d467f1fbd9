//! What webhooks are told about questions.

use serde_json::{Value, json};

use crate::support::runs::text;
use crate::support::webhook_fixture::{PUBLIC_URL, webhook_fixture};
use crate::support::webhook_receiver::WebhookReceiver;

#[tokio::test]
async fn question_and_answer_are_sent_once_by_two_replicas() {
    let fixture = webhook_fixture().await;
    let (receiver, other) = (WebhookReceiver::start([]).await, WebhookReceiver::start([]).await);
    let webhook = fixture.add_webhook(&receiver).await;
    let only_decided = json!({ "url": other.url(), "events": ["approval.decided"] });
    let token = &fixture.cluster.operator.token;
    let created = fixture.cluster.first.post_as(&fixture.webhooks_path(), token, only_decided).await;
    assert_eq!(created.status, 201, "{}", created.text);

    let approval = fixture.create_question("0", "curl -H 'Authorization: Bearer hunter2hunter2'").await;
    let requested = receiver.wait_for(1).await.remove(0);
    let shown = fixture.get(&approval).await;
    let about = json!({
        "approvalId": approval, "runId": shown["runId"], "sessionId": shown["sessionId"], "kind": "command",
        "tool": "shell", "expiresAt": shown["expiresAt"], "link": format!("{PUBLIC_URL}/approve/{approval}"),
    });
    let mut asked = about.clone();
    asked["escalated"] = json!(false);
    let sent_at = requested.json()["timestamp"].clone();
    let expected = json!({ "type": "approval.requested", "timestamp": sent_at, "data": asked });
    assert_eq!(requested.json(), expected);
    assert!(requested.id.starts_with("evt_"), "{}", requested.id);

    assert_eq!(fixture.vote(&approval, &fixture.ada, "yes").await.0, 200);
    fixture.wait_for_empty_queue().await;
    let [_, decided] = <[_; 2]>::try_from(receiver.received()).expect("two events, each once");
    let mut answered = about;
    for (name, value) in [
        ("optionId", json!("yes")),
        ("effect", json!("allow")),
        ("decidedBy", json!([fixture.ada.principal])),
    ] {
        answered[name] = value;
    }
    let sent_at = decided.json()["timestamp"].clone();
    let expected = json!({ "type": "approval.decided", "timestamp": sent_at, "data": answered });
    assert_eq!(decided.json(), expected);
    let same_event = other.received();
    assert_eq!(same_event.len(), 1);
    assert_eq!((&same_event[0].id, &same_event[0].body), (&decided.id, &decided.body));
    assert_ne!(same_event[0].signature, decided.signature, "each webhook has its own secret");
    let listed = fixture.wait_for_webhook(|webhook| webhook["lastSuccessAt"].is_string()).await;
    assert_eq!(json!([listed["id"], listed["lastFailure"]]), json!([webhook, null]));
}

#[tokio::test]
async fn many_questions_are_each_sent_once_by_two_replicas() {
    let fixture = webhook_fixture().await;
    let receiver = WebhookReceiver::start([]).await;
    fixture.add_webhook(&receiver).await;
    let mut asked = Vec::new();
    for request in 0..16 {
        asked.push(fixture.create_question(&request.to_string(), &format!("echo {request}")).await);
    }
    fixture.wait_for_empty_queue().await;
    let received = receiver.received();
    let mut told: Vec<String> =
        received.iter().map(|event| text(&event.json()["data"], "approvalId")).collect();
    told.sort();
    asked.sort();
    assert_eq!(told, asked);
}

#[tokio::test]
async fn expired_question_is_told_and_a_remembered_answer_is_not() {
    let fixture = webhook_fixture().await;
    let receiver = WebhookReceiver::start([]).await;
    fixture.cluster.create_approval_rule(&fixture.claim, &fixture.command).await;
    fixture.add_webhook(&receiver).await;
    // The rule answers it at once.
    fixture.create_question("again", "remembered").await;
    let approval = fixture.create_question("0", "ls").await;
    let mut sql = fixture.cluster.db.sql().await;
    sql.execute("UPDATE approvals SET expires_at = now() - interval '1 second' WHERE status = 'pending'")
        .await;
    let received = receiver.wait_for(2).await;
    fixture.wait_for_empty_queue().await;
    let mut told: Vec<Value> = received
        .iter()
        .map(|event| event.json())
        .map(|event| json!([event["type"], event["data"]["approvalId"], event["data"]["decidedBy"]]))
        .collect();
    // The order is not guaranteed: each replica may have sent one.
    told.sort_by_key(Value::to_string);
    let expected =
        [json!(["approval.decided", approval, ["expiry"]]), json!(["approval.requested", approval, null])];
    assert_eq!((told, receiver.received().len()), (expected.to_vec(), 2));
}

#[tokio::test]
async fn escalated_question_is_told_again() {
    let fixture = webhook_fixture().await;
    let receiver = WebhookReceiver::start([]).await;
    fixture.add_webhook(&receiver).await;
    fixture.set_policy(json!({ "mode": "first-responder", "onExpiry": "escalate" })).await;
    let approval = fixture.create_question("0", "ls").await;
    let asked = fixture.get(&approval).await;
    receiver.wait_for(1).await;
    let mut sql = fixture.cluster.db.sql().await;
    sql.execute("UPDATE approvals SET expires_at = now() - interval '1 second'").await;
    let received = receiver.wait_for(2).await;
    fixture.wait_for_empty_queue().await;
    let escalated = fixture.get(&approval).await;
    assert_ne!(asked["expiresAt"], escalated["expiresAt"]);
    let told = received.iter().map(|event| event.json());
    let told: Vec<Value> = told
        .map(|event| {
            let data = &event["data"];
            json!([event["type"], data["approvalId"], data["expiresAt"], data["escalated"]])
        })
        .collect();
    let expected = [(asked, false), (escalated, true)].map(|(shown, is_escalated)| {
        json!(["approval.requested", approval, shown["expiresAt"], is_escalated])
    });
    assert_eq!((told, receiver.received().len()), (expected.to_vec(), 2));
}

#[tokio::test]
async fn withdrawn_question_is_told_with_its_reason() {
    let mut fixture = webhook_fixture().await;
    let receiver = WebhookReceiver::start([]).await;
    fixture.add_webhook(&receiver).await;
    let mut expected = Vec::new();
    for reason in ["turn-ended", "cancelled", "runner-lost"] {
        let approval = fixture.create_question("0", "touch 'hunter2hunter2'").await;
        let cluster = &fixture.cluster;
        match reason {
            "turn-ended" => {
                let body = json!({ "status": "completed" });
                assert_eq!(cluster.first.finish(&fixture.claim, &fixture.command, body).await.status, 200);
            }
            "cancelled" => {
                let path = format!("/api/v1/commands/{}/cancel", fixture.command);
                let cancelled = cluster.second.post_as(&path, &cluster.operator.token, json!({})).await;
                assert_eq!(cancelled.status, 200, "{}", cancelled.text);
            }
            _ => fixture.lose_runner().await,
        }
        let shown = fixture.get(&approval).await;
        let link = format!("{PUBLIC_URL}/approve/{approval}");
        expected.push(json!({
            "approvalId": approval, "runId": shown["runId"], "sessionId": shown["sessionId"], "kind": "command",
            "tool": "shell", "expiresAt": shown["expiresAt"], "link": link, "endReason": reason,
        }));
        (fixture.claim, fixture.command) = fixture.cluster.start_command(&fixture.tenant).await;
    }
    receiver.wait_for(6).await;
    fixture.wait_for_empty_queue().await;
    let received = receiver.received();
    assert!(received.iter().all(|event| !event.body.contains("hunter2")), "{received:?}");
    let events = received.iter().map(|event| event.json());
    let mut withdrawn: Vec<Value> = events
        .filter(|event| event["type"] == "approval.withdrawn")
        .map(|event| event["data"].clone())
        .collect();
    // In the order of the questions.
    withdrawn.sort_by_key(|data| text(data, "approvalId"));
    assert_eq!((withdrawn, received.len()), (expected, 6));
}
