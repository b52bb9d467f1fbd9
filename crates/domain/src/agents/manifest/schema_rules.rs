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
const MAX_PATTERNS: usize = 64;

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
        let pattern = schema.get("pattern").and_then(Value::as_str);
        let keys = schema.get("patternProperties").and_then(Value::as_object);
        let keys = keys.into_iter().flatten().map(|(key, _)| ("patternProperties", key.as_str()));
        for (keyword, pattern) in pattern.map(|pattern| ("pattern", pattern)).into_iter().chain(keys) {
            self.patterns += 1;
            let count = pattern.chars().count();
            if count > MAX_PATTERN_CHARS {
                let message = format!("a regular expression of {count} characters: at most {MAX_PATTERN_CHARS}");
                self.add(Rule::SchemaPattern, &pointer.key(keyword), message);
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
