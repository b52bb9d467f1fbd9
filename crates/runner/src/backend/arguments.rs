//! The arguments of tool calls, as agents report them.

use serde_json::{Value, json};

/// Returns arguments as an object, which front ends expect: a call without arguments has an empty one.
pub(super) fn arguments_object(arguments: Value) -> Value {
    match arguments {
        Value::Object(_) => arguments,
        Value::Null => json!({}),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            json!({ "input": arguments })
        }
    }
}
