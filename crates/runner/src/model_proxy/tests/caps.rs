//! Caps of a run.

use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use super::fixture::{ControlledStream, RecordingServer, TestProxy, WAIT, config, json, read_until, status};
use crate::model_proxy::{ExceededCap, ModelCaps, ModelProxyConfig, ModelUsage};

const POST: &str = "POST /v1/responses HTTP/1.1\r\nhost: model\r\ncontent-length: 2\r\n\r\n{}";

const BUDGET_BODY: &str = r#"{"error":{"code":"budget-exceeded","message":"the budget of this run is exhausted","type":"budget_exceeded"}}"#;

fn capped(base_url: &str, caps: ModelCaps) -> ModelProxyConfig {
    ModelProxyConfig { caps, ..config(base_url) }
}

async fn exceeded(proxy: &TestProxy) -> ExceededCap {
    timeout(WAIT, proxy.proxy.exceeded()).await.expect("a cap is passed")
}

#[tokio::test]
async fn request_above_the_request_cap_is_refused() {
    let provider = RecordingServer::start(|_| json("{}")).await;
    let caps = ModelCaps { requests: Some(2), ..ModelCaps::default() };
    let proxy = TestProxy::start(capped(&provider.base_url(), caps)).await;
    for _ in 0..2 {
        assert_eq!(status(&proxy.post("/v1/responses", "{}").await), 200);
    }
    for _ in 0..2 {
        let reply = proxy.post("/v1/responses", "{}").await;
        assert_eq!(status(&reply), 403);
        assert!(reply.ends_with(BUDGET_BODY), "{reply}");
    }
    assert_eq!(exceeded(&proxy).await, ExceededCap::Requests);
    assert_eq!(provider.requests().len(), 2);
}

#[tokio::test]
async fn response_that_passes_the_token_cap_is_cut() {
    let stream = ControlledStream::start().await;
    let caps = ModelCaps { tokens: Some(17), ..ModelCaps::default() };
    let proxy = TestProxy::start(capped(&stream.provider.base_url(), caps)).await;
    let mut agent = proxy.connect().await;
    agent.write_all(POST.as_bytes()).await.expect("sent");
    stream.send(r#"{"usage":{"input_tokens":10,"output_tokens":7}}"#);
    assert!(read_until(&mut agent, "output_tokens").await, "the cap is reached, not passed");
    stream.send(r#"{"usage":{"input_tokens":10,"output_tokens":8}}"#);
    assert!(!read_until(&mut agent, "output_tokens").await, "the response is cut");
    assert_eq!(exceeded(&proxy).await, ExceededCap::Tokens);
    assert_eq!(status(&proxy.post("/v1/responses", "{}").await), 403);
}

#[tokio::test]
async fn response_that_passes_the_byte_cap_is_cut() {
    let provider = RecordingServer::start(|_| json(vec![b'x'; 1 << 20])).await;
    let caps = ModelCaps { bytes: Some(100_000), ..ModelCaps::default() };
    let proxy = TestProxy::start(capped(&provider.base_url(), caps)).await;
    let reply = proxy.post("/v1/responses", "{}").await;
    assert!(reply.len() < 101_000, "{}", reply.len());
    assert_eq!(exceeded(&proxy).await, ExceededCap::Bytes);
    assert_eq!(status(&proxy.post("/v1/responses", "{}").await), 403);
    assert_eq!(provider.requests().len(), 1);
}

#[tokio::test]
async fn request_body_that_passes_the_byte_cap_is_refused() {
    let provider = RecordingServer::start(|_| json("{}")).await;
    let caps = ModelCaps { bytes: Some(1000), ..ModelCaps::default() };
    let proxy = TestProxy::start(capped(&provider.base_url(), caps)).await;
    let reply = proxy.post("/v1/responses", &"x".repeat(2000)).await;
    assert_eq!(status(&reply), 403, "{reply}");
    assert_eq!(exceeded(&proxy).await, ExceededCap::Bytes);
}

/// The idle response sends nothing, so it is cut by the wake-up and not by its next chunk.
#[tokio::test]
async fn passed_cap_cuts_idle_responses() {
    let stream = ControlledStream::start().await;
    let caps = ModelCaps { requests: Some(1), ..ModelCaps::default() };
    let proxy = TestProxy::start(capped(&stream.provider.base_url(), caps)).await;
    let mut agent = proxy.connect().await;
    agent.write_all(POST.as_bytes()).await.expect("sent");
    stream.send("first");
    assert!(read_until(&mut agent, "first").await);
    assert_eq!(status(&proxy.post("/v1/responses", "{}").await), 403);
    assert!(!read_until(&mut agent, "never").await);
}

/// The usage record is the last event: without an estimate, an agent that hangs up before it pays nothing.
#[tokio::test]
async fn agent_that_hangs_up_early_is_charged_an_estimate() {
    let stream = ControlledStream::start().await;
    let proxy = TestProxy::start(config(&stream.provider.base_url())).await;
    let mut agent = proxy.connect().await;
    let body = "x".repeat(4000);
    let head = "POST /v1/responses HTTP/1.1\r\nhost: model\r\ncontent-length: 4000\r\n\r\n";
    agent.write_all(format!("{head}{body}").as_bytes()).await.expect("sent");
    for number in 0..50 {
        stream.send(&format!("delta-{number}."));
    }
    assert!(read_until(&mut agent, "delta-49.").await);
    drop(agent);
    let charged = async {
        while proxy.proxy.usage().output_tokens == 0 {
            tokio::task::yield_now().await;
        }
    };
    timeout(WAIT, charged).await.expect("the estimate is counted");
    let ModelUsage { input_tokens, output_tokens, .. } = proxy.proxy.usage();
    assert_eq!((input_tokens, output_tokens), (1000, 50));
}

#[tokio::test]
async fn rejected_request_is_not_charged_an_estimate() {
    let provider = RecordingServer::start(|_| super::fixture::response(429, &[], "slow down")).await;
    let proxy = TestProxy::start(config(&provider.base_url())).await;
    assert_eq!(status(&proxy.post("/v1/responses", &"x".repeat(4000)).await), 429);
    let usage = proxy.proxy.usage();
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.requests), (0, 0, 1));
}
