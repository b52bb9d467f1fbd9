//! JSON without duplicate keys. Two readers of `{"aid":1,"aid":2}` may disagree about what was signed or asked for.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::limits::MAX_FRAME_VALUES;

/// The words of serde_json's error for a duplicate key.
const DUPLICATE: &str = "duplicate key";

/// The words of its error for a text with too many values.
const TOO_MANY: &str = "too many values";

/// Why a text is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum StrictJsonError {
    #[error("invalid JSON")]
    Malformed,
    #[error("an object has two members of the same name")]
    DuplicateKey,
    #[error("more than {MAX_FRAME_VALUES} values")]
    TooManyValues,
}

/// Parses one JSON value. The depth is limited by serde_json.
pub(super) fn parse(text: &str) -> Result<Value, StrictJsonError> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let values = Cell::new(0);
    let parsed = StrictValue { values: &values }
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value));
    parsed.map_err(|error| {
        // The error type of serde_json has no kind of its own for errors of visitors.
        let is = |words: &str| error.is_data() && error.to_string().starts_with(words);
        if is(DUPLICATE) {
            StrictJsonError::DuplicateKey
        } else if is(TOO_MANY) {
            StrictJsonError::TooManyValues
        } else {
            StrictJsonError::Malformed
        }
    })
}

#[derive(Clone, Copy)]
struct StrictValue<'a> {
    /// The number of values so far.
    values: &'a Cell<usize>,
}

impl<'de> DeserializeSeed<'de> for StrictValue<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.values.set(self.values.get() + 1);
        if self.values.get() > MAX_FRAME_VALUES {
            return Err(D::Error::custom(TOO_MANY));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StrictValue<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("not a finite number"))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let value = members.next_value_seed(self)?;
            if object.insert(name, value).is_some() {
                return Err(A::Error::custom(DUPLICATE));
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn duplicate_keys_are_rejected_at_every_depth() {
        for text in [r#"{"a":1,"a":1}"#, r#"[{"b":{"a":1,"a":2}}]"#, r#"{"\u0061":1,"a":2}"#] {
            assert_eq!(parse(text), Err(StrictJsonError::DuplicateKey), "{text}");
        }
        assert_eq!(parse(r#"{"a":{"a":1},"b":{"a":1}}"#).map(|value| value["b"]["a"].clone()), Ok(1.into()));
    }

    #[test]
    fn number_of_values_is_bounded() {
        let list = |count: usize| format!("[{}]", vec!["{}"; count].join(","));
        assert!(parse(&list(MAX_FRAME_VALUES - 1)).is_ok());
        assert_eq!(parse(&list(MAX_FRAME_VALUES)), Err(StrictJsonError::TooManyValues));
    }

    #[test]
    fn malformed_and_too_deep_texts_are_rejected() {
        let deep = "[".repeat(100_000);
        for text in ["", "{", "{} {}", "{\"a\":NaN}", "{\"duplicate key\":}", deep.as_str()] {
            assert_eq!(parse(text), Err(StrictJsonError::Malformed), "{}", text.get(..20).unwrap_or(text));
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::hash_map(".{0,4}", inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn written_values_are_parsed_unchanged(value in any_json()) {
            prop_assert_eq!(parse(&value.to_string()), Ok(value));
        }

        #[test]
        fn changed_text_is_parsed_without_panic(value in any_json(), at in any::<prop::sample::Index>(), other in ".") {
            let mut text: Vec<char> = value.to_string().chars().collect();
            let at = at.index(text.len());
            text.splice(at..=at, other.chars());
            let _parsed = parse(&text.into_iter().collect::<String>());
        }
    }
}
