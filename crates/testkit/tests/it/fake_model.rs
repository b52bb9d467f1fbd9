//! The fake model, asked by plain HTTP requests.

use std::time::{Duration, Instant};

use guildhall_testkit::{FakeModel, ModelRequest};
use serde_json::{Value, json};

struct Answer {
    status: u16,
    /// The data of each event, or the whole body as one.
    data: Vec<Value>,
    /// Whether the answer came to its end.
    whole: bool,
}

async fn post(model: &FakeModel, path: &str, body: &Value) -> Answer {
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let url = format!("{}/{path}", model.base_url());
    let mut response =
        client.post(url).bearer_auth("the-key").json(body).send().await.expect("the model answers");
    let status = response.status().as_u16();
    let (mut bytes, mut whole) = (Vec::new(), true);
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Ok(None) => break,
            Err(_) => {
                whole = false;
                break;
            }
        }
    }
    let text = String::from_utf8(bytes).expect("text");
    let data = match serde_json::from_str(&text) {
        Ok(body) => vec![body],
        Err(_) => text.lines().filter_map(|line| line.strip_prefix("data: ")).map(parsed).collect(),
    };
    Answer { status, data, whole }
}

fn parsed(data: &str) -> Value {
    serde_json::from_str(data).unwrap_or_else(|_| json!(data))
}

fn responses(text: &str) -> Value {
    let content = json!([{ "type": "input_text", "text": text }]);
    json!({ "input": [{ "type": "message", "role": "user", "content": content }], "tools": [{ "name": "exec_command" }] })
}

fn chat(text: &str) -> Value {
    let tools = json!([{ "type": "function", "function": { "name": "run_shell_command" } }]);
    json!({ "stream": true, "messages": [{ "role": "user", "content": text }], "tools": tools })
}

fn said(answer: &Answer) -> String {
    let pieces = answer.data.iter().filter_map(|event| {
        let chat = &event["choices"][0]["delta"]["content"];
        event["delta"].as_str().or(chat.as_str()).map(str::to_owned)
    });
    pieces.collect()
}

fn call(answer: &Answer) -> Option<Value> {
    answer.data.iter().find_map(|event| {
        let chat = &event["choices"][0]["delta"]["tool_calls"][0]["function"];
        let found = if chat.is_object() { chat } else { &event["item"] };
        let arguments = found["arguments"].as_str()?;
        Some(json!([found["name"], parsed(arguments)]))
    })
}

#[tokio::test]
async fn a_plain_text_is_echoed_in_pieces() {
    let model = FakeModel::start().await;
    let answer = post(&model, "responses", &responses("tidy my notes")).await;
    assert_eq!(said(&answer), "Echo: tidy my notes");
    assert!(answer.whole && answer.data.len() > 4);
    assert_eq!(answer.data.first().expect("events")["type"], "response.created");
    assert_eq!(answer.data.last().expect("events")["response"]["usage"]["total_tokens"], 18);

    let answer = post(&model, "chat/completions", &chat("tidy my notes")).await;
    assert_eq!(said(&answer), "Echo: tidy my notes");
    assert_eq!(answer.data.last(), Some(&json!("[DONE]")));

    let mut whole = chat("tidy my notes");
    whole["stream"] = json!(false);
    let answer = post(&model, "chat/completions", &whole).await;
    assert_eq!(answer.data[0]["choices"][0]["message"]["content"], "Echo: tidy my notes");
}

#[tokio::test]
async fn a_command_is_asked_for_once_and_its_result_is_answered_with_words() {
    let model = FakeModel::start().await;
    let mut body = responses("please run:echo hi there\nand no more");
    let answer = post(&model, "responses", &body).await;
    assert_eq!(call(&answer), Some(json!(["exec_command", { "cmd": "echo hi there" }])));
    body["input"]
        .as_array_mut()
        .expect("a list")
        .push(json!({ "type": "function_call_output", "output": "hi" }));
    let answer = post(&model, "responses", &body).await;
    assert_eq!((call(&answer), said(&answer).starts_with("Echo: please")), (None, true));

    let mut body = chat("run:echo hi");
    let answer = post(&model, "chat/completions", &body).await;
    let asked = call(&answer).expect("a call");
    assert_eq!((&asked[0], &asked[1]["command"]), (&json!("run_shell_command"), &json!("echo hi")));
    body["messages"].as_array_mut().expect("a list").push(json!({ "role": "tool", "content": "hi" }));
    assert_eq!(call(&post(&model, "chat/completions", &body).await), None);
}

#[tokio::test]
async fn a_loop_never_has_enough() {
    let model = FakeModel::start().await;
    let mut body = responses("loop:true");
    body["input"]
        .as_array_mut()
        .expect("a list")
        .push(json!({ "type": "function_call_output", "output": "" }));
    for _ in 0..3 {
        let answer = post(&model, "responses", &body).await;
        assert_eq!(call(&answer), Some(json!(["exec_command", { "cmd": "true" }])));
    }
}

#[tokio::test]
async fn leave_is_asked_for_with_the_words_of_the_agent() {
    let model = FakeModel::start().await;
    let asked = call(&post(&model, "responses", &responses("ask:rm -rf notes")).await).expect("a call");
    assert_eq!(asked[1]["sandbox_permissions"], "require_escalated");
    assert_eq!(asked[1]["cmd"], "rm -rf notes");
    let big = call(&post(&model, "responses", &responses("big:")).await).expect("a call");
    assert!(big[1]["cmd"].as_str().is_some_and(|command| command.contains("head -c 10485760")), "{big}");
}

#[tokio::test]
async fn failures_have_the_status_that_was_asked_for() {
    let model = FakeModel::start().await;
    for (text, status) in [("boom", 500), ("r429", 429), ("r401", 401), ("a boomerang", 200)] {
        for (path, body) in [("responses", responses(text)), ("chat/completions", chat(text))] {
            assert_eq!(post(&model, path, &body).await.status, status, "{text} {path}");
        }
    }
    assert_eq!(post(&model, "elsewhere", &json!({})).await.status, 404);
}

#[tokio::test]
async fn a_cut_answer_has_a_beginning_and_no_end() {
    let model = FakeModel::start().await;
    for (path, body) in [("responses", responses("cut")), ("chat/completions", chat("cut"))] {
        let answer = post(&model, path, &body).await;
        assert_eq!((said(&answer).as_str(), answer.whole), ("An answer that nobody", false), "{path}");
    }
}

#[tokio::test]
async fn a_slow_answer_ends_with_its_model() {
    let model = FakeModel::start().await;
    let begun = Instant::now();
    let asking = async { post(&model, "responses", &responses("slow")).await };
    let soon = tokio::time::timeout(Duration::from_millis(600), asking).await;
    assert!(soon.is_err(), "a slow answer takes its time");
    let url = format!("{}/models", model.base_url());
    drop(model);
    for _ in 0..200 {
        if reqwest::get(&url).await.is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the model still answers {:?} after its end", begun.elapsed());
}

#[tokio::test]
async fn what_was_sent_is_kept_with_its_credential() {
    let model = FakeModel::start().await;
    let body = responses("a canary");
    post(&model, "responses", &body).await;
    let expected = ModelRequest {
        path: "/v1/responses".to_owned(),
        authorization: Some("Bearer the-key".to_owned()),
        body,
    };
    assert_eq!(model.requests(), [expected]);
}
