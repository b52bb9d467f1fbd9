//! Tools of a front end: stored with the run that they came with, and repeated to its clients. No agent gets them.

use serde_json::Value;

use crate::redact::redact;

/// Returns the tools of an input as they are stored; none if there are none. Credentials of a known form are redacted.
/// Names do not count as in other values: the schema of a tool may describe a field `password`.
#[must_use]
pub fn stored_tools(tools: &Value) -> Option<Value> {
    let tools = tools.as_array().filter(|tools| !tools.is_empty())?;
    Some(tools.iter().map(redacted).collect())
}

fn redacted(value: &Value) -> Value {
    match value {
        Value::String(text) => redact(text).text.into(),
        Value::Array(items) => items.iter().map(redacted).collect(),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| (redact(name).text.into_owned(), redacted(value));
            Value::Object(fields.iter().map(field).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schema_of_a_secret_field_is_stored_as_it_came() {
        let field = json!({ "type": "string", "description": "the password of the user", "default": null });
        let schema =
            json!({ "type": "object", "properties": { "password": field }, "required": ["password"] });
        let tools = json!([{ "name": "sign_in", "description": "Sign in", "parameters": schema }]);
        assert_eq!(stored_tools(&tools), Some(tools));
        assert_eq!((stored_tools(&json!([])), stored_tools(&Value::Null)), (None, None));
    }

    #[test]
    fn credential_in_a_tool_is_redacted_at_any_depth() {
        let credential = format!("ghp_{}", "a1B2".repeat(9));
        let field = json!({ "examples": [credential], credential.clone(): true });
        let tools = json!([{ "name": "t", "parameters": { "properties": { "a": field } } }]);
        let stored = stored_tools(&tools).expect("tools").to_string();
        assert!(!stored.contains(&credential) && stored.contains("[redacted:"), "{stored}");
    }
}
