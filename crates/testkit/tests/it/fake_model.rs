//! The fake model, called with plain HTTP requests.

use std::time::{Duration, Instant};

use guildhall_testkit::{FakeModel, ModelRequest};
use serde_json::{Value, json};

struct ModelResponse {
    status: u16,
    /// The data of each event, or the JSON body as one item.
    data: Vec<Value>,
    /// Whether the response was complete.
    complete: bool,
}

async fn post(model: &FakeModel, path: &str, body: &Value) -> ModelResponse {
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let url = format!("{}/{path}", model.base_url());
    let mut response =
        client.post(url).bearer_auth("the-key").json(body).send().await.expect("the model responds");
    let status = response.status().as_u16();
    let (mut bytes, mut complete) = (Vec::new(), true);
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Ok(None) => break,
            Err(_) => {
                complete = false;
                break;
            }
        }
    }
    let text = String::from_utf8(bytes).expect("text");
    let data = match serde_json::from_str(&text) {
        Ok(body) => vec![body],
        Err(_) => text.lines().filter_map(|line| line.strip_prefix("data: ")).map(parse_data).collect(),
    };
    ModelResponse { status, data, complete }
}

fn parse_data(data: &str) -> Value {
    serde_json::from_str(data).unwrap_or_else(|_| json!(data))
}

fn responses_body(text: &str) -> Value {
    let content = json!([{ "type": "input_text", "text": text }]);
    json!({ "input": [{ "type": "message", "role": "user", "content": content }], "tools": [{ "name": "exec_command" }] })
}

fn chat_body(text: &str) -> Value {
    let tools = json!([{ "type": "function", "function": { "name": "run_shell_command" } }]);
    json!({ "stream": true, "messages": [{ "role": "user", "content": text }], "tools": tools })
}

fn response_text(response: &ModelResponse) -> String {
    let chunks = response.data.iter().filter_map(|event| {
        let chat_delta = &event["choices"][0]["delta"]["content"];
        event["delta"].as_str().or(chat_delta.as_str()).map(str::to_owned)
    });
    chunks.collect()
}

fn tool_call(response: &ModelResponse) -> Option<Value> {
    response.data.iter().find_map(|event| {
        let chat_call = &event["choices"][0]["delta"]["tool_calls"][0]["function"];
        let found = if chat_call.is_object() { chat_call } else { &event["item"] };
        let arguments = found["arguments"].as_str()?;
        Some(json!([found["name"], parse_data(arguments)]))
    })
}

#[tokio::test]
async fn plain_prompt_is_echoed_in_chunks() {
    let model = FakeModel::start().await;
    let response = post(&model, "responses", &responses_body("tidy my notes")).await;
    assert_eq!(response_text(&response), "Echo: tidy my notes");
    assert!(response.complete && response.data.len() > 4);
    assert_eq!(response.data.first().expect("events")["type"], "response.created");
    assert_eq!(response.data.last().expect("events")["response"]["usage"]["total_tokens"], 18);

    let response = post(&model, "chat/completions", &chat_body("tidy my notes")).await;
    assert_eq!(response_text(&response), "Echo: tidy my notes");
    assert_eq!(response.data.last(), Some(&json!("[DONE]")));

    let mut complete = chat_body("tidy my notes");
    complete["stream"] = json!(false);
    let response = post(&model, "chat/completions", &complete).await;
    assert_eq!(response.data[0]["choices"][0]["message"]["content"], "Echo: tidy my notes");
}

#[tokio::test]
async fn tool_call_is_sent_once_and_its_result_is_echoed() {
    let model = FakeModel::start().await;
    let mut body = responses_body("please run:echo hi there\nand no more");
    let response = post(&model, "responses", &body).await;
    assert_eq!(
        tool_call(&response),
        Some(json!(["exec_command", { "cmd": "echo hi there", "yield_time_ms": 30000 }]))
    );
    body["input"]
        .as_array_mut()
        .expect("a list")
        .push(json!({ "type": "function_call_output", "output": "hi" }));
    let response = post(&model, "responses", &body).await;
    assert_eq!((tool_call(&response), response_text(&response).starts_with("Echo: please")), (None, true));

    let mut body = chat_body("run:echo hi");
    let response = post(&model, "chat/completions", &body).await;
    let call = tool_call(&response).expect("a call");
    assert_eq!((&call[0], &call[1]["command"]), (&json!("run_shell_command"), &json!("echo hi")));
    body["messages"].as_array_mut().expect("a list").push(json!({ "role": "tool", "content": "hi" }));
    assert_eq!(tool_call(&post(&model, "chat/completions", &body).await), None);
}

#[tokio::test]
async fn messages_are_echoed_and_tools_are_called_once() {
    let model = FakeModel::start().await;
    let mut body =
        json!({ "model": "m", "stream": true, "messages": [{ "role": "user", "content": "run:echo hi" }] });
    let response = post(&model, "messages", &body).await;
    let deltas = response.data.iter().map(|event| &event["delta"]);
    let input = deltas.clone().find_map(|delta| delta["partial_json"].as_str()).expect("a call");
    assert_eq!(parse_data(input)["command"], "echo hi");
    let result = json!([{ "type": "tool_result", "tool_use_id": "t", "content": "hi" }]);
    body["messages"].as_array_mut().expect("a list").push(json!({ "role": "user", "content": result }));
    let response = post(&model, "messages", &body).await;
    let text: String = response.data.iter().filter_map(|event| event["delta"]["text"].as_str()).collect();
    assert_eq!(
        (text.as_str(), &response.data.last().expect("events")["type"]),
        ("Echo: run:echo hi", &json!("message_stop"))
    );
    assert_eq!(
        post(&model, "messages", &json!({ "messages": [{ "role": "user", "content": "r429" }] }))
            .await
            .status,
        429
    );
}

#[tokio::test]
async fn content_is_generated_and_tools_are_called_once() {
    let model = FakeModel::start().await;
    let mut body = json!({ "contents": [{ "role": "user", "parts": [{ "text": "run:echo hi" }] }] });
    let path = "models/m:streamGenerateContent";
    let part = |event: &Value| event["candidates"][0]["content"]["parts"][0].clone();
    let response = post(&model, path, &body).await;
    assert_eq!(part(&response.data[0])["functionCall"]["args"]["command"], "echo hi");
    let result =
        json!({ "role": "user", "parts": [{ "functionResponse": { "name": "run_shell_command" } }] });
    body["contents"].as_array_mut().expect("a list").push(result);
    let response = post(&model, path, &body).await;
    let texts = response.data.iter().filter_map(|event| part(event)["text"].as_str().map(str::to_owned));
    assert_eq!(texts.collect::<String>(), "Echo: run:echo hi");
    assert_eq!(post(&model, "models/m:embedContent", &body).await.status, 404);
}

#[tokio::test]
async fn loop_prompt_repeats_the_tool_call() {
    let model = FakeModel::start().await;
    let mut body = responses_body("loop:true");
    body["input"]
        .as_array_mut()
        .expect("a list")
        .push(json!({ "type": "function_call_output", "output": "" }));
    for _ in 0..3 {
        let response = post(&model, "responses", &body).await;
        assert_eq!(
            tool_call(&response),
            Some(json!(["exec_command", { "cmd": "true", "yield_time_ms": 30000 }]))
        );
    }
}

#[tokio::test]
async fn ask_prompt_requests_escalation_and_big_prompt_prints_10_mib() {
    let model = FakeModel::start().await;
    let call =
        tool_call(&post(&model, "responses", &responses_body("ask:rm -rf notes")).await).expect("a call");
    assert_eq!(call[1]["sandbox_permissions"], "require_escalated");
    assert_eq!(call[1]["cmd"], "rm -rf notes");
    let big = tool_call(&post(&model, "responses", &responses_body("big:")).await).expect("a call");
    assert!(big[1]["cmd"].as_str().is_some_and(|command| command.contains("head -c 10485760")), "{big}");
}

#[tokio::test]
async fn error_prompts_return_their_http_status() {
    let model = FakeModel::start().await;
    for (text, status) in [("boom", 500), ("r429", 429), ("r401", 401), ("a boomerang", 200)] {
        for (path, body) in [("responses", responses_body(text)), ("chat/completions", chat_body(text))] {
            assert_eq!(post(&model, path, &body).await.status, status, "{text} {path}");
        }
    }
    assert_eq!(post(&model, "elsewhere", &json!({})).await.status, 404);
}

#[tokio::test]
async fn cut_prompt_closes_the_connection_mid_response() {
    let model = FakeModel::start().await;
    for (path, body) in [("responses", responses_body("cut")), ("chat/completions", chat_body("cut"))] {
        let response = post(&model, path, &body).await;
        assert_eq!(
            (response_text(&response).as_str(), response.complete),
            ("An answer that nobody", false),
            "{path}"
        );
    }
}

#[tokio::test]
async fn dropped_model_stops_responding() {
    let model = FakeModel::start().await;
    let started = Instant::now();
    let request = async { post(&model, "responses", &responses_body("slow")).await };
    let result = tokio::time::timeout(Duration::from_millis(600), request).await;
    assert!(result.is_err(), "the slow response ended too early");
    let url = format!("{}/models", model.base_url());
    drop(model);
    for _ in 0..200 {
        if reqwest::get(&url).await.is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the model still responds {:?} after it was dropped", started.elapsed());
}

#[tokio::test]
async fn requests_are_recorded_with_their_credential() {
    let model = FakeModel::start().await;
    let body = responses_body("a canary");
    post(&model, "responses", &body).await;
    let expected = ModelRequest {
        path: "/v1/responses".to_owned(),
        authorization: Some("Bearer the-key".to_owned()),
        body,
    };
    assert_eq!(model.requests(), [expected]);
}
