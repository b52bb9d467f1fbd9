//! Calls of tools that the server refuses.

use serde_json::{Value, json};

use super::{Pair, pull, seqs};

/// What is in a sealed message does not matter here: nobody may call.
fn marked() -> Value {
    json!({
        "type": "e2ee.p2p_encrypted",
        "protected_headers": { "msg_subtype": "artifact_tool_call", "content_type": "artifact" },
    })
}

async fn refusal(pair: &mut Pair, params: Value) -> (Value, Value) {
    let mut error = pair.sender.call("message.send", params).await.expect_err("refused");
    (error["code"].take(), error["data"]["failureKind"].take())
}

// covers: M28
#[tokio::test]
async fn call_that_is_not_sealed_is_refused_with_invalid_input() {
    let mut pair = Pair::start().await;
    let to = pair.bobby.aid.clone();
    let expected = (json!(-32081), json!("invalid-input"));
    for subtype in ["tool_call", "tool_response"] {
        let payload = json!({ "type": "artifact", "artifact": { "subtype": subtype, "call_id": "c" } });
        let refused = refusal(&mut pair, json!({ "to": to, "payload": payload })).await;
        assert_eq!(refused, expected, "{subtype}");
    }
    let document = json!({ "type": "artifact", "artifact": { "subtype": "document" } });
    pair.sender.call("message.send", json!({ "to": to, "payload": document })).await.expect("sent");
    assert_eq!(seqs(&pull(&mut pair.receiver, 0).await), [1]);
}

#[tokio::test]
async fn call_of_a_stranger_is_refused_and_tells_nothing_else() {
    let mut pair = Pair::start().await;
    let to = pair.bobby.aid.clone();
    let required = (json!(-32083), json!("relation-required"));
    assert_eq!(refusal(&mut pair, json!({ "to": to, "payload": marked() })).await, required);
    let queued = json!({ "to": to, "payload": marked(), "delivery_mode": { "mode": "queue" } });
    assert_eq!(refusal(&mut pair, queued).await, (json!(-32081), json!("invalid-input")));
    // The same without the mark is an envelope that is looked at, and is none.
    let unmarked = json!({ "to": to, "payload": { "type": "e2ee.p2p_encrypted" } });
    assert_eq!(refusal(&mut pair, unmarked).await, (json!(-32081), json!("invalid-input")));
    assert!(seqs(&pull(&mut pair.receiver, 0).await).is_empty());
}
