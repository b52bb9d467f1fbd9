//! What clients send.

use guildhall_domain::front::RuntimeMode;
use guildhall_domain::front::interrupt_answer::InterruptAnswer;
use serde_json::{Value, json};

use crate::agui::event::AguiVersion;
use crate::agui::input::{
    AguiRunInput, ContextItem, ImageReference, InputRole, InvalidInput, MAX_TOOLS_BYTES, NewMessage,
    ResumeEntry,
};

fn parse(input: &Value) -> Result<AguiRunInput, InvalidInput> {
    AguiRunInput::parse(input)
}

/// The input of a 1.0 client.
fn input() -> Value {
    json!({
        "threadId": "main", "runId": "r1", "protocolVersion": "1.0", "state": {}, "tools": [], "context": [],
        "messages": [{ "id": "u1", "role": "user", "content": "hi" }], "forwardedProps": {},
    })
}

fn with(field: &str, value: Value) -> Value {
    let mut input = input();
    input[field] = value;
    input
}

fn new_message(messages: Value, known: &[&str]) -> Result<Option<NewMessage>, InvalidInput> {
    parse(&with("messages", messages)).and_then(|input| input.new_message(|id| known.contains(&id)))
}

fn text(id: &str, text: &str) -> NewMessage {
    NewMessage { id: id.parse().expect("an id"), text: text.to_owned(), images: Vec::new() }
}

#[test]
fn tools_are_stored_with_each_run_so_their_size_is_limited() {
    let input = |bytes: usize| {
        let tool = json!({ "name": "map", "description": "" });
        let text = "d".repeat(bytes - tool.to_string().len());
        let tool = json!({ "name": "map", "description": text });
        parse(&json!({ "threadId": "main", "runId": "r1", "messages": [], "tools": [tool] }))
    };
    assert_eq!(input(MAX_TOOLS_BYTES).map(|input| input.tools.len()), Ok(1));
    assert_eq!(input(MAX_TOOLS_BYTES + 1), Err(InvalidInput::TooManyTools));
}

#[test]
fn input_is_read_in_both_spellings_and_with_nulls() {
    let time = json!({
        "device_timezone": "Asia/Tokyo", "client_now_iso": "2026-03-16T09:12:33+09:00",
        "client_epoch_ms": 1_773_619_953_000_i64,
    });
    let camel = json!({
        "threadId": "main", "runId": "r1", "parentRunId": "r0", "state": { "a": 1 },
        "messages": [{ "id": "a1", "role": "assistant", "content": null }],
        "tools": [{ "name": "map", "description": "d", "parameters": null }],
        "context": [{ "description": "page", "value": "home" }],
        "forwardedProps": { "runtimeMode": "automation", "clientTime": time, "a2uiCatalogAvailable": true },
        "resume": [{ "interruptId": "apr_1", "status": "resolved", "payload": { "approved": true } },
                   { "interruptId": "apr_2", "status": "cancelled", "payload": null }],
        "protocolVersion": null, "unknown": 7,
    });
    let snake: Value = [
        ("threadId", "thread_id"),
        ("runId", "run_id"),
        ("parentRunId", "parent_run_id"),
        ("forwardedProps", "forwarded_props"),
        ("runtimeMode", "runtime_mode"),
        ("clientTime", "client_time"),
        ("interruptId", "interrupt_id"),
        ("protocolVersion", "protocol_version"),
    ]
    .into_iter()
    .fold(camel.to_string(), |text, (camel, snake)| {
        text.replace(&format!("\"{camel}\""), &format!("\"{snake}\""))
    })
    .parse()
    .expect("JSON");
    let parsed = parse(&camel).expect("a valid input");
    assert_eq!(parse(&snake), Ok(parsed.clone()));
    assert_eq!((parsed.thread_id.as_str(), parsed.run_id.as_str()), ("main", "r1"));
    assert_eq!((parsed.parent_run_id, parsed.version), ("r0".parse().ok(), AguiVersion::V0));
    assert_eq!((parsed.state, parsed.runtime_mode), (Some(json!({ "a": 1 })), RuntimeMode::Automation));
    assert_eq!(parsed.messages[0].role, InputRole::Agent);
    let zone = parsed.client_time.map(|time| time.device_timezone.as_str().to_owned());
    assert_eq!(zone.as_deref(), Some("Asia/Tokyo"));
    assert_eq!(parsed.tools, [json!({ "name": "map", "description": "d", "parameters": null })]);
    assert_eq!(parsed.context, [ContextItem { description: "page".to_owned(), value: "home".to_owned() }]);
    let approved = InterruptAnswer { approved: Some(true), ..InterruptAnswer::default() };
    let entry = |id: &str, answer| ResumeEntry { interrupt_id: id.to_owned(), answer };
    assert_eq!(parsed.resume, [entry("apr_1", approved), entry("apr_2", InterruptAnswer::denial())]);
}

#[test]
fn protocol_version_decides_the_words() {
    for (name, version) in [("1.0", AguiVersion::V1), ("2.0", AguiVersion::V1), ("0.0.59", AguiVersion::V0)] {
        assert_eq!(parse(&with("protocolVersion", json!(name))).map(|input| input.version), Ok(version));
    }
}

#[test]
fn wrong_inputs_have_plain_messages() {
    let message = |input: &Value| parse(input).map_err(|error| error.to_string()).expect_err("refused");
    let id = "use 1 to 128 visible characters";
    assert_eq!(message(&json!([])), "RunAgentInput: must be an object");
    assert_eq!(message(&json!({ "runId": "r" })), "RunAgentInput.threadId: is required");
    for bad in [String::new(), "a b".to_owned(), "a\u{7}".to_owned(), "x".repeat(129)] {
        assert_eq!(message(&with("threadId", json!(bad))), format!("threadId: {id}"));
        assert_eq!(message(&with("runId", json!(bad))), format!("runId: {id}"));
    }
    assert!(parse(&with("threadId", json!("\u{e9}".repeat(128)))).is_ok());
    assert_eq!(message(&with("runId", json!(7))), "RunAgentInput.runId: must be a string");
    assert_eq!(message(&with("messages", json!({}))), "RunAgentInput.messages: must be a list");
    assert_eq!(
        message(&with("messages", json!([{ "role": "user" }]))),
        "RunAgentInput.messages[0].id: is required"
    );
    assert_eq!(
        message(&with("messages", json!([{ "id": "1", "role": "king" }]))),
        "messages: unknown role `king`"
    );
    let mode = json!({ "runtime_mode": "fast" });
    assert_eq!(
        message(&with("forwardedProps", mode)),
        "forwardedProps.runtime_mode: must be `chat` or `automation`"
    );
    let resume = json!([{ "interruptId": "a", "status": "maybe" }]);
    assert_eq!(message(&with("resume", resume)), "resume: status must be `resolved` or `cancelled`");
    let edited = json!([{ "interruptId": "a", "status": "resolved", "payload": { "approved": true, "editedArgs": {} } }]);
    assert_eq!(
        message(&with("resume", edited)),
        "resume: arguments cannot be edited: answer with `approved` or `optionId`"
    );
    let many = vec![json!({ "interruptId": "a", "status": "cancelled" }); 17];
    assert_eq!(message(&with("resume", json!(many))), "resume: use at most 16 answers");
}

#[test]
fn time_that_is_not_valid_is_as_if_it_were_missing() {
    for time in [json!("now"), json!({ "device_timezone": "Mars/Base" }), json!(7)] {
        let parsed = parse(&with("forwardedProps", json!({ "client_time": time })));
        assert_eq!(parsed.map(|input| input.client_time), Ok(None));
    }
}

#[test]
fn id_of_a_new_message_is_bounded() {
    let message = |id: &str| json!([{ "id": id, "role": "user", "content": "hi" }]);
    for id in ["", "a\u{0}b", &"m".repeat(129)] {
        assert_eq!(new_message(message(id), &[]), Err(InvalidInput::MessageId), "{id:?}");
        assert_eq!(
            new_message(message(id), &[id]),
            Ok(None),
            "a message that the server knows is not looked at"
        );
    }
}

#[test]
fn new_text_follows_the_last_known_message() {
    let history = json!([
        { "id": "s", "role": "system", "content": "be brief" },
        { "id": "u1", "role": "user", "content": "one" },
        { "id": "a1", "role": "assistant", "content": "reply" },
        { "id": "u2", "role": "user", "content": "two" },
        { "id": "u3", "role": "user", "content": [{ "type": "text", "text": "three" }, { "type": "text", "text": "four" }] },
    ]);
    assert_eq!(new_message(history.clone(), &["u1", "a1"]), Ok(Some(text("u3", "two\n\nthree\n\nfour"))));
    assert_eq!(new_message(history.clone(), &["u2"]), Ok(Some(text("u3", "three\n\nfour"))));
    assert_eq!(new_message(history.clone(), &["u3"]), Ok(None));
    assert_eq!(
        new_message(history, &[]),
        Ok(Some(text("u3", "two\n\nthree\n\nfour"))),
        "the rest is context"
    );
    assert_eq!(new_message(json!([]), &[]), Ok(None));
}

#[test]
fn parts_that_no_agent_gets_are_refused_by_kind_in_new_messages_only() {
    let part = |part: Value| json!([{ "id": "u1", "role": "user", "content": [part] }]);
    let video = json!({ "type": "video", "source": { "type": "url", "value": "https://a/b" } });
    assert_eq!(new_message(part(video.clone()), &[]), Err(InvalidInput::PartType("video".to_owned())));
    assert_eq!(new_message(part(video), &["u1"]), Ok(None));
    let data =
        json!({ "type": "image", "source": { "type": "data", "value": "AA==", "mimeType": "image/png" } });
    assert_eq!(new_message(part(data), &[]), Err(InvalidInput::ImageWithoutUrl));
    let empty = json!({ "type": "text", "text": " " });
    assert_eq!(new_message(part(empty), &[]), Err(InvalidInput::EmptyMessage));
    let image = ImageReference { url: "https://a/b".to_owned(), mime_type: Some("image/png".to_owned()) };
    let expected = NewMessage { id: "u1".parse().expect("an id"), text: String::new(), images: vec![image] };
    for sent in [
        json!({ "type": "image", "source": { "type": "url", "value": "https://a/b", "mimeType": "image/png" } }),
        json!({ "type": "binary", "mime_type": "image/png", "url": "https://a/b" }),
    ] {
        assert_eq!(new_message(part(sent), &[]), Ok(Some(expected.clone())));
    }
}
