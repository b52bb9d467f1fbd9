//! The rules of the official `verifyEvents`, in their strictest version (1.0).

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// Checks a stream event by event.
#[derive(Debug, Clone, Default)]
pub(super) struct Verifier {
    state: RunState,
    open: BTreeSet<(&'static str, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum RunState {
    #[default]
    Empty,
    Running,
    Finished,
    Failed,
}

impl Verifier {
    pub(super) fn check(&mut self, event: &Value) -> Result<(), String> {
        let kind = event["type"].as_str().unwrap_or_default();
        let refused = |reason: &str| Err(format!("{kind}: {reason} ({event})"));
        match (self.state, kind) {
            (RunState::Failed, kind) if kind != "RUN_STARTED" => return refused("the run has failed"),
            (RunState::Finished, kind) if !["RUN_STARTED", "RUN_ERROR"].contains(&kind) => {
                return refused("the run has finished");
            }
            (RunState::Empty, kind) if !["RUN_STARTED", "RUN_ERROR"].contains(&kind) => {
                return refused("the first event");
            }
            (RunState::Running, "RUN_STARTED") => return refused("a run is open"),
            _ => {}
        }
        if has_null(event) {
            return refused("null");
        }
        let id = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
        let done = match kind {
            "RUN_STARTED" => {
                self.open.clear();
                self.state = RunState::Running;
                true
            }
            "RUN_FINISHED" if !self.open.is_empty() => return refused("something is open"),
            "RUN_FINISHED" => {
                self.state = RunState::Finished;
                let interrupts = &event["outcome"]["interrupts"];
                event["outcome"]["type"] != "interrupt"
                    || interrupts.as_array().is_some_and(|i| !i.is_empty())
            }
            "RUN_ERROR" => {
                self.state = RunState::Failed;
                event["message"].is_string()
            }
            "TEXT_MESSAGE_START" => self.open.insert(("text", id("messageId"))),
            "TEXT_MESSAGE_CONTENT" => self.open.contains(&("text", id("messageId"))),
            "TEXT_MESSAGE_END" => self.open.remove(&("text", id("messageId"))),
            "TOOL_CALL_START" => self.open.insert(("call", id("toolCallId"))),
            "TOOL_CALL_ARGS" => self.open.contains(&("call", id("toolCallId"))),
            "TOOL_CALL_END" => self.open.remove(&("call", id("toolCallId"))),
            "STEP_STARTED" => self.open.insert(("step", id("stepName"))),
            "STEP_FINISHED" => self.open.remove(&("step", id("stepName"))),
            "REASONING_START" => self.open.insert(("span", id("messageId"))),
            "REASONING_END" => self.open.remove(&("span", id("messageId"))),
            "REASONING_MESSAGE_START" => self.open.insert(("reasoning", id("messageId"))),
            "REASONING_MESSAGE_CONTENT" => self.open.contains(&("reasoning", id("messageId"))),
            "REASONING_MESSAGE_END" => self.open.remove(&("reasoning", id("messageId"))),
            "TOOL_CALL_RESULT" | "MESSAGES_SNAPSHOT" | "ACTIVITY_SNAPSHOT" | "CUSTOM" => true,
            _ => return refused("unknown event"),
        };
        if done { Ok(()) } else { refused("out of order") }
    }
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        // The schema of a tool is any JSON.
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| has_null(value) && (name != "parameters" || value.is_null()))
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn verify(events: &[Value]) -> Result<(), String> {
    let mut verifier = Verifier::default();
    events.iter().try_for_each(|event| verifier.check(event))
}

#[test]
fn verifier_accepts_runs_in_a_row_and_refuses_planted_faults() {
    let event = |kind: &str| json!({ "type": kind, "messageId": "m", "toolCallId": "c", "stepName": "s" });
    let legal = |kinds: &[&str]| verify(&kinds.iter().map(|kind| event(kind)).collect::<Vec<_>>()).is_ok();
    let error = json!({ "type": "RUN_ERROR", "message": "m" });
    assert!(legal(&["RUN_STARTED", "RUN_FINISHED", "RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_END"]));
    assert_eq!(verify(&[error.clone(), event("RUN_STARTED"), error.clone()]), Ok(()));
    assert!(verify(&[error.clone(), error]).is_err(), "an event after RUN_ERROR");
    for fault in [
        &["CUSTOM"][..],
        &["RUN_STARTED", "RUN_STARTED"],
        &["RUN_STARTED", "RUN_FINISHED", "CUSTOM"],
        &["RUN_STARTED", "TEXT_MESSAGE_CONTENT"],
        &["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_START"],
        &["RUN_STARTED", "TEXT_MESSAGE_END"],
        &["RUN_STARTED", "TEXT_MESSAGE_START", "RUN_FINISHED"],
        &["RUN_STARTED", "TOOL_CALL_START", "RUN_FINISHED"],
        &["RUN_STARTED", "TOOL_CALL_ARGS"],
        &["RUN_STARTED", "STEP_STARTED", "RUN_FINISHED"],
        &["RUN_STARTED", "STEP_FINISHED"],
        &["RUN_STARTED", "REASONING_START", "RUN_FINISHED"],
        &["RUN_STARTED", "REASONING_MESSAGE_START", "RUN_FINISHED"],
        &["RUN_STARTED", "REASONING_MESSAGE_CONTENT"],
        &["RUN_STARTED", "THINKING_START"],
    ] {
        assert!(!legal(fault), "{fault:?}");
    }
    let null = json!({ "type": "RUN_STARTED", "input": { "messages": [{ "id": null }] } });
    assert!(verify(&[null]).is_err());
    let empty = json!({ "type": "RUN_FINISHED", "outcome": { "type": "interrupt", "interrupts": [] } });
    assert!(verify(&[event("RUN_STARTED"), empty]).is_err());
}
