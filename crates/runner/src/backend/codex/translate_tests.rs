use guildhall_domain::FailureKind;
use guildhall_domain::runs::event::validate;
use proptest::prelude::*;

use super::*;

fn new_translator() -> CodexTranslator {
    translator(false)
}

fn translator(is_resumed: bool) -> CodexTranslator {
    let mut translator = CodexTranslator::new(is_resumed);
    translator.set_thread("t".to_owned());
    translator
}

fn usage(total: u64, last: u64) -> Value {
    let sums =
        |input: u64| json!({ "inputTokens": input, "cachedInputTokens": 1, "outputTokens": input, "new": 1 });
    json!({ "threadId": "t", "tokenUsage": { "total": sums(total), "last": sums(last) } })
}

fn input_tokens(events: &[BackendEvent]) -> Vec<u64> {
    let tokens = |event: &BackendEvent| {
        if let BackendEvent::Usage(usage) = event { Some(usage.input_tokens) } else { None }
    };
    events.iter().filter_map(tokens).collect()
}

#[test]
fn usage_is_the_difference_to_the_last_report() {
    let mut translator = new_translator();
    let reports =
        [10, 10, 25].map(|total| translator.notification("thread/tokenUsage/updated", usage(total, 7)));
    assert_eq!(reports.map(|events| input_tokens(&events)), [vec![10], vec![], vec![15]]);
}

#[test]
fn resumed_thread_does_not_report_earlier_usage() {
    for past in [None, Some(usage(1000, 8))] {
        let mut translator = translator(true);
        let events = past.map(|past| translator.notification("thread/tokenUsage/updated", past));
        assert!(events.is_none_or(|events| events.is_empty()));
        translator.notification("turn/started", json!({ "threadId": "t" }));
        let events = translator.notification("thread/tokenUsage/updated", usage(1012, 12));
        assert_eq!(input_tokens(&events), [12]);
    }
}

#[test]
fn command_is_reported_as_tool_call_with_output() {
    let mut translator = new_translator();
    let item = |status: &str, output: Value, exit: Value| {
        json!({ "threadId": "t", "item": {
            "type": "commandExecution", "id": "c", "command": "echo hi", "cwd": "/w", "status": status,
            "aggregatedOutput": output, "exitCode": exit, "somethingNew": true,
        } })
    };
    let started = translator.notification("item/started", item("inProgress", Value::Null, Value::Null));
    let (call, tool, command) = ("c".to_owned(), "shell".to_owned(), Some("echo hi".to_owned()));
    let arguments = Some(json!({ "command": "echo hi", "cwd": "/w" }));
    let expected = BackendEvent::ToolStarted {
        call: call.clone(),
        tool: tool.clone(),
        command: command.clone(),
        arguments,
    };
    assert_eq!(started, [expected]);
    let finished = translator.notification("item/completed", item("completed", json!("hi\n"), json!(0)));
    let output =
        BackendEvent::ToolFullOutput { call: call.clone(), text: "hi\n".to_owned(), truncated: false };
    let status = "completed".to_owned();
    let (exit_code, arguments) = (Some(0), None);
    let end = BackendEvent::ToolFinished { call, tool, status, exit_code, command, arguments };
    assert_eq!(finished, [output, end]);
}

/// Returns the arguments of each event about a tool call.
fn reported_arguments(events: &[BackendEvent]) -> Vec<(&str, Option<Value>)> {
    let arguments = |event: &BackendEvent| {
        if let BackendEvent::ToolStarted { arguments, .. } = event {
            Some(("start", arguments.clone()))
        } else if let BackendEvent::ToolFinished { arguments, .. } = event {
            Some(("end", arguments.clone()))
        } else {
            None
        }
    };
    events.iter().filter_map(arguments).collect()
}

#[test]
fn each_kind_of_tool_call_is_reported_with_its_arguments() {
    let change = json!({ "path": "/w/a.txt", "kind": { "type": "add" } });
    let mut with_diff = change.clone();
    with_diff["diff"] = json!("+secret");
    for (mut item, arguments) in [
        (json!({ "type": "fileChange", "changes": [with_diff] }), json!({ "changes": [change] })),
        (
            json!({ "type": "mcpToolCall", "server": "s", "tool": "add", "arguments": { "a": 1 } }),
            json!({ "a": 1 }),
        ),
        (json!({ "type": "mcpToolCall", "server": "s", "tool": "list", "arguments": null }), json!({})),
        (json!({ "type": "dynamicToolCall", "tool": "x", "arguments": [1, 2] }), json!({ "input": [1, 2] })),
        (
            json!({ "type": "collabAgentToolCall", "tool": "spawn", "prompt": "look", "model": null }),
            json!({ "prompt": "look" }),
        ),
    ] {
        (item["id"], item["status"]) = (json!("c"), json!("inProgress"));
        let mut translator = new_translator();
        let params = json!({ "threadId": "t", "item": item });
        let mut events = translator.notification("item/started", params.clone());
        events.extend(translator.notification("item/completed", params));
        assert_eq!(reported_arguments(&events), [("start", Some(arguments)), ("end", None)], "{item}");
    }
}

#[test]
fn web_search_starts_when_its_query_is_known() {
    let mut translator = new_translator();
    let item = |query: &str, action: Value| {
        let item = json!({ "type": "webSearch", "id": "ws", "query": query, "action": action });
        json!({ "threadId": "t", "item": item })
    };
    assert_eq!(translator.notification("item/started", item("", json!({ "type": "other" }))), []);
    let action = json!({ "type": "search", "query": "weather" });
    let events = translator.notification("item/completed", item("weather", action.clone()));
    let (call, tool) = ("ws".to_owned(), "web_search".to_owned());
    let expected = [
        BackendEvent::ToolStarted {
            call: call.clone(),
            tool: tool.clone(),
            command: None,
            arguments: Some(json!({ "query": "weather", "action": action })),
        },
        BackendEvent::ToolFinished {
            call,
            tool,
            status: "completed".to_owned(),
            exit_code: None,
            command: None,
            arguments: None,
        },
    ];
    assert_eq!(events, expected);
}

#[test]
fn arguments_that_change_are_reported_again_at_the_end() {
    let mut translator = new_translator();
    let item = |arguments: Value| {
        json!({ "threadId": "t", "item": {
            "type": "mcpToolCall", "id": "c", "server": "s", "tool": "add", "status": "x", "arguments": arguments,
        } })
    };
    let mut events = translator.notification("item/started", item(json!({ "a": 1 })));
    events.extend(translator.notification("item/completed", item(json!({ "a": 2 }))));
    // Its start was missed.
    events.extend(translator.notification("item/completed", item(json!({ "a": 3 }))));
    let [first, second, third] = [1, 2, 3].map(|number| Some(json!({ "a": number })));
    assert_eq!(reported_arguments(&events), [("start", first), ("end", second), ("end", third)]);
}

fn reasoning_item(thread: &str, summary: &[&str], content: &[&str]) -> Value {
    let item = json!({ "type": "reasoning", "id": "rs", "summary": summary, "content": content });
    json!({ "threadId": thread, "item": item })
}

#[test]
fn reasoning_is_reported_in_chunks_and_complete() {
    let mut translator = new_translator();
    let chunk = |index: &str, part: u8, delta: &str| json!({ "threadId": "t", "turnId": "u", "itemId": "rs", index: part, "delta": delta });
    let summary = "item/reasoning/summaryTextDelta";
    let notifications = [
        ("item/started", reasoning_item("t", &[], &[])),
        ("item/reasoning/textDelta", chunk("contentIndex", 0, "Hm.")),
        ("item/reasoning/summaryPartAdded", json!({ "threadId": "t", "itemId": "rs", "summaryIndex": 0 })),
        (summary, chunk("summaryIndex", 0, "Look ")),
        (summary, chunk("summaryIndex", 0, "first")),
        (summary, chunk("summaryIndex", 1, "")),
        (summary, chunk("summaryIndex", 1, "Then write")),
        ("item/completed", reasoning_item("t", &["Look first", "Then write", ""], &["Hm."])),
    ];
    let events: Vec<_> = notifications
        .into_iter()
        .flat_map(|(method, params)| translator.notification(method, params))
        .collect();
    let delta =
        |item: &str, text: &str| BackendEvent::ReasoningDelta { item: item.into(), text: text.into() };
    let complete = |item: &str, text: &str| BackendEvent::Reasoning {
        item: item.into(),
        text: text.into(),
        truncated: false,
    };
    let expected = [
        delta("content-rs", "Hm."),
        delta("rs", "Look "),
        delta("rs", "first"),
        delta("rs", "\n\nThen write"),
        complete("content-rs", "Hm."),
        complete("rs", "Look first\n\nThen write"),
    ];
    assert_eq!(events, expected);
}

#[test]
fn empty_reasoning_and_that_of_a_subagent_are_not_reasoning() {
    let mut translator = new_translator();
    assert_eq!(translator.notification("item/completed", reasoning_item("t", &[], &[])), []);
    let chunk = json!({ "threadId": "another", "itemId": "rs", "summaryIndex": 0, "delta": "x" });
    assert_eq!(translator.notification("item/reasoning/summaryTextDelta", chunk), []);
    let params = reasoning_item("another", &["x"], &[]);
    let events = translator.notification("item/completed", params.clone());
    assert_eq!(events, [passthrough_event(EVENT_PREFIX, "item/completed", params)]);
}

#[test]
fn only_a_final_answer_is_marked_final() {
    for (phase, is_final) in
        [(json!("final_answer"), true), (json!("commentary"), false), (Value::Null, false)]
    {
        let item = json!({ "type": "agentMessage", "id": "m", "text": "done", "phase": phase });
        let events =
            new_translator().notification("item/completed", json!({ "threadId": "t", "item": item }));
        assert_eq!(events, [BackendEvent::Text { item: "m".to_owned(), text: "done".to_owned(), is_final }]);
    }
}

#[test]
fn message_of_another_thread_is_passed_through() {
    let item = json!({ "type": "agentMessage", "id": "m", "text": "done", "phase": "final_answer" });
    let events =
        new_translator().notification("item/completed", json!({ "threadId": "another", "item": item }));
    assert!(
        matches!(&events[..], [BackendEvent::Other { kind, .. }] if kind == "codex_item_completed"),
        "{events:?}"
    );
}

#[test]
fn disconnect_and_reconnect_are_reported_once() {
    let mut translator = new_translator();
    let error = json!({ "willRetry": true, "error": {
        "message": "Reconnecting... 1/5", "additionalDetails": "url: http://provider.example/v1",
        "codexErrorInfo": { "responseStreamDisconnected": { "httpStatusCode": 503 } },
    } });
    let delta = json!({ "threadId": "t", "itemId": "m", "delta": "x" });
    let events: Vec<_> = [("error", &error), ("error", &error), ("item/agentMessage/delta", &delta)]
        .into_iter()
        .flat_map(|(method, params)| translator.notification(method, params.clone()))
        .collect();
    let error_event = BackendEvent::Error {
        kind: FailureKind::ProviderUnavailable,
        message: "the model provider is unavailable (503)".to_owned(),
    };
    let text = BackendEvent::TextDelta { item: "m".to_owned(), text: "x".to_owned() };
    let expected = [
        error_event.clone(),
        transport_status("transport-disconnected"),
        error_event,
        transport_status("transport-connected"),
        text,
    ];
    assert_eq!(events, expected);
}

#[test]
fn known_notification_with_unknown_form_is_passed_through() {
    for method in [
        "item/started",
        "item/agentMessage/delta",
        "item/reasoning/textDelta",
        "thread/tokenUsage/updated",
        "error",
    ] {
        let events = new_translator().notification(method, json!({ "shape": "new" }));
        assert!(matches!(&events[..], [BackendEvent::Other { .. }]), "{method} {events:?}");
    }
}

#[test]
fn file_change_is_reported_without_the_diff() {
    let item = json!({ "type": "fileChange", "id": "f", "status": "completed",
        "changes": [{ "path": "/w/a.txt", "kind": { "type": "add" }, "diff": "+secret" }] });
    let events = new_translator().notification("item/completed", json!({ "threadId": "t", "item": item }));
    let changes = json!({ "itemId": "f", "changes": [{ "path": "/w/a.txt", "kind": { "type": "add" } }] });
    assert_eq!(events[0], BackendEvent::Other { kind: "file_change".to_owned(), payload: changes });
    assert_eq!(events.len(), 2);
}

proptest! {
    #[test]
    fn passed_through_event_has_a_valid_type(method in "\\PC{0,80}") {
        let BackendEvent::Other { kind, .. } = passthrough_event(EVENT_PREFIX, &method, Value::Null) else {
            panic!("it is passed through")
        };
        prop_assert!(validate(&kind, &Value::Null).is_ok(), "{kind}");
    }
}
