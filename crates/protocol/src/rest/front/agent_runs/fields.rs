//! Reads the members of a JSON object, in camelCase or snake_case.

use serde_json::{Map, Value};

use super::error::{AgentRunInputError, ShapeProblem};

/// The members of an object that are not read yet.
///
/// A member that is null counts as absent. What nobody reads is ignored.
pub(super) struct Fields {
    path: String,
    members: Map<String, Value>,
}

impl Fields {
    /// Starts to read the object at `path`, such as `.messages[0]`.
    pub(super) fn new(path: impl Into<String>, value: Value) -> Result<Self, AgentRunInputError> {
        let path = path.into();
        match value {
            Value::Object(members) => Ok(Self { path, members }),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Err(AgentRunInputError::expected(path, "an object"))
            }
        }
    }

    pub(super) fn path_of(&self, name: &str) -> String {
        format!("{}.{name}", self.path)
    }

    /// Takes a member by its camelCase name. Both spellings at once are an error, even with equal values.
    pub(super) fn take(&mut self, name: &str) -> Result<Option<Value>, AgentRunInputError> {
        let alias = snake_case(name);
        let found = self.members.remove(name);
        let found = match (found, if alias == name { None } else { self.members.remove(&alias) }) {
            (Some(_), Some(_)) => {
                return Err(AgentRunInputError::shape_error(self.path_of(name), ShapeProblem::BothSpellings));
            }
            (found, None) | (None, found) => found,
        };
        Ok(found.filter(|value| !value.is_null()))
    }

    pub(super) fn optional_string(&mut self, name: &str) -> Result<Option<String>, AgentRunInputError> {
        match self.take(name)? {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.expected(name, "a string")),
        }
    }

    pub(super) fn string(&mut self, name: &str) -> Result<String, AgentRunInputError> {
        self.optional_string(name)?.ok_or_else(|| self.expected(name, "a string"))
    }

    pub(super) fn optional_array(&mut self, name: &str) -> Result<Option<Vec<Value>>, AgentRunInputError> {
        match self.take(name)? {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(_) => Err(self.expected(name, "an array")),
        }
    }

    pub(super) fn object(&mut self, name: &str) -> Result<Map<String, Value>, AgentRunInputError> {
        match self.take(name)? {
            Some(Value::Object(members)) => Ok(members),
            _ => Err(self.expected(name, "an object")),
        }
    }

    pub(super) fn expected(&self, name: &str, what: &'static str) -> AgentRunInputError {
        AgentRunInputError::expected(self.path_of(name), what)
    }
}

/// Returns `thread_id` for `threadId`.
fn snake_case(name: &str) -> String {
    let mut alias = String::with_capacity(name.len() + 2);
    for character in name.chars() {
        if character.is_ascii_uppercase() {
            alias.push('_');
        }
        alias.push(character.to_ascii_lowercase());
    }
    alias
}
