//! The prompt of a command.

use serde_json::Value;

/// Returns the text of a command's payload.
pub(super) fn prompt_text(payload: &Value) -> String {
    let field = |name: &str| payload.get(name).and_then(Value::as_str);
    field("prompt").or_else(|| field("message")).or_else(|| field("text")).unwrap_or_default().to_owned()
}
