use proptest::prelude::*;
use secrecy::SecretString;

use super::*;

fn coalescer() -> DeltaCoalescer {
    DeltaCoalescer::new(RunSecrets::new([SecretString::from("canary-0123456789")]))
}

fn delta(item: &str, text: &str) -> BackendEvent {
    BackendEvent::TextDelta { item: item.into(), text: text.into() }
}

fn reasoning_delta(item: &str, text: &str) -> BackendEvent {
    BackendEvent::ReasoningDelta { item: item.into(), text: text.into() }
}

fn reasoning(item: &str, text: &str, truncated: bool) -> BackendEvent {
    BackendEvent::Reasoning { item: item.into(), text: text.into(), truncated }
}

fn run(coalescer: &mut DeltaCoalescer, events: impl IntoIterator<Item = BackendEvent>) -> Vec<OutgoingEvent> {
    let mut events: Vec<OutgoingEvent> = events.into_iter().flat_map(|event| coalescer.push(event)).collect();
    events.extend(coalescer.finish());
    events
}

#[test]
fn deltas_of_one_item_are_coalesced_in_order() {
    let started =
        BackendEvent::ToolStarted { call: "c".into(), tool: "shell".into(), command: None, arguments: None };
    let events =
        run(&mut coalescer(), [delta("a", "one "), delta("a", "two "), started, delta("a", "three ")]);
    let kinds: Vec<_> = events.iter().map(|event| (event.kind.as_str(), &event.payload["text"])).collect();
    assert_eq!(
        kinds,
        [
            ("assistant_delta", &json!("one two ")),
            ("tool_call", &Value::Null),
            ("assistant_delta", &json!("three ")),
        ]
    );
}

#[test]
fn reasoning_is_coalesced_apart_from_a_message_with_the_same_id() {
    let events = run(
        &mut coalescer(),
        [
            reasoning_delta("a", "I "),
            reasoning_delta("a", "think "),
            delta("a", "so "),
            reasoning("a", "I think ", false),
            delta("a", "be it "),
        ],
    );
    let expected = [
        ("reasoning_delta", json!({ "itemId": "a", "text": "I think " })),
        ("assistant_delta", json!({ "itemId": "a", "text": "so " })),
        ("reasoning", json!({ "itemId": "a", "text": "I think ", "textTruncated": false })),
        ("assistant_delta", json!({ "itemId": "a", "text": "be it " })),
    ];
    assert_eq!(events, expected.map(|(kind, payload)| OutgoingEvent::new(kind, payload)));
}

#[test]
fn reasoning_of_a_turn_is_bounded_and_marked() {
    let text = "word ".repeat(100_000);
    let texts = (0..20).flat_map(|number| {
        let item = format!("r{number}");
        [reasoning_delta(&item, &text), reasoning(&item, &text, false)]
    });
    let events = run(&mut coalescer(), texts);
    let sizes: Vec<usize> =
        events.iter().filter_map(|event| event.payload["text"].as_str()).map(str::len).collect();
    assert_eq!((sizes[0], sizes[1]), (MAX_TEXT_BYTES, MAX_TEXT_BYTES));
    assert_eq!(sizes.iter().sum::<usize>(), MAX_TURN_REASONING_BYTES);
    let complete: Vec<_> = events.iter().filter(|event| event.kind == "reasoning").collect();
    assert_eq!(complete.len(), 20);
    assert!(complete.iter().all(|event| event.payload["textTruncated"] == true));
}

#[test]
fn end_of_truncated_reasoning_is_left_out_as_it_may_start_a_secret() {
    let events =
        run(&mut coalescer(), [reasoning("a", "it is canary-01", true), reasoning("b", "it is", false)]);
    let expected = [("a", "it is ", true), ("b", "it is", false)].map(|(item, text, truncated)| {
        let payload = json!({ "itemId": item, "text": text, "textTruncated": truncated });
        OutgoingEvent::new("reasoning", payload)
    });
    assert_eq!(events, expected);
}

#[test]
fn tool_call_has_its_arguments_and_says_when_they_are_cut() {
    let start = |arguments: Option<Value>| BackendEvent::ToolStarted {
        call: "c".into(),
        tool: "write".into(),
        command: None,
        arguments,
    };
    let long = json!({ "path": "a", "text": "x".repeat(40_000) });
    let events = run(&mut coalescer(), [start(None), start(Some(json!({ "path": "a" }))), start(Some(long))]);
    let payload = json!({ "callId": "c", "toolName": "write", "status": "started", "command": null });
    let (mut whole, mut cut) = (payload.clone(), payload.clone());
    whole["arguments"] = json!({ "path": "a" });
    let kept = format!("{}[23616 bytes cut]", "x".repeat(16 * 1024));
    cut["arguments"] = json!({ "path": "a", "text": kept });
    cut["argumentsTruncated"] = json!(true);
    assert_eq!(events, [payload, whole, cut].map(|payload| OutgoingEvent::new("tool_call", payload)));
}

#[test]
fn output_over_the_limit_is_dropped_and_marked() {
    let chunk = BackendEvent::ToolOutput { call: "c".into(), text: "x\n".repeat(50_000) };
    let finished = BackendEvent::ToolFinished {
        call: "c".into(),
        tool: "shell".into(),
        status: "completed".into(),
        exit_code: Some(0),
        command: None,
        arguments: None,
    };
    let events = run(&mut coalescer(), std::iter::repeat_n(chunk, 100).chain([finished]));
    let sent: usize = events.iter().filter_map(|event| event.payload["text"].as_str()).map(str::len).sum();
    assert!(sent <= MAX_CALL_OUTPUT_BYTES, "{sent}");
    assert!(events.iter().any(|event| event.payload["outputTruncated"] == true));
    assert_eq!(
        events.last().map(|last| last.payload["outputDroppedBytes"].clone()),
        Some(json!(10_000_000 - sent))
    );
}

#[test]
fn no_event_kind_leaks_a_secret() {
    let secret = "canary-0123456789";
    let mut coalescer = coalescer();
    let (first, second) = secret.split_at(7);
    let events = run(
        &mut coalescer,
        [
            delta("a", first),
            delta("a", second),
            BackendEvent::Text { item: "a".into(), text: format!("it is {secret}."), is_final: true },
            BackendEvent::ToolStarted {
                call: "c".into(),
                tool: "sh".into(),
                command: Some(format!("echo {secret}")),
                arguments: Some(json!({ secret: { "env": [secret] }, "long": secret.repeat(10_000) })),
            },
            reasoning_delta("r", first),
            reasoning_delta("r", second),
            reasoning("r", &format!("is it {secret}?"), false),
            BackendEvent::ToolFinished {
                call: "d".into(),
                tool: "sh".into(),
                status: "failed".into(),
                exit_code: None,
                command: None,
                arguments: Some(json!({ "url": format!("https://{secret}/") })),
            },
            BackendEvent::ToolOutput { call: "c".into(), text: first.into() },
            BackendEvent::ToolOutput { call: "c".into(), text: second.into() },
            BackendEvent::Status { phase: "x".into(), detail: json!({ secret: [secret] }) },
            BackendEvent::Error {
                kind: guildhall_domain::FailureKind::BackendFailed,
                message: secret.into(),
            },
            BackendEvent::Other { kind: secret.into(), payload: json!({ "deep": { "er": secret } }) },
            BackendEvent::ApprovalDeclined { what: "run".into(), detail: json!(secret) },
        ],
    );
    let printed = format!("{events:?}");
    assert!(!printed.contains(first) && printed.contains("[redacted:known]"), "{printed}");
}

proptest! {
    #[test]
    fn short_text_is_complete_however_it_is_chunked(
        deltas in proptest::collection::vec(("[ab]", "[a-z ]{0,9}"), 0..30),
    ) {
        let input = deltas.iter().map(|(item, text)| delta(item, text));
        let events = run(&mut coalescer(), input);
        for item in ["a", "b"] {
            let of_item = deltas.iter().filter(|(source, _)| source == item);
            let expected: String = of_item.map(|(_, text)| text.as_str()).collect();
            let sent: String = events.iter().filter(|event| event.payload["itemId"] == item)
                .filter_map(|event| event.payload["text"].as_str()).collect();
            prop_assert_eq!(sent, expected);
        }
    }
}
