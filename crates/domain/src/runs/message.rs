//! The text of a command: what its author wrote, and the title of a run.

use serde_json::Value;

/// Longest title, in characters.
pub const MAX_TITLE: usize = 72;

/// Returns the text in a command's payload, unless it is blank.
#[must_use]
pub fn message_text(payload: &Value) -> Option<&str> {
    let field = |name: &str| payload.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    ["prompt", "message", "text"].into_iter().find_map(field)
}

/// Returns the first words of a text, on one line. None if it has no visible characters.
#[must_use]
pub fn title(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let plain: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut title = String::new();
    let mut length = 0;
    for word in plain.split_whitespace() {
        let next = length + word.chars().count() + usize::from(length > 0);
        if next > MAX_TITLE - 1 {
            if title.is_empty() {
                title.extend(word.chars().take(MAX_TITLE - 1));
            }
            title.push('…');
            return Some(title);
        }
        if length > 0 {
            title.push(' ');
        }
        title.push_str(word);
        length = next;
    }
    Some(title).filter(|title| !title.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn text_is_the_prompt_else_the_message_else_the_text() {
        for (payload, text) in [
            (json!({ "prompt": "a", "message": "b", "text": "c" }), Some("a")),
            (json!({ "message": "b", "text": "c" }), Some("b")),
            (json!({ "text": "c" }), Some("c")),
            (json!({ "prompt": " \n", "text": "c" }), Some("c")),
            (json!({ "prompt": 1 }), None),
            (json!(null), None),
        ] {
            assert_eq!(message_text(&payload), text, "{payload}");
        }
    }

    #[test]
    fn title_is_the_first_line_cut_between_words() {
        let long = "fix the failing test of the parser and then explain in detail what was wrong with it";
        for (text, expected) in [
            ("\n  fix   the\ttest \nand more", Some("fix the test")),
            (long, Some("fix the failing test of the parser and then explain in detail what was…")),
            ("a\u{1b}[31mb", Some("a [31mb")),
            (" \n\t", None),
        ] {
            assert_eq!(title(text).as_deref(), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn title_is_short_and_has_no_control_characters(text in "[\\PC\\n\\t\u{7}]{0,200}") {
            if let Some(title) = title(&text) {
                prop_assert!((1..=MAX_TITLE).contains(&title.chars().count()), "{title:?}");
                prop_assert!(!title.chars().any(char::is_control), "{title:?}");
            }
        }
    }
}
