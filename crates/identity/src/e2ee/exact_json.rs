//! JSON whose numbers keep their text: signatures cover the text that the signer wrote, for example `1.0`.
//!
//! The features of `serde_json` that would keep it are global, and would change how every other part reads numbers.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;

use super::bounds::MAX_JSON_DEPTH;

/// The members of an object. The order of the keys is the one of their code points.
pub type JsonObject = BTreeMap<String, ExactJson>;

/// The text is not JSON that can be signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ExactJsonError {
    #[error("invalid JSON")]
    Syntax,
    #[error("invalid JSON: an object has the same key twice")]
    DuplicateKey,
    #[error("invalid JSON: more than {MAX_JSON_DEPTH} levels")]
    TooDeep,
    #[error("invalid JSON: expected an object")]
    NotAnObject,
}

/// A number as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonNumber(Box<str>);

/// A JSON value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExactJson {
    Null,
    Bool(bool),
    Number(JsonNumber),
    String(String),
    Array(Vec<Self>),
    Object(JsonObject),
}

impl JsonNumber {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<i64> for ExactJson {
    fn from(number: i64) -> Self {
        Self::Number(JsonNumber(number.to_string().into()))
    }
}

impl From<&str> for ExactJson {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl ExactJson {
    pub fn parse(text: &str) -> Result<Self, ExactJsonError> {
        // Checks the whole grammar, so that the reader below only finds the ends of tokens.
        serde_json::from_str::<IgnoredAny>(text).map_err(|_| ExactJsonError::Syntax)?;
        Reader { rest: text, depth: 0 }.value()
    }

    /// Parses the members of an object.
    pub fn parse_object(text: &str) -> Result<JsonObject, ExactJsonError> {
        let Self::Object(members) = Self::parse(text)? else { return Err(ExactJsonError::NotAnObject) };
        Ok(members)
    }

    /// Returns the JSON text: sorted keys, no spaces, numbers as they were written.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, &mut |number, out| out.push_str(number.as_str()));
        text
    }

    /// Writes the value with a function that writes its numbers.
    pub(super) fn write(&self, out: &mut String, number: &mut dyn FnMut(&JsonNumber, &mut String)) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(true) => out.push_str("true"),
            Self::Bool(false) => out.push_str("false"),
            Self::Number(value) => number(value, out),
            Self::String(text) => write_string(text, out),
            Self::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write(out, number);
                }
                out.push(']');
            }
            Self::Object(members) => write_object(members, out, number),
        }
    }
}

pub(super) fn write_object(
    members: &JsonObject,
    out: &mut String,
    number: &mut dyn FnMut(&JsonNumber, &mut String),
) {
    out.push('{');
    for (index, (key, value)) in members.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_string(key, out);
        out.push(':');
        value.write(out, number);
    }
    out.push('}');
}

/// Escapes only what JSON requires. Python's `json` without ASCII escapes, and AUN's own rules, do the same.
fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => out.push(other),
        }
    }
    out.push('"');
}

/// Reads text that is known to be JSON.
struct Reader<'a> {
    rest: &'a str,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn value(&mut self) -> Result<ExactJson, ExactJsonError> {
        match self.peek() {
            Some(b'{') => self.object(),
            Some(b'[') => self.array(),
            Some(b'"') => self.string().map(ExactJson::String),
            Some(b'n') => Ok(self.literal("null", ExactJson::Null)),
            Some(b't') => Ok(self.literal("true", ExactJson::Bool(true))),
            Some(b'f') => Ok(self.literal("false", ExactJson::Bool(false))),
            Some(_) => Ok(ExactJson::Number(JsonNumber(self.number().into()))),
            None => Err(ExactJsonError::Syntax),
        }
    }

    fn object(&mut self) -> Result<ExactJson, ExactJsonError> {
        self.enter()?;
        let mut members = JsonObject::new();
        while self.peek() != Some(b'}') {
            let key = self.string()?;
            self.skip(b':')?;
            let value = self.value()?;
            if members.insert(key, value).is_some() {
                return Err(ExactJsonError::DuplicateKey);
            }
            self.comma();
        }
        self.leave();
        Ok(ExactJson::Object(members))
    }

    fn array(&mut self) -> Result<ExactJson, ExactJsonError> {
        self.enter()?;
        let mut items = Vec::new();
        while self.peek() != Some(b']') {
            items.push(self.value()?);
            self.comma();
        }
        self.leave();
        Ok(ExactJson::Array(items))
    }

    fn string(&mut self) -> Result<String, ExactJsonError> {
        self.peek();
        let mut escaped = false;
        let end = self.rest.bytes().skip(1).position(|byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        });
        // Both quotes are ASCII, so both cuts are between characters.
        let (token, rest) = self.rest.split_at(end.ok_or(ExactJsonError::Syntax)? + 2);
        self.rest = rest;
        // Refuses halves of surrogate pairs, which no UTF-8 text has.
        serde_json::from_str(token).map_err(|_| ExactJsonError::Syntax)
    }

    fn number(&mut self) -> &'a str {
        let is_part = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
        let length = self.rest.bytes().take_while(|byte| is_part(*byte)).count();
        let (token, rest) = self.rest.split_at(length);
        self.rest = rest;
        token
    }

    fn literal(&mut self, text: &str, value: ExactJson) -> ExactJson {
        self.rest = self.rest.strip_prefix(text).unwrap_or_default();
        value
    }

    fn enter(&mut self) -> Result<(), ExactJsonError> {
        self.depth += 1;
        if self.depth > MAX_JSON_DEPTH {
            return Err(ExactJsonError::TooDeep);
        }
        self.rest = self.rest.get(1..).unwrap_or_default();
        Ok(())
    }

    fn leave(&mut self) {
        self.depth -= 1;
        self.rest = self.rest.get(1..).unwrap_or_default();
    }

    fn comma(&mut self) {
        if self.peek() == Some(b',') {
            self.rest = self.rest.get(1..).unwrap_or_default();
        }
    }

    fn skip(&mut self, byte: u8) -> Result<(), ExactJsonError> {
        if self.peek() != Some(byte) {
            return Err(ExactJsonError::Syntax);
        }
        self.rest = self.rest.get(1..).unwrap_or_default();
        Ok(())
    }

    /// Returns the first byte of the next token.
    fn peek(&mut self) -> Option<u8> {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
        self.rest.bytes().next()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map(any::<String>(), inner, 0..5).prop_map(|map| json!(map)),
            ]
        })
    }

    #[test]
    fn numbers_keep_their_text_and_keys_are_sorted() {
        let text = " { \"é\" : 1.0 , \"a\\u0009\" : [ -0 , 1E+2, 12345678901234567890 ] ,\"\": {} } ";
        let json = ExactJson::parse(text).expect("JSON");
        assert_eq!(json.to_text(), "{\"\":{},\"a\\t\":[-0,1E+2,12345678901234567890],\"é\":1.0}");
    }

    #[test]
    fn ambiguous_json_is_refused() {
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        for (text, expected) in [
            ("", ExactJsonError::Syntax),
            ("{} {}", ExactJsonError::Syntax),
            ("[1,]", ExactJsonError::Syntax),
            ("[01]", ExactJsonError::Syntax),
            ("NaN", ExactJsonError::Syntax),
            (r#""\ud800""#, ExactJsonError::Syntax),
            (r#"{"a":1,"\u0061":2}"#, ExactJsonError::DuplicateKey),
            (&deep(65), ExactJsonError::TooDeep),
        ] {
            assert_eq!(ExactJson::parse(text), Err(expected), "{text}");
        }
        assert!(ExactJson::parse(&deep(64)).is_ok());
        assert_eq!(ExactJson::parse_object("[]"), Err(ExactJsonError::NotAnObject));
    }

    proptest! {
        #[test]
        fn text_is_the_same_value_to_serde(value in value(), pretty in any::<bool>()) {
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
            let json = ExactJson::parse(&text.expect("text")).expect("JSON");
            // Sorted keys, no spaces and shortest numbers are what serde_json writes too.
            prop_assert_eq!(json.to_text(), value.to_string());
        }

        #[test]
        fn any_text_is_parsed_without_panic(text in any::<String>()) {
            let accepted = serde_json::from_str::<Value>(&text).is_ok();
            prop_assert_eq!(ExactJson::parse(&text).is_ok(), accepted);
        }

        #[test]
        fn brackets_and_quotes_are_parsed_without_panic(text in r#"[\[\]{},:"\\0-9.eEu a]{0,24}"#) {
            let _result = ExactJson::parse(&text);
        }
    }
}
