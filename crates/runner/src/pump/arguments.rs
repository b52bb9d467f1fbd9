//! The arguments of a tool call, within a size limit.

use serde_json::{Map, Value, json};

/// Bytes of the arguments of one call, as JSON. A stream of events has them once or twice for each call.
const MAX_BYTES: usize = 32 * 1024;

/// How much is kept of long strings and lists. The first one that is enough applies.
const LIMITS: [ArgumentLimits; 5] = [
    ArgumentLimits { string_bytes: 16 * 1024, items: 1024 },
    ArgumentLimits { string_bytes: 4 * 1024, items: 256 },
    ArgumentLimits { string_bytes: 1024, items: 64 },
    ArgumentLimits { string_bytes: 256, items: 32 },
    ArgumentLimits { string_bytes: 64, items: 16 },
];

#[derive(Debug, Clone, Copy)]
struct ArgumentLimits {
    string_bytes: usize,
    items: usize,
}

/// Returns the arguments, and whether something was cut. Short members are kept, such as the path of a file with a long
/// content. Secrets are redacted before: a cut would hide the start of one.
pub(super) fn bound_arguments(arguments: Value) -> (Value, bool) {
    let bytes = size(&arguments);
    if bytes <= MAX_BYTES {
        return (arguments, false);
    }
    let fits = |arguments: &Value| size(arguments) <= MAX_BYTES;
    let shorter = LIMITS.iter().map(|limits| limits.shorten(&arguments)).find(fits);
    (shorter.unwrap_or_else(|| json!({ "[cut]": format!("[{bytes} bytes cut]") })), true)
}

fn size(arguments: &Value) -> usize {
    arguments.to_string().len()
}

impl ArgumentLimits {
    fn shorten(self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.shorten_text(text)),
            Value::Array(items) => {
                let kept = items.iter().take(self.items).map(|item| self.shorten(item));
                let omitted = items.len().saturating_sub(self.items);
                let note = (omitted > 0).then(|| json!(format!("[{omitted} items cut]")));
                kept.chain(note).collect()
            }
            Value::Object(fields) => {
                let fields = fields.iter().map(|(name, value)| (name.clone(), self.shorten(value)));
                Value::Object(fields.collect::<Map<_, _>>())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn shorten_text(self, text: &str) -> String {
        if text.len() <= self.string_bytes {
            return text.to_owned();
        }
        let cut = text.floor_char_boundary(self.string_bytes);
        format!("{}[{} bytes cut]", &text[..cut], text.len() - cut)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn short_arguments_are_kept_whole() {
        let arguments =
            json!({ "command": "ls", "cwd": "/w", "list": [1, null, { "deep": "x".repeat(20_000) }] });
        assert_eq!(bound_arguments(arguments.clone()), (arguments, false));
    }

    #[test]
    fn long_content_is_cut_and_the_path_is_kept() {
        let (content, kept) = ("\u{e9}".repeat(50_000), "\u{e9}".repeat(8 * 1024));
        let arguments = json!({ "content": content, "file_path": "/w/a.txt", "mode": 7 });
        let expected = json!({
            "content": format!("{kept}[83616 bytes cut]"), "file_path": "/w/a.txt", "mode": 7,
        });
        assert_eq!(bound_arguments(arguments), (expected, true));
    }

    #[test]
    fn long_list_is_cut_and_says_so() {
        let changes: Vec<_> = (0..2000).map(|number| json!({ "path": format!("/w/{number}") })).collect();
        let mut expected = changes[..1024].to_vec();
        expected.push(json!("[976 items cut]"));
        let cut = bound_arguments(json!({ "changes": changes }));
        assert_eq!(cut, (json!({ "changes": expected }), true));
    }

    #[test]
    fn arguments_without_long_parts_are_replaced_by_their_size() {
        let fields = (0..10_000).map(|number| (format!("name-{number}"), json!(number)));
        let arguments = Value::Object(fields.collect());
        let bytes = arguments.to_string().len();
        assert_eq!(bound_arguments(arguments), (json!({ "[cut]": format!("[{bytes} bytes cut]") }), true));
    }

    fn json_value() -> impl Strategy<Value = Value> {
        let text = ("[a-z\u{e9}\u{1F600}\\n\"]{1,8}", 1usize..6000)
            .prop_map(|(text, count)| Value::String(text.repeat(count)));
        let leaf = prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), text];
        leaf.prop_recursive(4, 40, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
                prop::collection::hash_map("[a-z]{1,4}", inner, 0..8)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
        #[test]
        fn arguments_fit_and_are_marked_exactly_when_changed(arguments in json_value()) {
            let (bounded, is_cut) = bound_arguments(arguments.clone());
            prop_assert!(bounded.to_string().len() <= MAX_BYTES);
            prop_assert_eq!(is_cut, bounded != arguments);
        }
    }
}
