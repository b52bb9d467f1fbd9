//! What the parts of a conjunction allow together.

use std::collections::BTreeSet;

use serde_json::Value;

use super::conjunction::{Conjunction, elements};
use crate::agents::manifest::schema_walk::SchemaIndex;

/// Schemas that are looked at for one answer. Beyond it the answer is "anything".
const MAX_VISITS: u32 = 500;

/// Types of JSON, `number` split so that `integer` is a subset of it.
const TYPES: [(&str, u8); 8] = [
    ("null", 1),
    ("boolean", 2),
    ("object", 4),
    ("array", 8),
    ("string", 16),
    ("number", 32 | 64),
    ("integer", 32),
    ("a fraction", 64),
];

/// A set of types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JsonTypeSet(u8);

impl JsonTypeSet {
    const ALL: Self = Self(127);

    fn named(value: &Value) -> Self {
        let names: Vec<&str> = match value {
            Value::String(name) => vec![name],
            Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return Self::ALL,
        };
        let bits = TYPES.iter().filter(|(name, _)| names.contains(name)).map(|(_, bits)| bits);
        Self(bits.fold(0, |all, bits| all | bits))
    }

    /// Returns whether every type of this set is in another one.
    pub(super) fn is_subset(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Returns the names, such as `string or null`.
    pub(super) fn text(self) -> String {
        if self == Self::ALL {
            return "any".to_owned();
        }
        let mut rest = self.0;
        let mut names = Vec::new();
        for (name, bits) in TYPES {
            if rest & bits == bits {
                names.push(name);
                rest &= !bits;
            }
        }
        if names.is_empty() { "none".to_owned() } else { names.join(" | ") }
    }
}

/// Returns the types that a conjunction allows, also by the branches of `anyOf` and `oneOf`.
pub(super) fn types(index: &SchemaIndex<'_>, conjunction: &Conjunction<'_>) -> JsonTypeSet {
    let mut visits = MAX_VISITS;
    types_within(index, conjunction, &mut visits)
}

fn types_within(index: &SchemaIndex<'_>, conjunction: &Conjunction<'_>, visits: &mut u32) -> JsonTypeSet {
    if conjunction.never.is_some() {
        return JsonTypeSet(0);
    }
    *visits = visits.saturating_sub(1);
    if *visits == 0 {
        return JsonTypeSet::ALL;
    }
    let mut allowed = JsonTypeSet::ALL.0;
    for named in conjunction.keyword("type") {
        allowed &= JsonTypeSet::named(named.value).0;
    }
    for list in branches(conjunction) {
        let union =
            list.iter().fold(0, |all, branch| all | types_within(index, &open(index, branch), visits).0);
        allowed &= union;
    }
    JsonTypeSet(allowed)
}

/// Returns the values that a conjunction allows by `enum` and `const`, in canonical form. `None` is any value.
pub(super) fn values(index: &SchemaIndex<'_>, conjunction: &Conjunction<'_>) -> Option<BTreeSet<String>> {
    let mut visits = MAX_VISITS;
    values_within(index, conjunction, &mut visits)
}

fn values_within(
    index: &SchemaIndex<'_>,
    conjunction: &Conjunction<'_>,
    visits: &mut u32,
) -> Option<BTreeSet<String>> {
    if conjunction.never.is_some() {
        return Some(BTreeSet::new());
    }
    *visits = visits.saturating_sub(1);
    if *visits == 0 {
        return None;
    }
    let mut sets = Vec::new();
    for list in conjunction.keyword("enum") {
        sets.push(elements(&list).iter().map(|element| canonical(element.value)).collect());
    }
    for constant in conjunction.keyword("const") {
        sets.push(BTreeSet::from([canonical(constant.value)]));
    }
    for list in branches(conjunction) {
        let of_branches: Option<Vec<_>> =
            list.iter().map(|branch| values_within(index, &open(index, branch), visits)).collect();
        sets.extend(of_branches.map(|sets| sets.into_iter().flatten().collect::<BTreeSet<String>>()));
    }
    sets.into_iter().reduce(|a, b| a.intersection(&b).cloned().collect())
}

type Branch<'a> = super::conjunction::SchemaAt<'a>;

fn branches<'a>(conjunction: &Conjunction<'a>) -> Vec<Vec<Branch<'a>>> {
    let lists = ["anyOf", "oneOf"].iter().flat_map(|name| conjunction.keyword(name));
    lists.map(|list| elements(&list)).collect()
}

fn open<'a>(index: &SchemaIndex<'a>, branch: &Branch<'a>) -> Conjunction<'a> {
    Conjunction::new(index, std::slice::from_ref(branch))
}

/// Returns the canonical text of a value: 1 and 1.0 are the same.
pub(super) fn canonical(value: &Value) -> String {
    serde_json_canonicalizer::to_string(value).unwrap_or_else(|_| value.to_string())
}
