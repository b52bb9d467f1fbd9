//! Tests of the rules of manifests.

use serde_json::{Value, json};

use super::document::{LARGE_BYTES, MAX_BYTES, ManifestDocument};
use super::finding::{Findings, Rule, Severity};
use super::*;

/// The example of the specification, word for word.
const EXAMPLE: &str = r#"{ "schema_version": "1.0", "agent_version": "1.0.0", "tools": [ { "name": "read_file", "description_i18n_key": "agent.cap.read_file.description", "input_schema": { "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"], "additionalProperties": false }, "permission_scope": "filesystem:read", "required": false, "timeout_ms": 5000 } ], "permission_scopes": [ { "id": "filesystem:read", "label_i18n_key": "agent.scope.filesystem_read.label", "description_i18n_key": "agent.scope.filesystem_read.description", "sensitivity": "medium" } ], "capability_flags": { "supports_streaming": true, "supports_artifacts": true, "supports_voice": false, "supports_group_chat": false }}"#;

fn example() -> Value {
    serde_json::from_str(EXAMPLE).expect("JSON")
}

fn read_value(value: &Value) -> (Option<Manifest>, Findings) {
    read(&ManifestDocument::parse(&value.to_string()).expect("a document"))
}

/// Returns the errors of the example after a change: the rule and the place.
fn errors_after(change: impl FnOnce(&mut Value)) -> Vec<(Rule, String)> {
    let mut value = example();
    change(&mut value);
    let (manifest, findings) = read_value(&value);
    assert_eq!(manifest.is_none(), findings.has_errors());
    let errors = findings.as_slice().iter().filter(|finding| finding.rule.severity() == Severity::Error);
    errors.map(|finding| (finding.rule, finding.pointer.to_string())).collect()
}

fn assert_error(rule: Rule, pointer: &str, change: impl FnOnce(&mut Value)) {
    assert_eq!(errors_after(change), [(rule, pointer.to_owned())]);
}

#[test]
fn example_of_the_specification_is_valid() {
    let (manifest, findings) = read_value(&example());
    let manifest = manifest.expect("valid");
    assert_eq!(manifest.tools[0].name, "read_file");
    assert_eq!(manifest.tools[0].timeout_ms, 5000);
    assert_eq!(manifest.sensitivity(&manifest.tools[0]), Sensitivity::Medium);
    assert_eq!(manifest.capability_flags.values(), [true, true, false, false]);
    let rules: Vec<_> = findings.as_slice().iter().map(|finding| finding.rule).collect();
    assert_eq!(rules, [Rule::NoDescription]);
}

#[test]
fn members_may_not_be_missing() {
    for name in ["schema_version", "agent_version", "tools", "permission_scopes", "capability_flags"] {
        let errors = errors_after(|value| {
            value.as_object_mut().expect("an object").remove(name);
        });
        assert!(errors.contains(&(Rule::Missing, String::new())), "{name}: {errors:?}");
    }
    for name in ["name", "description_i18n_key", "input_schema", "permission_scope"] {
        assert_error(Rule::Missing, "/tools/0", |value| {
            value["tools"][0].as_object_mut().expect("an object").remove(name);
        });
    }
    for name in ["label_i18n_key", "description_i18n_key", "sensitivity"] {
        assert_error(Rule::Missing, "/permission_scopes/0", |value| {
            value["permission_scopes"][0].as_object_mut().expect("an object").remove(name);
        });
    }
    for name in CapabilityFlags::NAMES {
        assert_error(Rule::Missing, "/capability_flags", |value| {
            value["capability_flags"].as_object_mut().expect("an object").remove(name);
        });
    }
}

#[test]
fn values_of_the_wrong_type_are_errors() {
    assert_error(Rule::Type, "/agent_version", |value| value["agent_version"] = json!(1));
    assert_error(Rule::Type, "/tools", |value| value["tools"] = json!({}));
    assert_error(Rule::Type, "/tools/1", |value| {
        value["tools"].as_array_mut().expect("an array").push(json!("x"));
    });
    assert_error(Rule::Type, "/tools/0/required", |value| value["tools"][0]["required"] = json!("no"));
    assert_error(Rule::Type, "/tools/0/timeout_ms", |value| value["tools"][0]["timeout_ms"] = json!(-1));
    assert_error(Rule::Type, "/capability_flags/supports_voice", |value| {
        value["capability_flags"]["supports_voice"] = json!(1);
    });
    let (manifest, findings) = read_value(&json!([]));
    assert_eq!((manifest, findings.as_slice()[0].rule), (None, Rule::Type));
}

#[test]
fn versions_are_checked() {
    assert_error(Rule::SchemaVersion, "/schema_version", |value| value["schema_version"] = json!("1.1"));
    for version in ["1", "1.0", "v1.0.0", "1.0.0.0", "01.0.0", "", &format!("1.0.0-{}", "a".repeat(60))] {
        assert_error(Rule::AgentVersion, "/agent_version", |value| value["agent_version"] = json!(version));
    }
    for version in ["0.0.1", "1.2.3-rc.1", "1.0.0+build.5"] {
        assert_eq!(errors_after(|value| value["agent_version"] = json!(version)), []);
    }
}

#[test]
fn tool_names_are_valid_and_unique() {
    assert_error(Rule::ToolName, "/tools/0/name", |value| value["tools"][0]["name"] = json!("Read"));
    assert_error(Rule::DuplicateTool, "/tools/1/name", |value| {
        let copy = value["tools"][0].clone();
        value["tools"].as_array_mut().expect("an array").push(copy);
    });
}

#[test]
fn scope_of_a_tool_is_declared() {
    assert_error(Rule::ToolScope, "/tools/0/permission_scope", |value| {
        value["tools"][0]["permission_scope"] = json!("clipboard:read");
    });
}

#[test]
fn scope_ids_are_valid_and_unique() {
    assert_error(Rule::DuplicateScope, "/permission_scopes/1/id", |value| {
        let copy = value["permission_scopes"][0].clone();
        value["permission_scopes"].as_array_mut().expect("an array").push(copy);
    });
    let rename = |id: &'static str| {
        move |value: &mut Value| {
            value["permission_scopes"][0]["id"] = json!(id);
            value["tools"][0]["permission_scope"] = json!(id);
        }
    };
    assert_error(Rule::ScopeId, "/permission_scopes/0/id", rename("file system"));
}

#[test]
fn scope_ids_of_the_platform_are_reserved() {
    for id in ["hashee:pay", "system:shutdown", "hashee:", "System:x", "HASHEE:x"] {
        assert_error(Rule::ReservedScope, "/permission_scopes/0/id", |value| {
            value["permission_scopes"][0]["id"] = json!(id);
            value["tools"][0]["permission_scope"] = json!(id);
        });
    }
}

#[test]
fn scope_outside_of_the_presets_needs_its_own_words() {
    let write = |value: &mut Value| {
        value["permission_scopes"][0]["id"] = json!("filesystem:write");
        value["tools"][0]["permission_scope"] = json!("filesystem:write");
    };
    let place = "/permission_scopes/0".to_owned();
    assert_eq!(errors_after(write), [(Rule::Fallback, place.clone()), (Rule::Fallback, place.clone())]);
    let with_label = |value: &mut Value| {
        write(value);
        value["permission_scopes"][0]["label_fallback"] = json!("Write files");
    };
    assert_error(Rule::Fallback, &place, with_label);
    let with_both = |value: &mut Value| {
        with_label(value);
        value["permission_scopes"][0]["description_fallback"] = json!("写入您选择的文件夹");
    };
    assert_eq!(errors_after(with_both), []);
    assert_error(Rule::Text, "/permission_scopes/0/label_fallback", |value| {
        with_both(value);
        value["permission_scopes"][0]["label_fallback"] = json!("Read\u{202e}etirw");
    });
    assert_error(Rule::I18nKey, "/tools/0/description_i18n_key", |value| {
        value["tools"][0]["description_i18n_key"] = json!("Read my files");
    });
}

#[test]
fn sensitivity_is_low_medium_or_high() {
    for (name, is_valid) in [("medium", true), ("high", true), ("HIGH", false), ("none", false), ("", false)]
    {
        let errors = errors_after(|value| value["permission_scopes"][0]["sensitivity"] = json!(name));
        let expected = (Rule::Sensitivity, "/permission_scopes/0/sensitivity".to_owned());
        assert_eq!(errors, if is_valid { vec![] } else { vec![expected] }, "{name}");
    }
}

#[test]
fn scope_that_no_tool_uses_is_a_warning() {
    let rules = |edit: fn(&mut Value)| {
        let mut value = example();
        edit(&mut value);
        let (_, findings) = read_value(&value);
        findings.as_slice().iter().map(|finding| finding.rule).collect::<Vec<_>>()
    };
    assert_eq!(rules(|value| value["tools"] = json!([])), [Rule::UnusedScope]);
    let wrong_tool = rules(|value| value["tools"][0]["name"] = json!("X"));
    assert_eq!(wrong_tool, [Rule::ToolName, Rule::NoDescription]);
}

#[test]
fn preset_scope_is_not_declared_less_sensitive() {
    let place = "/permission_scopes/0/sensitivity";
    assert_error(Rule::PresetSensitivity, place, |value| {
        value["permission_scopes"][0]["sensitivity"] = json!("low");
    });
}

#[test]
fn all_errors_are_reported_at_once() {
    let errors = errors_after(|value| {
        value["schema_version"] = json!("2");
        value["tools"][0]["name"] = json!("x");
        value["tools"][0]["timeout_ms"] = json!(0);
        value["permission_scopes"][0]["sensitivity"] = json!("huge");
    });
    let expected = [
        (Rule::SchemaVersion, "/schema_version"),
        (Rule::Sensitivity, "/permission_scopes/0/sensitivity"),
        (Rule::ToolName, "/tools/0/name"),
        (Rule::Timeout, "/tools/0/timeout_ms"),
    ];
    assert_eq!(errors, expected.map(|(rule, pointer)| (rule, pointer.to_owned())));
}

#[test]
fn numbers_of_tools_and_scopes_are_bounded() {
    assert_error(Rule::Count, "/tools", |value| {
        let tool = value["tools"][0].clone();
        let named = |index| {
            let mut tool = tool.clone();
            tool["name"] = json!(format!("tool_{index}"));
            tool
        };
        value["tools"] = (0..=MAX_TOOLS).map(named).collect();
    });
}

#[test]
fn number_of_findings_is_bounded() {
    let tools: Vec<_> = (0..MAX_TOOLS).map(|_| json!({})).collect();
    let (_, findings) = read_value(&json!({ "tools": tools }));
    assert_eq!(findings.as_slice().len(), Findings::MAX);
    assert!(findings.omitted() > 100, "{}", findings.omitted());
}

#[test]
fn manifest_over_128_kib_is_refused() {
    let with_size = |bytes: usize| {
        let mut value = example();
        value["padding"] = json!("");
        let base = ManifestDocument::parse(&value.to_string()).expect("a document").canonical().len();
        value["padding"] = json!("x".repeat(bytes - base));
        // White space does not count.
        ManifestDocument::parse(&serde_json::to_string_pretty(&value).expect("JSON"))
    };
    let largest = with_size(MAX_BYTES).expect("a document");
    assert_eq!((largest.canonical().len(), largest.is_large()), (MAX_BYTES, true));
    let error = with_size(MAX_BYTES + 1).expect_err("too large");
    assert_eq!(error.as_slice()[0].rule, Rule::Size);
    assert!(!with_size(LARGE_BYTES - 1).expect("a document").is_large());
    assert!(with_size(LARGE_BYTES).expect("a document").is_large());
    let (_, findings) = read(&largest);
    assert!(findings.as_slice().iter().any(|finding| finding.rule == Rule::LargeManifest));
}
