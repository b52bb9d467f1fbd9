//! The tools of a front end, as the run that it sent them with repeats them.

use serde_json::{Map, Value};

use super::journal_event::JournalEvent;

/// Returns the tools of a `client_run` event, in the form that official clients accept: each has a name and a description,
/// and no null. The schema of the parameters stays as it came.
pub(super) fn front_end_tools(event: &JournalEvent) -> Vec<Value> {
    let tools = event.field("tools").and_then(Value::as_array).into_iter().flatten();
    tools
        .filter_map(Value::as_object)
        .filter(|tool| tool.get("name").is_some_and(Value::is_string))
        .map(tool)
        .collect()
}

fn tool(tool: &Map<String, Value>) -> Value {
    let mut tool = tool.clone();
    tool.retain(|name, value| !value.is_null() && (name != "metadata" || value.is_object()));
    if !tool.get("description").is_some_and(Value::is_string) {
        tool.insert("description".to_owned(), Value::from(""));
    }
    Value::Object(tool)
}
