//! Manifests for the tests of the diff.

use serde_json::{Value, json};

use super::{Change, ManifestDiff};
use crate::agents::manifest::document::ManifestDocument;
use crate::agents::manifest::{Manifest, read};

/// Returns a manifest with one tool `read_file` under `filesystem:read` (medium).
pub(super) fn with_schema(schema: &Value) -> Value {
    let scope = |id: &str, sensitivity: &str| {
        json!({
            "id": id,
            "label_i18n_key": format!("scope.{id}.label"),
            "label_fallback": format!("Label of {id}"),
            "description_i18n_key": format!("scope.{id}.description"),
            "description_fallback": format!("Description of {id}"),
            "sensitivity": sensitivity,
        })
    };
    json!({
        "schema_version": "1.0",
        "agent_version": "1.0.0",
        "tools": [{
            "name": "read_file",
            "description_i18n_key": "agent.read_file",
            "description_fallback": "Read a file",
            "input_schema": schema,
            "permission_scope": "filesystem:read",
        }],
        "permission_scopes": [scope("filesystem:read", "medium"), scope("screen:look", "low"), scope("shell:run", "high")],
        "capability_flags": {
            "supports_streaming": true, "supports_artifacts": true, "supports_voice": false, "supports_group_chat": false
        }
    })
}

/// Returns the manifest with the schema of the specification's example.
pub(crate) fn example() -> Value {
    with_schema(&json!({
        "type": "object",
        "properties": { "path": { "type": "string" }, "mode": { "enum": ["text", "bytes"] } },
        "required": ["path"],
        "additionalProperties": false
    }))
}

pub(crate) fn manifest(value: &Value) -> Manifest {
    let (manifest, findings) = read(&ManifestDocument::parse(&value.to_string()).expect("JSON"));
    manifest.unwrap_or_else(|| panic!("{findings:?}"))
}

pub(super) fn diff(old: &Value, new: &Value) -> ManifestDiff {
    ManifestDiff::between(&manifest(old), &manifest(new))
}

/// Returns the changes of the example after an edit: outcome of the change, kind and place.
pub(super) fn changes_after(edit: impl FnOnce(&mut Value)) -> Vec<String> {
    let mut new = example();
    edit(&mut new);
    diff(&example(), &new).changes().iter().map(summary).collect()
}

/// Returns the changes between two schemas of a tool.
pub(super) fn schema_changes(old: &Value, new: &Value) -> Vec<String> {
    let old = with_schema(old);
    let new = with_schema(new);
    diff(&old, &new).changes().iter().map(summary).collect()
}

/// `contract consent kind pointer`, without the place of the schema of the only tool.
fn summary(change: &Change) -> String {
    let pointer = change.pointer.as_str().replace("/tools/0/input_schema", "#");
    let side = if change.side == super::Side::Old { " (old)" } else { "" };
    format!("{} {} {} {pointer}{side}", change.contract, change.consent, change.kind)
}
