use std::time::Duration;

use guildhall_testkit::TestDb;
use tokio::net::TcpStream;

use crate::support::{Setup, read};

#[tokio::test]
async fn shutting_down_turns_traffic_away_and_finishes_what_was_accepted() {
    let db = TestDb::new().await;
    let setup = Setup::on(&db).with("http.drain_delay", "1s");
    let (leaving, staying) = setup.start_two().await;
    staying
        .until("/health", Duration::from_secs(5), |a| a.body["replicas"].as_array().map(Vec::len) == Some(2))
        .await;
    let mut lock = db.sql().await;
    lock.execute("BEGIN; LOCK TABLE replicas IN ACCESS EXCLUSIVE MODE").await;
    let (address, url, client) = (leaving.address, leaving.url(""), leaving.client.clone());
    let accepted = client.get(format!("{url}/health")).send();

    let shutdown = leaving.server.shutdown();
    let outside = async {
        // The balancer's view: still answering, but asking for no more.
        tokio::time::sleep(Duration::from_millis(300)).await;
        let probe =
            read(client.get(format!("{url}/health/readiness")).send().await.expect("still open")).await;
        assert_eq!((probe.status.as_u16(), probe.body["status"].as_str()), (503, Some("unready")));
        assert_eq!(probe.body["failureKind"], "not-ready");
        assert_eq!(probe.body["message"], "the server is shutting down and takes no new work");
        // The door closes after the delay, while the accepted request is still at work.
        tokio::time::sleep(Duration::from_millis(1200)).await;
        assert!(TcpStream::connect(address).await.is_err(), "the door is still open");
        lock.execute("COMMIT").await;
    };
    let (whole, answer, ()) = tokio::join!(shutdown, accepted, outside);
    assert_eq!(read(answer.expect("answered before the end")).await.status, 200);
    assert!(whole, "something was cut off");
    let list = staying.get("/health").await.body["replicas"].clone();
    assert_eq!(list.as_array().map(Vec::len), Some(1), "the leaver is still listed: {list}");
}

#[tokio::test]
async fn a_request_that_outlives_the_drain_is_reported() {
    let db = TestDb::new().await;
    let server = Setup::on(&db).with("http.drain_timeout", "200ms").start().await;
    let mut lock = db.sql().await;
    lock.execute("BEGIN; LOCK TABLE replicas IN ACCESS EXCLUSIVE MODE").await;
    let (url, client) = (server.url("/health"), server.client.clone());
    let accepted = async { client.get(url).send().await };
    let shutdown = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        server.server.shutdown().await
    };
    let (_cut_or_answered, whole) = tokio::join!(accepted, shutdown);
    assert!(!whole, "the cut went unnoticed");
}

#[tokio::test]
async fn an_open_stream_ends_with_a_last_word_and_does_not_hold_up_the_shutdown() {
    let world = crate::support::people::World::new().await;
    let tenant = world.tenant("acme").await;
    let path = format!("/api/v1/tenants/{tenant}/audit/stream");
    let mut stream = world.one.events(&path, &world.operator.access, None).await;
    stream.next().await.expect("the stream is open");
    let began = std::time::Instant::now();
    let (whole, last) = tokio::join!(world.one.server.shutdown(), stream.next());
    assert!(whole && began.elapsed() < Duration::from_secs(5), "took {:?}", began.elapsed());
    let last = last.expect("a last word");
    assert_eq!((last.kind.as_str(), last.data["failureKind"].as_str()), ("closed", Some("not-ready")));
}
