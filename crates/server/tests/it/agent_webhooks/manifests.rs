//! What the webhooks of an agent are told about its manifest.

use reqwest::Method;
use serde_json::{Value, json};

use super::BOTH;
use crate::support::agent_webhooks::AgentWebhooks;
use crate::support::manifests::{hash_of, manifest, manifest_with};
use crate::support::webhook_receiver::WebhookReceiver;

async fn declare(fixture: &AgentWebhooks, manifest: &Value) {
    let (cluster, path) = (&fixture.gateway.cluster, format!("/agents/{}", fixture.agent));
    let body = json!({ "capability_manifest": manifest, "published": true });
    let changed = cluster.second.request_as(Method::PATCH, &path, &cluster.operator.token, Some(body)).await;
    assert_eq!(changed.status, 200, "{}", changed.text);
}

// covers: M14
#[tokio::test]
async fn observers_are_told_once_about_each_breaking_manifest() {
    let fixture = AgentWebhooks::start().await;
    let (observer, other) = (WebhookReceiver::start([]).await, WebhookReceiver::start([]).await);
    fixture.add(&observer.url(), &["h2a.reauth_required"]).await;
    fixture.add(&other.url(), &BOTH).await;
    let require = |field: &str| {
        manifest_with(|manifest| manifest["tools"][0]["input_schema"]["required"] = json!(["path", field]))
    };
    let silent = manifest_with(|manifest| manifest["agent_version"] = json!("1.0.1"));
    let breaking = [require("mode"), require("encoding")];
    for version in [&manifest(), &silent, &breaking[0], &breaking[0], &breaking[1]] {
        declare(&fixture, version).await;
    }
    let received = observer.wait_for(2).await;
    fixture.wait_for_empty_queue().await;
    assert_eq!((observer.received().len(), other.received().len()), (2, 0));
    for ((event, version), manifest) in received.iter().zip([3, 4]).zip(&breaking) {
        let event = event.json();
        let expected = json!({
            "type": "h2a.reauth_required", "timestamp": event["timestamp"],
            "data": {
                "agent_id": fixture.agent, "new_manifest_version": version, "new_manifest_hash": hash_of(manifest),
                "scopes_requiring_reauth": ["filesystem:read"],
            },
        });
        assert_eq!(event, expected);
    }
}
