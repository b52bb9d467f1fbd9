//! Recalled messages.

use serde_json::{Value, json};

use super::{Pair, pull, seqs, text, texts};

async fn recall(pair: &mut Pair, ids: &[&str]) -> Value {
    pair.sender.call("message.recall", json!({ "message_ids": ids })).await.expect("an answer")
}

async fn send_as(pair: &mut Pair, id: &str, mode: &str) {
    let params = json!({
        "to": pair.bobby.aid, "payload": text(id), "message_id": id, "delivery_mode": { "mode": mode },
    });
    pair.sender.call("message.send", params).await.expect("sent");
}

// covers: A7, A9
#[tokio::test]
async fn recalled_message_loses_its_content_and_keeps_its_seq() {
    let mut pair = Pair::start().await;
    send_as(&mut pair, "m-1", "fanout").await;
    send_as(&mut pair, "m-2", "fanout").await;
    pair.receiver.next_message().await;
    pair.receiver.next_message().await;
    let answer = recall(&mut pair, &["m-1"]).await;
    assert_eq!(answer, json!({ "success": true, "accepted": 1, "recalled": 1, "errors": null }));
    let (method, event) = pair.receiver.next_event().await;
    assert_eq!(method, "event/message.recalled");
    let expected = json!({
        "from": pair.alice.aid, "to": pair.bobby.aid, "message_ids": ["m-1"], "seq": 3,
        "timestamp": event["timestamp"],
    });
    assert_eq!(event, expected);
    // A device that was offline learns of it by pulling, also if it had read the message before.
    let page = pull(&mut pair.receiver, 0).await;
    assert_eq!((texts(&page), seqs(&page)), (vec!["-".into(), "m-2".into(), "-".into()], vec![1, 2, 3]));
    for row in [0, 2] {
        let row = &page["messages"][row];
        assert_eq!((&row["type"], &row["message_ids"]), (&json!("message.recalled"), &json!(["m-1"])));
    }
    let stored = "SELECT count(*) FROM inbox_messages WHERE message_id = 'm-1' AND payload IS NOT NULL";
    assert_eq!(pair.gateway.cluster.db.sql().await.number(stored).await, 0);
}

// covers: A7
#[tokio::test]
async fn recall_reports_each_error_for_its_message() {
    let mut pair = Pair::start().await;
    for id in ["fresh", "twice", "edge", "late"] {
        send_as(&mut pair, id, "fanout").await;
    }
    send_as(&mut pair, "queued", "queue").await;
    let foreign = json!({ "to": pair.alice.aid, "payload": text("theirs"), "message_id": "theirs" });
    pair.receiver.call("message.send", foreign).await.expect("sent");
    recall(&mut pair, &["twice"]).await;
    let age = "UPDATE inbox_messages SET sent_at = CASE message_id \
               WHEN 'edge' THEN now() - interval '115 seconds' ELSE now() - interval '121 seconds' END \
               WHERE message_id IN ('edge', 'late')";
    pair.gateway.cluster.db.sql().await.execute(age).await;
    let ids = ["fresh", "fresh", "twice", "edge", "late", "queued", "theirs", "unknown", "not an id"];
    let answer = recall(&mut pair, &ids).await;
    let error = |id: &str, error: &str| json!({ "message_id": id, "error": error });
    let mut errors = answer["errors"].as_array().expect("errors").clone();
    errors.sort_by_key(|error| error["message_id"].as_str().map(str::to_owned));
    let expected = [
        error("late", "expired"),
        error("not an id", "not_found"),
        error("queued", "not_found"),
        error("theirs", "not_sender"),
        error("twice", "already_recalled"),
        error("unknown", "not_found"),
    ];
    assert_eq!(errors, expected);
    assert_eq!((&answer["accepted"], &answer["recalled"]), (&json!(9), &json!(2)));
    let many: Vec<String> = (0..101).map(|number| number.to_string()).collect();
    let (code, message) = pair.sender.call_error("message.recall", json!({ "message_ids": many })).await;
    assert_eq!((code, message.as_str()), (-32602, "message_ids: expected 1 to 100 ids of messages"));
    let (code, _) = pair.sender.call_error("message.recall", json!({ "message_ids": [] })).await;
    assert_eq!(code, -32602);
}
