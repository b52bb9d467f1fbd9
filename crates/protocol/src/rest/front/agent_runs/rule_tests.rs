//! The rules of the protocol and their messages, one test per rule.

use guildhall_domain::front::RuntimeMode;
use guildhall_domain::front::client_time::ClientTime;
use serde_json::{Value, json};

use super::*;

/// The first example of the protocol.
pub(super) fn body() -> Value {
    json!({
        "threadId": "550e8400-e29b-41d4-a716-446655440000",
        "runId": "run-001",
        "state": {},
        "messages": [{ "id": "msg-001", "role": "user", "content": "帮我查一下北京今天的天气" }],
        "tools": [],
        "context": [],
        "forwardedProps": { "runtime_mode": "chat" },
    })
}

/// Returns the body with another value at a JSON pointer.
pub(super) fn body_with(pointer: &str, value: Value) -> Value {
    let mut body = body();
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
    body.pointer_mut(parent).expect("a parent")[name] = value;
    body
}

pub(super) fn parse_json(body: &Value) -> Result<AgentRunInput, AgentRunInputError> {
    parse(body.to_string().as_bytes())
}

/// Returns the status and the message.
#[track_caller]
pub(super) fn refusal(body: &Value) -> (u16, String) {
    let error = parse_json(body).expect_err("an invalid body");
    (error.status(), error.message())
}

#[track_caller]
fn assert_refused(body: &Value, message: &str) {
    assert_eq!(refusal(body), (422, message.to_owned()));
}

#[track_caller]
pub(super) fn assert_accepted(body: &Value) {
    assert_eq!(parse_json(body).err(), None);
}

pub(super) fn user(content: Value) -> Value {
    json!({ "id": "msg-001", "role": "user", "content": content })
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn image() -> Value {
    json!({ "type": "binary", "mimeType": "image/png", "url": "https://storage.example.com/image.png?signature=xxx" })
}

fn system() -> Value {
    json!({ "id": "msg-000", "role": "system", "content": "Be brief." })
}

/// Returns the body with one image that has another value.
fn body_with_image(name: &str, value: Value) -> Value {
    let mut image = image();
    image[name] = value;
    body_with("/messages/0/content", json!([text("这张图片里的内容是什么?"), image]))
}

#[test]
fn payload_of_more_than_256_kb_is_refused() {
    let mut payload = body().to_string().into_bytes();
    payload.resize(256 * 1024, b' ');
    assert_eq!(parse(&payload).err(), None);
    payload.push(b' ');
    let error = parse(&payload).expect_err("too large");
    assert_eq!((error.status(), error.message().as_str()), (413, "RunAgentInput payload exceeds size limit"));
}

// covers: I2b
#[test]
fn thread_id_that_is_not_a_uuid_is_refused() {
    assert_accepted(&body_with("/threadId", json!("550E8400-E29B-41D4-A716-446655440000")));
    for id in [
        json!("main"),
        json!(""),
        json!(null),
        json!(7),
        json!("550e8400-e29b-41d4-a716-44665544000g"),
        json!("550e8400e29b41d4a716446655440000"),
        json!("{550e8400-e29b-41d4-a716-446655440000}"),
        json!("urn:uuid:550e8400-e29b-41d4-a716-446655440000"),
    ] {
        assert_refused(&body_with("/threadId", id), "threadId must be a valid UUID");
    }
    let mut absent = body();
    absent.as_object_mut().unwrap().remove("threadId");
    assert_refused(&absent, "threadId must be a valid UUID");
}

// covers: I2c
#[test]
fn run_id_of_more_than_128_characters_is_refused() {
    assert_accepted(&body_with("/runId", json!("跑".repeat(128))));
    assert_refused(&body_with("/runId", json!("r".repeat(129))), "runId exceeds length limit");
}

// covers: I2d
#[test]
fn more_than_200_messages_are_refused() {
    let mut messages = vec![user(json!("hi"))];
    messages.resize(200, system());
    assert_accepted(&body_with("/messages", json!(messages)));
    messages.push(system());
    assert_refused(&body_with("/messages", json!(messages)), "RunAgentInput.messages exceeds limit");
}

// covers: I2e
#[test]
fn user_text_of_more_than_10_000_characters_is_refused() {
    let message = "RunAgentInput user message text exceeds limit";
    let content = |content: Value| body_with("/messages/0/content", content);
    assert_accepted(&content(json!("天".repeat(10_000))));
    assert_refused(&content(json!("x".repeat(10_001))), message);
    let (half, more) = (text(&"天".repeat(5_000)), text(&"x".repeat(5_001)));
    assert_accepted(&content(json!([half, image(), half])));
    assert_refused(&content(json!([half, image(), more])), message);
}

// covers: I2f
#[test]
fn forwarded_props_without_a_valid_runtime_mode_are_refused() {
    for mode in ["chat", "automation"] {
        let input =
            parse_json(&body_with("/forwardedProps", json!({ "runtime_mode": mode }))).expect("valid");
        assert_eq!(input.runtime_mode.as_str(), mode);
    }
    for props in [
        json!({}),
        json!(null),
        json!("chat"),
        json!([]),
        json!({ "runtime_mode": null }),
        json!({ "runtime_mode": "Chat" }),
        json!({ "runtime_mode": "memory" }),
        json!({ "runtime_mode": 1 }),
        json!({ "runtimeMode": "chat" }),
    ] {
        assert_refused(&body_with("/forwardedProps", props), "invalid RunAgentInput.forwardedProps");
    }
    let mut absent = body();
    absent.as_object_mut().unwrap().remove("forwardedProps");
    assert_refused(&absent, "invalid RunAgentInput.forwardedProps");
}

// covers: I2g
#[test]
fn messages_without_exactly_one_user_message_are_refused() {
    let hi = user(json!("hi"));
    for messages in [json!([]), json!([system()]), json!([hi, hi]), json!([hi, system(), hi])] {
        assert_refused(
            &body_with("/messages", messages),
            "RunAgentInput.messages must contain exactly one user message",
        );
    }
}

// covers: I2h
#[test]
fn first_message_that_is_not_of_the_user_is_refused() {
    let messages = json!([system(), user(json!("hi"))]);
    assert_refused(&body_with("/messages", messages), "RunAgentInput.messages[0].role must be user");
    assert_accepted(&body_with("/messages", json!([user(json!("hi")), system()])));
}

// covers: I2i
#[test]
fn binary_that_is_not_an_image_is_refused() {
    assert_accepted(&body_with_image("mimeType", json!("image/svg+xml")));
    assert_accepted(&body_with_image("mimeType", json!("IMAGE/PNG")));
    for mime_type in [
        json!("application/pdf"),
        json!("video/mp4"),
        json!("image"),
        json!("image/"),
        json!("image/*"),
        json!("imagexpng"),
        json!("ximage/png"),
        json!(""),
        json!(null),
        json!(1),
    ] {
        assert_refused(&body_with_image("mimeType", mime_type), "binary content requires image mimeType");
    }
}

// covers: I2j
#[test]
fn binary_without_url_is_refused() {
    for url in [json!(null), json!(""), json!(1)] {
        assert_refused(&body_with_image("url", url), "binary content requires url");
    }
    let content = json!([{ "type": "binary", "mimeType": "image/png", "id": "att-1" }]);
    assert_refused(&body_with("/messages/0/content", content), "binary content requires url");
}

// covers: I2k
#[test]
fn binary_with_data_is_refused() {
    for data in [json!("aGk="), json!(""), json!({})] {
        assert_refused(&body_with_image("data", data), "binary content data is not allowed");
    }
    let content = json!([{ "type": "binary", "mimeType": "image/png", "data": "aGk=" }]);
    assert_refused(&body_with("/messages/0/content", content), "binary content data is not allowed");
}

// covers: I2l
#[test]
fn more_than_three_attachments_are_refused() {
    let content = |images: usize| body_with("/messages/0/content", json!(vec![image(); images]));
    assert_accepted(&content(3));
    assert_refused(&content(4), "Too many attachments");
}

#[test]
fn further_field_in_forwarded_props_is_refused_with_422() {
    for name in ["agent_type", "clientTime", "runtimeMode", "", "resume"] {
        let props = json!({ "runtime_mode": "chat", name: null });
        assert_refused(&body_with("/forwardedProps", props), "invalid RunAgentInput.forwardedProps");
    }
}

/// Returns the fourth example of the protocol, with one other value.
fn body_with_client_time(name: &str, value: Value) -> Value {
    let mut client_time = json!({
        "device_timezone": "America/Los_Angeles",
        "client_now_iso": "2026-03-16T09:12:33-07:00",
        "client_epoch_ms": 1_773_658_353_000_i64,
    });
    client_time[name] = value;
    body_with("/forwardedProps", json!({ "runtime_mode": "chat", "client_time": client_time }))
}

// covers: I2n
#[test]
fn device_timezone_that_is_not_of_iana_is_refused() {
    assert_accepted(&body_with_client_time("device_timezone", json!("Asia/Shanghai")));
    for zone in [json!("Mars/Base"), json!("+08:00"), json!(""), json!(null), json!(8)] {
        assert_refused(
            &body_with_client_time("device_timezone", zone),
            "invalid client_time.device_timezone",
        );
    }
}

// covers: I2o
#[test]
fn client_now_iso_without_offset_is_refused() {
    assert_accepted(&body_with_client_time("client_now_iso", json!("2026-03-16T16:12:33.123Z")));
    for now in [json!("2026-03-16T09:12:33"), json!("2026-03-16"), json!("now"), json!(null), json!(1)] {
        assert_refused(&body_with_client_time("client_now_iso", now), "invalid client_time.client_now_iso");
    }
}

// covers: I2p
#[test]
fn client_epoch_ms_that_is_not_an_integer_is_refused() {
    assert_accepted(&body_with_client_time("client_epoch_ms", json!(-1)));
    for epoch in [json!(1.5), json!("1773658353000"), json!(null), json!(true), json!(u64::MAX), json!(1e300)]
    {
        assert_refused(
            &body_with_client_time("client_epoch_ms", epoch),
            "invalid client_time.client_epoch_ms",
        );
    }
}

#[test]
fn client_time_is_optional_and_read_whole() {
    let without = parse_json(&body_with("/forwardedProps/client_time", json!(null))).expect("valid");
    assert_eq!((without.runtime_mode, without.client_time), (RuntimeMode::Chat, None));
    let with =
        parse_json(&body_with_client_time("locale", json!("further fields are ignored"))).expect("valid");
    let expected = ClientTime::new(
        Some("America/Los_Angeles"),
        Some("2026-03-16T09:12:33-07:00"),
        Some(1_773_658_353_000),
    );
    assert_eq!(with.client_time, expected.ok());
    assert_refused(
        &body_with("/forwardedProps/client_time", json!("now")),
        "invalid RunAgentInput.forwardedProps",
    );
}

/// Each body breaks the rule of its line and those of all later lines.
#[test]
fn first_broken_rule_in_the_documented_order_is_reported() {
    let binary = json!({ "type": "binary", "mimeType": "a/b", "data": "" });
    let image_with_data = json!({ "type": "binary", "mimeType": "image/png", "data": "" });
    let no_url = json!({ "type": "binary", "mimeType": "image/png" });
    let long = text(&"x".repeat(10_001));
    let mut many = vec![json!(0); 201];
    many[0] = user(json!([long, binary]));
    let bad_zone = json!({ "runtime_mode": "chat", "client_time": {} });
    let tools = json!([0]);
    let steps: [(&str, Value, &str); 13] = [
        ("/tools", tools, "invalid RunAgentInput.tools[0]: expected an object"),
        ("/messages", json!([user(json!(vec![image(); 4]))]), "Too many attachments"),
        (
            "/messages",
            json!([user(json!([no_url, image(), image(), image()]))]),
            "binary content requires url",
        ),
        ("/messages", json!([user(json!([image_with_data, no_url]))]), "binary content data is not allowed"),
        ("/messages", json!([user(json!([binary]))]), "binary content requires image mimeType"),
        (
            "/messages",
            json!([system(), user(json!([binary]))]),
            "RunAgentInput.messages[0].role must be user",
        ),
        (
            "/messages",
            json!([system(), user(json!([binary])), user(json!(""))]),
            "RunAgentInput.messages must contain exactly one user message",
        ),
        ("/forwardedProps", bad_zone, "invalid client_time.device_timezone"),
        ("/forwardedProps", json!({}), "invalid RunAgentInput.forwardedProps"),
        (
            "/messages",
            json!([system(), user(json!([binary, long])), user(json!(""))]),
            "RunAgentInput user message text exceeds limit",
        ),
        ("/messages", json!(many), "RunAgentInput.messages exceeds limit"),
        ("/runId", json!("r".repeat(129)), "runId exceeds length limit"),
        ("/threadId", json!("main"), "threadId must be a valid UUID"),
    ];
    let mut body = body();
    for (pointer, value, message) in steps {
        *body.pointer_mut(pointer).expect("a place") = value;
        assert_refused(&body, message);
    }
    body["state"] = json!("x".repeat(256 * 1024));
    assert_eq!(refusal(&body), (413, "RunAgentInput payload exceeds size limit".to_owned()));
}
