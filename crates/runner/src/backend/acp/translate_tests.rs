use guildhall_domain::runs::event::check_type;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn fresh() -> Translator {
    let mut translator = Translator::default();
    translator.is_of("s".to_owned());
    translator.turn_begins();
    translator
}

fn tell(translator: &mut Translator, update: Value) -> Vec<BackendEvent> {
    translator.notice("session/update", json!({ "sessionId": "s", "update": update }))
}

fn chunk(text: &str) -> Value {
    json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } })
}

fn content(text: &str) -> Value {
    json!([{ "type": "content", "content": { "type": "text", "text": text } }])
}

#[test]
fn what_is_said_before_and_after_a_call_are_two_items() {
    let mut translator = fresh();
    let mut events = tell(&mut translator, chunk("first"));
    events.extend(tell(
        &mut translator,
        json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "title": "x" }),
    ));
    events.extend(tell(&mut translator, chunk("last")));
    events.extend(translator.turn_ends(true, &Value::Null));
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
fn a_call_is_told_of_when_its_command_is_known_and_once() {
    let mut translator = fresh();
    let call = json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "title": "Shell", "kind": "execute", "status": "pending", "rawInput": {} });
    assert_eq!(tell(&mut translator, call), []);
    let asked =
        json!({ "toolCallId": "c", "title": "ls", "kind": "execute", "rawInput": { "command": "ls -la" } });
    let began =
        BackendEvent::ToolBegan { call: "c".into(), tool: "shell".into(), command: Some("ls -la".into()) };
    assert_eq!(translator.asked(&asked), [began]);
    assert!(translator.tool_works());
    let ended = json!({
        "sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "failed", "content": content("for the model"),
        "rawOutput": { "output": "a\nb", "exitCode": 3, "truncated": false },
    });
    let events = tell(&mut translator, ended);
    let printed = BackendEvent::ToolPrinted { call: "c".into(), text: "a\nb".into(), truncated: false };
    let ended = BackendEvent::ToolEnded {
        call: "c".into(),
        tool: "shell".into(),
        status: "failed".into(),
        exit_code: Some(3),
        command: Some("ls -la".into()),
    };
    assert_eq!(events, [printed, ended]);
    assert!(translator.waits_for_model());
}

#[test]
fn output_that_grows_comes_in_pieces_and_not_again() {
    let mut translator = fresh();
    let update = |status: &str, text: &str| json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c", "status": status, "content": content(text) });
    let events: Vec<_> =
        [update("in_progress", "a\n"), update("in_progress", "a\nb\n"), update("completed", "a\nb\n")]
            .into_iter()
            .flat_map(|update| tell(&mut translator, update))
            .collect();
    let pieces: Vec<_> = events
        .iter()
        .filter_map(|event| {
            if let BackendEvent::ToolOutput { text, .. } = event { Some(text.as_str()) } else { None }
        })
        .collect();
    assert_eq!(pieces, ["a\n", "b\n"]);
    assert!(!events.iter().any(|event| matches!(event, BackendEvent::ToolPrinted { .. })), "{events:?}");
}

#[test]
fn what_a_turn_cost_is_told_once_wherever_the_agent_says_it() {
    let cost = json!({ "inputTokens": 11, "outputTokens": 7, "cachedReadTokens": 3 });
    let usage = BackendEvent::Usage(Usage {
        input_tokens: 11,
        cached_input_tokens: 3,
        output_tokens: 7,
        ..Usage::default()
    });
    let mut translator = fresh();
    let mut with_cost = chunk("");
    with_cost["_meta"] = json!({ "usage": cost });
    assert_eq!(tell(&mut translator, with_cost), std::slice::from_ref(&usage));
    assert_eq!(translator.turn_ends(true, &cost), []);
    assert_eq!(fresh().turn_ends(true, &cost), [usage]);
}

proptest! {
    #[test]
    fn whatever_an_agent_says_is_an_event_of_a_possible_type_or_nothing(
        method in "\\PC{0,80}", kind in "\\PC{0,80}", text in "\\PC{0,40}",
    ) {
        let mut translator = fresh();
        let update = json!({ "sessionUpdate": kind, "toolCallId": text, "content": text, "status": kind });
        let told = [tell(&mut translator, update), translator.notice(&method, json!({ "a": text }))].concat();
        for event in told {
            if let BackendEvent::Other { kind, .. } = event {
                prop_assert!(check_type(&kind).is_ok(), "{}", kind);
            }
        }
    }
}
