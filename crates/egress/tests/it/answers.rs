//! What is sent arrives, and what comes back is whole, bounded and in time.

use std::time::{Duration, Instant};

use guildhall_egress::{EgressError, EgressOptions, Method, Request};

use crate::support::{Answer, Server, dev_options, egress};

#[tokio::test]
async fn method_path_headers_and_body_arrive() {
    let server = Server::start(Answer::Text("thanks")).await;
    let request = Request::new(Method::PUT, &server.url("/hooks/1?a=b%20c#not-sent"))
        .and_then(|request| request.header("Webhook-Id", "msg_1"))
        .and_then(|request| request.header("authorization", "Bearer t"))
        .expect("a request")
        .body(b"{\"n\":1}\x00\xff".to_vec());
    let response = egress(&dev_options()).send(request).await.expect("answered");
    assert_eq!((response.status.as_u16(), response.body.as_slice()), (200, b"thanks".as_slice()));

    let seen = server.requests().pop().expect("one request");
    assert_eq!((seen.method, seen.path_and_query.as_str()), (Method::PUT, "/hooks/1?a=b%20c"));
    assert_eq!(seen.body, b"{\"n\":1}\x00\xff");
    let header = |name: &str| seen.headers.get(name).map(|value| value.to_str().expect("text").to_owned());
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
async fn a_cookie_is_not_brought_back() {
    let server = Server::start(Answer::Text("hello")).await;
    let egress = egress(&dev_options());
    for _ in 0..2 {
        let response = egress.send(Request::get(&server.url("/")).expect("a URL")).await.expect("answered");
        assert!(response.headers.contains_key("set-cookie"));
    }
    let cookies = server.requests().iter().filter(|seen| seen.headers.contains_key("cookie")).count();
    assert_eq!(cookies, 0);
}

#[tokio::test]
async fn an_answer_up_to_the_limit_is_read_and_a_larger_one_is_an_error() {
    let max_response_bytes = 10_000;
    let egress = egress(&EgressOptions { max_response_bytes, ..dev_options() });
    for (answer, whole) in [
        (Answer::Bytes(max_response_bytes), true),
        (Answer::Bytes(max_response_bytes + 1), false),
        (Answer::Bytes(50_000_000), false),
        (Answer::Endless, false),
    ] {
        let server = Server::start(answer).await;
        match egress.send(Request::get(&server.url("/")).expect("a URL")).await {
            Ok(response) => assert!(whole && response.body.len() == max_response_bytes),
            Err(EgressError::TooLarge { limit, .. }) => assert!(!whole && limit == max_response_bytes),
            Err(error) => panic!("{error:?}"),
        }
    }
}

#[tokio::test]
async fn the_head_of_a_large_answer_may_be_asked_for() {
    let server = Server::start(Answer::Bytes(50_000_000)).await;
    let request = Request::new(Method::HEAD, &server.url("/")).expect("a URL");
    let response = egress(&dev_options()).send(request).await.expect("answered");
    assert_eq!(
        (response.headers["content-length"].as_bytes(), response.body.len()),
        (b"50000000".as_slice(), 0)
    );
}

#[tokio::test]
async fn half_an_answer_is_no_answer() {
    let server = Server::start(Answer::BreakOff).await;
    let error =
        egress(&dev_options()).send(Request::get(&server.url("/")).expect("a URL")).await.expect_err("half");
    assert!(matches!(error, EgressError::Unreachable { .. }), "{error:?}");
}

#[tokio::test]
async fn a_slow_server_times_out_within_its_limit() {
    let limit = Duration::from_millis(300);
    let egress = egress(&EgressOptions { request_timeout: limit, ..dev_options() });
    for answer in [Answer::Silence, Answer::Stall] {
        let server = Server::start(answer).await;
        // Asking for more time than there is brings no more.
        let request = Request::get(&server.url("/")).expect("a URL").timeout(Duration::from_secs(60));
        let started = Instant::now();
        let error = egress.send(request).await.expect_err("too slow");
        assert!(matches!(&error, EgressError::TimedOut { limit: said, .. } if *said == limit), "{error:?}");
        assert!((limit..limit * 6).contains(&started.elapsed()), "{:?}", started.elapsed());
    }
}

#[tokio::test]
async fn a_call_may_have_less_time_than_the_others() {
    let server = Server::start(Answer::Silence).await;
    let limit = Duration::from_millis(100);
    let request = Request::get(&server.url("/")).expect("a URL").timeout(limit);
    let error = egress(&dev_options()).send(request).await.expect_err("too slow");
    assert!(matches!(&error, EgressError::TimedOut { limit: said, .. } if *said == limit), "{error:?}");
}

#[tokio::test]
async fn where_nobody_listens_is_unreachable() {
    let server = Server::start(Answer::Text("gone")).await;
    let url = server.url_as("127.0.0.9", "/?token=hunter2");
    let error = egress(&dev_options()).send(Request::get(&url).expect("a URL")).await.expect_err("nobody");
    assert!(matches!(&error, EgressError::Unreachable { host, .. } if host == "127.0.0.9"), "{error:?}");
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
}

#[tokio::test]
async fn a_url_that_http_cannot_carry_is_a_bad_request() {
    let url = format!("http://a.example/?token=hunter2{}", "x".repeat(70_000));
    let error = egress(&dev_options()).send(Request::get(&url).expect("a URL")).await.expect_err("too long");
    assert!(matches!(error, EgressError::BadRequest(_)), "{error:?}");
    assert!(!format!("{error} {error:?}").contains("hunter2"));
}
