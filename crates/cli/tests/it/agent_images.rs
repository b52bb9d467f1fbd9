//! Images of messages, from an application to the model: the server and its runners as `guildhall dev` starts them.

use guildhall_testkit::FakeModel;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::launched_runners::{set_key, start_server};

/// An image of four pixels.
const RED_PNG: &[u8] = b"\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00\x00\x02\x00\x00\x00\x02\x08\x02\x00\x00\x00\xfd\xd4\x9as\x00\x00\x00\x10IDATx\xdac\xf8\xcf\xc0\x00D\x0c\x10\x0a\x00\x1f\xee\x03\xfdc^\xbb[\x00\x00\x00\x00IEND\xaeB`\x82";
const RED_PNG_BASE64: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR42mP4z8AARAwQCgAf7gP9Y167WwAAAABJRU5ErkJggg==";

/// Uploads the image and sends it to an agent. Returns the AG-UI events of the run.
async fn send_image(url: &str, key: &str, agent: &str) -> Vec<Value> {
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let upload = client.post(format!("{url}/api/v1/agent/attachments")).bearer_auth(key);
    let upload = upload.header("content-type", "image/png").body(RED_PNG).send().await.expect("a response");
    assert_eq!(upload.status(), 201);
    let uploaded: Value = upload.json().await.expect("JSON");
    let image = json!({ "type": "image", "source": { "type": "url", "value": uploaded["url"] } });
    let content = json!([{ "type": "text", "text": "what is it?" }, image]);
    let input = json!({
        "threadId": format!("thread of {agent}").replace(' ', "-"), "runId": "run-1", "protocolVersion": "1.0",
        "messages": [{ "id": "msg-1", "role": "user", "content": content }],
    });
    let run = client.post(format!("{url}/api/v1/agent/runs?agentId={agent}")).bearer_auth(key).json(&input);
    let stream = run.header("accept", "text/event-stream").send().await.expect("a response");
    assert_eq!(stream.status(), 200);
    let stream = stream.text().await.expect("a stream");
    let data = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).expect("JSON")).collect()
}

#[test]
fn image_of_a_message_reaches_the_model_or_is_refused_in_words() {
    let runtime = Runtime::new().expect("a runtime");
    let model = runtime.block_on(FakeModel::start());
    let (server, user) = start_server(&[]);
    set_key(&user, &model.base_url());
    user.json(&["agents", "create", "eyes", "--profile", "codex"]);
    let key = user.json(&["keys", "create", "app", "--role", "developer"]);
    let key = key["secret"].as_str().expect("a key");

    let events = runtime.block_on(send_image(&server.url, key, "eyes"));
    let said: String = events.iter().filter_map(|event| event["delta"].as_str()).collect();
    assert!(said.contains("what is it?"), "{events:?}");
    assert_eq!(events.last().expect("an end")["type"], "RUN_FINISHED", "{events:?}");
    let request = model.requests().last().expect("a request").body.to_string();
    assert!(request.contains(&format!("data:image/png;base64,{RED_PNG_BASE64}")), "{request}");

    let events = runtime.block_on(send_image(&server.url, key, "demo"));
    let end = events.last().expect("an end");
    let expected =
        ("RUN_ERROR", "invalid-input", "this agent takes no images: send the message without them");
    let field = |name: &str| end[name].as_str().unwrap_or_default();
    assert_eq!((field("type"), field("code"), field("message")), expected, "{end}");
}
