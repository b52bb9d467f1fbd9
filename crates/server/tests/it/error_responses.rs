use guildhall_testkit::TestDb;
use reqwest::Method;

use crate::support::{Setup, read_response};

// covers: R3
#[tokio::test]
async fn error_responses_have_kind_message_and_trace_id() {
    let db = TestDb::new().await;
    let (one, other) = Setup::new(&db).with("http.max_body_bytes", 1000).start_two().await;
    for server in [&one, &other] {
        server.get("/nowhere").await.assert_failure(404, "not-found");
        server.get("/docs/no-such-file.js").await.assert_failure(404, "not-found");
        let wrong_method = server.request(Method::DELETE, "/health/live").await;
        wrong_method.assert_failure(405, "method-not-allowed");
        assert_eq!(wrong_method.header("allow"), "GET,HEAD");
        let large = server
            .client
            .post(server.url("/health"))
            .body("x".repeat(1001))
            .send()
            .await
            .expect("a response");
        read_response(large).await.assert_failure(413, "payload-too-large");
    }
}

#[tokio::test]
async fn request_keeps_the_trace_id_of_its_caller() {
    let db = TestDb::new().await;
    let server = Setup::new(&db).start().await;
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let sent = server
        .client
        .get(server.url("/nowhere"))
        .header("traceparent", parent)
        .send()
        .await
        .expect("a response");
    let response = read_response(sent).await;
    response.assert_failure(404, "not-found");
    assert_eq!(response.body["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
    assert!(!response.header("traceparent").contains("00f067aa0ba902b7"), "the span id must be new");
}

#[tokio::test]
async fn invalid_trace_header_is_ignored() {
    let db = TestDb::new().await;
    let server = Setup::new(&db).start().await;
    for invalid in ["garbage", "00-00000000000000000000000000000000-00f067aa0ba902b7-01", "00-zz-yy-01"] {
        let sent = server
            .client
            .get(server.url("/nowhere"))
            .header("traceparent", invalid)
            .send()
            .await
            .expect("a response");
        read_response(sent).await.assert_failure(404, "not-found");
    }
}
