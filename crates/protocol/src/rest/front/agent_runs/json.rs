//! JSON whose objects have each name once.
//!
//! `serde_json` keeps the last of two members with one name, so that two readers of a body could see two values.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::error::{AgentRunInputError, ShapeProblem};

/// Parses bytes. Nested more than 128 times, they are refused, which bounds the stack.
pub(super) fn parse(bytes: &[u8]) -> Result<Value, AgentRunInputError> {
    match serde_json::from_slice::<UniqueJson>(bytes) {
        Ok(UniqueJson(value)) => Ok(value),
        // Only the visitor below makes data errors: every type of JSON has a method there.
        Err(error) if error.is_data() => Err(AgentRunInputError::shape_error("", ShapeProblem::RepeatedName)),
        Err(_) => Err(AgentRunInputError::shape_error("", ShapeProblem::NotJson)),
    }
}

struct UniqueJson(Value);

impl<'de> Deserialize<'de> for UniqueJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueJsonVisitor).map(Self)
    }
}

struct UniqueJsonVisitor;

impl<'de> Visitor<'de> for UniqueJsonVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(UniqueJson(item)) = items.next_element()? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let UniqueJson(value) = members.next_value()?;
            if object.insert(name, value).is_some() {
                return Err(A::Error::custom("repeated name"));
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn problem(text: &str) -> ShapeProblem {
        match parse(text.as_bytes()) {
            Err(AgentRunInputError::Shape { path, problem }) if path.is_empty() => problem,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn json_of_every_type_is_parsed_as_by_serde_json() {
        let text = r#"{"a":[null,true,-1,18446744073709551615,1.5,1e300,"é\u0000"],"b":{"a":{}}}"#;
        let expected = json!({
            "a": [null, true, -1, 18_446_744_073_709_551_615_u64, 1.5, 1e300, "é\0"], "b": { "a": {} },
        });
        assert_eq!(parse(text.as_bytes()), Ok(expected));
    }

    #[test]
    fn repeated_name_at_any_depth_is_refused() {
        assert_eq!(problem(r#"{"a":1,"a":1}"#), ShapeProblem::RepeatedName);
        assert_eq!(problem(r#"{"a":[{"b":{"c":1,"c":2}}]}"#), ShapeProblem::RepeatedName);
        assert_eq!(problem(r#"{"a":1,"\u0061":2}"#), ShapeProblem::RepeatedName);
    }

    #[test]
    fn text_that_is_not_json_or_too_deep_is_refused() {
        for text in ["", "{", "{}x", "{'a':1}", "NaN", "1e999", &"[".repeat(200_000)] {
            assert_eq!(problem(text), ShapeProblem::NotJson);
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map(any::<String>(), inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn json_with_unique_names_is_read_back(value in any_json()) {
            prop_assert_eq!(parse(value.to_string().as_bytes()), Ok(value));
        }
    }
}
