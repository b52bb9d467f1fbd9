use std::time::Duration;

use guildhall_testkit::{Stopwatch, TestDb};
use tokio::net::TcpStream;

use crate::support::{Setup, read_response};

#[tokio::test]
async fn shutdown_refuses_new_connections_and_finishes_open_requests() {
    let db = TestDb::new().await;
    let setup = Setup::new(&db).with("http.drain_delay", "1s");
    let (leaving, staying) = setup.start_two().await;
    staying
        .wait_until("/health", Duration::from_secs(5), |a| {
            a.body["replicas"].as_array().map(Vec::len) == Some(2)
        })
        .await;
    let mut lock = db.sql().await;
    lock.execute("BEGIN; LOCK TABLE replicas IN ACCESS EXCLUSIVE MODE").await;
    let (address, url, client) = (leaving.address, leaving.url(""), leaving.client.clone());
    let accepted = client.get(format!("{url}/health")).send();

    let shutdown = leaving.server.shutdown();
    let outside = async {
        // During the delay the server still answers, and readiness tells a load balancer to send no more requests.
        let probe = loop {
            let response = client.get(format!("{url}/health/readiness")).send().await.expect("still open");
            let probe = read_response(response).await;
            if probe.status == 503 {
                break probe;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        };
        assert_eq!(probe.body["status"], "unready");
        assert_eq!(probe.body["failureKind"], "not-ready");
        assert_eq!(probe.body["message"], "the server is shutting down and accepts no new work");
        // After the delay new connections are refused, while the accepted request is still open.
        let began = Stopwatch::start();
        while TcpStream::connect(address).await.is_ok() {
            assert!(began.elapsed() < Duration::from_secs(10), "new connections are still accepted");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        lock.execute("COMMIT").await;
    };
    let (complete, response, ()) = tokio::join!(shutdown, accepted, outside);
    assert_eq!(read_response(response.expect("a response before the end")).await.status, 200);
    assert!(complete, "an accepted request was cut off");
    let list = staying.get("/health").await.body["replicas"].clone();
    assert_eq!(list.as_array().map(Vec::len), Some(1), "the stopped replica is still listed: {list}");
}

#[tokio::test]
async fn shutdown_reports_a_request_that_exceeds_the_drain_timeout() {
    let db = TestDb::new().await;
    let server = Setup::new(&db).with("http.drain_timeout", "200ms").start().await;
    let mut lock = db.sql().await;
    // No background task reads passwords.
    lock.execute("BEGIN; LOCK TABLE passwords IN ACCESS EXCLUSIVE MODE").await;
    let (url, client) = (server.url("/api/v1/auth/login"), server.client.clone());
    let sign_in = serde_json::json!({ "name": "ada", "password": "x" });
    let accepted = async { client.post(url).json(&sign_in).send().await };
    let mut waiting = db.sql().await;
    let shutdown = async {
        // The request waits for the lock.
        let blocked = "SELECT count(*) FROM pg_locks WHERE relation = 'passwords'::regclass AND NOT granted";
        while waiting.number(blocked).await == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        server.server.shutdown().await
    };
    let (_cut_or_answered, complete) = tokio::join!(accepted, shutdown);
    assert!(!complete, "the cut request was not reported");
}

#[tokio::test]
async fn shutdown_closes_open_streams_with_a_closed_event() {
    let cluster = crate::support::cluster::Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let path = format!("/api/v1/tenants/{tenant}/audit/stream");
    let mut stream = cluster.first.open_stream(&path, &cluster.operator.token, None).await;
    stream.next().await.expect("an open stream");
    let began = Stopwatch::start();
    let (complete, last) = tokio::join!(cluster.first.server.shutdown(), stream.next());
    assert!(complete && began.elapsed() < Duration::from_secs(5), "took {:?}", began.elapsed());
    let last = last.expect("a closing event");
    assert_eq!((last.kind.as_str(), last.data["failureKind"].as_str()), ("closed", Some("not-ready")));
}
