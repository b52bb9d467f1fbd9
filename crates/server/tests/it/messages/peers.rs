//! Lists of very many senders.

use serde_json::{Value, json};

use super::Pair;

/// Senders in one list.
const LISTED: i64 = 5_000;

/// What official clients of this method accept.
const MAX_FRAME: usize = 2 * 1024 * 1024;

/// Stores one message of each of many senders with the longest names. The first sender in order of its id has sent last.
async fn fill_inbox(pair: &Pair, senders: i64) {
    let mut sql = pair.gateway.cluster.db.sql().await;
    let name = "'sender-' || lpad(number::text, 57, '0') || '.guild.example'";
    sql.execute(format!(
        "INSERT INTO aids (aid, principal) SELECT {name}, (SELECT principal FROM aids LIMIT 1)
         FROM generate_series(1, {senders}) AS number"
    ))
    .await;
    sql.execute(format!(
        "INSERT INTO inboxes (aid) SELECT {name} FROM generate_series(1, {senders}) AS number ORDER BY number"
    ))
    .await;
    let sent = format!(
        "SELECT own.id AS inbox, sender.id AS sender, {senders} + 1 - row_number() OVER (ORDER BY sender.id) AS seq
         FROM inboxes AS own CROSS JOIN inboxes AS sender
         WHERE own.aid = '{}' AND sender.aid LIKE 'sender-0%'",
        pair.bobby.aid
    );
    sql.execute(format!(
        "INSERT INTO inbox_messages
            (inbox, seq, sender, message_id, kind, envelope_type, previous_seq, sent_at, expires_at, payload)
         SELECT inbox, seq, sender, 'm-' || seq, 'plain', '', 0, now(), now() + interval '1 hour', '{{}}' FROM ({sent}) AS sent"
    ))
    .await;
    sql.execute(format!(
        "INSERT INTO inbox_senders (inbox, sender, head_seq, active_on)
         SELECT inbox, sender, seq, now()::date FROM ({sent}) AS sent"
    ))
    .await;
    let update = format!("UPDATE inboxes SET last_seq = {senders} WHERE aid = '{}'", pair.bobby.aid);
    sql.execute(update).await;
}

async fn pending(pair: &mut Pair) -> Value {
    pair.receiver.call("message.peers", json!({ "filter": "pending" })).await.expect("peers")
}

fn heads(peers: &Value) -> Vec<i64> {
    let rows = peers["peers"].as_array().expect("peers").iter();
    rows.map(|row| row["head_seq"].as_i64().expect("a seq")).collect()
}

// covers: A6
#[tokio::test]
async fn senders_beyond_one_list_are_in_the_next_ones() {
    let mut pair = Pair::start().await;
    fill_inbox(&pair, LISTED + 2).await;
    let first = pending(&mut pair).await;
    assert_eq!(heads(&first), (1..=LISTED).collect::<Vec<_>>(), "those that have waited for longest");
    let bytes = first.to_string().len();
    assert!(bytes < MAX_FRAME, "{bytes} bytes");
    // Official clients refuse a list that says that it is not complete.
    assert_eq!((first.get("has_more"), first.get("next_page_token")), (None, None));
    for row in [0, 7] {
        let sender = &first["peers"][row];
        let params = json!({
            "cursor_scope": "peer", "sender_aid": sender["sender_aid"], "up_to_seq": sender["head_seq"],
        });
        pair.receiver.call("message.v2.ack", params).await.expect("confirmed");
    }
    let expected: Vec<i64> = (1..=LISTED + 2).filter(|seq| ![1, 8].contains(seq)).collect();
    assert_eq!(heads(&pending(&mut pair).await), expected);
}
