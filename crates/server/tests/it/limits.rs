use std::time::{Duration, Instant};

use guildhall_testkit::TestDb;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Setup, read};

const LOCK: &str = "BEGIN; LOCK TABLE replicas IN ACCESS EXCLUSIVE MODE";

#[tokio::test]
async fn over_the_limit_a_request_is_refused_at_once_while_probes_still_answer() {
    let db = TestDb::new().await;
    let server = Setup::on(&db).with("http.max_concurrent_requests", 1).start().await;
    let mut lock = db.sql().await;
    lock.execute(LOCK).await;
    let held = server.client.get(server.url("/health")).send();
    let others = async {
        let (refused, _) =
            server.until("/nowhere", Duration::from_secs(5), |answer| answer.status == 503).await;
        refused.assert_failure(503, "overloaded");
        assert_eq!(refused.header("retry-after"), "1");
        assert_eq!(server.get("/health/live").await.status, 200);
        assert_eq!(server.get("/metrics").await.status, 200);
        lock.execute("COMMIT").await;
    };
    let (held, ()) = tokio::join!(held, others);
    assert_eq!(read(held.expect("an answer")).await.status, 200);
    server.get("/nowhere").await.assert_failure(404, "not-found");
}

#[tokio::test]
async fn a_request_that_takes_too_long_gets_its_failure_in_time() {
    let db = TestDb::new().await;
    let server = Setup::on(&db).with("http.request_timeout", "300ms").start().await;
    let mut lock = db.sql().await;
    lock.execute(LOCK).await;
    let began = Instant::now();
    server.get("/health").await.assert_failure(504, "timeout");
    assert!(began.elapsed() < Duration::from_secs(2), "took {:?}", began.elapsed());
}

#[tokio::test]
async fn a_statement_that_waits_too_long_is_given_up_by_the_database() {
    let db = TestDb::new().await;
    let server = Setup::on(&db).with("postgres.statement_timeout", "300ms").start().await;
    let mut lock = db.sql().await;
    lock.execute(LOCK).await;
    server.get("/health").await.assert_failure(503, "infra-failed");
}

#[tokio::test]
async fn a_connection_over_the_limit_is_told_so_and_closed() {
    let db = TestDb::new().await;
    let server = Setup::on(&db).with("http.max_connections", 1).start().await;
    let _held = TcpStream::connect(server.address).await.expect("the first");
    let mut text = String::new();
    let deadline = Instant::now() + Duration::from_secs(5);
    while !text.starts_with("HTTP/1.1 503") {
        assert!(Instant::now() < deadline, "no refusal: {text}");
        text.clear();
        let mut second = TcpStream::connect(server.address).await.expect("the second");
        second.read_to_string(&mut text).await.expect("an answer");
    }
    let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
    let body: serde_json::Value = serde_json::from_str(body).expect("JSON");
    assert_eq!(body["failureKind"], "overloaded");
    assert!(head.contains("connection: close") && head.contains("retry-after: 1"), "{head}");
}

#[tokio::test]
async fn a_client_that_never_finishes_its_head_is_let_go() {
    let db = TestDb::new().await;
    let server = Setup::on(&db).with("http.header_timeout", "300ms").start().await;
    let mut slow = TcpStream::connect(server.address).await.expect("connected");
    slow.write_all(b"GET /health HTTP/1.1\r\nhost: x\r\nx-slow: ").await.expect("sent");
    let mut rest = Vec::new();
    let closed = tokio::time::timeout(Duration::from_secs(5), slow.read_to_end(&mut rest)).await;
    closed.expect("closed within 5 s").expect("closed in good order");
}

#[tokio::test]
async fn a_client_that_says_nothing_or_half_a_word_is_let_go() {
    let db = TestDb::new().await;
    let server = Setup::on(&db).with("http.header_timeout", "300ms").start().await;
    for half_a_word in ["", "P", "PRI * HT"] {
        let mut silent = TcpStream::connect(server.address).await.expect("connected");
        silent.write_all(half_a_word.as_bytes()).await.expect("sent");
        let mut rest = Vec::new();
        let closed = tokio::time::timeout(Duration::from_secs(5), silent.read_to_end(&mut rest)).await;
        assert!(closed.is_ok(), "still open after {half_a_word:?}");
    }
}
