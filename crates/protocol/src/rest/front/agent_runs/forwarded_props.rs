//! `RunAgentInput.forwardedProps`.

use guildhall_domain::front::RuntimeMode;
use guildhall_domain::front::client_time::ClientTime;
use serde_json::Value;

use super::error::AgentRunInputError;

/// Parses the properties. `runtime_mode` is mandatory and has no default; `client_time` is optional, and nothing else is
/// allowed. These names have no camelCase spelling.
pub(super) fn parse_forwarded_props(
    value: Option<Value>,
) -> Result<(RuntimeMode, Option<ClientTime>), AgentRunInputError> {
    let Some(Value::Object(mut props)) = value else { return Err(AgentRunInputError::ForwardedProps) };
    let runtime_mode = props.remove("runtime_mode");
    let runtime_mode = runtime_mode.as_ref().and_then(Value::as_str);
    let runtime_mode = runtime_mode.and_then(|name| RuntimeMode::from_name(name).ok());
    let runtime_mode = runtime_mode.ok_or(AgentRunInputError::ForwardedProps)?;
    let client_time = props.remove("client_time").unwrap_or_default();
    if !props.is_empty() {
        return Err(AgentRunInputError::ForwardedProps);
    }
    let client_time = (!client_time.is_null()).then(|| parse_client_time(&client_time)).transpose()?;
    Ok((runtime_mode, client_time))
}

/// Parses the time. Further fields are ignored: the protocol forbids them in `forwardedProps` alone.
///
/// `1.0` and `1e3` are not integers here, because serde_json does not tell them from fractions that were rounded.
pub fn parse_client_time(value: &Value) -> Result<ClientTime, AgentRunInputError> {
    let fields = value.as_object().ok_or(AgentRunInputError::ForwardedProps)?;
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let epoch_ms = fields.get("client_epoch_ms").and_then(Value::as_i64);
    Ok(ClientTime::new(text("device_timezone"), text("client_now_iso"), epoch_ms)?)
}
