//! Reads the members of a JSON object and collects what is wrong with them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::finding::{Findings, Rule};
use super::pointer::Pointer;

/// Reads one object. A member that is wrong becomes a finding and reads as `None`.
pub(super) struct Reader<'a, 'f> {
    members: &'a Map<String, Value>,
    pub(super) pointer: Pointer,
    pub(super) findings: &'f mut Findings,
}

impl<'a, 'f> Reader<'a, 'f> {
    pub(super) fn new(value: &'a Value, pointer: Pointer, findings: &'f mut Findings) -> Option<Self> {
        let Some(members) = value.as_object() else {
            findings.add(Rule::Type, pointer, format!("expected an object, not {}", type_name(value)));
            return None;
        };
        Some(Self { members, pointer, findings })
    }

    /// Adds a finding about a member.
    pub(super) fn add(&mut self, rule: Rule, name: &str, message: impl Into<String>) {
        self.findings.add(rule, self.pointer.key(name), message);
    }

    pub(super) fn optional(&self, name: &str) -> Option<&'a Value> {
        self.members.get(name)
    }

    pub(super) fn required(&mut self, name: &str) -> Option<&'a Value> {
        let found = self.members.get(name);
        if found.is_none() {
            // The member does not exist: the pointer leads to the object.
            self.findings.add(Rule::Missing, self.pointer.clone(), format!("{name:?} is missing"));
        }
        found
    }

    pub(super) fn string(&mut self, name: &str) -> Option<&'a str> {
        let value = self.required(name)?;
        self.typed(name, value, "a string", Value::as_str)
    }

    pub(super) fn optional_string(&mut self, name: &str) -> Option<&'a str> {
        let value = self.optional(name)?;
        self.typed(name, value, "a string", Value::as_str)
    }

    pub(super) fn boolean(&mut self, name: &str) -> Option<bool> {
        let value = self.required(name)?;
        self.typed(name, value, "true or false", Value::as_bool)
    }

    pub(super) fn optional_boolean(&mut self, name: &str) -> Option<bool> {
        let value = self.optional(name)?;
        self.typed(name, value, "true or false", Value::as_bool)
    }

    pub(super) fn optional_integer(&mut self, name: &str) -> Option<u64> {
        let value = self.optional(name)?;
        self.typed(name, value, "a positive integer", Value::as_u64)
    }

    /// Returns the elements of an array with at most `max` of them.
    pub(super) fn array(&mut self, name: &str, max: usize) -> Option<&'a [Value]> {
        let value = self.required(name)?;
        let items = self.typed(name, value, "an array", |value| value.as_array().map(Vec::as_slice))?;
        if items.len() > max {
            self.add(Rule::Count, name, format!("{} entries: at most {max} are allowed", items.len()));
        }
        Some(&items[..items.len().min(max)])
    }

    /// Returns members that nobody reads. They stay in the document and in its hash.
    pub(super) fn unknown_members(&mut self, known: &[&str]) -> BTreeMap<String, Value> {
        let unknown: Vec<_> =
            self.members.iter().filter(|(name, _)| !known.contains(&name.as_str())).collect();
        for (name, _) in &unknown {
            let message = format!("{name:?} is not in the specification: nobody reads it");
            self.findings.add(Rule::UnknownMember, self.pointer.key(name), message);
        }
        unknown.into_iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    fn typed<T>(
        &mut self,
        name: &str,
        value: &'a Value,
        expected: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Option<T> {
        let found = read(value);
        if found.is_none() {
            self.add(Rule::Type, name, format!("expected {expected}, not {}", type_name(value)));
        }
        found
    }
}

/// Names the type of a value, for messages.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "this number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
