use guildhall_testkit::schema::SchemaValidator;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::schema_document::schema_document;

fn context() -> UiContext {
    UiContext { default_locale: "en".to_owned(), meta: None }
}

fn compile_json(hints: &Value) -> Value {
    json!(compile(hints, &context()))
}

/// The children of the root, or null.
fn card(hints: &Value) -> Value {
    compile_json(hints)["root"]["children"].clone()
}

fn text(role: &str, content: &str) -> Value {
    json!({ "type": "text", "role": role, "content": content })
}

#[test]
fn hints_compile_to_the_example_of_the_protocol() {
    let hints = json!({
        "status": "success", "locale": "zh-CN", "title": "日程已创建", "body": "您的会议日程创建成功",
    });
    let expected = json!({
        "version": "2.0",
        "locale": "zh-CN",
        "status": "success",
        "theme": "default",
        "root": {
            "type": "stack",
            "appearance": "card",
            "children": [
                { "type": "text", "content": "日程已创建", "role": "title" },
                { "type": "badge", "label": "SUCCESS", "status": "success" },
                { "type": "text", "content": "您的会议日程创建成功", "role": "body" },
            ],
        },
    });
    assert_eq!(compile_json(&hints), expected);
}

fn all_hints() -> Value {
    json!({
        "status": "pending", "locale": "en-GB", "theme": "dark",
        "icon": { "source": "emoji", "value": "📅" },
        "title": "t", "subtitle": "s",
        "badges": [{ "label": "draft" }, { "label": "late", "status": "warning" }],
        "body": "**b**", "format": "markdown", "code": "x = 1",
        "facts": [{ "label": "When", "value": "9:00" }],
        "caption": "c",
        "buttons": [{ "label": "Open", "variant": "primary", "url": "https://calendar.example.org/1" }],
    })
}

#[test]
fn every_hint_has_its_node_in_order() {
    let expected = json!([
        { "type": "icon", "source": "emoji", "value": "📅" },
        text("title", "t"),
        text("subtitle", "s"),
        { "type": "badge", "label": "draft", "status": "info" },
        { "type": "badge", "label": "late", "status": "warning" },
        { "type": "text", "content": "**b**", "role": "body", "format": "markdown" },
        text("code", "x = 1"),
        { "type": "grid", "columns": 2, "children": [text("caption", "When"), text("body", "9:00")] },
        text("caption", "c"),
        {
            "type": "button", "label": "Open", "variant": "primary",
            "action": { "type": "url", "url": "https://calendar.example.org/1" },
        },
    ]);
    assert_eq!(card(&all_hints()), expected);
    let schema = compile_json(&all_hints());
    assert_eq!((&schema["locale"], &schema["theme"]), (&json!("en-GB"), &json!("dark")));
}

#[test]
fn defaults_are_info_and_the_locale_and_meta_of_the_context() {
    let meta = UiMeta { trace_id: Some("4bf9".to_owned()), ..UiMeta::default() };
    let context = UiContext { default_locale: "de".to_owned(), meta: Some(meta) };
    let expected = json!({
        "version": "2.0", "locale": "de", "status": "info", "theme": "default", "meta": { "traceId": "4bf9" },
        "root": {
            "type": "stack", "appearance": "card",
            "children": [text("title", "t"), { "type": "badge", "label": "INFO", "status": "info" }],
        },
    });
    assert_eq!(json!(compile(&json!({ "title": "t" }), &context)), expected);
    assert_eq!(card(&json!({ "title": "t", "badges": [] })), json!([text("title", "t")]));
}

#[test]
fn unknown_hints_give_no_schema() {
    for hints in [
        json!(null),
        json!("title"),
        json!(["success"]),
        json!({ "title": "t", "color": "red" }),
        json!({ "title": "t", "status": "done" }),
        json!({ "title": 1 }),
        json!({ "title": "t", "theme": "neon" }),
        json!({ "title": "t", "locale": "zh_CN" }),
        json!({ "title": "t", "locale": "" }),
        json!({ "title": "t", "meta": { "userId": "u" } }),
        json!({ "title": "t", "badges": [{ "label": "a", "url": "https://a.example" }] }),
        json!({ "title": "t", "icon": { "source": "icon", "value": "<script>" } }),
        json!({ "title": "t", "icon": { "source": "url", "value": "data:image/png;base64,aGk=" } }),
        json!({ "title": "t", "buttons": [{ "label": "a", "url": "javascript:alert(1)" }] }),
        json!({ "title": "t", "buttons": [{ "label": "a", "url": "http://a.example" }] }),
        json!({ "title": "t", "buttons": [{ "label": "a", "url": "https://ada:secret@a.example" }] }),
        json!({ "title": "t", "buttons": [{ "label": "", "url": "https://a.example" }] }),
    ] {
        assert_eq!(compile(&hints, &context()), None, "{hints}");
    }
}

#[test]
fn hints_without_text_give_no_schema() {
    for hints in [
        json!({}),
        json!({ "status": "success" }),
        json!({ "title": "", "body": "" }),
        json!({ "badges": [{ "label": "a" }], "icon": { "source": "icon", "value": "star" } }),
    ] {
        assert_eq!(compile(&hints, &context()), None, "{hints}");
    }
}

#[test]
fn hints_at_a_limit_are_used_and_larger_ones_are_not() {
    let chars = |length: usize| json!("字".repeat(length));
    let url = |length: usize| json!(format!("https://a.example/{}", "x".repeat(length - 18)));
    let list = |item: Value, length: usize| json!(vec![item; length]);
    let badge = |label: Value| json!([{ "label": label }]);
    let fact = |value: Value| json!([{ "label": "a", "value": value }]);
    let button = |url: Value| json!([{ "label": "a", "url": url }]);
    for (name, at_limit, above) in [
        ("title", chars(200), chars(201)),
        ("subtitle", chars(200), chars(201)),
        ("caption", chars(200), chars(201)),
        ("body", chars(4_000), chars(4_001)),
        ("code", chars(4_000), chars(4_001)),
        ("badges", badge(chars(40)), badge(chars(41))),
        ("badges", list(json!({ "label": "a" }), 8), list(json!({ "label": "a" }), 9)),
        ("facts", fact(chars(200)), fact(chars(201))),
        (
            "facts",
            list(json!({ "label": "a", "value": "b" }), 16),
            list(json!({ "label": "a", "value": "b" }), 17),
        ),
        ("buttons", button(url(2_048)), button(url(2_049))),
        (
            "icon",
            json!({ "source": "icon", "value": "x".repeat(64) }),
            json!({ "source": "icon", "value": "x".repeat(65) }),
        ),
        (
            "icon",
            json!({ "source": "emoji", "value": chars(16) }),
            json!({ "source": "emoji", "value": chars(17) }),
        ),
        (
            "locale",
            json!("zh-Hans-CN-x-abcdefgh-abcdefgh-abcd"),
            json!("zh-Hans-CN-x-abcdefgh-abcdefgh-abcde"),
        ),
    ] {
        let hints = |value: Value| {
            let mut hints = json!({ "title": "t" });
            hints[name] = value;
            hints
        };
        assert!(compile(&hints(at_limit), &context()).is_some(), "{name}");
        assert_eq!(compile(&hints(above), &context()), None, "{name}");
    }
}

#[test]
fn hints_and_compiled_schemas_fit_the_api_document() {
    let hints = SchemaValidator::new(&schema_document::<UiHints>(), "UiHints");
    let renderer = SchemaValidator::new(&schema_document::<UiSchemaRenderer>(), "UiSchemaRenderer");
    for value in [all_hints(), json!({ "title": "t" })] {
        assert_eq!(hints.errors(&value), Vec::<String>::new());
        assert_eq!(renderer.errors(&compile_json(&value)), Vec::<String>::new());
    }
    assert_ne!(hints.errors(&json!({ "color": "red" })), Vec::<String>::new());
}

/// Hints with odd values in some fields.
fn odd_hints() -> impl Strategy<Value = Value> {
    let fields: Vec<String> = all_hints().as_object().expect("an object").keys().cloned().collect();
    let value = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        (0_usize..5_000).prop_map(|length| Value::from("x".repeat(length))),
        Just(json!([])),
        Just(json!({})),
    ];
    let changes = proptest::collection::vec((proptest::sample::select(fields), value), 0..4);
    changes.prop_map(|changes| {
        let mut hints = all_hints();
        for (name, value) in changes {
            hints[name] = value;
        }
        hints
    })
}

proptest! {
    #[test]
    fn malformed_hints_give_a_bounded_schema_or_none(hints in odd_hints()) {
        let Some(schema) = compile(&hints, &context()) else { return Ok(()) };
        let written = json!(schema);
        prop_assert!(written.to_string().len() < 64 * 1024);
        prop_assert_eq!(serde_json::from_value::<UiSchemaRenderer>(written).ok(), Some(schema));
    }
}
