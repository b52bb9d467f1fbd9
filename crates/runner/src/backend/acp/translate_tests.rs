use guildhall_domain::runs::event::validate;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn new_translator() -> Translator {
    let mut translator = Translator::default();
    translator.set_thread("s".to_owned());
    translator.start_turn();
    translator
}

fn update(translator: &mut Translator, update: Value) -> Vec<BackendEvent> {
    translator.notification("session/update", json!({ "sessionId": "s", "update": update }))
}

fn chunk(text: &str) -> Value {
    json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } })
}

fn content(text: &str) -> Value {
    json!([{ "type": "content", "content": { "type": "text", "text": text } }])
}

#[test]
fn text_before_and_after_a_tool_call_is_two_items() {
    let mut translator = new_translator();
    let mut events = update(&mut translator, chunk("first"));
    events.extend(update(
        &mut translator,
        json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "title": "x" }),
    ));
    events.extend(update(&mut translator, chunk("last")));
    events.extend(translator.end_turn(true, &Value::Null));
    let text = |item: &str, text: &str, is_final| BackendEvent::Text {
        item: item.into(),
        text: text.into(),
        is_final,
    };
    let delta = |item: &str, text: &str| BackendEvent::TextDelta { item: item.into(), text: text.into() };
    let expected = [
        delta("t1-m1", "first"),
        text("t1-m1", "first", false),
        delta("t1-m2", "last"),
        text("t1-m2", "last", true),
    ];
    assert_eq!(events, expected);
}

#[test]
fn tool_call_is_reported_once_when_its_command_is_known() {
    let mut translator = new_translator();
    let call = json!({
        "sessionUpdate": "tool_call", "toolCallId": "c", "title": "Shell", "kind": "execute", "status": "pending",
        "rawInput": {},
    });
    assert_eq!(update(&mut translator, call), []);
    let request =
        json!({ "toolCallId": "c", "title": "ls", "kind": "execute", "rawInput": { "command": "ls -la" } });
    let started =
        BackendEvent::ToolStarted { call: "c".into(), tool: "shell".into(), command: Some("ls -la".into()) };
    assert_eq!(translator.permission_requested(&request), [started]);
    assert!(translator.is_tool_running());
    let ended = json!({
        "sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "failed",
        "content": content("for the model"),
        "rawOutput": { "output": "a\nb", "exitCode": 3, "truncated": false },
    });
    let events = update(&mut translator, ended);
    let output = BackendEvent::ToolFullOutput { call: "c".into(), text: "a\nb".into(), truncated: false };
    let finished = BackendEvent::ToolFinished {
        call: "c".into(),
        tool: "shell".into(),
        status: "failed".into(),
        exit_code: Some(3),
        command: Some("ls -la".into()),
    };
    assert_eq!(events, [output, finished]);
    assert!(translator.is_waiting_for_model());
}

#[test]
fn growing_output_is_reported_in_chunks_without_repeats() {
    let mut translator = new_translator();
    let output = |status: &str, text: &str| {
        let content = content(text);
        json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c", "status": status, "content": content })
    };
    let events: Vec<_> =
        [output("in_progress", "a\n"), output("in_progress", "a\nb\n"), output("completed", "a\nb\n")]
            .into_iter()
            .flat_map(|params| update(&mut translator, params))
            .collect();
    let chunks: Vec<_> = events
        .iter()
        .filter_map(|event| {
            if let BackendEvent::ToolOutput { text, .. } = event { Some(text.as_str()) } else { None }
        })
        .collect();
    assert_eq!(chunks, ["a\n", "b\n"]);
    assert!(!events.iter().any(|event| matches!(event, BackendEvent::ToolFullOutput { .. })), "{events:?}");
}

#[test]
fn usage_is_reported_once_wherever_the_agent_sends_it() {
    let tokens = json!({ "inputTokens": 11, "outputTokens": 7, "cachedReadTokens": 3 });
    let usage = BackendEvent::Usage(Usage {
        input_tokens: 11,
        cached_input_tokens: 3,
        output_tokens: 7,
        ..Usage::default()
    });
    let mut translator = new_translator();
    let mut with_usage = chunk("");
    with_usage["_meta"] = json!({ "usage": tokens });
    assert_eq!(update(&mut translator, with_usage), std::slice::from_ref(&usage));
    assert_eq!(translator.end_turn(true, &tokens), []);
    assert_eq!(new_translator().end_turn(true, &tokens), [usage]);
}

proptest! {
    #[test]
    fn passed_through_events_have_a_valid_type(
        method in "\\PC{0,80}", kind in "\\PC{0,80}", text in "\\PC{0,40}",
    ) {
        let mut translator = new_translator();
        let params = json!({ "sessionUpdate": kind, "toolCallId": text, "content": text, "status": kind });
        let events = [update(&mut translator, params), translator.notification(&method, json!({ "a": text }))].concat();
        for event in events {
            if let BackendEvent::Other { kind, .. } = event {
                prop_assert!(validate(&kind, &Value::Null).is_ok(), "{}", kind);
            }
        }
    }
}
