//! Capability manifests as agents send them: the text is read, and every rule is checked.
//!
//! The rules are in `domain::agents::manifest`. Here is what needs a JSON Schema validator: an input schema must be valid by
//! the meta-schema of draft 2020-12, and a validator must be able to use it. Nothing is fetched.

use std::collections::BTreeSet;

use guildhall_domain::agents::manifest::document::ManifestDocument;
use guildhall_domain::agents::manifest::finding::{Findings, Rule};
use guildhall_domain::agents::manifest::pointer::Pointer;
use guildhall_domain::agents::manifest::{Manifest, read, schema_rules};
use jsonschema::{PatternOptions, ValidationError, Validator, draft202012};
use serde_json::{Value, json};

/// Memory of one compiled regular expression: enough for `^\p{L}+$`, and all of a schema take 32 MiB.
const MAX_PATTERN_BYTES: usize = 1024 * 1024;

/// Errors of the meta-schema that are read for one schema, repetitions included.
const MAX_META_ERRORS: usize = 1000;

/// Longest message of the validator, which repeats the wrong part of the schema.
const MAX_MESSAGE_CHARS: usize = 200;

/// A valid manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedManifest {
    pub document: ManifestDocument,
    pub manifest: Manifest,
    /// What its author could improve.
    pub warnings: Findings,
}

/// Reads and checks a manifest. The error has all that is wrong, warnings included.
pub fn check(text: &str) -> Result<CheckedManifest, Findings> {
    let document = ManifestDocument::parse(text)?;
    let (manifest, mut findings) = read(&document);
    for (schema, at) in input_schemas(document.value()) {
        check_schema(schema, &at, &mut findings);
    }
    match manifest {
        Some(manifest) if !findings.has_errors() => {
            Ok(CheckedManifest { document, manifest, warnings: findings })
        }
        Some(_) | None => Err(findings),
    }
}

/// Compiles the input schema of a valid manifest. Its regular expressions take linear time, and nothing is fetched.
///
/// The schema must be one that [`check`] accepts: this function does not bound the work.
pub fn compile_input_schema(schema: &Value) -> Result<Validator, Box<ValidationError<'static>>> {
    let patterns = PatternOptions::regex().size_limit(MAX_PATTERN_BYTES).dfa_size_limit(MAX_PATTERN_BYTES);
    draft202012::options()
        .offline()
        .should_validate_formats(false)
        .with_pattern_options(patterns)
        .build(schema)
        .map_err(Box::new)
}

/// Returns the input schemas of a document, also of tools with other mistakes.
fn input_schemas(document: &Value) -> Vec<(&Value, Pointer)> {
    let tools = document.get("tools").and_then(Value::as_array).into_iter().flatten().enumerate();
    let at = Pointer::root().key("tools");
    tools
        .filter_map(|(index, tool)| Some((tool.get("input_schema")?, at.index(index).key("input_schema"))))
        .collect()
}

fn check_schema(schema: &Value, at: &Pointer, findings: &mut Findings) {
    // The vocabularies of the meta-schema repeat some errors.
    let mut errors = BTreeSet::new();
    for error in draft202012::meta::validator().iter_errors(schema).take(MAX_META_ERRORS) {
        errors.insert((at.join(error.instance_path().as_str()), message_of(&error)));
    }
    if !errors.is_empty() {
        for (place, message) in errors {
            findings.add(Rule::InputSchema, place, message);
        }
        return;
    }
    let mut own = Findings::default();
    schema_rules::check(schema, at, &mut own);
    if !own.has_errors() {
        check_patterns(schema, at, &mut own);
    }
    if !own.has_errors()
        && let Err(error) = compile_input_schema(schema)
    {
        own.add(Rule::InputSchema, at.clone(), message_of(&error));
    }
    findings.extend(own);
}

/// Compiles each regular expression on its own, to say which one is wrong.
fn check_patterns(schema: &Value, at: &Pointer, findings: &mut Findings) {
    for (place, pattern) in schema_rules::patterns(schema) {
        if compile_input_schema(&json!({ "pattern": pattern })).is_err() {
            let message = "the regular expression is wrong, too large, or needs look-around or back-references, which do not \
                           run in linear time";
            findings.add(Rule::SchemaPattern, at.join(place.as_str()), message);
        }
    }
}

fn message_of(error: &ValidationError<'_>) -> String {
    let message = error.to_string();
    if message.chars().count() <= MAX_MESSAGE_CHARS {
        return message;
    }
    let head: String = message.chars().take(MAX_MESSAGE_CHARS).collect();
    format!("{head}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest_with(schema: &Value) -> String {
        let manifest = json!({
            "schema_version": "1.0",
            "agent_version": "1.0.0",
            "tools": [{
                "name": "read_file",
                "description_i18n_key": "agent.read_file",
                "input_schema": schema,
                "permission_scope": "filesystem:read",
            }],
            "permission_scopes": [{
                "id": "filesystem:read",
                "label_i18n_key": "scope.label",
                "description_i18n_key": "scope.description",
                "sensitivity": "medium",
            }],
            "capability_flags": {
                "supports_streaming": true,
                "supports_artifacts": true,
                "supports_voice": false,
                "supports_group_chat": false,
            }
        });
        manifest.to_string()
    }

    /// Returns rule and place of each error.
    fn errors(schema: &Value) -> Vec<(Rule, String)> {
        let Err(findings) = check(&manifest_with(schema)) else { return Vec::new() };
        let errors = findings.as_slice().iter().filter(|finding| finding.rule != Rule::NoDescription);
        let errors = errors.filter(|finding| finding.rule != Rule::OpenSchema);
        errors
            .map(|finding| (finding.rule, finding.pointer.as_str().replace("/tools/0/input_schema", "#")))
            .collect()
    }

    #[test]
    fn input_schema_is_checked_against_the_meta_schema() {
        let valid = [
            json!(true),
            json!({ "type": "object", "properties": { "path": { "type": "string" } }, "additionalProperties": false }),
            json!({ "prefixItems": [{ "type": ["string", "null"] }], "$defs": { "a": false }, "x-own": [1] }),
        ];
        for schema in valid {
            assert_eq!(errors(&schema), [], "{schema}");
        }
        let wrong = json!({ "type": "strin", "required": "path", "items": [{}], "properties": { "a/b": { "minLength": -1 } } });
        let found = errors(&wrong);
        let places = ["#/items", "#/properties/a~1b/minLength", "#/required", "#/type"];
        assert_eq!(found, places.map(|place| (Rule::InputSchema, place.to_owned())));
        assert_eq!(errors(&json!("object")), [(Rule::InputSchema, "#".to_owned())]);
    }

    #[test]
    fn schema_that_leads_to_the_network_is_refused() {
        for reference in ["http://127.0.0.1:1/x", "file:///etc/hostname", "other.json"] {
            let schema = json!({ "properties": { "a": { "$ref": reference } } });
            assert_eq!(errors(&schema), [(Rule::SchemaReference, "#/properties/a/$ref".to_owned())]);
        }
        assert!(compile_input_schema(&json!({ "$ref": "http://127.0.0.1:1/x" })).is_err());
    }

    #[test]
    fn expensive_regular_expressions_are_refused() {
        for pattern in ["(?=a)b", "(a)\\1", "(a{1000}){1000}", "[", "(?<!a)b"] {
            let schema = json!({ "items": { "pattern": pattern } });
            assert_eq!(errors(&schema), [(Rule::SchemaPattern, "#/items/pattern".to_owned())], "{pattern}");
            let schema = json!({ "patternProperties": { pattern: true } });
            let place = format!("#/patternProperties/{pattern}");
            assert_eq!(errors(&schema), [(Rule::SchemaPattern, place)], "{pattern}");
        }
        for pattern in ["^(a+)+$", "^\\p{L}+$", "\\d\\w\\s", "^[^/]+/[^/]+$"] {
            assert_eq!(errors(&json!({ "pattern": pattern })), [], "{pattern}");
        }
    }

    /// The validator recurses: the deepest schema that is accepted must not overflow the stack of a thread.
    #[test]
    fn deepest_accepted_schema_is_compiled_and_used() {
        let chain = |levels: usize| {
            let def = |level: usize| {
                let next = format!("#/$defs/d{}", level + 1);
                (format!("d{level}"), json!({ "items": { "$ref": next } }))
            };
            let mut defs: serde_json::Map<String, Value> = (0..levels).map(def).collect();
            defs.insert(format!("d{levels}"), json!({ "type": "null" }));
            json!({ "$ref": "#/$defs/d0", "$defs": defs })
        };
        let deepest =
            (1..200).rev().map(chain).find(|schema| errors(schema).is_empty()).expect("some are accepted");
        let levels = deepest["$defs"].as_object().expect("definitions").len() - 1;
        let nested = |value: Value| (0..levels).fold(value, |value, _| json!([value]));
        let validator = compile_input_schema(&deepest).expect("compiles");
        assert!(
            levels > 40 && validator.is_valid(&nested(Value::Null)) && !validator.is_valid(&nested(json!(1)))
        );
    }

    #[test]
    fn errors_of_members_and_schemas_are_reported_together() {
        let text = manifest_with(&json!({ "type": 1 })).replace("\"1.0.0\"", "\"1\"");
        let findings = check(&text).expect_err("invalid");
        let rules: Vec<_> = findings.as_slice().iter().map(|finding| finding.rule).collect();
        assert!(rules.contains(&Rule::AgentVersion) && rules.contains(&Rule::InputSchema), "{rules:?}");
    }

    #[test]
    fn message_about_a_large_value_is_short() {
        let schema = json!({ "type": "x".repeat(50_000) });
        let findings = check(&manifest_with(&schema)).expect_err("invalid");
        assert!(findings.as_slice().iter().all(|finding| finding.message.len() < 1000));
    }
}
