use guildhall_domain::FailureKind;
use guildhall_domain::runs::event::validate;
use proptest::prelude::*;

use super::*;

fn new_translator() -> Translator {
    translator(false)
}

fn translator(is_resumed: bool) -> Translator {
    let mut translator = Translator::new(is_resumed);
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
            "type": "commandExecution", "id": "c", "command": "echo hi", "status": status,
            "aggregatedOutput": output, "exitCode": exit, "somethingNew": true,
        } })
    };
    let started = translator.notification("item/started", item("inProgress", Value::Null, Value::Null));
    let (call, tool, command) = ("c".to_owned(), "shell".to_owned(), Some("echo hi".to_owned()));
    let expected =
        BackendEvent::ToolStarted { call: call.clone(), tool: tool.clone(), command: command.clone() };
    assert_eq!(started, [expected]);
    let finished = translator.notification("item/completed", item("completed", json!("hi\n"), json!(0)));
    let output =
        BackendEvent::ToolFullOutput { call: call.clone(), text: "hi\n".to_owned(), truncated: false };
    let status = "completed".to_owned();
    let end = BackendEvent::ToolFinished { call, tool, status, exit_code: Some(0), command };
    assert_eq!(finished, [output, end]);
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
    for method in ["item/started", "item/agentMessage/delta", "thread/tokenUsage/updated", "error"] {
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
