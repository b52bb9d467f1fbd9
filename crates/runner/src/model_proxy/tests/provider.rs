//! Model requests that pass.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use guildhall_testkit::FakeModel;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, UnixStream};
use tokio::time::timeout;

use super::fixture::{
    ControlledStream, KEY, RecordingServer, TestProxy, WAIT, config, json as json_response, read_until,
    response, status,
};
use crate::forwarder;
use crate::model_proxy::{ANTHROPIC_ROUTES, CHAT_ROUTES, CredentialHeader, ModelProxy, ModelProxyConfig};

#[tokio::test]
async fn credential_of_the_proxy_replaces_the_agents() {
    let provider = RecordingServer::start(|_| json_response("{}")).await;
    let proxy = TestProxy::start(config(&provider.base_url())).await;
    let headers =
        "authorization: Bearer agent\r\nx-api-key: agent\r\napi-key: agent\r\nuser-agent: codex\r\n";
    assert_eq!(status(&proxy.send("POST /v1/responses?version=1", headers, "{}").await), 200);

    let [request] = &provider.requests()[..] else { panic!("expected one request") };
    let header = |name: &str| {
        request.headers.get_all(name).iter().map(|value| value.to_str().expect("text")).collect::<Vec<_>>()
    };
    assert_eq!((request.target.as_str(), &request.body[..]), ("/v1/responses?version=1", &b"{}"[..]));
    assert_eq!(header("authorization"), [format!("Bearer {KEY}")]);
    assert_eq!(header("host"), [provider.address.to_string()]);
    assert_eq!((header("user-agent"), header("accept-encoding")), (vec!["codex"], vec!["identity"]));
    assert_eq!(header("x-api-key").len() + header("api-key").len(), 0);
}

#[tokio::test]
async fn anthropic_credential_is_sent_as_x_api_key() {
    let provider = RecordingServer::start(|_| json_response("{}")).await;
    let config = ModelProxyConfig {
        credential_header: CredentialHeader::XApiKey,
        routes: ANTHROPIC_ROUTES,
        ..config(&provider.base_url())
    };
    let proxy = TestProxy::start(config).await;
    let headers = "authorization: Bearer agent\r\nx-api-key: agent\r\n";
    assert_eq!(status(&proxy.send("GET /v1/models/claude-x", headers, "").await), 200);
    let request = provider.requests().remove(0);
    assert_eq!(request.headers["x-api-key"], KEY);
    assert!(!request.headers.contains_key("authorization"));
}

#[tokio::test]
async fn delta_arrives_before_the_next_one_is_produced() {
    let stream = ControlledStream::start().await;
    let proxy = TestProxy::start(config(&stream.provider.base_url())).await;
    let port = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = port.local_addr().expect("it is bound");
    let forwarder = forwarder::forward(port, proxy.socket.clone());
    let client = async {
        let mut agent = tokio::net::TcpStream::connect(address).await.expect("connects");
        let request = "POST /v1/responses HTTP/1.1\r\nhost: model\r\ncontent-length: 2\r\n\r\n{}";
        agent.write_all(request.as_bytes()).await.expect("sent");
        for number in 0..20 {
            stream.send(&format!("delta-{number}"));
            assert!(read_until(&mut agent, &format!("delta-{number}")).await);
        }
    };
    tokio::select! { () = client => {} () = forwarder => unreachable!("it forwards forever") }
}

#[tokio::test]
async fn tokens_of_streamed_and_json_responses_are_counted() {
    let model = FakeModel::start().await;
    let responses = TestProxy::start(config(&model.base_url())).await;
    let body = json!({ "input": [{ "role": "user", "content": "hello" }], "stream": true }).to_string();
    let reply = responses.post("/v1/responses", &body).await;
    assert!(reply.contains("response.completed"), "{reply}");
    assert_eq!((responses.proxy.usage().input_tokens, responses.proxy.usage().output_tokens), (11, 7));

    let chat = TestProxy::start(ModelProxyConfig { routes: CHAT_ROUTES, ..config(&model.base_url()) }).await;
    for stream in [true, false] {
        let messages = json!([{ "role": "user", "content": "hello" }]);
        let body = json!({ "model": "x", "messages": messages, "stream": stream }).to_string();
        assert_eq!(status(&chat.post("/v1/chat/completions", &body).await), 200);
    }
    let usage = chat.proxy.usage();
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.requests), (22, 14, 2));
    assert!(
        model
            .requests()
            .iter()
            .all(|request| request.authorization.as_deref() == Some("Bearer sk-provider-key"))
    );
}

#[tokio::test]
async fn large_bodies_pass_unchanged_in_both_directions() {
    let provider = RecordingServer::start(|request| json_response(request.body.clone())).await;
    let proxy = TestProxy::start(config(&provider.base_url())).await;
    let body = "0123456789abcdef".repeat(256 * 1024);
    let reply = proxy.post("/v1/responses", &body).await;
    assert!(reply.ends_with(&format!("\r\n\r\n{body}")));
    assert_eq!(proxy.proxy.usage().bytes, 2 * u64::try_from(body.len()).expect("a length"));
}

#[tokio::test]
async fn redirect_of_the_provider_is_not_followed() {
    let other = RecordingServer::start(|_| json_response("{}")).await;
    let location = format!("{}/responses", other.base_url());
    let provider = RecordingServer::start(move |_| response(307, &[("location", &location)], "")).await;
    let proxy = TestProxy::start(config(&provider.base_url())).await;
    assert_eq!(status(&proxy.post("/v1/responses", "{}").await), 307);
    assert_eq!(other.requests().len(), 0);
}

#[tokio::test]
async fn cookies_of_the_provider_are_dropped() {
    let provider = RecordingServer::start(|_| {
        response(200, &[("set-cookie", "session=1"), ("x-request-id", "7")], "ok")
    })
    .await;
    let proxy = TestProxy::start(config(&provider.base_url())).await;
    let reply = proxy.send("GET /v1/models", "", "").await;
    assert!(reply.contains("x-request-id: 7") && !reply.contains("session=1"), "{reply}");
}

#[tokio::test]
async fn unreachable_provider_is_a_502_without_an_address() {
    let provider = RecordingServer::start(|_| json_response("{}")).await;
    let (base_url, address) = (provider.base_url(), provider.address);
    drop(provider);
    let closed = async { while tokio::net::TcpStream::connect(address).await.is_ok() {} };
    timeout(WAIT, closed).await.expect("the port closes");
    let proxy = TestProxy::start(config(&base_url)).await;
    let reply = proxy.post("/v1/responses", "{}").await;
    assert_eq!(status(&reply), 502);
    assert!(reply.contains("provider-unreachable") && !reply.contains("127.0.0.1"), "{reply}");
    assert_eq!(proxy.proxy.usage().input_tokens, 0);
}

#[tokio::test]
async fn dropped_proxy_closes_connections_and_removes_the_socket() {
    let stream = ControlledStream::start().await;
    let TestProxy { proxy, socket, folder: _folder } =
        TestProxy::start(config(&stream.provider.base_url())).await;
    let mut agent = UnixStream::connect(&socket).await.expect("connects");
    let request = "POST /v1/responses HTTP/1.1\r\nhost: model\r\ncontent-length: 2\r\n\r\n{}";
    agent.write_all(request.as_bytes()).await.expect("sent");
    stream.send("first");
    assert!(read_until(&mut agent, "first").await);
    drop(proxy);
    assert!(!read_until(&mut agent, "never").await);
    assert!(!socket.exists());
}

#[tokio::test]
async fn socket_in_an_open_folder_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("its mode is set");
    let error = ModelProxy::start(config("http://127.0.0.1:1/v1"), &folder.path().join("model.sock")).await;
    assert_eq!(error.expect_err("refused").kind(), std::io::ErrorKind::PermissionDenied);
}

#[tokio::test]
async fn base_url_with_credentials_or_a_query_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    for url in ["http://user:hunter2@a.example/v1", "http://a.example/v1?key=hunter2", "file:///v1"] {
        let error = ModelProxy::start(config(url), &folder.path().join("model.sock")).await.expect_err(url);
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
        assert!(!format!("{error:?}").contains("hunter2"));
    }
}
