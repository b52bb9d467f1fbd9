use guildhall_domain::runs::event::validate;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn new_translator() -> AcpTranslator {
    let mut translator = AcpTranslator::default();
    translator.set_thread("s".to_owned());
    translator.start_turn();
    translator
}

fn update(translator: &mut AcpTranslator, update: Value) -> Vec<BackendEvent> {
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
    let started = BackendEvent::ToolStarted {
        call: "c".into(),
        tool: "shell".into(),
        command: Some("ls -la".into()),
        arguments: Some(json!({ "command": "ls -la", "title": "ls", "kind": "execute" })),
    };
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
        arguments: None,
    };
    assert_eq!(events, [output, finished]);
    assert!(translator.is_waiting_for_model());
}

#[test]
fn arguments_are_the_input_with_title_kind_and_locations() {
    let call = |input: Value, locations: Value| {
        let mut translator = new_translator();
        let call = json!({
            "sessionUpdate": "tool_call", "toolCallId": "c", "title": "Edit a.txt", "kind": "edit",
            "status": "in_progress", "rawInput": input, "locations": locations,
        });
        let events = update(&mut translator, call);
        let [BackendEvent::ToolStarted { arguments: Some(arguments), .. }] = &events[..] else {
            panic!("a start with arguments: {events:?}")
        };
        arguments.clone()
    };
    let places = json!([{ "path": "/w/a.txt", "line": 3 }]);
    let input = json!({ "file_path": "/w/a.txt", "title": "of the tool" });
    let expected =
        json!({ "file_path": "/w/a.txt", "title": "of the tool", "kind": "edit", "locations": places });
    assert_eq!(call(input, places.clone()), expected);
    let described = json!({ "title": "Edit a.txt", "kind": "edit", "locations": places });
    assert_eq!(call(Value::Null, places), described);
    let list = json!({ "input": ["a"], "title": "Edit a.txt", "kind": "edit" });
    assert_eq!(call(json!(["a"]), json!("a new form")), list);
}

#[test]
fn arguments_that_arrive_after_the_start_are_reported_at_the_end() {
    let mut translator = new_translator();
    let start =
        json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "kind": "read", "status": "in_progress" });
    let mut events = update(&mut translator, start);
    let input = json!({ "path": "a" });
    events.extend(update(
        &mut translator,
        json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed", "rawInput": input }),
    ));
    let expected = [
        BackendEvent::ToolStarted {
            call: "c".into(),
            tool: "read".into(),
            command: None,
            arguments: Some(json!({ "kind": "read" })),
        },
        BackendEvent::ToolFinished {
            call: "c".into(),
            tool: "read".into(),
            status: "completed".into(),
            exit_code: None,
            command: None,
            arguments: Some(json!({ "path": "a", "kind": "read" })),
        },
    ];
    assert_eq!(events, expected);
}

#[test]
fn thoughts_are_items_that_end_with_what_follows() {
    let mut translator = new_translator();
    let thought = |text: &str| json!({ "sessionUpdate": "agent_thought_chunk", "content": { "type": "text", "text": text } });
    let call = json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "title": "x" });
    let updates =
        [thought("First "), thought("look"), call, thought("Now"), thought(""), chunk("do"), thought("Hm")];
    let mut events: Vec<_> = updates.into_iter().flat_map(|params| update(&mut translator, params)).collect();
    events.extend(update(&mut translator, chunk("ne")));
    events.extend(update(&mut translator, thought("End")));
    events.extend(translator.end_turn(true, &Value::Null));
    let thinks =
        |item: &str, text: &str| BackendEvent::ReasoningDelta { item: item.into(), text: text.into() };
    let thought = |item: &str, text: &str| BackendEvent::Reasoning {
        item: item.into(),
        text: text.into(),
        truncated: false,
    };
    let says = |text: &str| BackendEvent::TextDelta { item: "t1-m1".into(), text: text.into() };
    let expected = [
        thinks("t1-r1", "First "),
        thinks("t1-r1", "look"),
        thought("t1-r1", "First look"),
        thinks("t1-r2", "Now"),
        thought("t1-r2", "Now"),
        says("do"),
        thinks("t1-r3", "Hm"),
        thought("t1-r3", "Hm"),
        says("ne"),
        thinks("t1-r4", "End"),
        thought("t1-r4", "End"),
        BackendEvent::Text { item: "t1-m1".into(), text: "done".into(), is_final: true },
    ];
    assert_eq!(events, expected);
    translator.start_turn();
    let next = json!({ "sessionUpdate": "agent_thought_chunk", "content": { "type": "text", "text": "x" } });
    assert_eq!(update(&mut translator, next), [thinks("t2-r1", "x")]);
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
