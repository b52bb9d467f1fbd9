//! Requests that try to use the provider's credential for something else, or to see it.

use guildhall_testkit::FakeModel;
use tokio::io::AsyncWriteExt;

use super::fixture::{KEY, RecordingServer, TestProxy, config, json, response, status};
use crate::model_proxy::{HostRules, ModelProxyConfig};

#[tokio::test]
async fn other_routes_never_reach_the_provider() {
    let provider = RecordingServer::start(|_| json("{}")).await;
    let proxy = TestProxy::start(config(&provider.base_url())).await;
    for line in [
        "GET /v1/files",
        "GET /v1/organization/admin_api_keys",
        "DELETE /v1/models",
        "POST /v1/responses/",
        "GET /v1/responses/resp_1",
        "GET /v1/models/../files",
        "GET /v1/models/%2e%2e/files",
        "GET /v1/models%2F..%2Ffiles",
        "POST /v1//responses",
        "POST //v1/responses",
        "POST /responses",
        "POST /v2/responses",
        "POST /v1/responses%3f",
        "POST /v1/responses%20/",
        "HEAD /v1/models",
        "OPTIONS *",
        "PUT /v1/responses",
        "GET /",
    ] {
        assert_eq!(status(&proxy.send(line, "", "").await), 403, "{line}");
    }
    assert_eq!(provider.requests().len(), 0);
    assert_eq!(proxy.proxy.usage().requests, 0);
}

#[tokio::test]
async fn absolute_url_of_the_provider_gets_no_credential() {
    let provider = RecordingServer::start(|_| json("{}")).await;
    for hosts in [HostRules::None, HostRules::Public] {
        let proxy = TestProxy::start(ModelProxyConfig { hosts, ..config(&provider.base_url()) }).await;
        for target in [
            format!("{}/files", provider.base_url()),
            format!("{}/models", provider.base_url()),
            "https://api.openai.com/v1/responses".to_owned(),
            "file:///etc/passwd".to_owned(),
        ] {
            let reply = proxy.send(&format!("GET {target}"), "", "").await;
            assert!(matches!(status(&reply), 400 | 403), "{target}: {reply}");
        }
    }
    assert_eq!(provider.requests().len(), 0);
}

#[tokio::test]
async fn host_header_does_not_change_the_provider() {
    let provider = RecordingServer::start(|_| json("{}")).await;
    let evil = RecordingServer::start(|_| json("{}")).await;
    let proxy = TestProxy::start(config(&provider.base_url())).await;
    let headers = format!("x-forwarded-host: {0}\r\nforwarded: host={0}\r\n", evil.address);
    let request = format!(
        "POST /v1/responses HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n{headers}content-length: 2\r\n\r\n{{}}",
        evil.address
    );
    assert_eq!(status(&proxy.send_raw(request).await), 200);
    assert_eq!((provider.requests().len(), evil.requests().len()), (1, 0));
    let sent = provider.requests().remove(0).headers;
    assert_eq!(sent["host"], provider.address.to_string());
    assert!(!sent.contains_key("x-forwarded-host") && !sent.contains_key("forwarded"));
}

/// Each request hides a second one in what a server with another idea of the length would read as the next request.
#[tokio::test]
async fn ambiguous_lengths_smuggle_no_request() {
    let provider = RecordingServer::start(|_| json("{}")).await;
    let proxy = TestProxy::start(config(&provider.base_url())).await;
    let hidden = "GET /v1/files HTTP/1.1\r\nhost: model\r\n\r\n";
    let start = "POST /v1/responses HTTP/1.1\r\nhost: model\r\n";
    let length = hidden.len() + 5;
    for request in [
        format!("{start}content-length: {length}\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{hidden}"),
        format!("{start}transfer-encoding: chunked\r\ncontent-length: {length}\r\n\r\n0\r\n\r\n{hidden}"),
        format!("{start}transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n{hidden}"),
        format!("{start}transfer-encoding: xchunked\r\ncontent-length: 2\r\n\r\n{{}}{hidden}"),
        format!("{start}content-length: 2\r\ncontent-length: 40\r\n\r\n{{}}{hidden}"),
        format!("{start}content-length: +2\r\n\r\n{{}}{hidden}"),
        format!("{start}transfer-encoding : chunked\r\n\r\n0\r\n\r\n{hidden}"),
        format!("{start}x: y\r\n transfer-encoding: chunked\r\ncontent-length: 2\r\n\r\n{{}}{hidden}"),
    ] {
        let mut agent = proxy.connect().await;
        agent.write_all(request.as_bytes()).await.expect("sent");
        agent.shutdown().await.expect("half-closed");
        let mut reply = Vec::new();
        let _reset = tokio::io::AsyncReadExt::read_to_end(&mut agent, &mut reply).await;
    }
    for request in provider.requests() {
        assert_eq!(request.target, "/v1/responses");
        assert!(request.body.len() <= 2, "{:?}", request.body);
        assert!(
            !request.headers.contains_key("transfer-encoding")
                || !request.headers.contains_key("content-length")
        );
    }
}

#[tokio::test]
async fn chunked_body_is_framed_anew() {
    let provider = RecordingServer::start(|_| json("{}")).await;
    let proxy = TestProxy::start(config(&provider.base_url())).await;
    let request = "POST /v1/responses HTTP/1.1\r\nhost: model\r\nconnection: close, x-secret-hop\r\nx-secret-hop: 1\r\n\
                   transfer-encoding: chunked\r\ntrailer: x-api-key\r\n\r\n2;ext=1\r\n{}\r\n0\r\nx-api-key: agent\r\n\r\n";
    assert_eq!(status(&proxy.send_raw(request).await), 200);
    let sent = provider.requests().remove(0);
    assert_eq!(&sent.body[..], b"{}");
    assert!(!sent.headers.contains_key("trailer") && !sent.headers.contains_key("x-secret-hop"));
}

#[tokio::test]
async fn body_above_the_limit_is_refused() {
    let provider = RecordingServer::start(|_| json("{}")).await;
    let proxy = TestProxy::start(config(&provider.base_url())).await;
    let head = "POST /v1/responses HTTP/1.1\r\nhost: model\r\nconnection: close\r\n";
    let declared = format!("{head}content-length: 67108865\r\n\r\n");
    assert_eq!(status(&proxy.send_raw(declared).await), 413);
    let chunk = format!("100000\r\n{}\r\n", "x".repeat(1 << 20));
    let streamed = format!("{head}transfer-encoding: chunked\r\n\r\n{}0\r\n\r\n", chunk.repeat(65));
    assert_eq!(status(&proxy.send_raw(streamed).await), 413);
}

#[tokio::test]
async fn error_of_the_provider_does_not_show_the_credential() {
    let model = FakeModel::start().await;
    let proxy = TestProxy::start(config(&model.base_url())).await;
    let body = r#"{"input":[{"role":"user","content":"r401"}]}"#;
    let reply = proxy.post("/v1/responses", body).await;
    assert_eq!(status(&reply), 401);
    assert!(reply.contains("[redacted]") && !reply.contains(KEY), "{reply}");

    let echo = RecordingServer::start(|request| {
        let authorization = request.headers["authorization"].to_str().expect("text").to_owned();
        response(400, &[("x-echo", &authorization)], vec![b'x'; 1 << 20])
    })
    .await;
    let proxy = TestProxy::start(config(&echo.base_url())).await;
    let reply = proxy.post("/v1/responses", "{}").await;
    assert_eq!(status(&reply), 400);
    assert!(reply.contains("provider-error") && !reply.contains(KEY), "{reply}");
}

#[tokio::test]
async fn upgrade_request_is_not_passed_on() {
    let provider = RecordingServer::start(|_| json("{}")).await;
    let proxy = TestProxy::start(config(&provider.base_url())).await;
    let request =
        "GET /v1/models HTTP/1.1\r\nhost: model\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";
    let mut agent = proxy.connect().await;
    agent.write_all(request.as_bytes()).await.expect("sent");
    assert!(super::fixture::read_until(&mut agent, "HTTP/1.1 200").await);
    assert!(!provider.requests()[0].headers.contains_key("upgrade"));
}

#[test]
fn debug_output_of_the_configuration_has_no_credential() {
    let printed = format!("{:?}", config("http://127.0.0.1:1/v1"));
    assert!(!printed.contains(KEY), "{printed}");
}
