//! The prompt of a command.

use guildhall_domain::runs::turn_prompt::turn_prompt;
use serde_json::Value;

/// Returns the text for the agent in a command's payload.
pub(super) fn prompt_text(payload: &Value) -> String {
    turn_prompt(payload)
}
