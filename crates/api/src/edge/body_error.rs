//! Validation messages for bodies and queries. They never repeat the input, which may contain a secret: the messages
//! are logged.

use guildhall_domain::redact::redact;
use serde_json::error::Category;

/// Prefixes of serde messages that quote the input and end with what was expected.
const QUOTING_PREFIXES: [&str; 5] =
    ["invalid type: ", "invalid value: ", "invalid length ", "unknown field ", "unknown variant "];

/// Prefixes of serde messages that name a field of the schema and quote no input.
const SAFE_PREFIXES: [&str; 2] = ["missing field `", "duplicate field `"];

/// Returns where a body is invalid and what was expected.
pub(crate) fn public_message(error: &serde_json::Error) -> String {
    let (line, column) = (error.line(), error.column());
    let position = format!("line {line}, column {column}");
    match error.classify() {
        Category::Syntax | Category::Eof | Category::Io => {
            format!("the body is not valid JSON at {position}")
        }
        Category::Data => {
            let text = error.to_string();
            let text = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text);
            match expectation(text) {
                Some(expectation) => format!("invalid body at {position}: {expectation}"),
                None => format!("invalid body at {position}"),
            }
        }
    }
}

/// Returns why a part of a body is invalid. Messages of our own types quote no input; those of serde are reduced to
/// what was expected.
pub(crate) fn part_message(error: &serde_json::Error) -> String {
    without_input(&error.to_string())
}

/// Returns why a query is invalid.
pub(crate) fn query_message(error: &str) -> String {
    without_input(error)
}

fn without_input(text: &str) -> String {
    let quoted = QUOTING_PREFIXES.iter().filter_map(|prefix| text.find(prefix)).min();
    let Some(at) = quoted else { return redact(text).text.into_owned() };
    let expected = expectation(&text[at..]).unwrap_or_else(|| "invalid value".to_owned());
    format!("{}{expected}", redact(&text[..at]).text)
}

fn expectation(text: &str) -> Option<String> {
    if SAFE_PREFIXES.iter().any(|prefix| text.starts_with(prefix)) {
        return Some(text.to_owned());
    }
    let nothing_expected = text.ends_with("there are no fields") || text.ends_with("there are no variants");
    if nothing_expected || !QUOTING_PREFIXES.iter().any(|prefix| text.starts_with(prefix)) {
        return None;
    }
    // The last occurrence is serde's own: quoted input comes before it.
    let (_, expected) = text.rsplit_once(", expected ")?;
    Some(format!("expected {expected}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only deserialized")]
    struct Form {
        name: String,
        count: u8,
        kind: Kind,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    enum Kind {
        One,
        Other,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}

    fn message_for(body: &str) -> String {
        public_message(&serde_json::from_str::<Form>(body).expect_err("an invalid body"))
    }

    #[test]
    fn message_names_the_expectation_and_not_the_input() {
        insta::assert_snapshot!(
            [
                r#"{"name":"#,
                r#"{"name":"x"}"#,
                r#"{"nmae":"x"}"#,
                r#"{"name":7}"#,
                r#"{"name":"x","count":"hunter2"}"#,
                r#"{"name":"x","count":300}"#,
                r#"{"name":"x","count":1,"kind":"hunter2"}"#,
                r#"["hunter2"]"#,
            ]
            .map(message_for)
            .join("\n"),
            @r"
        the body is not valid JSON at line 1, column 8
        invalid body at line 1, column 12: missing field `count`
        invalid body at line 1, column 7: expected one of `name`, `count`, `kind`
        invalid body at line 1, column 9: expected a string
        invalid body at line 1, column 29: expected u8
        invalid body at line 1, column 23: expected u8
        invalid body at line 1, column 38: expected `one` or `other`
        invalid body at line 1, column 11: expected struct Form with 3 elements
        "
        );
    }

    proptest! {
        #[test]
        fn message_never_contains_input(
            before in "[ -~]{0,12}", after in "[ -~]{0,20}|, expected .{0,10}|`, there are no fields", place in 0..6,
        ) {
            let secret = serde_json::Value::from(format!("{before}Hunter2Canary{after}"));
            let body = match place {
                0 => format!("{{{secret}:1}}"),
                1 => format!(r#"{{"name":"x","count":{secret}}}"#),
                2 => format!(r#"{{"name":"x","count":1,"kind":{secret}}}"#),
                3 => format!("[{secret},{secret}]"),
                4 => format!(r#"{{"name":{{{secret}:{secret}}}}}"#),
                _ => secret.to_string(),
            };
            prop_assert!(!message_for(&body).contains("Hunter2Canary"), "{}", message_for(&body));
            let nothing = serde_json::from_str::<Nothing>(&format!("{{{secret}:1}}")).expect_err("an invalid body");
            prop_assert!(!public_message(&nothing).contains("Hunter2Canary"), "{}", public_message(&nothing));
        }
    }
}
