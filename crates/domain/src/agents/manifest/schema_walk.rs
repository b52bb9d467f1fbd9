//! The places of a JSON Schema where other schemas stand, and what references lead to.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::pointer::Pointer;

/// What a subschema is applied to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    /// To the same value as the schema that contains it.
    InPlace,
    /// To a part of the value.
    ToPart,
    /// To nothing, unless something refers to it.
    Never,
}

/// A schema inside of another one.
#[derive(Debug, Clone)]
pub struct Subschema<'a> {
    pub value: &'a Value,
    pub pointer: Pointer,
    pub applied: Applied,
}

const SINGLE: [(&str, Applied); 11] = [
    ("not", Applied::InPlace),
    ("if", Applied::InPlace),
    ("then", Applied::InPlace),
    ("else", Applied::InPlace),
    ("items", Applied::ToPart),
    ("contains", Applied::ToPart),
    ("additionalProperties", Applied::ToPart),
    ("propertyNames", Applied::ToPart),
    ("unevaluatedItems", Applied::ToPart),
    ("unevaluatedProperties", Applied::ToPart),
    ("contentSchema", Applied::ToPart),
];

const LISTS: [(&str, Applied); 4] = [
    ("allOf", Applied::InPlace),
    ("anyOf", Applied::InPlace),
    ("oneOf", Applied::InPlace),
    ("prefixItems", Applied::ToPart),
];

const MAPS: [(&str, Applied); 5] = [
    ("dependentSchemas", Applied::InPlace),
    ("properties", Applied::ToPart),
    ("patternProperties", Applied::ToPart),
    ("$defs", Applied::Never),
    ("definitions", Applied::Never),
];

/// Keywords that refer to another schema.
pub const REFERENCES: [&str; 2] = ["$ref", "$dynamicRef"];

/// Returns the schemas directly inside of a schema.
#[must_use]
pub fn subschemas<'a>(schema: &'a Map<String, Value>, at: &Pointer) -> Vec<Subschema<'a>> {
    let mut found = Vec::new();
    for (name, applied) in SINGLE {
        if let Some(value) = schema.get(name) {
            found.push(Subschema { value, pointer: at.key(name), applied });
        }
    }
    for (name, applied) in LISTS {
        for (index, value) in schema.get(name).and_then(Value::as_array).into_iter().flatten().enumerate() {
            found.push(Subschema { value, pointer: at.key(name).index(index), applied });
        }
    }
    for (name, applied) in MAPS {
        for (key, value) in schema.get(name).and_then(Value::as_object).into_iter().flatten() {
            found.push(Subschema { value, pointer: at.key(name).key(key), applied });
        }
    }
    found
}

/// All schemas in a schema, by their place.
#[derive(Debug, Clone)]
pub struct SchemaIndex<'a> {
    root: &'a Value,
    by_pointer: HashMap<Pointer, &'a Value>,
    /// Places of the schemas with an anchor. An anchor that occurs twice leads to the first.
    anchors: HashMap<&'a str, Pointer>,
    duplicate_anchors: Vec<Pointer>,
}

impl<'a> SchemaIndex<'a> {
    #[must_use]
    pub fn new(root: &'a Value) -> Self {
        let mut index =
            Self { root, by_pointer: HashMap::new(), anchors: HashMap::new(), duplicate_anchors: Vec::new() };
        index.visit(root, Pointer::root());
        index
    }

    /// The nesting of the document is bounded.
    fn visit(&mut self, value: &'a Value, at: Pointer) {
        if let Some(schema) = value.as_object() {
            for name in ["$anchor", "$dynamicAnchor"] {
                let Some(anchor) = schema.get(name).and_then(Value::as_str) else { continue };
                match self.anchors.get(anchor) {
                    // A schema may have the same name for both.
                    Some(other) if *other != at => self.duplicate_anchors.push(at.key(name)),
                    Some(_) => {}
                    None => {
                        self.anchors.insert(anchor, at.clone());
                    }
                }
            }
            for child in subschemas(schema, &at) {
                self.visit(child.value, child.pointer);
            }
        }
        self.by_pointer.insert(at, value);
    }

    #[must_use]
    pub fn root(&self) -> &'a Value {
        self.root
    }

    #[must_use]
    pub fn duplicate_anchors(&self) -> &[Pointer] {
        &self.duplicate_anchors
    }

    /// Returns all schemas, in the order of their places.
    #[must_use]
    pub fn all(&self) -> Vec<(&Pointer, &'a Value)> {
        let mut all: Vec<_> = self.by_pointer.iter().map(|(pointer, value)| (pointer, *value)).collect();
        all.sort_by_key(|(pointer, _)| *pointer);
        all
    }

    /// Returns the schema that a reference inside of this schema leads to.
    #[must_use]
    pub fn resolve(&self, reference: &str) -> Option<(Pointer, &'a Value)> {
        let fragment = percent_decoded(reference.strip_prefix('#')?)?;
        let pointer = if fragment.is_empty() || fragment.starts_with('/') {
            Pointer::from_text(&fragment)
        } else {
            self.anchors.get(fragment.as_str())?.clone()
        };
        let value = *self.by_pointer.get(&pointer)?;
        Some((pointer, value))
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.extend(hex::decode(digits).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn references_lead_to_pointers_and_anchors() {
        let schema = json!({
            "properties": { "a/b": { "$anchor": "here" }, "c d": true },
            "$defs": { "x%y": { "type": "string" } },
            "enum": [{ "type": "null" }]
        });
        let index = SchemaIndex::new(&schema);
        let resolved = |reference| index.resolve(reference).map(|(pointer, _)| pointer.as_str().to_owned());
        assert_eq!(resolved("#").as_deref(), Some(""));
        assert_eq!(resolved("#here").as_deref(), Some("/properties/a~1b"));
        assert_eq!(resolved("#/properties/c%20d").as_deref(), Some("/properties/c d"));
        assert_eq!(resolved("#/$defs/x%25y").as_deref(), Some("/$defs/x%y"));
        for wrong in ["", "other.json", "#nowhere", "#/$defs", "#/enum/0", "#/properties/c%2", "#%ff"] {
            assert_eq!(resolved(wrong), None, "{wrong}");
        }
    }
}
