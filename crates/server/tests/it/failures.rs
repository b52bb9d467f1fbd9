use guildhall_testkit::TestDb;
use reqwest::Method;

use crate::support::{Setup, read};

// covers: R3
#[tokio::test]
async fn every_refusal_is_json_with_its_kind_its_message_and_a_trace_id() {
    let db = TestDb::new().await;
    let (one, other) = Setup::on(&db).with("http.max_body_bytes", 1000).start_two().await;
    for server in [&one, &other] {
        server.get("/nowhere").await.assert_failure(404, "not-found");
        server.get("/docs/no-such-file.js").await.assert_failure(404, "not-found");
        let wrong = server.request(Method::DELETE, "/health/live").await;
        wrong.assert_failure(405, "method-not-allowed");
        assert_eq!(wrong.header("allow"), "GET,HEAD");
        let large =
            server.client.post(server.url("/health")).body("x".repeat(1001)).send().await.expect("an answer");
        read(large).await.assert_failure(413, "payload-too-large");
    }
}

#[tokio::test]
async fn a_request_keeps_the_trace_of_its_caller() {
    let db = TestDb::new().await;
    let server = Setup::on(&db).start().await;
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let sent = server
        .client
        .get(server.url("/nowhere"))
        .header("traceparent", parent)
        .send()
        .await
        .expect("an answer");
    let answer = read(sent).await;
    answer.assert_failure(404, "not-found");
    assert_eq!(answer.body["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
    assert!(!answer.header("traceparent").contains("00f067aa0ba902b7"), "the span must be ours");
}

#[tokio::test]
async fn a_forged_trace_header_is_ignored() {
    let db = TestDb::new().await;
    let server = Setup::on(&db).start().await;
    for forged in ["garbage", "00-00000000000000000000000000000000-00f067aa0ba902b7-01", "00-zz-yy-01"] {
        let sent = server
            .client
            .get(server.url("/nowhere"))
            .header("traceparent", forged)
            .send()
            .await
            .expect("an answer");
        read(sent).await.assert_failure(404, "not-found");
    }
}
