//! The form of the body: examples, spellings, roles, and the schema of the API document.

use guildhall_domain::front::RuntimeMode;
use guildhall_testkit::schema::SchemaValidator;
use serde_json::{Value, json};

use super::rule_tests::{assert_accepted, body, body_with, parse_json, refusal, user};
use super::*;
use crate::schema_document::schema_document;

const THREAD: &str = "550e8400-e29b-41d4-a716-446655440000";

fn user_message(text: &str) -> UserMessage {
    UserMessage {
        id: "msg-001".to_owned(),
        name: None,
        encrypted_value: None,
        text: text.to_owned(),
        attachments: Vec::new(),
    }
}

#[track_caller]
fn assert_shape_error(body: &Value, message: &str) {
    assert_eq!(refusal(body), (422, format!("invalid RunAgentInput{message}")));
}

/// A body with all fields, in camelCase.
fn full_body() -> Value {
    json!({
        "threadId": THREAD, "runId": "run-003", "parentRunId": "run-002", "state": { "threadId": 1, "thread_id": 2 },
        "messages": [
            {
                "id": "msg-001", "role": "user", "name": "ada", "encryptedValue": "e1",
                "content": [
                    { "type": "text", "text": "这张图片里的内容是什么?" },
                    {
                        "type": "binary", "mimeType": "image/png", "id": "att-1", "filename": "image.png",
                        "url": "https://storage.example.com/agent-inputs/user-123/image.png?signature=xxx",
                    },
                    { "type": "text", "text": "Be brief." },
                ],
            },
            {
                "id": "msg-002", "role": "assistant", "content": "One moment.", "name": "demo", "encryptedValue": "e2",
                "toolCalls": [{
                    "id": "call-1", "type": "function", "encryptedValue": "e3",
                    "function": { "name": "get_weather", "arguments": "{}" },
                }],
            },
            { "id": "msg-003", "role": "system", "content": "s", "name": "n", "encryptedValue": "e4" },
            {
                "id": "msg-004", "role": "tool", "content": "t", "toolCallId": "call-1", "error": "e",
                "encryptedValue": "e5",
            },
            { "id": "msg-005", "role": "developer", "content": "d", "name": "n", "encryptedValue": "e6" },
            { "id": "msg-006", "role": "reasoning", "content": "r", "encryptedValue": "e7" },
            { "id": "msg-007", "role": "activity", "activityType": "PLAN", "content": { "steps": [1] } },
        ],
        "tools": [{
            "name": "get_weather", "description": "获取指定城市的天气信息", "metadata": { "a": 1 },
            "parameters": { "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] },
        }],
        "context": [{ "description": "page", "value": "/weather", "extra": true }],
        "forwardedProps": { "runtime_mode": "automation" },
        "protocolVersion": "1.0", "resume": [],
    })
}

/// Returns the body with each name of the protocol in snake_case.
fn in_snake_case(body: &Value) -> Value {
    let mut text = body.to_string();
    for (camel, snake) in [
        ("threadId", "thread_id"),
        ("runId", "run_id"),
        ("parentRunId", "parent_run_id"),
        ("forwardedProps", "forwarded_props"),
        ("encryptedValue", "encrypted_value"),
        ("mimeType", "mime_type"),
        ("toolCalls", "tool_calls"),
        ("toolCallId", "tool_call_id"),
        ("activityType", "activity_type"),
    ] {
        text = text.replace(&format!("\"{camel}\":"), &format!("\"{snake}\":"));
    }
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn text_example_of_the_protocol_is_read_whole() {
    let expected = AgentRunInput {
        thread_id: THREAD.parse().unwrap(),
        run_id: "run-001".to_owned(),
        parent_run_id: None,
        state: json!({}),
        user_message: user_message("帮我查一下北京今天的天气"),
        other_messages: Vec::new(),
        tools: Vec::new(),
        context: Vec::new(),
        runtime_mode: RuntimeMode::Chat,
        client_time: None,
    };
    assert_eq!(parse_json(&body()), Ok(expected));
}

// covers: I3
#[test]
fn messages_of_every_role_are_read_with_their_fields() {
    let input = parse_json(&full_body()).expect("valid");
    let attachment = AgentAttachment {
        url: "https://storage.example.com/agent-inputs/user-123/image.png?signature=xxx".to_owned(),
        mime_type: "image/png".to_owned(),
        filename: Some("image.png".to_owned()),
        id: Some("att-1".to_owned()),
    };
    let expected = UserMessage {
        name: Some("ada".to_owned()),
        encrypted_value: Some("e1".to_owned()),
        attachments: vec![attachment],
        ..user_message("这张图片里的内容是什么?\nBe brief.")
    };
    assert_eq!(input.user_message, expected);
    let others = full_body()["messages"].as_array().unwrap()[1..].to_vec();
    assert_eq!(json!(input.other_messages), json!(others));
}

#[test]
fn tools_context_and_state_stay_as_they_came() {
    let input = parse_json(&full_body()).expect("valid");
    let found = (json!(input.tools), json!(input.context), input.state);
    let expected = (
        full_body()["tools"].clone(),
        full_body()["context"].clone(),
        json!({ "threadId": 1, "thread_id": 2 }),
    );
    assert_eq!(found, expected);
    assert_eq!(input.parent_run_id.as_deref(), Some("run-002"));
    assert_eq!(input.runtime_mode, RuntimeMode::Automation);
}

#[test]
fn snake_case_body_means_the_same_as_camel_case() {
    let mut snake = in_snake_case(&full_body());
    snake["state"] = full_body()["state"].clone();
    assert!(snake.get("threadId").is_none() && snake["messages"][3].get("tool_call_id").is_some());
    assert_eq!(parse_json(&snake), parse_json(&full_body()));
    assert!(parse_json(&snake).is_ok());
}

#[test]
fn field_in_both_spellings_is_refused_even_with_equal_values() {
    for (parent, camel, snake) in [
        ("", "threadId", "thread_id"),
        ("", "runId", "run_id"),
        ("", "parentRunId", "parent_run_id"),
        ("", "forwardedProps", "forwarded_props"),
        ("/messages/0", "encryptedValue", "encrypted_value"),
        ("/messages/0/content/1", "mimeType", "mime_type"),
        ("/messages/1", "toolCalls", "tool_calls"),
        ("/messages/1/toolCalls/0", "encryptedValue", "encrypted_value"),
        ("/messages/3", "toolCallId", "tool_call_id"),
        ("/messages/6", "activityType", "activity_type"),
    ] {
        let mut body = full_body();
        let object = body.pointer_mut(parent).expect("an object");
        object[snake] = object[camel].clone();
        let (status, message) = refusal(&body);
        assert_eq!(status, 422);
        assert!(message.ends_with(&format!(".{camel}: given in camelCase and in snake_case")), "{message}");
    }
}

#[test]
fn optional_fields_can_be_absent_or_null() {
    let minimal = json!({
        "threadId": THREAD, "runId": "run-001", "messages": [user(json!("hi"))],
        "forwardedProps": { "runtime_mode": "chat" },
    });
    let mut nulls = minimal.clone();
    for name in ["parentRunId", "state", "tools", "context"] {
        nulls[name] = Value::Null;
    }
    nulls["messages"][0]["name"] = Value::Null;
    let input = parse_json(&minimal).expect("valid");
    assert_eq!((&input.state, input.tools.len(), input.context.len()), (&Value::Null, 0, 0));
    assert_eq!(parse_json(&nulls), Ok(input));
    let assistant =
        json!([user(json!("hi")), { "id": "2", "role": "assistant", "content": null, "name": null }]);
    assert_accepted(&body_with("/messages", assistant));
}

#[test]
fn user_message_can_be_empty() {
    for content in [json!(""), json!([]), json!([{ "type": "text", "text": "" }])] {
        let input = parse_json(&body_with("/messages/0/content", content)).expect("valid");
        assert_eq!(input.user_message, user_message(""));
    }
}

#[test]
fn body_without_the_form_of_the_schema_is_refused_with_the_place() {
    let message = |message: Value| body_with("/messages", json!([user(json!("hi")), message]));
    assert_shape_error(&json!([]), ": expected an object");
    assert_shape_error(&body_with("/runId", json!(null)), ".runId: expected a string");
    assert_shape_error(&body_with("/runId", json!("")), ".runId: expected 1 to 128 characters");
    assert_shape_error(&body_with("/messages", json!(null)), ".messages: expected an array");
    assert_shape_error(&body_with("/messages", json!({})), ".messages: expected an array");
    assert_shape_error(&body_with("/parentRunId", json!(1)), ".parentRunId: expected a string");
    assert_shape_error(&message(json!("hi")), ".messages[1]: expected an object");
    assert_shape_error(
        &message(json!({ "id": "2", "role": "root", "content": "" })),
        ".messages[1].role: expected user, assistant, system, tool, developer, reasoning or activity",
    );
    assert_shape_error(&message(json!({ "role": "system" })), ".messages[1].id: expected a string");
    let tool = json!({ "id": "2", "role": "tool", "content": "" });
    assert_shape_error(&message(tool), ".messages[1].toolCallId: expected a string");
    let activity = json!({ "id": "2", "role": "activity", "activityType": "PLAN", "content": "" });
    assert_shape_error(&message(activity), ".messages[1].content: expected an object");
    let call = json!({ "id": "2", "role": "assistant", "toolCalls": [{ "id": "c", "type": "code" }] });
    assert_shape_error(&message(call), ".messages[1].toolCalls[0].type: expected function");
    let content = |content: Value| body_with("/messages/0/content", content);
    let expected = ".messages[0].content: expected a string or an array of content blocks";
    assert_shape_error(&content(json!(null)), expected);
    assert_shape_error(&content(json!(["hi"])), ".messages[0].content[0]: expected an object");
    let block = content(json!([{ "type": "image", "source": {} }]));
    assert_shape_error(&block, ".messages[0].content[0].type: expected text or binary");
    assert_shape_error(&body_with("/tools", json!({})), ".tools: expected an array");
    let tool = json!([{ "name": "a", "description": "" }]);
    assert_shape_error(&body_with("/tools", tool), ".tools[0].parameters: expected an object");
    let context = json!([{ "description": "", "value": 1 }]);
    assert_shape_error(&body_with("/context", context), ".context[0].value: expected a string");
}

#[test]
fn body_that_is_not_json_or_has_a_name_twice_is_refused() {
    let message = |bytes: &[u8]| parse(bytes).expect_err("invalid").message();
    for bytes in [&b""[..], b"{", b"\xff", b"null x"] {
        assert_eq!(message(bytes), "invalid RunAgentInput: not JSON, or nested too deeply");
    }
    let twice = body().to_string().replacen('{', r#"{"runId":"run-000","#, 1);
    assert_eq!(message(twice.as_bytes()), "invalid RunAgentInput: an object has a name twice");
}

#[test]
fn valid_bodies_fit_the_schema() {
    let validator = SchemaValidator::new(&schema_document::<RunAgentInput>(), "RunAgentInput");
    let client_time = json!({
        "runtime_mode": "chat",
        "client_time": {
            "device_timezone": "America/Los_Angeles", "client_now_iso": "2026-03-16T09:12:33-07:00",
            "client_epoch_ms": 1_773_658_353_000_i64,
        },
    });
    for body in [body(), full_body(), body_with("/forwardedProps", client_time)] {
        assert_accepted(&body);
        assert_eq!(validator.errors(&body), Vec::<String>::new());
    }
    for body in [
        body_with("/threadId", json!("main")),
        body_with("/runId", json!("r".repeat(129))),
        body_with("/messages", json!([])),
        body_with("/messages/0/role", json!("root")),
        body_with("/messages/0/content", json!([{ "type": "binary", "mimeType": "image/png" }])),
        body_with("/forwardedProps", json!({ "runtime_mode": "memory" })),
        body_with("/forwardedProps", json!({ "runtime_mode": "chat", "agent_type": "worker" })),
        body_with("/tools", json!([{ "name": "a" }])),
    ] {
        assert!(parse_json(&body).is_err(), "{body}");
        assert_ne!(validator.errors(&body), Vec::<String>::new(), "{body}");
    }
}

#[test]
fn accepted_response_has_the_names_of_the_protocol() {
    let response = TaskAcceptedResponse {
        task_id: "cmd_1".to_owned(),
        thread_id: THREAD.to_owned(),
        run_id: "run-001".to_owned(),
        created: true,
    };
    let expected = json!({ "taskId": "cmd_1", "threadId": THREAD, "runId": "run-001", "created": true });
    assert_eq!(json!(response), expected);
}
