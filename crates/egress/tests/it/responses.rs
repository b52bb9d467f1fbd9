//! Requests, and complete responses within the limits of size and time.

use std::time::{Duration, Instant};

use guildhall_egress::{EgressError, EgressOptions, Method, Request};

use crate::support::{ScriptedResponse, Server, dev_options, egress};

#[tokio::test]
async fn method_path_headers_and_body_arrive() {
    let server = Server::start(ScriptedResponse::Text("thanks")).await;
    let request = Request::new(Method::PUT, &server.url("/hooks/1?a=b%20c#not-sent"))
        .and_then(|request| request.header("Webhook-Id", "msg_1"))
        .and_then(|request| request.header("authorization", "Bearer t"))
        .expect("a request")
        .body(b"{\"n\":1}\x00\xff".to_vec());
    let response = egress(&dev_options()).send(request).await.expect("a response");
    assert_eq!((response.status.as_u16(), response.body.as_slice()), (200, b"thanks".as_slice()));

    let received = server.requests().pop().expect("one request");
    assert_eq!((received.method, received.path_and_query.as_str()), (Method::PUT, "/hooks/1?a=b%20c"));
    assert_eq!(received.body, b"{\"n\":1}\x00\xff");
    let header =
        |name: &str| received.headers.get(name).map(|value| value.to_str().expect("text").to_owned());
    assert_eq!(header("webhook-id").as_deref(), Some("msg_1"));
    assert_eq!(header("authorization").as_deref(), Some("Bearer t"));
    assert_eq!(header("host"), Some(format!("127.0.0.1:{}", server.port())));
    assert_eq!(header("content-length").as_deref(), Some("9"));
    assert_eq!(header("user-agent").as_deref(), Some(concat!("guildhall/", env!("CARGO_PKG_VERSION"))));
    for absent in ["cookie", "referer", "accept-encoding"] {
        assert_eq!(header(absent), None, "{absent}");
    }
}

#[tokio::test]
async fn cookies_are_not_sent_back() {
    let server = Server::start(ScriptedResponse::Text("hello")).await;
    let egress = egress(&dev_options());
    for _ in 0..2 {
        let response = egress.send(Request::get(&server.url("/")).expect("a URL")).await.expect("a response");
        assert!(response.headers.contains_key("set-cookie"));
    }
    let cookies = server.requests().iter().filter(|received| received.headers.contains_key("cookie")).count();
    assert_eq!(cookies, 0);
}

#[tokio::test]
async fn response_above_the_size_limit_is_an_error() {
    let max_response_bytes = 10_000;
    let egress = egress(&EgressOptions { max_response_bytes, ..dev_options() });
    for (scripted, is_complete) in [
        (ScriptedResponse::Bytes(max_response_bytes), true),
        (ScriptedResponse::Bytes(max_response_bytes + 1), false),
        (ScriptedResponse::Bytes(50_000_000), false),
        (ScriptedResponse::Endless, false),
    ] {
        let server = Server::start(scripted).await;
        match egress.send(Request::get(&server.url("/")).expect("a URL")).await {
            Ok(response) => assert!(is_complete && response.body.len() == max_response_bytes),
            Err(EgressError::TooLarge { limit, .. }) => assert!(!is_complete && limit == max_response_bytes),
            Err(error) => panic!("{error:?}"),
        }
    }
}

#[tokio::test]
async fn status_is_returned_without_the_body() {
    let egress = egress(&EgressOptions { max_response_bytes: 10, ..dev_options() });
    for scripted in [ScriptedResponse::Bytes(50_000_000), ScriptedResponse::Endless, ScriptedResponse::Stall]
    {
        let server = Server::start(scripted).await;
        let request = Request::post(&server.url("/"), "body").expect("a URL");
        assert_eq!(egress.send_for_head(request).await.expect("a head").status.as_u16(), 200);
    }
    let silent = Server::start(ScriptedResponse::Silence).await;
    let request = Request::post(&silent.url("/"), "body").expect("a URL").timeout(Duration::from_millis(200));
    let error = egress.send_for_head(request).await.expect_err("no response");
    assert!(matches!(error, EgressError::TimedOut { .. }), "{error:?}");
}

#[tokio::test]
async fn head_request_ignores_the_content_length() {
    let server = Server::start(ScriptedResponse::Bytes(50_000_000)).await;
    let request = Request::new(Method::HEAD, &server.url("/")).expect("a URL");
    let response = egress(&dev_options()).send(request).await.expect("a response");
    assert_eq!(
        (response.headers["content-length"].as_bytes(), response.body.len()),
        (b"50000000".as_slice(), 0)
    );
}

#[tokio::test]
async fn incomplete_response_is_an_error() {
    let server = Server::start(ScriptedResponse::BreakOff).await;
    let error = egress(&dev_options())
        .send(Request::get(&server.url("/")).expect("a URL"))
        .await
        .expect_err("incomplete");
    assert!(matches!(error, EgressError::Unreachable { .. }), "{error:?}");
}

#[tokio::test]
async fn slow_server_times_out() {
    let limit = Duration::from_millis(300);
    let egress = egress(&EgressOptions { request_timeout: limit, ..dev_options() });
    for scripted in [ScriptedResponse::Silence, ScriptedResponse::Stall] {
        let server = Server::start(scripted).await;
        // A longer timeout than the configured one has no effect.
        let request = Request::get(&server.url("/")).expect("a URL").timeout(Duration::from_secs(60));
        let started = Instant::now();
        let error = egress.send(request).await.expect_err("too slow");
        assert!(
            matches!(&error, EgressError::TimedOut { limit: reported, .. } if *reported == limit),
            "{error:?}"
        );
        assert!((limit..limit * 6).contains(&started.elapsed()), "{:?}", started.elapsed());
    }
}

#[tokio::test]
async fn request_timeout_can_be_shortened() {
    let server = Server::start(ScriptedResponse::Silence).await;
    let limit = Duration::from_millis(100);
    let request = Request::get(&server.url("/")).expect("a URL").timeout(limit);
    let error = egress(&dev_options()).send(request).await.expect_err("too slow");
    assert!(
        matches!(&error, EgressError::TimedOut { limit: reported, .. } if *reported == limit),
        "{error:?}"
    );
}

#[tokio::test]
async fn closed_port_is_unreachable() {
    let server = Server::start(ScriptedResponse::Text("gone")).await;
    let url = server.url_as("127.0.0.9", "/?token=hunter2");
    let error =
        egress(&dev_options()).send(Request::get(&url).expect("a URL")).await.expect_err("unreachable");
    assert!(matches!(&error, EgressError::Unreachable { host, .. } if host == "127.0.0.9"), "{error:?}");
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
}

#[tokio::test]
async fn oversized_url_is_an_invalid_request() {
    let url = format!("http://a.example/?token=hunter2{}", "x".repeat(70_000));
    let error = egress(&dev_options()).send(Request::get(&url).expect("a URL")).await.expect_err("too long");
    assert!(matches!(error, EgressError::InvalidRequest(_)), "{error:?}");
    assert!(!format!("{error} {error:?}").contains("hunter2"));
}
