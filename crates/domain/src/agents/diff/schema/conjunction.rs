//! A schema with everything that applies to the same value: its references and the branches of `allOf`.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Map, Value};

use crate::agents::manifest::pointer::Pointer;
use crate::agents::manifest::schema_walk::{REFERENCES, SchemaIndex};

/// Keywords that allow or forbid values. All others are words about the schema.
const ASSERTIONS: [&str; 41] = [
    "type",
    "enum",
    "const",
    "required",
    "properties",
    "patternProperties",
    "additionalProperties",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "prefixItems",
    "items",
    "contains",
    "minContains",
    "maxContains",
    "uniqueItems",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "minProperties",
    "maxProperties",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "pattern",
    "format",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
];

/// Keywords that are no words: names of schemas, and what is followed instead of compared.
const STRUCTURE: [&str; 11] = [
    "$ref",
    "$dynamicRef",
    "allOf",
    "$defs",
    "definitions",
    "$schema",
    "$id",
    "$anchor",
    "$dynamicAnchor",
    "$vocabulary",
    "$comment",
];

/// A schema and its place.
#[derive(Debug, Clone)]
pub(super) struct SchemaAt<'a> {
    pub(super) value: &'a Value,
    pub(super) pointer: Pointer,
}

/// Schemas that a value has to match, all of them. None is everything.
pub(super) type Node<'a> = Vec<SchemaAt<'a>>;

/// One of the schemas of a conjunction.
#[derive(Debug, Clone)]
pub(super) struct Part<'a> {
    pub(super) schema: &'a Map<String, Value>,
    pub(super) at: SchemaAt<'a>,
}

impl<'a> Part<'a> {
    /// Returns the schema of a keyword of this part.
    pub(super) fn own_keyword(&self, name: &str) -> Node<'a> {
        keyword(self, name).into_iter().collect()
    }
}

/// A node with its references and the branches of `allOf`, each on its own.
#[derive(Debug, Clone, Default)]
pub(super) struct Conjunction<'a> {
    pub(super) parts: Vec<Part<'a>>,
    /// Where nothing is allowed.
    pub(super) never: Option<Pointer>,
}

/// Identifies a conjunction of the same document.
pub(super) type Identity = (Vec<usize>, bool);

impl<'a> Conjunction<'a> {
    pub(super) fn new(index: &SchemaIndex<'a>, node: &[SchemaAt<'a>]) -> Self {
        let mut found = Self::default();
        let mut seen = HashSet::new();
        let mut rest: Vec<SchemaAt<'a>> = node.iter().rev().cloned().collect();
        while let Some(at) = rest.pop() {
            if !seen.insert(std::ptr::from_ref(at.value).addr()) {
                continue;
            }
            match at.value {
                Value::Bool(false) => found.never = found.never.or(Some(at.pointer)),
                Value::Object(schema) => {
                    rest.extend(allied(index, schema, &at.pointer));
                    found.parts.push(Part { schema, at });
                }
                Value::Bool(true) | Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {}
            }
        }
        found
    }

    pub(super) fn identity(&self) -> Identity {
        let mut addresses: Vec<_> =
            self.parts.iter().map(|part| std::ptr::from_ref(part.schema).addr()).collect();
        addresses.sort_unstable();
        (addresses, self.never.is_some())
    }

    /// Returns the schemas themselves, without what they refer to.
    pub(super) fn node(&self) -> Node<'a> {
        self.parts.iter().map(|part| part.at.clone()).collect()
    }

    /// Returns whether every value is allowed.
    pub(super) fn is_anything(&self) -> bool {
        self.never.is_none() && self.parts.iter().all(|part| part.schema.keys().all(|key| !is_assertion(key)))
    }

    /// Returns a keyword of all parts, with its places.
    pub(super) fn keyword(&self, name: &str) -> Vec<SchemaAt<'a>> {
        let of = |part: &Part<'a>| {
            let value = part.schema.get(name)?;
            Some(SchemaAt { value, pointer: part.at.pointer.key(name) })
        };
        self.parts.iter().filter_map(of).collect()
    }

    /// Returns the members of a keyword that is an object, such as `properties`.
    pub(super) fn names(&self, keyword: &str) -> BTreeSet<&'a str> {
        let objects = self.parts.iter().filter_map(|part| part.schema.get(keyword)?.as_object());
        objects.flat_map(|object| object.keys().map(String::as_str)).collect()
    }

    /// Returns a member of a keyword in all parts that have it.
    pub(super) fn member(&self, keyword: &str, name: &str) -> Node<'a> {
        self.parts.iter().filter_map(|part| member(part, keyword, name)).collect()
    }

    /// Returns what a property has to match: its own schemas, and `additionalProperties` of the parts that do not name it.
    pub(super) fn property(&self, name: &str) -> Node<'a> {
        self.parts
            .iter()
            .filter_map(|part| {
                member(part, "properties", name).or_else(|| keyword(part, "additionalProperties"))
            })
            .collect()
    }

    /// Returns the number of items that have a schema of their own.
    pub(super) fn prefix_len(&self) -> usize {
        let lists = self.parts.iter().filter_map(|part| part.schema.get("prefixItems")?.as_array());
        lists.map(Vec::len).max().unwrap_or(0)
    }

    /// Returns the schemas of an item in all parts that have one for it.
    pub(super) fn prefix_item(&self, index: usize) -> Node<'a> {
        self.parts.iter().filter_map(|part| prefix_item(part, index)).collect()
    }

    /// Returns what an item has to match: its own schemas, and `items` of the parts that have none for it.
    pub(super) fn item(&self, index: usize) -> Node<'a> {
        self.parts
            .iter()
            .filter_map(|part| prefix_item(part, index).or_else(|| keyword(part, "items")))
            .collect()
    }

    /// Returns the keywords that are words about the schema.
    pub(super) fn annotations(&self) -> BTreeSet<&'a str> {
        let keys = self.parts.iter().flat_map(|part| part.schema.keys().map(String::as_str));
        keys.filter(|key| !is_assertion(key) && !STRUCTURE.contains(key)).collect()
    }
}

fn is_assertion(keyword: &str) -> bool {
    ASSERTIONS.contains(&keyword)
}

fn keyword<'a>(part: &Part<'a>, name: &str) -> Option<SchemaAt<'a>> {
    Some(SchemaAt { value: part.schema.get(name)?, pointer: part.at.pointer.key(name) })
}

fn member<'a>(part: &Part<'a>, keyword: &str, name: &str) -> Option<SchemaAt<'a>> {
    let value = part.schema.get(keyword)?.as_object()?.get(name)?;
    Some(SchemaAt { value, pointer: part.at.pointer.key(keyword).key(name) })
}

fn prefix_item<'a>(part: &Part<'a>, index: usize) -> Option<SchemaAt<'a>> {
    let value = part.schema.get("prefixItems")?.as_array()?.get(index)?;
    Some(SchemaAt { value, pointer: part.at.pointer.key("prefixItems").index(index) })
}

/// Returns the elements of a keyword that is a list, with their places.
pub(super) fn elements<'a>(list: &SchemaAt<'a>) -> Vec<SchemaAt<'a>> {
    let values = list.value.as_array().into_iter().flatten().enumerate();
    values.map(|(index, value)| SchemaAt { value, pointer: list.pointer.index(index) }).collect()
}

/// Returns what applies to the same value as a schema, the last first.
fn allied<'a>(index: &SchemaIndex<'a>, schema: &'a Map<String, Value>, at: &Pointer) -> Vec<SchemaAt<'a>> {
    let references = REFERENCES.iter().filter_map(|name| index.resolve(schema.get(*name)?.as_str()?));
    let mut allied: Vec<_> = references.map(|(pointer, value)| SchemaAt { value, pointer }).collect();
    if let Some(value) = schema.get("allOf") {
        allied.extend(elements(&SchemaAt { value, pointer: at.key("allOf") }));
    }
    allied.reverse();
    allied
}
