//! Reads a manifest from its document and checks every rule except the meta-schema of input schemas.

use std::collections::BTreeSet;

use serde_json::Value;

use super::document::{LARGE_BYTES, ManifestDocument};
use super::finding::{Findings, Rule};
use super::pointer::Pointer;
use super::presets::{RESERVED_PREFIXES, preset};
use super::reader::Reader;
use super::words::{
    MAX_DESCRIPTION_CHARS, MAX_LABEL_CHARS, i18n_key, is_scope_id, is_tool_name, optional_text,
};
use super::{
    CapabilityFlags, DEFAULT_TIMEOUT_MS, MAX_SCOPES, MAX_TIMEOUT_MS, MAX_TOOLS, Manifest, PermissionScope,
    SCHEMA_VERSION, Sensitivity, Tool,
};

/// Longest `agent_version`.
const MAX_VERSION_CHARS: usize = 64;

/// Reads a manifest. Findings are all that is wrong with it; without errors among them there is a manifest.
#[must_use]
pub fn read(document: &ManifestDocument) -> (Option<Manifest>, Findings) {
    let mut findings = Findings::default();
    let manifest = Reader::new(document.value(), Pointer::root(), &mut findings).and_then(read_manifest);
    // A tool with mistakes may use a scope.
    if let Some(manifest) = manifest.as_ref().filter(|_| !findings.has_errors()) {
        warn_about_unused_scopes(manifest, &mut findings);
    }
    if document.is_large() {
        let message = format!(
            "the manifest has {} bytes: from {LARGE_BYTES} on it is reported as large",
            document.canonical().len()
        );
        findings.add(Rule::LargeManifest, Pointer::root(), message);
    }
    (manifest.filter(|_| !findings.has_errors()), findings)
}

/// Returns the part that can be read. It is a manifest only if there are no errors.
fn read_manifest(mut reader: Reader<'_, '_>) -> Option<Manifest> {
    if let Some(version) = reader.string("schema_version")
        && version != SCHEMA_VERSION
    {
        reader.add(Rule::SchemaVersion, "schema_version", format!("must be {SCHEMA_VERSION:?}"));
    }
    let agent_version = read_version(&mut reader);
    let permission_scopes = read_scopes(&mut reader);
    let scope_ids = declared_scopes(&reader);
    let tools = read_tools(&mut reader, &scope_ids);
    let capability_flags = reader.required("capability_flags").and_then(|value| {
        Reader::new(value, reader.pointer.key("capability_flags"), reader.findings).and_then(read_flags)
    });
    let unknown = reader.unknown_members(&[
        "schema_version",
        "agent_version",
        "tools",
        "permission_scopes",
        "capability_flags",
    ]);
    Some(Manifest {
        agent_version: agent_version?,
        tools: tools?,
        permission_scopes: permission_scopes?,
        capability_flags: capability_flags?,
        unknown,
    })
}

/// Returns the ids of all scopes, also of those with other mistakes: one mistake is one finding.
fn declared_scopes<'a>(reader: &Reader<'a, '_>) -> BTreeSet<&'a str> {
    let items = reader.optional("permission_scopes").and_then(Value::as_array);
    items.into_iter().flatten().filter_map(|item| item.get("id")?.as_str()).collect()
}

fn read_version(reader: &mut Reader<'_, '_>) -> Option<String> {
    let version = reader.string("agent_version")?;
    if version.len() > MAX_VERSION_CHARS || semver::Version::parse(version).is_err() {
        let message = format!("use a semantic version such as \"1.0.0\", at most {MAX_VERSION_CHARS} long");
        reader.add(Rule::AgentVersion, "agent_version", message);
        return None;
    }
    Some(version.to_owned())
}

fn read_flags(mut reader: Reader<'_, '_>) -> Option<CapabilityFlags> {
    let [streaming, artifacts, voice, group_chat] = CapabilityFlags::NAMES.map(|name| reader.boolean(name));
    let unknown = reader.unknown_members(&CapabilityFlags::NAMES);
    Some(CapabilityFlags {
        supports_streaming: streaming?,
        supports_artifacts: artifacts?,
        supports_voice: voice?,
        supports_group_chat: group_chat?,
        unknown,
    })
}

fn read_scopes(reader: &mut Reader<'_, '_>) -> Option<Vec<PermissionScope>> {
    let items = reader.array("permission_scopes", MAX_SCOPES)?;
    let pointer = reader.pointer.key("permission_scopes");
    let mut ids = BTreeSet::new();
    let mut scopes = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let Some(mut scope) = Reader::new(item, pointer.index(index), reader.findings) else { continue };
        if let Some(id) = item.get("id").and_then(Value::as_str)
            && !ids.insert(id)
        {
            scope.add(Rule::DuplicateScope, "id", format!("another scope has the id {id:?}"));
        }
        scopes.extend(read_scope(scope));
    }
    Some(scopes)
}

fn read_scope(mut reader: Reader<'_, '_>) -> Option<PermissionScope> {
    let id = read_scope_id(&mut reader);
    let label_i18n_key = i18n_key(&mut reader, "label_i18n_key");
    let description_i18n_key = i18n_key(&mut reader, "description_i18n_key");
    let label_fallback = optional_text(&mut reader, "label_fallback", MAX_LABEL_CHARS);
    let description_fallback = optional_text(&mut reader, "description_fallback", MAX_DESCRIPTION_CHARS);
    let sensitivity = read_sensitivity(&mut reader, id.as_deref());
    if let Some(id) = &id
        && preset(id).is_none()
    {
        for name in ["label_fallback", "description_fallback"] {
            if reader.optional(name).is_none() {
                let message =
                    format!("{name:?} is missing: {id:?} is no preset scope, so it needs words of its own");
                reader.findings.add(Rule::Fallback, reader.pointer.clone(), message);
            }
        }
    }
    let unknown = reader.unknown_members(&[
        "id",
        "label_i18n_key",
        "label_fallback",
        "description_i18n_key",
        "description_fallback",
        "sensitivity",
    ]);
    Some(PermissionScope {
        id: id?,
        label_i18n_key: label_i18n_key?,
        label_fallback,
        description_i18n_key: description_i18n_key?,
        description_fallback,
        sensitivity: sensitivity?,
        unknown,
    })
}

fn read_scope_id(reader: &mut Reader<'_, '_>) -> Option<String> {
    let id = reader.string("id")?;
    // First: the platform's own ids follow the same format.
    if let Some(prefix) = RESERVED_PREFIXES.iter().find(|prefix| id.to_lowercase().starts_with(**prefix)) {
        reader.add(Rule::ReservedScope, "id", format!("ids that start with {prefix:?} are the platform's"));
        return None;
    }
    if !is_scope_id(id) {
        let message = "use 1 to 64 lower-case ASCII letters, digits and `_.:-`, such as \"filesystem:read\"";
        reader.add(Rule::ScopeId, "id", message);
        return None;
    }
    Some(id.to_owned())
}

fn read_sensitivity(reader: &mut Reader<'_, '_>, id: Option<&str>) -> Option<Sensitivity> {
    let name = reader.string("sensitivity")?;
    let Ok(sensitivity) = Sensitivity::from_name(name) else {
        reader.add(Rule::Sensitivity, "sensitivity", "use \"low\", \"medium\" or \"high\"");
        return None;
    };
    if let Some(preset) = id.and_then(preset)
        && sensitivity < preset.sensitivity
    {
        let message =
            format!("{:?} is {:?} at least: it is a preset scope", preset.id, preset.sensitivity.as_str());
        reader.add(Rule::PresetSensitivity, "sensitivity", message);
        return None;
    }
    Some(sensitivity)
}

fn read_tools(reader: &mut Reader<'_, '_>, scopes: &BTreeSet<&str>) -> Option<Vec<Tool>> {
    let items = reader.array("tools", MAX_TOOLS)?;
    let pointer = reader.pointer.key("tools");
    let mut names = BTreeSet::new();
    let mut tools = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let Some(mut tool) = Reader::new(item, pointer.index(index), reader.findings) else { continue };
        if let Some(name) = item.get("name").and_then(Value::as_str)
            && !names.insert(name)
        {
            tool.add(Rule::DuplicateTool, "name", format!("another tool has the name {name:?}"));
        }
        tools.extend(read_tool(tool, scopes));
    }
    Some(tools)
}

fn read_tool(mut reader: Reader<'_, '_>, scopes: &BTreeSet<&str>) -> Option<Tool> {
    let name = read_tool_name(&mut reader);
    let description_i18n_key = i18n_key(&mut reader, "description_i18n_key");
    let description_fallback = optional_text(&mut reader, "description_fallback", MAX_DESCRIPTION_CHARS);
    if reader.optional("description_fallback").is_none() {
        let message =
            "without \"description_fallback\" the hash does not cover the words that people agree to";
        reader.findings.add(Rule::NoDescription, reader.pointer.clone(), message);
    }
    let input_schema = reader.required("input_schema").cloned();
    if let Some(schema) = &input_schema {
        warn_about_open_schema(schema, &mut reader);
    }
    let permission_scope = reader.string("permission_scope").map(str::to_owned);
    if let Some(scope) = &permission_scope
        && !scopes.contains(scope.as_str())
    {
        let message = format!("{scope:?} is not the id of an entry of \"permission_scopes\"");
        reader.add(Rule::ToolScope, "permission_scope", message);
    }
    let required = reader.optional_boolean("required").unwrap_or(false);
    let timeout_ms = reader.optional_integer("timeout_ms").unwrap_or(DEFAULT_TIMEOUT_MS);
    if !(1..=MAX_TIMEOUT_MS).contains(&timeout_ms) {
        reader.add(Rule::Timeout, "timeout_ms", format!("use 1 to {MAX_TIMEOUT_MS} milliseconds"));
    }
    let unknown = reader.unknown_members(&[
        "name",
        "description_i18n_key",
        "description_fallback",
        "input_schema",
        "permission_scope",
        "required",
        "timeout_ms",
    ]);
    Some(Tool {
        name: name?,
        description_i18n_key: description_i18n_key?,
        description_fallback,
        input_schema: input_schema?,
        permission_scope: permission_scope?,
        required,
        timeout_ms,
        unknown,
    })
}

fn read_tool_name(reader: &mut Reader<'_, '_>) -> Option<String> {
    let name = reader.string("name")?;
    if !is_tool_name(name) {
        let message = "use 2 to 32 lower-case ASCII letters, digits and `_`, with a letter first";
        reader.add(Rule::ToolName, "name", message);
        return None;
    }
    Some(name.to_owned())
}

fn warn_about_open_schema(schema: &Value, reader: &mut Reader<'_, '_>) {
    let is_closed = schema.get("type").and_then(Value::as_str) == Some("object")
        && ["additionalProperties", "unevaluatedProperties"]
            .iter()
            .any(|name| schema.get(name) == Some(&Value::Bool(false)));
    if !is_closed {
        let message = "arguments that are not declared are accepted: use \"type\": \"object\" and \
                       \"additionalProperties\": false";
        reader.add(Rule::OpenSchema, "input_schema", message);
    }
}

fn warn_about_unused_scopes(manifest: &Manifest, findings: &mut Findings) {
    let used: BTreeSet<&str> = manifest.tools.iter().map(|tool| tool.permission_scope.as_str()).collect();
    for (index, scope) in manifest.permission_scopes.iter().enumerate() {
        if !used.contains(scope.id.as_str()) {
            let pointer = Pointer::root().key("permission_scopes").index(index);
            findings.add(
                Rule::UnusedScope,
                pointer,
                format!("no tool uses {:?}: do not ask for it", scope.id),
            );
        }
    }
}
