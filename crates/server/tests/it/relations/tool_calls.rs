//! Calls of tools that nobody has received when a consent is taken back.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Consents, SCOPES, id_of};
use crate::support::aun_client::AunSocket;
use crate::support::cluster::SignedInUser;

/// Sends messages from an agent to Ada. Returns their seqs.
async fn send(socket: &mut AunSocket, texts: &[&str]) -> Vec<i64> {
    let mut seqs = Vec::new();
    for text in texts {
        let payload = json!({ "type": "text", "text": text });
        let message = json!({ "to": "ada-1.guild.example", "payload": payload });
        let sent = socket.call("message.send", message).await.expect("sent");
        seqs.push(sent["seq"].as_i64().unwrap_or_default());
    }
    seqs
}

/// The content of Ada's inbox, with null for what is gone.
async fn contents(consents: &Consents) -> Vec<Value> {
    let select = "SELECT coalesce(payload, 'null') FROM inbox_messages JOIN inboxes ON inboxes.id = inbox \
                  WHERE aid = 'ada-1.guild.example' ORDER BY seq";
    let rows = consents.gateway.cluster.db.sql().await.texts(select).await;
    rows.iter().map(|row| serde_json::from_str::<Value>(row).expect("JSON")["text"].clone()).collect()
}

/// Makes an AID of the operator that of the agent.
async fn set_aid(consents: &Consents, aid: &str) {
    let path = format!("/api/v1/agents/{}/aid", consents.agent);
    let token = &consents.gateway.cluster.operator.token;
    let put = consents.first().request_as(Method::PUT, &path, token, Some(json!({ "aid": aid }))).await;
    assert_eq!(put.status, 200, "{}", put.text);
}

// covers: M12
#[tokio::test]
async fn undelivered_calls_are_removed_when_the_consent_is_taken_back() {
    let consents = Consents::new().await;
    let operator: SignedInUser = consents.gateway.cluster.operator.clone();
    let agent = consents.aid_of(&operator, "helper").await;
    set_aid(&consents, &agent.aid).await;
    let other = consents.aid_of(&operator, "other").await;
    let ada = consents.aid_of(&consents.ada, "ada-1").await;
    let relation = id_of(&consents.grant(&SCOPES).await);

    let mut socket = agent.connected(consents.first().address).await;
    let seqs = send(&mut socket, &["call 1", "call 2", "call 3", "words"]).await;
    let mut stranger = other.connected(consents.second().address).await;
    send(&mut stranger, &["of another"]).await;
    let mut sql = consents.gateway.cluster.db.sql().await;
    sql.execute(
        "UPDATE inbox_messages SET relation = (SELECT id FROM relations) WHERE payload LIKE '%call%'",
    )
    .await;
    // Both devices have confirmed the first one; one of them the second.
    for (device, seq) in [("phone", seqs[0]), ("laptop", seqs[1])] {
        let mut device = ada.connected_device(consents.second().address, device).await;
        device.call("message.ack", json!({ "seq": seq })).await.expect("confirmed");
    }
    let ended = consents.revoke(&relation).await;
    assert_eq!(ended["ended_calls"], 2, "{ended}");
    let expected = json!(["call 1", null, null, "words", "of another"]);
    assert_eq!(json!(contents(&consents).await), expected);
}

/// The calls end with the consent, not with the AID from which they came.
#[tokio::test]
async fn calls_of_an_earlier_aid_are_removed_too() {
    let consents = Consents::new().await;
    let operator = consents.gateway.cluster.operator.clone();
    let earlier = consents.aid_of(&operator, "earlier").await;
    set_aid(&consents, &earlier.aid).await;
    consents.aid_of(&consents.ada, "ada-1").await;
    let relation = id_of(&consents.grant(&SCOPES).await);
    let mut socket = earlier.connected(consents.first().address).await;
    send(&mut socket, &["earlier call"]).await;
    let later = consents.aid_of(&operator, "later").await;
    set_aid(&consents, &later.aid).await;
    let mut socket = later.connected(consents.first().address).await;
    send(&mut socket, &["later call", "words"]).await;
    let mut sql = consents.gateway.cluster.db.sql().await;
    sql.execute(
        "UPDATE inbox_messages SET relation = (SELECT id FROM relations) WHERE payload LIKE '%call%'",
    )
    .await;
    assert_eq!(consents.revoke(&relation).await["ended_calls"], 2);
    assert_eq!(json!(contents(&consents).await), json!([null, null, "words"]));
}
