//! Messages that a replica cannot read, such as those of a newer version.

use serde_json::json;

use super::{Pair, send};

#[tokio::test]
async fn unreadable_message_delays_no_other_inbox() {
    let mut pair = Pair::start().await;
    let carol = pair.gateway.register("carol").await;
    let mut other = carol.connected(pair.gateway.cluster.second.address).await;
    let mut sql = pair.gateway.cluster.db.sql().await;
    let store_kind = "CREATE FUNCTION store_newer_kind() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN NEW.kind := 'newer'; RETURN NEW; END $$";
    sql.execute(store_kind).await;
    let on_insert = "CREATE TRIGGER newer BEFORE INSERT ON inbox_messages FOR EACH ROW
        WHEN (NEW.message_id = 'of-a-newer-version') EXECUTE FUNCTION store_newer_kind()";
    sql.execute(on_insert).await;

    let params =
        json!({ "to": pair.bobby.aid, "message_id": "of-a-newer-version", "payload": { "text": "?" } });
    pair.sender.call("message.send", params).await.expect("sent");
    send(&mut pair.sender, &carol.aid, "hello").await;
    assert_eq!(other.next_message().await["payload"]["text"], "hello");

    pair.send("after it").await;
    let event = pair.receiver.next_message().await;
    assert_eq!((&event["seq"], &event["payload"]["text"]), (&json!(2), &json!("after it")));
}
