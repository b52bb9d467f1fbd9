//! Answers of agents that cannot be sent.

use serde_json::json;

use super::agents::{AGENT, AgentFixture, ask_sealed, next_of_type};
use crate::support::agent_threads::TestTurn;

/// A device of the first version alone, as after the change to an older client.
const OLD_DEVICE: &str = "INSERT INTO e2ee_prekeys (inbox, device, prekey_id, public_key, signature, key_fingerprint) \
    SELECT inboxes.id, 'old', 'p-1', 'key', 'signature', certificate.key_fingerprint FROM inboxes \
    JOIN aid_certificates AS certificate ON certificate.aid = inboxes.aid WHERE inboxes.aid LIKE 'alice%'";

#[tokio::test]
async fn answer_that_can_never_be_sealed_ends_with_a_reason() {
    let fixture = AgentFixture::open(json!({})).await;
    let cluster = &fixture.gateway.cluster;
    let alice = fixture.member("alice").await;
    let mut socket = alice.connected(cluster.first.address).await;
    ask_sealed(&alice, &mut socket, "hello, sealed").await;
    let turn = TestTurn::claim(&cluster.second, &fixture.tenant).await;
    cluster.db.sql().await.execute(OLD_DEVICE).await;
    turn.say(&cluster.second, "m1", "sealed too").await;
    turn.complete(&cluster.second).await;

    let told = next_of_type(&mut socket, "error").await;
    let expected = json!({
        "type": "error", "code": "conflict", "in_reply_to": "m-1",
        "text": "the answer cannot be sent: the recipient's devices cannot open messages of this version of end-to-end encryption: \
                 they have stored keys of the first version only",
    });
    assert_eq!((&told["payload"], &told["from"]), (&expected, &json!(AGENT)));
    let waiting = cluster.db.sql().await.number("SELECT count(*) FROM agent_answers").await;
    assert_eq!(waiting, 0, "it is not tried again");
}
