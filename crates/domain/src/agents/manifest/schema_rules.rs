//! Rules of input schemas beyond the meta-schema: what bounds the work of a validator, and keeps it off the network.

use serde_json::{Map, Value};

use super::finding::{Findings, Rule};
use super::pointer::Pointer;
use super::schema_cost::{self, SchemaCostError};
use super::schema_walk::{REFERENCES, SchemaIndex};

/// The only dialect.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Longest regular expression.
const MAX_PATTERN_CHARS: usize = 512;

/// Regular expressions of one schema. Each is compiled.
const MAX_PATTERNS: usize = 32;

/// Checks a schema that the meta-schema accepts.
pub fn check(schema: &Value, at: &Pointer, findings: &mut Findings) {
    let index = SchemaIndex::new(schema);
    let mut rules = SchemaRules { index: &index, at, findings, patterns: 0, is_resolved: true };
    for (pointer, value) in index.all() {
        if let Some(object) = value.as_object() {
            rules.check_identity(object, pointer);
            rules.check_references(object, pointer);
            rules.check_patterns(object, pointer);
        }
    }
    for pointer in index.duplicate_anchors() {
        rules.add(Rule::SchemaReference, pointer, "another schema has the same anchor");
    }
    if rules.patterns > MAX_PATTERNS {
        let message = format!("{} regular expressions: at most {MAX_PATTERNS} are allowed", rules.patterns);
        rules.add(Rule::SchemaPattern, &Pointer::root(), message);
    }
    if rules.is_resolved {
        rules.check_cost();
    }
}

/// Returns the regular expressions of a schema with their places.
#[must_use]
pub fn patterns(schema: &Value) -> Vec<(Pointer, String)> {
    let index = SchemaIndex::new(schema);
    let objects = index.all().into_iter().filter_map(|(at, value)| Some((at, value.as_object()?)));
    objects.flat_map(|(at, object)| patterns_of(object, at)).collect()
}

fn patterns_of(schema: &Map<String, Value>, at: &Pointer) -> Vec<(Pointer, String)> {
    let pattern = schema.get("pattern").and_then(Value::as_str);
    let pattern = pattern.map(|pattern| (at.key("pattern"), pattern.to_owned()));
    let names = schema.get("patternProperties").and_then(Value::as_object);
    let names =
        names.into_iter().flatten().map(|(name, _)| (at.key("patternProperties").key(name), name.clone()));
    pattern.into_iter().chain(names).collect()
}

struct SchemaRules<'a, 'f> {
    index: &'f SchemaIndex<'a>,
    at: &'f Pointer,
    findings: &'f mut Findings,
    patterns: usize,
    is_resolved: bool,
}

impl SchemaRules<'_, '_> {
    fn add(&mut self, rule: Rule, pointer: &Pointer, message: impl Into<String>) {
        self.findings.add(rule, self.at.join(pointer.as_str()), message);
    }

    /// A schema inside of another one with its own address would change what references mean.
    fn check_identity(&mut self, schema: &Map<String, Value>, pointer: &Pointer) {
        let is_root = *pointer == Pointer::root();
        if let Some(id) = schema.get("$id")
            && (!is_root || id.as_str().is_none_or(|id| id.starts_with("https://json-schema.org/")))
        {
            let message = "an \"$id\" is allowed in the outermost schema only, and not that of a meta-schema";
            self.add(Rule::SchemaReference, &pointer.key("$id"), message);
        }
        if let Some(dialect) = schema.get("$schema")
            && (!is_root || dialect.as_str().map(|text| text.trim_end_matches('#')) != Some(DIALECT))
        {
            let message = format!("\"$schema\" is {DIALECT:?}, in the outermost schema only");
            self.add(Rule::InputSchema, &pointer.key("$schema"), message);
        }
    }

    fn check_references(&mut self, schema: &Map<String, Value>, pointer: &Pointer) {
        for name in REFERENCES {
            let Some(reference) = schema.get(name).and_then(Value::as_str) else { continue };
            if self.index.resolve(reference).is_some() {
                continue;
            }
            self.is_resolved = false;
            let message = if reference.starts_with('#') {
                format!("{reference:?} leads to no schema")
            } else {
                format!("{reference:?} leads out of this schema: put what it needs into \"$defs\"")
            };
            self.add(Rule::SchemaReference, &pointer.key(name), message);
        }
    }

    fn check_patterns(&mut self, schema: &Map<String, Value>, pointer: &Pointer) {
        for (place, pattern) in patterns_of(schema, pointer) {
            self.patterns += 1;
            let count = pattern.chars().count();
            if count > MAX_PATTERN_CHARS {
                let message =
                    format!("a regular expression of {count} characters: at most {MAX_PATTERN_CHARS}");
                self.add(Rule::SchemaPattern, &place, message);
            }
        }
    }

    fn check_cost(&mut self) {
        match schema_cost::measure(self.index) {
            Ok(()) => {}
            Err(SchemaCostError::TooExpensive) => {
                let message = format!(
                    "the schema is too expensive to check: with what its references lead to it has more than {} parts, or \
                     more than {} levels",
                    schema_cost::MAX_PARTS,
                    schema_cost::MAX_LEVELS
                );
                self.add(Rule::SchemaCost, &Pointer::root(), message);
            }
            Err(SchemaCostError::Circle(pointer)) => {
                let message = "the references of this schema lead back to it for the same value";
                self.add(Rule::SchemaReference, &pointer, message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn errors(schema: &Value) -> Vec<(Rule, String)> {
        let mut findings = Findings::default();
        check(schema, &Pointer::root().key("s"), &mut findings);
        findings.as_slice().iter().map(|finding| (finding.rule, finding.pointer.to_string())).collect()
    }

    fn assert_error(schema: &Value, rule: Rule, pointer: &str) {
        assert_eq!(errors(schema), [(rule, pointer.to_owned())], "{schema}");
    }

    #[test]
    fn usual_schemas_are_accepted() {
        for schema in [
            json!(true),
            json!({}),
            json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://a.example/tool", "type": "object" }),
            json!({ "properties": { "n": { "$ref": "#" }, "m": { "$ref": "#/$defs/a" }, "o": { "$dynamicRef": "#b" } },
                    "$defs": { "a": { "$dynamicAnchor": "b", "type": "null" } } }),
            json!({ "enum": [{ "$ref": "https://evil.example" }], "const": { "$id": "x" } }),
        ] {
            assert_eq!(errors(&schema), [], "{schema}");
        }
    }

    #[test]
    fn references_out_of_the_schema_are_refused() {
        for reference in
            ["https://evil.example/x", "file:///etc/passwd", "other.json#/a", "//evil", "#/$defs/none", ""]
        {
            let schema = json!({ "items": { "$ref": reference } });
            assert_error(&schema, Rule::SchemaReference, "/s/items/$ref");
        }
        assert_error(&json!({ "$dynamicRef": "#nowhere" }), Rule::SchemaReference, "/s/$dynamicRef");
        let into_data = json!({ "enum": [{ "type": "null" }], "$ref": "#/enum/0" });
        assert_error(&into_data, Rule::SchemaReference, "/s/$ref");
    }

    #[test]
    fn schema_has_no_other_identity_inside() {
        assert_error(
            &json!({ "items": { "$id": "https://a.example" } }),
            Rule::SchemaReference,
            "/s/items/$id",
        );
        let meta = json!({ "$id": "https://json-schema.org/draft/2020-12/schema" });
        assert_error(&meta, Rule::SchemaReference, "/s/$id");
        let draft_7 = json!({ "$schema": "http://json-schema.org/draft-07/schema#" });
        assert_error(&draft_7, Rule::InputSchema, "/s/$schema");
        let anchors = json!({ "prefixItems": [{ "$anchor": "a" }, { "$anchor": "a" }] });
        assert_error(&anchors, Rule::SchemaReference, "/s/prefixItems/1/$anchor");
    }

    #[test]
    fn schema_that_applies_itself_is_refused() {
        for schema in [
            json!({ "$ref": "#" }),
            json!({ "allOf": [{ "anyOf": [{ "$ref": "#" }] }] }),
            json!({ "not": { "$ref": "#/$defs/a" }, "$defs": { "a": { "if": { "$ref": "#" } } } }),
        ] {
            let errors = errors(&schema);
            assert_eq!(errors.len(), 1, "{schema}");
            assert_eq!(errors[0].0, Rule::SchemaReference, "{schema}");
        }
    }

    #[test]
    fn schema_with_exponential_cost_is_refused() {
        let doubling = |levels: usize| {
            let mut defs = Map::new();
            for level in 0..levels {
                let next = json!({ "$ref": format!("#/$defs/d{}", level + 1) });
                defs.insert(format!("d{level}"), json!({ "allOf": [next, next] }));
            }
            defs.insert(format!("d{levels}"), json!({ "type": "string" }));
            json!({ "properties": { "a": { "$ref": "#/$defs/d0" } }, "$defs": defs })
        };
        assert_eq!(errors(&doubling(10)), []);
        assert_error(&doubling(40), Rule::SchemaCost, "/s");
    }

    #[test]
    fn long_chains_of_references_are_refused() {
        let chain = |levels: usize| {
            let def = |level: usize| {
                (format!("d{level:04}"), json!({ "items": { "$ref": format!("#/$defs/d{:04}", level + 1) } }))
            };
            let mut defs: Map<String, Value> = (0..levels).map(def).collect();
            defs.insert(format!("d{levels:04}"), json!({}));
            json!({ "$ref": "#/$defs/d0000", "$defs": defs })
        };
        assert_eq!(errors(&chain(40)), []);
        assert_error(&chain(100), Rule::SchemaCost, "/s");
        assert_error(&chain(2000), Rule::SchemaCost, "/s");
    }

    #[test]
    fn regular_expressions_are_bounded() {
        let long = "a".repeat(MAX_PATTERN_CHARS + 1);
        assert_error(&json!({ "pattern": long }), Rule::SchemaPattern, "/s/pattern");
        let key = json!({ "patternProperties": { long.clone(): {} } });
        assert_error(&key, Rule::SchemaPattern, &format!("/s/patternProperties/{long}"));
        let many: Vec<_> = (0..=MAX_PATTERNS).map(|_| json!({ "pattern": "a" })).collect();
        assert_error(&json!({ "anyOf": many }), Rule::SchemaPattern, "/s");
    }
}
