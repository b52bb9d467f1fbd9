use guildhall_domain::FailureKind;
use guildhall_domain::runs::event::check_type;
use proptest::prelude::*;

use super::*;

fn fresh() -> Translator {
    of_thread(false)
}

fn of_thread(is_resumed: bool) -> Translator {
    let mut translator = Translator::new(is_resumed);
    translator.is_of("t".to_owned());
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
fn usage_is_what_came_since_the_last_report() {
    let mut translator = fresh();
    let reports = [10, 10, 25].map(|total| translator.notice("thread/tokenUsage/updated", usage(total, 7)));
    assert_eq!(reports.map(|events| input_tokens(&events)), [vec![10], vec![], vec![15]]);
}

#[test]
fn a_resumed_thread_does_not_report_its_past_again() {
    for past in [None, Some(usage(1000, 8))] {
        let mut translator = of_thread(true);
        let told = past.map(|past| translator.notice("thread/tokenUsage/updated", past));
        assert!(told.is_none_or(|events| events.is_empty()));
        translator.notice("turn/started", json!({ "threadId": "t" }));
        let events = translator.notice("thread/tokenUsage/updated", usage(1012, 12));
        assert_eq!(input_tokens(&events), [12]);
    }
}

#[test]
fn a_command_is_a_tool_call_with_its_output() {
    let mut translator = fresh();
    let item = |status: &str, output: Value, exit: Value| {
        json!({ "threadId": "t", "item": {
            "type": "commandExecution", "id": "c", "command": "echo hi", "status": status,
            "aggregatedOutput": output, "exitCode": exit, "somethingNew": true,
        } })
    };
    let began = translator.notice("item/started", item("inProgress", Value::Null, Value::Null));
    let (call, tool, command) = ("c".to_owned(), "shell".to_owned(), Some("echo hi".to_owned()));
    let expected =
        BackendEvent::ToolBegan { call: call.clone(), tool: tool.clone(), command: command.clone() };
    assert_eq!(began, [expected]);
    let ended = translator.notice("item/completed", item("completed", json!("hi\n"), json!(0)));
    let printed = BackendEvent::ToolPrinted { call: call.clone(), text: "hi\n".to_owned(), truncated: false };
    let status = "completed".to_owned();
    let end = BackendEvent::ToolEnded { call, tool, status, exit_code: Some(0), command };
    assert_eq!(ended, [printed, end]);
}

#[test]
fn only_what_the_backend_calls_the_answer_is_final() {
    for (phase, is_final) in
        [(json!("final_answer"), true), (json!("commentary"), false), (Value::Null, false)]
    {
        let item = json!({ "type": "agentMessage", "id": "m", "text": "done", "phase": phase });
        let events = fresh().notice("item/completed", json!({ "threadId": "t", "item": item }));
        assert_eq!(events, [BackendEvent::Text { item: "m".to_owned(), text: "done".to_owned(), is_final }]);
    }
}

#[test]
fn what_another_thread_says_is_no_answer_of_ours() {
    let item = json!({ "type": "agentMessage", "id": "m", "text": "done", "phase": "final_answer" });
    let events = fresh().notice("item/completed", json!({ "threadId": "another", "item": item }));
    assert!(
        matches!(&events[..], [BackendEvent::Other { kind, .. }] if kind == "codex_item_completed"),
        "{events:?}"
    );
}

#[test]
fn a_lost_connection_is_told_once_and_so_is_its_return() {
    let mut translator = fresh();
    let error = json!({ "willRetry": true, "error": {
        "message": "Reconnecting... 1/5", "additionalDetails": "url: http://provider.example/v1",
        "codexErrorInfo": { "responseStreamDisconnected": { "httpStatusCode": 503 } },
    } });
    let delta = json!({ "threadId": "t", "itemId": "m", "delta": "x" });
    let told: Vec<_> = [("error", &error), ("error", &error), ("item/agentMessage/delta", &delta)]
        .into_iter()
        .flat_map(|(method, params)| translator.notice(method, params.clone()))
        .collect();
    let trouble = BackendEvent::Error {
        kind: FailureKind::ProviderUnavailable,
        message: "the model provider does not answer (503)".to_owned(),
    };
    let said = BackendEvent::TextDelta { item: "m".to_owned(), text: "x".to_owned() };
    let expected = [
        trouble.clone(),
        transport("transport-disconnected"),
        trouble,
        transport("transport-connected"),
        said,
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_known_notice_of_an_unknown_form_passes_on() {
    for method in ["item/started", "item/agentMessage/delta", "thread/tokenUsage/updated", "error"] {
        let events = fresh().notice(method, json!({ "shape": "new" }));
        assert!(matches!(&events[..], [BackendEvent::Other { .. }]), "{method} {events:?}");
    }
}

#[test]
fn a_change_of_files_tells_which_and_not_what() {
    let item = json!({ "type": "fileChange", "id": "f", "status": "completed",
        "changes": [{ "path": "/w/a.txt", "kind": { "type": "add" }, "diff": "+secret" }] });
    let events = fresh().notice("item/completed", json!({ "threadId": "t", "item": item }));
    let changes = json!({ "itemId": "f", "changes": [{ "path": "/w/a.txt", "kind": { "type": "add" } }] });
    assert_eq!(events[0], BackendEvent::Other { kind: "file_change".to_owned(), payload: changes });
    assert_eq!(events.len(), 2);
}

proptest! {
    #[test]
    fn whatever_a_notice_is_called_its_event_has_a_valid_type(method in "\\PC{0,80}") {
        let BackendEvent::Other { kind, .. } = other(&method, Value::Null) else { panic!("it is passed on") };
        prop_assert!(check_type(&kind).is_ok(), "{kind}");
    }
}
