//! The canonical JSON of AUN, which V2 signs and encrypts.
//!
//! RFC 8785 gives the same, except for the order of keys beyond the basic plane and for very large and very small numbers.

use super::exact_json::{ExactJson, JsonNumber, JsonObject, write_object};

/// 2^53 − 1: larger integers are not exact in every client.
const MAX_SAFE_INTEGER: i64 = 9_007_199_254_740_991;

/// A value has no canonical form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a number is not between -{MAX_SAFE_INTEGER} and {MAX_SAFE_INTEGER}")]
pub struct CanonicalError;

/// Returns the canonical form of an object: sorted keys, no spaces, integers without a fraction, no exponents.
pub fn canonical_json(members: &JsonObject) -> Result<Vec<u8>, CanonicalError> {
    let (mut text, mut result) = (String::new(), Ok(()));
    write_object(members, &mut text, &mut |number, out| match canonical_number(number) {
        Ok(number) => out.push_str(&number),
        Err(error) => result = Err(error),
    });
    result.map(|()| text.into_bytes())
}

/// Returns a number as an integer, if it is one.
pub(super) fn safe_integer(json: &ExactJson) -> Option<i64> {
    let ExactJson::Number(number) = json else { return None };
    canonical_number(number).ok()?.parse().ok()
}

fn canonical_number(number: &JsonNumber) -> Result<String, CanonicalError> {
    let text = number.as_str();
    let is_safe = |number: i64| (-MAX_SAFE_INTEGER..=MAX_SAFE_INTEGER).contains(&number);
    if !text.contains(['.', 'e', 'E']) {
        let integer = text.parse::<i64>().ok().filter(|integer| is_safe(*integer));
        return integer.map(|integer| integer.to_string()).ok_or(CanonicalError);
    }
    let float: f64 = text.parse().map_err(|_| CanonicalError)?;
    if float.fract() != 0.0 {
        // The shortest digits that are read as the same number. A number that is not finite has the fraction NaN.
        return if float.is_finite() { Ok(float.to_string()) } else { Err(CanonicalError) };
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "larger numbers become the largest integer, which is refused"
    )]
    let integer = float as i64;
    if is_safe(integer) { Ok(integer.to_string()) } else { Err(CanonicalError) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn canonical(text: &str) -> Result<String, CanonicalError> {
        let bytes = canonical_json(&ExactJson::parse_object(text).expect("an object"))?;
        Ok(String::from_utf8(bytes).expect("text"))
    }

    #[test]
    fn numbers_have_one_form() {
        for (text, expected) in [
            ("1", "1"),
            ("-0", "0"),
            ("-0.0", "0"),
            ("1.0", "1"),
            ("1e2", "100"),
            ("12.50", "12.5"),
            ("-1.5E-7", "-0.00000015"),
            ("0.1", "0.1"),
            ("9007199254740991", "9007199254740991"),
            ("-9007199254740991.0", "-9007199254740991"),
            ("1e-400", "0"),
        ] {
            assert_eq!(
                canonical(&format!(r#"{{"a":{text}}}"#)),
                Ok(format!(r#"{{"a":{expected}}}"#)),
                "{text}"
            );
        }
        for text in ["9007199254740992", "-9007199254740992", "9007199254740992.0", "1e16", "1e400", "-1e400"]
        {
            assert_eq!(canonical(&format!(r#"{{"a":[{text}]}}"#)), Err(CanonicalError), "{text}");
        }
    }

    #[test]
    fn keys_are_sorted_by_code_point_at_every_level() {
        // In UTF-16 the last two keys would change places.
        let text = "{\"b\":{\"z\":1,\"B\":2},\"\u{ffff}\":4,\"\u{10000}\":3,\"a\":\"\\u001f\\u007f\\/\"}";
        let expected = "{\"a\":\"\\u001f\u{7f}/\",\"b\":{\"B\":2,\"z\":1},\"\u{ffff}\":4,\"\u{10000}\":3}";
        assert_eq!(canonical(text), Ok(expected.to_owned()));
    }

    proptest! {
        #[test]
        fn canonical_form_is_a_fixed_point(number in any::<f64>(), text in any::<String>()) {
            let json = serde_json::json!({ "number": number, "text": text }).to_string();
            if let Ok(once) = canonical(&json) {
                prop_assert_eq!(canonical(&once), Ok(once.clone()));
                let read: serde_json::Value = serde_json::from_str(&once).expect("JSON");
                prop_assert_eq!(read["text"].as_str(), Some(text.as_str()));
            }
        }
    }
}
