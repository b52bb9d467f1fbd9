//! Agents with manifests.

use guildhall_domain::agents::manifest::document::ManifestDocument;
use reqwest::Method;
use serde_json::{Value, json};

use super::cluster::Cluster;
use super::runs::agent_request;

fn scope(id: &str, sensitivity: &str) -> Value {
    json!({
        "id": id, "label_i18n_key": "scope.label", "description_i18n_key": "scope.description", "sensitivity": sensitivity
    })
}

/// Returns a manifest with a tool of each sensitivity.
pub(crate) fn manifest() -> Value {
    let tool = |name: &str, scope: &str, words: &str, schema: Value| {
        json!({
            "name": name, "description_i18n_key": format!("agent.{name}"), "description_fallback": words,
            "input_schema": schema, "permission_scope": scope
        })
    };
    json!({
        "schema_version": "1.0",
        "agent_version": "1.0.0",
        "tools": [
            tool("read_file", "filesystem:read", "Read a file", json!({
                "type": "object",
                "properties": { "path": { "type": "string" }, "mode": { "enum": ["text", "bytes"] } },
                "required": ["path"],
                "additionalProperties": false
            })),
            tool("notify", "notification:send", "Show a notification", json!({
                "type": "object",
                "properties": { "text": { "type": "string" }, "level": { "enum": ["info", "warning"] } },
                "additionalProperties": false
            })),
            tool("locate", "location:read", "Find out where you are", json!({
                "type": "object", "additionalProperties": true
            })),
        ],
        "permission_scopes": [
            scope("filesystem:read", "medium"), scope("notification:send", "low"), scope("location:read", "high"),
        ],
        "capability_flags": {
            "supports_streaming": true, "supports_artifacts": true, "supports_voice": false, "supports_group_chat": false
        }
    })
}

pub(crate) fn manifest_with(edit: impl FnOnce(&mut Value)) -> Value {
    let mut manifest = manifest();
    edit(&mut manifest);
    manifest
}

pub(crate) fn hash_of(manifest: &Value) -> String {
    ManifestDocument::parse(&manifest.to_string()).expect("a manifest").hash().to_string()
}

impl Cluster {
    /// Creates an agent with a manifest. Returns its id.
    pub(crate) async fn create_declared_agent(&self, tenant: &str, slug: &str, manifest: Value) -> String {
        let mut body = agent_request(tenant, slug);
        body["capability_manifest"] = manifest;
        let created = self.first.post_as("/agents", &self.operator.token, body).await;
        assert_eq!(created.status, 201, "{}", created.text);
        created.body["id"].as_str().expect("an id").to_owned()
    }

    /// Changes an agent as the operator.
    pub(crate) async fn change_agent(&self, agent: &str, change: Value) {
        let (server, token) = (&self.first, &self.operator.token);
        let changed =
            server.request_as(Method::PATCH, &format!("/agents/{agent}"), token, Some(change)).await;
        assert_eq!(changed.status, 200, "{}", changed.text);
    }
}
