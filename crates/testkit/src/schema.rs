//! Validates JSON against a schema of the API document.
//!
//! Knows the keywords that the document uses, and panics at others, so that none is ignored. A validator from a library
//! would change the features of `serde_json` in the whole workspace.

use regex::Regex;
use serde_json::{Map, Value};

/// Keywords without a rule: texts, and what only tools read.
const ANNOTATIONS: [&str; 8] =
    ["description", "example", "examples", "default", "format", "discriminator", "title", "contentMediaType"];

/// A schema of an OpenAPI 3.1 document, by name.
#[derive(Debug)]
pub struct SchemaValidator {
    document: Value,
    reference: Value,
}

impl SchemaValidator {
    /// # Panics
    /// If the document has no such schema.
    #[must_use]
    pub fn new(document: &Value, name: &str) -> Self {
        assert!(document["components"]["schemas"][name].is_object(), "no schema {name}");
        let reference = serde_json::json!({ "$ref": format!("#/components/schemas/{name}") });
        Self { document: document.clone(), reference }
    }

    /// Returns what does not fit, with its place.
    #[must_use]
    pub fn errors(&self, value: &Value) -> Vec<String> {
        let mut errors = Vec::new();
        self.check(&self.reference, value, "", &mut errors);
        errors
    }

    fn check(&self, schema: &Value, value: &Value, place: &str, errors: &mut Vec<String>) {
        let rules = schema.as_object().expect("a schema is an object");
        for (keyword, rule) in rules {
            match keyword.as_str() {
                "$ref" => self.check(self.resolve(rule), value, place, errors),
                "oneOf" | "anyOf" | "allOf" => self.check_all(keyword, rule, value, place, errors),
                "properties" | "required" | "additionalProperties" => {}
                "items" => {
                    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(rule, item, &format!("{place}/{index}"), errors);
                    }
                }
                name if ANNOTATIONS.contains(&name) => {}
                name => {
                    if !fits(name, rule, value) {
                        errors.push(format!("{place}: {value} does not fit {name} {rule}"));
                    }
                }
            }
        }
        if let Value::Object(fields) = value {
            self.check_fields(rules, fields, place, errors);
        }
    }

    fn resolve(&self, reference: &Value) -> &Value {
        let pointer = reference.as_str().and_then(|text| text.strip_prefix('#')).expect("a local reference");
        self.document.pointer(pointer).unwrap_or_else(|| panic!("no {pointer}"))
    }

    fn check_all(&self, keyword: &str, rule: &Value, value: &Value, place: &str, errors: &mut Vec<String>) {
        let failures: Vec<Vec<String>> = rule
            .as_array()
            .expect("schemas")
            .iter()
            .map(|schema| {
                let mut found = Vec::new();
                self.check(schema, value, place, &mut found);
                found
            })
            .collect();
        let fitting = failures.iter().filter(|found| found.is_empty()).count();
        let is_valid = match keyword {
            "oneOf" => fitting == 1,
            "anyOf" => fitting > 0,
            _ => fitting == failures.len(),
        };
        if !is_valid {
            errors.push(format!("{place}: {value} fits {fitting} schemas of {keyword}: {failures:?}"));
        }
    }

    fn check_fields(
        &self,
        rules: &Map<String, Value>,
        fields: &Map<String, Value>,
        place: &str,
        errors: &mut Vec<String>,
    ) {
        for name in rules.get("required").and_then(Value::as_array).into_iter().flatten() {
            if !fields.contains_key(name.as_str().expect("a name")) {
                errors.push(format!("{place}: no {name}"));
            }
        }
        let known = rules.get("properties");
        let others = rules.get("additionalProperties");
        for (name, value) in fields {
            let place = format!("{place}/{name}");
            match (known.and_then(|known| known.get(name)), others) {
                (Some(schema), _) => self.check(schema, value, &place, errors),
                (None, Some(Value::Bool(false))) => errors.push(format!("{place}: unknown property")),
                (None, Some(schema @ Value::Object(_))) => self.check(schema, value, &place, errors),
                (None, _) => {}
            }
        }
    }
}

/// Checks a rule about a single value. A rule about another type holds.
fn fits(keyword: &str, rule: &Value, value: &Value) -> bool {
    let number =
        |test: fn(f64, f64) -> bool| value.as_f64().is_none_or(|n| test(n, rule.as_f64().expect("a number")));
    let length = |length: Option<usize>, test: fn(u64, u64) -> bool| {
        length.is_none_or(|length| test(length as u64, rule.as_u64().expect("a number")))
    };
    let characters = value.as_str().map(|text| text.chars().count());
    let items = value.as_array().map(Vec::len);
    match keyword {
        "type" => match rule {
            Value::Array(names) => names.iter().any(|name| is_of_type(name, value)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                is_of_type(rule, value)
            }
        },
        "enum" => rule.as_array().expect("values").contains(value),
        "const" => rule == value,
        "pattern" => {
            value.as_str().is_none_or(|text| matches_pattern(rule.as_str().expect("a pattern"), text))
        }
        "minimum" => number(|n, limit| n >= limit),
        "maximum" => number(|n, limit| n <= limit),
        "minLength" => length(characters, |n, limit| n >= limit),
        "maxLength" => length(characters, |n, limit| n <= limit),
        "minItems" => length(items, |n, limit| n >= limit),
        "maxItems" => length(items, |n, limit| n <= limit),
        keyword => panic!("unknown keyword {keyword}: add it to testkit/src/schema.rs"),
    }
}

fn is_of_type(name: &Value, value: &Value) -> bool {
    match name.as_str().expect("a type") {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        name => panic!("unknown type {name}"),
    }
}

/// The expressions of the document have at most one negative lookahead, at the beginning.
fn matches_pattern(pattern: &str, text: &str) -> bool {
    let regex = |pattern: &str| Regex::new(pattern).expect("a regular expression");
    match pattern.strip_prefix("^(?!").and_then(|rest| rest.split_once("$)")) {
        Some((excluded, rest)) => {
            !regex(&format!("^{excluded}$")).is_match(text) && regex(&format!("^{rest}")).is_match(text)
        }
        None => regex(pattern).is_match(text),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_keyword_rejects_what_does_not_fit() {
        let text = json!({ "type": ["string", "null"], "minLength": 2, "maxLength": 3, "pattern": "^(?!(?:ab|cd)$)[a-z]+$" });
        let part = json!({
            "type": "object", "required": ["kind"], "additionalProperties": false,
            "properties": {
                "kind": { "enum": ["a"] }, "other": {}, "text": text, "count": { "type": "integer", "minimum": 1, "maximum": 2 },
                "list": { "items": { "type": "boolean" }, "minItems": 1, "maxItems": 1 },
            },
        });
        let other = json!({ "type": "object", "required": ["other"] });
        let union = json!({ "oneOf": [{ "$ref": "#/components/schemas/Part" }, other] });
        let document = json!({ "components": { "schemas": { "Part": part, "Union": union } } });
        let validator = SchemaValidator::new(&document, "Union");
        for fitting in [
            json!({ "kind": "a" }),
            json!({ "kind": "a", "text": null, "count": 2, "list": [true] }),
            json!({ "kind": "a", "text": "xyz" }),
            json!({ "other": 1 }),
        ] {
            assert_eq!(validator.errors(&fitting), Vec::<String>::new(), "{fitting}");
        }
        for unfit in [
            json!(null),
            json!({}),
            json!({ "kind": "b" }),
            json!({ "kind": "a", "other": 1 }),
            json!({ "kind": "a", "text": 7 }),
            json!({ "kind": "a", "text": "x" }),
            json!({ "kind": "a", "text": "wxyz" }),
            json!({ "kind": "a", "text": "ab" }),
            json!({ "kind": "a", "text": "XY" }),
            json!({ "kind": "a", "count": 0 }),
            json!({ "kind": "a", "count": 3 }),
            json!({ "kind": "a", "count": 1.5 }),
            json!({ "kind": "a", "list": [] }),
            json!({ "kind": "a", "list": [1] }),
            json!({ "kind": "a", "list": [true, true] }),
        ] {
            assert_ne!(validator.errors(&unfit), Vec::<String>::new(), "{unfit}");
        }
    }
}
