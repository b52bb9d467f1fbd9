//! Targets that no webhook of an agent may have.

use serde_json::json;

use super::BOTH;
use crate::support::agent_webhooks::{AgentWebhooks, say};
use crate::support::gateway::Gateway;
use crate::support::webhook_receiver::{Answer, WebhookReceiver};

#[tokio::test]
async fn internal_address_is_refused_for_an_agent() {
    let fixture = AgentWebhooks::of(Gateway::start().await).await;
    for url in [
        "https://169.254.169.254/hunter2",
        "https://[::ffff:169.254.169.254]/hunter2",
        "https://metadata.google.internal/hunter2",
        "https://169.254.169.254.nip.io/hunter2",
        "http://127.0.0.1:9/hunter2",
        "https://localhost/hunter2",
        "https://10.0.0.1/hunter2",
    ] {
        let refused = fixture.create(json!({ "url": url, "events": BOTH, "agentId": fixture.agent })).await;
        refused.assert_failure(403, "tenant-policy-denied");
        assert!(!refused.text.contains("hunter2"), "{}", refused.text);
    }
}

/// The name has a public address when it is checked, and another one when the server connects: the address rules hold for what is
/// connected. `crates/service/tests/it/webhooks.rs` shows it with a resolver of its own; this is the stored URL.
#[tokio::test]
async fn stored_internal_address_is_not_called() {
    let fixture = AgentWebhooks::of(Gateway::start().await).await;
    let receiver = WebhookReceiver::start([]).await;
    let (webhook, _) = fixture.add("https://hooks.example.org/", &BOTH).await;
    // As if the name of the webhook had this address by now.
    let url = format!("UPDATE webhooks SET url = '{}'", receiver.url());
    fixture.gateway.cluster.db.sql().await.execute(url.as_str()).await;
    let (_, mut socket) = fixture.sender("alice").await;
    say(&mut socket, None, "secret words").await;
    let failed = fixture.wait_for(&webhook, |shown| shown["lastFailure"].is_object()).await;
    let message = failed["lastFailure"]["message"].as_str().expect("text");
    assert!(message.starts_with("blocked the call to 127.0.0.1"), "{message}");
    assert_eq!(receiver.received(), []);
}

#[tokio::test]
async fn redirect_of_a_receiver_is_not_followed() {
    let fixture = AgentWebhooks::start().await;
    let elsewhere = WebhookReceiver::start([]).await;
    let receiver = WebhookReceiver::start([Answer::Redirect(elsewhere.url())]).await;
    let (webhook, _) = fixture.add(&receiver.url(), &BOTH).await;
    let (_, mut socket) = fixture.sender("alice").await;
    say(&mut socket, None, "secret words").await;
    receiver.wait_for(2).await;
    fixture.wait_for_empty_queue().await;
    assert_eq!(elsewhere.received(), []);
    let shown = fixture.get(&webhook).await;
    assert_eq!(shown["lastFailure"]["message"], "the receiver answered 302");
}
