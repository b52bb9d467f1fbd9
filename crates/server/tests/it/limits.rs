use std::time::{Duration, Instant};

use guildhall_testkit::{Stopwatch, TestDb};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Setup, read_response};

const LOCK_REPLICAS: &str = "BEGIN; LOCK TABLE replicas IN ACCESS EXCLUSIVE MODE";

#[tokio::test]
async fn request_over_the_concurrency_limit_is_refused_and_probes_answer() {
    let db = TestDb::new().await;
    let server = Setup::new(&db).with("http.max_concurrent_requests", 1).start().await;
    let mut lock = db.sql().await;
    lock.execute(LOCK_REPLICAS).await;
    let blocked = server.client.get(server.url("/health")).send();
    let others = async {
        let (refused, _) =
            server.wait_until("/nowhere", Duration::from_secs(5), |response| response.status == 503).await;
        refused.assert_failure(503, "overloaded");
        assert_eq!(refused.header("retry-after"), "1");
        assert_eq!(server.get("/health/live").await.status, 200);
        assert_eq!(server.get("/metrics").await.status, 200);
        lock.execute("COMMIT").await;
    };
    let (blocked, ()) = tokio::join!(blocked, others);
    assert_eq!(read_response(blocked.expect("a response")).await.status, 200);
    server.get("/nowhere").await.assert_failure(404, "not-found");
}

#[tokio::test]
async fn slow_request_gets_a_timeout_error() {
    let db = TestDb::new().await;
    let server = Setup::new(&db).with("http.request_timeout", "300ms").start().await;
    let mut lock = db.sql().await;
    lock.execute(LOCK_REPLICAS).await;
    let began = Stopwatch::start();
    server.get("/health").await.assert_failure(504, "timeout");
    assert!(began.elapsed() < Duration::from_secs(2), "took {:?}", began.elapsed());
}

#[tokio::test]
async fn statement_over_the_time_limit_gets_infra_failed() {
    let db = TestDb::new().await;
    // The limit is also the one of an idle transaction, which a start on a busy machine must not exceed.
    let server = Setup::new(&db).with("postgres.statement_timeout", "2s").start().await;
    let mut lock = db.sql().await;
    lock.execute(LOCK_REPLICAS).await;
    server.get("/health").await.assert_failure(503, "infra-failed");
}

#[tokio::test]
async fn connection_over_the_limit_gets_overloaded_and_is_closed() {
    let db = TestDb::new().await;
    let server = Setup::new(&db).with("http.max_connections", 1).start().await;
    let _first = TcpStream::connect(server.address).await.expect("a first connection");
    let mut text = String::new();
    let deadline = Instant::now() + Duration::from_secs(120);
    while !text.starts_with("HTTP/1.1 503") {
        assert!(Instant::now() < deadline, "the second connection was not refused: {text}");
        text.clear();
        let mut second = TcpStream::connect(server.address).await.expect("a second connection");
        second.read_to_string(&mut text).await.expect("a response");
    }
    let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
    let body: serde_json::Value = serde_json::from_str(body).expect("JSON");
    assert_eq!(body["failureKind"], "overloaded");
    assert!(head.contains("connection: close") && head.contains("retry-after: 1"), "{head}");
}

#[tokio::test]
async fn connection_with_unfinished_headers_is_closed() {
    let db = TestDb::new().await;
    let server = Setup::new(&db).with("http.header_timeout", "300ms").start().await;
    let mut slow = TcpStream::connect(server.address).await.expect("connected");
    slow.write_all(b"GET /health HTTP/1.1\r\nhost: x\r\nx-slow: ").await.expect("sent");
    let mut rest = Vec::new();
    let closed = tokio::time::timeout(Duration::from_secs(120), slow.read_to_end(&mut rest)).await;
    closed.expect("closed within 120 s").expect("closed without an error");
}

#[tokio::test]
async fn connection_without_a_request_is_closed() {
    let db = TestDb::new().await;
    let server = Setup::new(&db).with("http.header_timeout", "300ms").start().await;
    for partial_request in ["", "P", "PRI * HT"] {
        let mut silent = TcpStream::connect(server.address).await.expect("connected");
        silent.write_all(partial_request.as_bytes()).await.expect("sent");
        let mut rest = Vec::new();
        let closed = tokio::time::timeout(Duration::from_secs(120), silent.read_to_end(&mut rest)).await;
        assert!(closed.is_ok(), "still open after {partial_request:?}");
    }
}
