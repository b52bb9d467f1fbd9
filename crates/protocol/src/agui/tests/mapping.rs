//! What each event of the journal becomes.

use serde_json::{Value, json};

use super::journal::{Journal, command};
use crate::agui::event::AguiVersion;
use crate::agui::fold::{AguiFold, StreamMode};

/// Returns the frames between the start and the end of a turn with these events.
fn shown(events: &[(&str, Value)]) -> Vec<String> {
    let mut journal = Journal::new().turn('A', "hi", None).running('A');
    for (kind, payload) in events {
        journal = journal.add('A', kind, payload.clone());
    }
    let mut frames = journal.end('A', "completed").thread(AguiVersion::V1);
    assert!(frames.first().is_some_and(|frame| frame.starts_with("RUN_STARTED")), "{frames:?}");
    assert!(frames.last().is_some_and(|frame| frame.starts_with("RUN_FINISHED")), "{frames:?}");
    frames.pop();
    frames.split_off(1)
}

#[test]
fn turn_of_a_client_starts_at_once_with_its_message() {
    let journal = Journal::new().turn('A', "hi", Some("r1"));
    let echo = r#"{"context":[],"messages":[{"content":"hi","id":"own-A","role":"user"}],"runId":"r1","threadId":"main","tools":[]}"#;
    assert_eq!(
        journal.thread(AguiVersion::V1),
        [format!("RUN_STARTED input={echo} runId=r1"), "STEP_STARTED stepName=waiting".to_owned()]
    );
    assert_eq!(journal.thread(AguiVersion::V1), journal.run("r1", 'A'));
    assert_eq!(journal.running('A').run("r1", 'A').last().expect("frames"), "STEP_FINISHED stepName=waiting");
}

#[test]
fn tools_of_a_front_end_are_repeated_as_official_clients_accept_them() {
    let schema = json!({ "type": "object", "properties": { "colour": { "enum": ["red", null] } } });
    let tools = json!([
        { "name": "pick", "description": "Pick a colour", "parameters": schema },
        { "name": "old", "description": null, "parameters": null, "metadata": "none" },
        { "description": "no name" },
    ]);
    let journal = Journal::new().turn('A', "hi", None);
    let journal = journal.add('A', "client_run", json!({ "clientRunId": "r1", "tools": tools }));
    let fold = AguiFold::new("main", AguiVersion::V1, StreamMode::Thread);
    let started = json!(journal.fold(fold)[0]);
    let expected = json!([
        { "name": "pick", "description": "Pick a colour", "parameters": schema },
        { "name": "old", "description": "" },
    ]);
    assert_eq!(started["input"]["tools"], expected);
}

#[test]
fn run_with_a_router_has_a_worker_step_in_each_of_its_segments() {
    let journal = Journal::new().turn('A', "hi", Some("r1-routed")).running('A').ask('A', "apr_1");
    let journal =
        journal.resume('A', "r2", "apr_1").approval_status('A', "apr_1", "decided").end('A', "completed");
    let is_shown =
        |frame: &String| frame.starts_with("STEP") || frame.starts_with("RUN") || frame.contains("route");
    let frames = journal.thread(AguiVersion::V1).into_iter().filter(is_shown);
    let frames: Vec<_> = frames
        .map(|frame| frame.split_once(" input=").map_or(frame.clone(), |(kind, _)| kind.to_owned()))
        .collect();
    assert_eq!(
        frames[..8],
        [
            "RUN_STARTED",
            "STEP_STARTED stepName=router",
            "CUSTOM name=guildhall.route value={\"worker\":\"code\"}",
            "STEP_FINISHED stepName=router",
            "STEP_STARTED stepName=waiting",
            "STEP_FINISHED stepName=waiting",
            "STEP_STARTED stepName=worker",
            "STEP_FINISHED stepName=worker",
        ]
    );
    assert!(frames[8].starts_with("RUN_FINISHED") && frames[9].starts_with("RUN_STARTED"), "{frames:?}");
    assert_eq!(frames[10..12], ["STEP_STARTED stepName=worker", "STEP_FINISHED stepName=worker"]);
    assert!(frames[12].starts_with("RUN_FINISHED"), "{frames:?}");
}

#[test]
fn images_of_a_message_are_parts_in_the_words_of_each_version() {
    let id = "att_00000000000000000000000000000007";
    let image = json!({ "id": id, "mimeType": "image/webp" });
    let journal = |text: &str| {
        let started = json!({ "status": "pending", "type": "turn", "ordinal": 1 });
        let message = json!({ "text": text, "type": "turn", "by": "prn_1", "attachments": [image, "x"] });
        let journal = Journal::new().add('A', "command_status", started).add('A', "user_message", message);
        journal.add('A', "client_run", json!({ "clientRunId": "r1" }))
    };
    let content = |text: &str, version| {
        let frames = journal(text).fold(AguiFold::new("main", version, StreamMode::Thread));
        let started = frames.first().expect("a frame").to_json();
        let started: Value = serde_json::from_str(&started).expect("JSON");
        started["input"]["messages"][0]["content"].clone()
    };
    let text = json!({ "type": "text", "text": "what?" });
    let new = json!({ "type": "image", "source": { "type": "url", "value": id, "mimeType": "image/webp" } });
    let old = json!({ "type": "binary", "mimeType": "image/webp", "url": id });
    assert_eq!(content("what?", AguiVersion::V1), json!([text, new]));
    assert_eq!(content("what?", AguiVersion::V0), json!([text, old]));
    assert_eq!(content("", AguiVersion::V1), json!([new]));
}

#[test]
fn turn_of_another_door_starts_with_its_first_event() {
    let journal = Journal::new().turn('A', "hi", None);
    assert_eq!(journal.thread(AguiVersion::V1), [""; 0]);
    let echo = r#"{"context":[],"messages":[{"content":"hi","id":"A:u1:","role":"user"}],"runId":"A.0","threadId":"main","tools":[]}"#;
    assert_eq!(journal.running('A').thread(AguiVersion::V1), [format!("RUN_STARTED input={echo} runId=A.0")]);
}

#[test]
fn message_in_pieces_is_sent_once() {
    let frames = shown(&[
        ("assistant_delta", json!({ "itemId": "m1", "text": "Hel" })),
        ("assistant_delta", json!({ "itemId": "m1", "text": "lo" })),
        ("assistant_message", json!({ "itemId": "m1", "text": "Hello!", "final": true })),
        ("assistant_message", json!({ "itemId": "m1", "text": "Again" })),
    ]);
    assert_eq!(
        frames,
        [
            "TEXT_MESSAGE_START messageId=A:t1:m1",
            "TEXT_MESSAGE_CONTENT delta=Hel messageId=A:t1:m1",
            "TEXT_MESSAGE_CONTENT delta=lo messageId=A:t1:m1",
            "TEXT_MESSAGE_CONTENT delta=! messageId=A:t1:m1",
            "TEXT_MESSAGE_END messageId=A:t1:m1",
            "TEXT_MESSAGE_START messageId=A:t2:m1",
            "TEXT_MESSAGE_CONTENT delta=Again messageId=A:t2:m1",
            "TEXT_MESSAGE_END messageId=A:t2:m1",
        ]
    );
}

#[test]
fn complete_text_that_differs_from_its_pieces_is_not_repeated() {
    let frames = shown(&[
        ("assistant_delta", json!({ "itemId": "m1", "text": "Hel" })),
        ("assistant_message", json!({ "itemId": "m1", "text": "Good morning" })),
    ]);
    assert_eq!(frames.len(), 3, "{frames:?}");
}

#[test]
fn reasoning_is_a_span_with_a_message() {
    let frames = shown(&[
        ("reasoning_delta", json!({ "itemId": "r", "text": "First" })),
        ("reasoning", json!({ "itemId": "r", "text": "First" })),
    ]);
    assert_eq!(
        frames,
        [
            "REASONING_START messageId=A:r1:r",
            "REASONING_MESSAGE_START messageId=A:r1:r",
            "REASONING_MESSAGE_CONTENT delta=First messageId=A:r1:r",
            "REASONING_MESSAGE_END messageId=A:r1:r",
            "REASONING_END messageId=A:r1:r",
        ]
    );
}

#[test]
fn tool_call_has_one_result_with_output_and_exit_code() {
    let frames = shown(&[
        ("tool_call", json!({ "callId": "c1", "toolName": "shell", "status": "started", "command": "ls" })),
        ("command_output", json!({ "callId": "c1", "text": "a\n" })),
        ("command_output", json!({ "callId": "c1", "text": "b", "outputTruncated": true })),
        ("tool_call", json!({ "callId": "c1", "toolName": "shell", "status": "failed", "exitCode": 3 })),
    ]);
    assert_eq!(
        frames,
        [
            "TOOL_CALL_START toolCallId=A:c1:c1 toolCallName=shell",
            r#"TOOL_CALL_ARGS delta={"command":"ls"} toolCallId=A:c1:c1"#,
            "TOOL_CALL_END toolCallId=A:c1:c1",
            "TOOL_CALL_RESULT content=a\nb\n[output cut]\n[exit code 3] messageId=A:o1:c1 toolCallId=A:c1:c1",
        ]
    );
}

#[test]
fn arguments_are_sent_whole_as_one_object() {
    let sent = |arguments: Value| {
        let call = json!({ "callId": "c1", "status": "started", "command": "ls", "arguments": arguments });
        shown(&[("tool_call", call)])[1].clone()
    };
    let arguments = |json: &str| format!("TOOL_CALL_ARGS delta={json} toolCallId=A:c1:c1");
    let nested = json!({ "command": "ls", "cwd": "/w", "list": [1, { "text": "a\"\n" }] });
    assert_eq!(sent(nested.clone()), arguments(&nested.to_string()));
    assert_eq!(sent(json!({})), arguments("{}"));
    assert_eq!(sent(json!([1, "a"])), arguments(r#"{"input":[1,"a"]}"#));
    assert_eq!(sent(Value::Null), arguments(r#"{"command":"ls"}"#));
}

#[test]
fn arguments_of_the_end_are_sent_only_if_the_start_is_missing() {
    let end =
        ("tool_call", json!({ "callId": "c1", "status": "completed", "arguments": { "query": "weather" } }));
    let start = ("tool_call", json!({ "callId": "c1", "status": "started", "arguments": { "query": "" } }));
    let sent = |events: &[(&str, Value)]| {
        let frames = shown(events).into_iter().filter(|frame| frame.starts_with("TOOL_CALL_ARGS"));
        frames.collect::<Vec<_>>()
    };
    assert_eq!(
        sent(std::slice::from_ref(&end)),
        [r#"TOOL_CALL_ARGS delta={"query":"weather"} toolCallId=A:c1:c1"#]
    );
    assert_eq!(sent(&[start, end]), [r#"TOOL_CALL_ARGS delta={"query":""} toolCallId=A:c1:c1"#]);
}

#[test]
fn whole_output_replaces_its_chunks_and_is_cut_at_the_bound() {
    let result = |text: &str| {
        let frames = shown(&[
            ("tool_call", json!({ "callId": "c1", "status": "started", "arguments": { "path": null } })),
            ("command_output", json!({ "callId": "c1", "text": "piece" })),
            ("command_output", json!({ "callId": "c1", "text": text, "whole": true })),
            ("tool_call", json!({ "callId": "c1", "status": "completed" })),
        ]);
        assert_eq!(frames[1], r#"TOOL_CALL_ARGS delta={"path":null} toolCallId=A:c1:c1"#);
        frames[3].clone()
    };
    assert_eq!(result("all"), "TOOL_CALL_RESULT content=all messageId=A:o1:c1 toolCallId=A:c1:c1");
    let long = result(&"\u{e9}".repeat(20_000));
    assert!(long.contains("\n[output cut] messageId="), "{}", &long[long.len() - 80..]);
    assert!(long.len() < 33 * 1024, "{}", long.len());
}

#[test]
fn call_without_an_end_gets_a_result_when_the_turn_ends() {
    let frames = shown(&[("tool_call", json!({ "callId": "c1", "status": "started" }))]);
    let result = "TOOL_CALL_RESULT content=[the call did not end] messageId=A:o1:c1 toolCallId=A:c1:c1";
    assert_eq!(frames.last().map(String::as_str), Some(result));
}

#[test]
fn artifacts_errors_and_steers_have_names_of_ours_and_no_nulls() {
    let journal = Journal::new()
        .turn('A', "hi", None)
        .running('A')
        .add('A', "artifact", json!({ "kind": "file", "path": "a.md", "files": null }))
        .add('A', "error", json!({ "failureKind": "provider-unavailable", "message": "again" }))
        .add('B', "command_status", json!({ "status": "pending", "type": "steer" }))
        .add('B', "user_message", json!({ "type": "steer", "text": "faster", "by": "prn_1" }))
        .end('B', "completed");
    assert_eq!(
        journal.thread(AguiVersion::V1)[1..],
        [
            r#"CUSTOM name=guildhall.artifact value={"kind":"file","path":"a.md"}"#,
            r#"CUSTOM name=guildhall.error value={"failureKind":"provider-unavailable","message":"again"}"#,
            r#"CUSTOM name=guildhall.steer value={"by":"prn_1","text":"faster","type":"steer"}"#,
        ]
    );
}

#[test]
fn usage_is_the_sum_of_the_reports_of_a_run() {
    let usage = json!({ "inputTokens": 11, "outputTokens": 7, "cachedInputTokens": 2 });
    let journal = Journal::new().turn('A', "hi", None);
    let journal = journal.add('A', "usage", usage.clone()).add('A', "usage", usage).end('A', "completed");
    assert_eq!(
        journal.thread(AguiVersion::V1).last().map(String::as_str),
        Some(
            r#"RUN_FINISHED outcome={"type":"success"} runId=A.0 usage=[{"cachedInputTokens":4,"inputTokens":22,"outputTokens":14}]"#
        )
    );
}

#[test]
fn each_end_of_a_turn_has_its_event_in_each_dialect() {
    let last = |status: &str, version| {
        let journal = Journal::new().turn('A', "hi", Some("r1")).running('A').end('A', status);
        journal.thread(version).pop().expect("a frame")
    };
    let success = r#"RUN_FINISHED outcome={"type":"success"} runId=r1"#;
    let failed = "RUN_ERROR code=provider-unavailable message=the provider failed";
    let blocked = "RUN_ERROR code=blocked message=the turn was blocked";
    for version in [AguiVersion::V1, AguiVersion::V0] {
        assert_eq!(last("completed", version), success);
        assert_eq!(last("failed", version), failed);
        assert_eq!(last("blocked", version), blocked);
    }
    assert_eq!(last("cancelled", AguiVersion::V1), r#"RUN_FINISHED outcome={"type":"cancelled"} runId=r1"#);
    assert_eq!(last("cancelled", AguiVersion::V0), "RUN_ERROR code=cancelled message=the turn was cancelled");
}

#[test]
fn unknown_and_late_events_are_skipped() {
    let mut journal = Journal::new().turn('A', "hi", None).running('A');
    journal = journal.add('A', "backend_event", json!({})).add('A', "a_new_type", json!({ "text": "x" }));
    journal = journal.message('A', "m1", "late");
    journal.events.last_mut().expect("an event").late = true;
    assert_eq!(journal.thread(AguiVersion::V1).len(), 1);
}

#[test]
fn erased_end_of_a_turn_ends_its_run() {
    let mut journal = Journal::new().turn('A', "hi", Some("r1")).running('A');
    journal.push(None, "assistant_message", None);
    journal.push(None, "terminal_status", None);
    let expected = "RUN_ERROR code=erased message=how the turn ended was erased";
    assert_eq!(journal.run("r1", 'A').last().map(String::as_str), Some(expected));
    let next = journal.turn('B', "next", Some("r2"));
    assert_eq!(next.thread(AguiVersion::V1).len(), 4 + 2);
    assert_eq!(next.run("r2", 'B').len(), 2);
    assert_eq!(next.events.last().and_then(|event| event.command), Some(command('B')));
}
