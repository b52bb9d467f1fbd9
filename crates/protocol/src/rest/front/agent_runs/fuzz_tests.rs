//! Any bytes and any change of a valid body give a value or an error with a message, never a panic.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::rule_tests::{body, parse_json};
use super::*;

/// A change of a JSON value somewhere.
#[derive(Debug, Clone)]
enum Mutation {
    Replace(Value),
    Remove,
    Repeat(usize),
    Rename(String),
}

fn odd_values() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        (1_usize..20_000).prop_map(|length| Value::from("字".repeat(length))),
        Just(json!([])),
        Just(json!({})),
        Just(json!([{ "type": "binary", "mimeType": "image/png", "data": "" }])),
        Just(json!({ "id": "2", "role": "user", "content": [] })),
        Just(
            json!({ "device_timezone": "UTC", "client_now_iso": "2026-03-16T09:12:33", "client_epoch_ms": 1 })
        ),
    ]
}

fn names() -> impl Strategy<Value = String> {
    const KNOWN: [&str; 8] =
        ["threadId", "thread_id", "run_id", "messages", "role", "content", "forwarded_props", "client_time"];
    prop_oneof![proptest::sample::select(&KNOWN[..]).prop_map(str::to_owned), any::<String>()]
}

fn mutations() -> impl Strategy<Value = Vec<(Vec<usize>, Mutation)>> {
    let mutation = prop_oneof![
        3 => odd_values().prop_map(Mutation::Replace),
        1 => Just(Mutation::Remove),
        1 => (2_usize..250).prop_map(Mutation::Repeat),
        1 => names().prop_map(Mutation::Rename),
    ];
    proptest::collection::vec((proptest::collection::vec(0_usize..8, 0..7), mutation), 1..5)
}

/// Changes the value that a list of positions leads to.
fn apply(value: &mut Value, path: &[usize], mutation: &Mutation) {
    let Some((first, rest)) = path.split_first() else {
        if let Mutation::Replace(new) = mutation {
            *value = new.clone();
        }
        return;
    };
    match value {
        Value::Array(items) if !items.is_empty() => {
            let index = first % items.len();
            match mutation {
                Mutation::Remove if rest.is_empty() => drop(items.remove(index)),
                Mutation::Repeat(times) if rest.is_empty() => {
                    let item = items[index].clone();
                    items.extend(std::iter::repeat_n(item, *times));
                }
                Mutation::Replace(_) | Mutation::Remove | Mutation::Repeat(_) | Mutation::Rename(_) => {
                    apply(&mut items[index], rest, mutation);
                }
            }
        }
        Value::Object(members) if !members.is_empty() => {
            let Some(name) = members.keys().nth(first % members.len()).cloned() else { return };
            match mutation {
                Mutation::Remove if rest.is_empty() => drop(members.remove(&name)),
                Mutation::Rename(new) if rest.is_empty() => {
                    let member = members.get(&name).cloned().unwrap_or_default();
                    members.insert(new.clone(), member);
                }
                Mutation::Replace(_) | Mutation::Remove | Mutation::Repeat(_) | Mutation::Rename(_) => {
                    if let Some(member) = members.get_mut(&name) {
                        apply(member, rest, mutation);
                    }
                }
            }
        }
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => {}
    }
}

fn rich_body() -> Value {
    let mut body = body();
    body["messages"] = json!([
        { "id": "1", "role": "user", "content": [
            { "type": "text", "text": "hi" },
            { "type": "binary", "mimeType": "image/png", "url": "https://a.example/1" },
        ] },
        { "id": "2", "role": "assistant", "toolCalls": [
            { "id": "c", "type": "function", "function": { "name": "f", "arguments": "{}" } },
        ] },
        { "id": "3", "role": "tool", "content": "", "toolCallId": "c" },
        { "id": "4", "role": "activity", "activityType": "PLAN", "content": {} },
    ]);
    body["tools"] = json!([{ "name": "f", "description": "", "parameters": {} }]);
    body["context"] = json!([{ "description": "", "value": "" }]);
    body["forwardedProps"]["client_time"] = json!({
        "device_timezone": "UTC", "client_now_iso": "2026-03-16T09:12:33Z", "client_epoch_ms": 1,
    });
    body
}

/// Checks what holds for every result.
fn check(result: &Result<AgentRunInput, AgentRunInputError>) -> Result<(), TestCaseError> {
    match result {
        Ok(input) => {
            prop_assert!((1..=MAX_RUN_ID_CHARS).contains(&input.run_id.chars().count()));
            prop_assert!(input.other_messages.len() < MAX_MESSAGES);
            prop_assert!(input.user_message.attachments.len() <= MAX_ATTACHMENTS);
        }
        Err(error) => {
            prop_assert!(!error.message().is_empty() && error.message().len() < 300);
            prop_assert_eq!(error.status() == 413, *error == AgentRunInputError::PayloadTooLarge);
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2_000)) {
        check(&parse(&bytes))?;
    }

    #[test]
    fn changed_bytes_of_a_valid_body_never_panic(changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..8)) {
        let mut bytes = rich_body().to_string().into_bytes();
        for (place, byte) in changes {
            let place = place % bytes.len();
            bytes[place] = byte;
        }
        check(&parse(&bytes))?;
    }

    #[test]
    fn changed_values_of_a_valid_body_never_panic(mutations in mutations()) {
        let mut body = rich_body();
        for (path, mutation) in &mutations {
            apply(&mut body, path, mutation);
        }
        check(&parse_json(&body))?;
    }

    #[test]
    fn valid_texts_and_ids_are_kept(run_id in "\\PC{1,128}", text in any::<String>(), thread in any::<u128>()) {
        let mut body = body();
        body["runId"] = json!(run_id);
        body["threadId"] = json!(Uuid::from_u128(thread));
        body["messages"][0]["content"] = json!(text);
        let input = parse_json(&body).expect("valid");
        prop_assert_eq!((input.run_id, input.thread_id), (run_id, Uuid::from_u128(thread)));
        prop_assert_eq!(input.user_message.text, text);
    }
}

#[test]
fn unchanged_body_of_these_tests_is_valid() {
    assert_eq!(parse_json(&rich_body()).err(), None);
}
