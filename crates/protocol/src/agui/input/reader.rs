//! Reads fields of JSON objects in both spellings.

use serde_json::{Map, Value};

use super::error::InvalidInput;

/// An object, and where it stands in the input.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    fields: &'a Map<String, Value>,
    path: String,
}

impl<'a> Reader<'a> {
    pub(super) fn of(value: &'a Value, path: &str) -> Result<Self, InvalidInput> {
        let wrong = || InvalidInput::Type { path: path.to_owned(), expected: "an object" };
        Ok(Self { fields: value.as_object().ok_or_else(wrong)?, path: path.to_owned() })
    }

    pub(super) fn value(&self) -> Value {
        Value::Object(self.fields.clone())
    }

    /// Returns a field by its `camelCase` name, in either spelling; none if it is null.
    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        let other = || self.fields.get(&snake_case(name)).filter(|value| !value.is_null());
        self.fields.get(name).filter(|value| !value.is_null()).or_else(other)
    }

    pub(super) fn optional_text(&self, name: &str) -> Result<Option<String>, InvalidInput> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(InvalidInput::Type { path: self.path_of(name), expected: "a string" }),
        }
    }

    pub(super) fn required_text(&self, name: &str) -> Result<String, InvalidInput> {
        self.optional_text(name)?.ok_or_else(|| InvalidInput::Missing { path: self.path_of(name) })
    }

    pub(super) fn optional_flag(&self, name: &str) -> Result<Option<bool>, InvalidInput> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(_) => Err(InvalidInput::Type { path: self.path_of(name), expected: "true or false" }),
        }
    }

    pub(super) fn optional_object(&self, name: &str) -> Result<Option<Reader<'a>>, InvalidInput> {
        self.get(name).map(|value| Reader::of(value, &self.path_of(name))).transpose()
    }

    /// Reads a list of objects; a missing list is empty.
    pub(super) fn list<T>(
        &self,
        name: &str,
        read: impl Fn(&Reader<'_>) -> Result<T, InvalidInput>,
    ) -> Result<Vec<T>, InvalidInput> {
        let items = match self.get(name) {
            None => return Ok(Vec::new()),
            Some(Value::Array(items)) => items,
            Some(_) => return Err(InvalidInput::Type { path: self.path_of(name), expected: "a list" }),
        };
        let item = |(index, item)| read(&Reader::of(item, &format!("{}[{index}]", self.path_of(name)))?);
        items.iter().enumerate().map(item).collect()
    }

    fn path_of(&self, name: &str) -> String {
        format!("{}.{name}", self.path)
    }
}

fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for character in name.chars() {
        if character.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(character.to_ascii_lowercase());
    }
    snake
}
