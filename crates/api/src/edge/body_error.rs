//! What is wrong with a body, without what stands in it: who mistypes a field may have put a secret there, and these
//! words go to the log too.

use guildhall_domain::redact::redact;
use serde_json::error::Category;

/// Beginnings of messages that go on with something of the body, and end with what was expected instead.
const QUOTING: [&str; 5] =
    ["invalid type: ", "invalid value: ", "invalid length ", "unknown field ", "unknown variant "];

/// Beginnings of messages that name a field of ours and nothing of the body.
const OURS: [&str; 2] = ["missing field `", "duplicate field `"];

/// Says where a body does not fit and what would.
pub(crate) fn words(error: &serde_json::Error) -> String {
    let (line, column) = (error.line(), error.column());
    let place = format!("line {line}, column {column}");
    match error.classify() {
        Category::Syntax | Category::Eof | Category::Io => format!("the body is not JSON at {place}"),
        Category::Data => {
            let said = error.to_string();
            let said = said.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&said);
            match expectation(said) {
                Some(expectation) => format!("the body does not fit at {place}: {expectation}"),
                None => format!("the body does not fit at {place}"),
            }
        }
    }
}

/// Says what is wrong with a part of a body. Our own types say it without repeating what they were given; what serde
/// says is reduced to what it expected.
pub(crate) fn of_part(error: &serde_json::Error) -> String {
    without_quotes(&error.to_string())
}

/// Says what is wrong with a query, without what stands in it.
pub(crate) fn of_query(said: &str) -> String {
    without_quotes(said)
}

fn without_quotes(said: &str) -> String {
    let quoted = QUOTING.iter().filter_map(|quoting| said.find(quoting)).min();
    let Some(at) = quoted else { return redact(said).text.into_owned() };
    let expected = expectation(&said[at..]).unwrap_or_else(|| "not of this form".to_owned());
    format!("{}{expected}", redact(&said[..at]).text)
}

fn expectation(said: &str) -> Option<String> {
    if OURS.iter().any(|ours| said.starts_with(ours)) {
        return Some(said.to_owned());
    }
    let nothing_expected = said.ends_with("there are no fields") || said.ends_with("there are no variants");
    if nothing_expected || !QUOTING.iter().any(|quoting| said.starts_with(quoting)) {
        return None;
    }
    // The last one is ours: what the body says stands before it.
    let (_, expected) = said.rsplit_once(", expected ")?;
    Some(format!("expected {expected}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "read from JSON, and from nowhere else")]
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

    fn said(body: &str) -> String {
        words(&serde_json::from_str::<Form>(body).expect_err("it does not fit"))
    }

    #[test]
    fn what_was_expected_is_said_and_what_came_is_not() {
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
            .map(said)
            .join("\n"),
            @r"
        the body is not JSON at line 1, column 8
        the body does not fit at line 1, column 12: missing field `count`
        the body does not fit at line 1, column 7: expected one of `name`, `count`, `kind`
        the body does not fit at line 1, column 9: expected a string
        the body does not fit at line 1, column 29: expected u8
        the body does not fit at line 1, column 23: expected u8
        the body does not fit at line 1, column 38: expected `one` or `other`
        the body does not fit at line 1, column 11: expected struct Form with 3 elements
        "
        );
    }

    proptest! {
        #[test]
        fn nothing_of_a_body_is_repeated(
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
            prop_assert!(!said(&body).contains("Hunter2Canary"), "{}", said(&body));
            let nothing = serde_json::from_str::<Nothing>(&format!("{{{secret}:1}}")).expect_err("it does not fit");
            prop_assert!(!words(&nothing).contains("Hunter2Canary"), "{}", words(&nothing));
        }
    }
}
