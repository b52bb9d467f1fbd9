//! A client that reads slowly or not at all.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use super::{StreamFixture, data};
use crate::support::TestServer;
use crate::support::cluster::Cluster;
use crate::support::events::StreamEvent;

/// The size of one append. Some dozens of appends exceed the capacity of sockets and queue.
const EVENTS_PER_APPEND: usize = 4;
const EVENT_BYTES: usize = 60_000;
const MAX_APPENDS: usize = 120;

/// A client with a small receive buffer, so that it is slow as soon as it stops reading. HTTP/1.0 has no chunked
/// encoding: the body consists of the frames only.
struct SlowReader(TcpStream);

impl SlowReader {
    async fn open(server: &TestServer, path: &str, bearer: &str) -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(4096).expect("a small socket");
        let mut stream = socket.connect(server.address).await.expect("connected");
        let head = format!(
            "GET {path} HTTP/1.0\r\nhost: {}\r\nauthorization: Bearer {bearer}\r\n\r\n",
            server.address
        );
        stream.write_all(head.as_bytes()).await.expect("sent");
        Self(stream)
    }

    /// Reads the whole replay and returns it.
    async fn read_history(&mut self) -> String {
        let mut text = String::new();
        while !text[text.len().saturating_sub(1000)..].contains("event: replay_complete") {
            text.push_str(&self.read().await);
        }
        text
    }

    async fn read(&mut self) -> String {
        let mut bytes = vec![0; 64 * 1024];
        let read = tokio::time::timeout(Duration::from_secs(120), self.0.read(&mut bytes)).await;
        let count = read.expect("data within 20 s").expect("bytes");
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    }

    /// Reads to the end of the stream.
    async fn read_rest(mut self) -> Vec<StreamEvent> {
        let mut text = String::new();
        loop {
            let piece = self.read().await;
            if piece.is_empty() {
                break;
            }
            text.push_str(&piece);
        }
        text.split_terminator("\n\n")
            .filter_map(|frame| {
                let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name));
                let kind = field("event: ")?.to_owned();
                let data = serde_json::from_str(field("data: ")?).expect("JSON data");
                Some(StreamEvent { id: field("id: ").map(str::to_owned), kind, data })
            })
            .collect()
    }
}

/// Appends events once and returns the latency.
async fn append(cluster: &Cluster, fixture: &StreamFixture, turn: usize) -> Duration {
    let events: Vec<Value> = (0..EVENTS_PER_APPEND)
        .map(|n| {
            let payload = json!({ "text": "x".repeat(EVENT_BYTES) });
            json!({ "id": format!("{turn}-{n}"), "type": "command_output", "commandId": fixture.command, "payload": payload })
        })
        .collect();
    let began = Instant::now();
    let response = cluster.first.append_events(&fixture.claim, json!(events)).await;
    assert_eq!(response.status, 200, "{}", response.text);
    began.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

async fn has_evicted(server: &TestServer) -> bool {
    server.get("/metrics").await.text.contains("guildhall_stream_evictions_total 1")
}

// covers: C4
// exercises: slow_client_warning
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_reader_is_warned_and_evicted_without_slowing_others() {
    let cluster = Cluster::new().await;
    let fixture = StreamFixture::new(&cluster, "acme").await;
    let bearer = &cluster.operator.token;
    let mut fast = cluster.first.open_stream(&fixture.path, bearer, None).await;
    let mut received = fast.next_events(cluster.list_events(&fixture.run).await.len()).await;
    let mut latencies_before = Vec::new();
    let mut turn = 0;
    while turn < 15 {
        latencies_before.push(append(&cluster, &fixture, turn).await);
        received.extend(fast.next_events(EVENTS_PER_APPEND).await);
        turn += 1;
    }

    let mut slow = SlowReader::open(&cluster.first, &fixture.path, bearer).await;
    slow.read_history().await;
    let mut latencies_during = Vec::new();
    while !has_evicted(&cluster.first).await {
        assert!(turn < MAX_APPENDS, "a client that does not read is not evicted");
        latencies_during.push(append(&cluster, &fixture, turn).await);
        received.extend(fast.next_events(EVENTS_PER_APPEND).await);
        turn += 1;
        // The queue overflows long before the eviction timeout.
        tokio::time::sleep(Duration::from_millis(40)).await;
    }
    let (before, during) = (median(latencies_before), median(latencies_during));
    assert!(
        during < before * 3 + Duration::from_millis(50),
        "the slow client slows appends: {before:?} before, {during:?} during"
    );
    assert_eq!(data(&received), cluster.list_events(&fixture.run).await, "the fast reader has all events");

    // The slow client got some events, one warning and the eviction. With its cursor it can read the rest.
    let mut frames = slow.read_rest().await;
    let last = frames.pop().expect("a last frame");
    assert_eq!(
        (last.kind.as_str(), last.id, last.data),
        ("client_evicted", None, json!({ "v": 1, "type": "client_evicted", "reason": "queue_overflow" }))
    );
    let warnings = frames.iter().filter(|frame| frame.kind == "slow_client_warning").count();
    assert_eq!(warnings, 1, "there is one warning before the eviction");
    let newest = frames.iter().rfind(|frame| frame.id.is_some()).expect("an event");
    let (cursor, last_seq) = (newest.id.clone().expect("a cursor"), newest.data["seq"].clone());
    let last_seq = usize::try_from(last_seq.as_i64().expect("a number")).expect("a small number");
    let mut again = cluster.second.open_stream(&fixture.path, bearer, Some(&cursor)).await;
    let rest = again.next_events(received.len() - last_seq).await;
    assert_eq!(data(&rest), data(&received[last_seq..]));
}

/// History is read from PostgreSQL on demand, so a slow reader of history is not evicted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_reader_of_history_is_not_evicted() {
    let cluster = Cluster::new().await;
    let fixture = StreamFixture::new(&cluster, "acme").await;
    for turn in 0..40 {
        append(&cluster, &fixture, turn).await;
    }
    let mut slow = SlowReader::open(&cluster.first, &fixture.path, &cluster.operator.token).await;
    // Longer than the eviction timeout of a live stream.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let text = slow.read_history().await;
    let ids = text.lines().filter(|line| line.starts_with("id: ")).count();
    assert_eq!(ids, cluster.list_events(&fixture.run).await.len());
    assert!(!text.contains("client_evicted") && !text.contains("slow_client_warning"));
}
