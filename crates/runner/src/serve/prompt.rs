//! The prompt of a command.

use guildhall_domain::runs::message::message_text;
use serde_json::Value;

/// Returns the text of a command's payload.
pub(super) fn prompt_text(payload: &Value) -> String {
    message_text(payload).unwrap_or_default().to_owned()
}
