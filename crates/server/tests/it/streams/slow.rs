//! A reader that does not read.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use super::{Stage, data};
use crate::support::TestServer;
use crate::support::events::Event;
use crate::support::people::World;

/// What one append says: far more than sockets and the queue hold, within some dozens of appends.
const EVENTS_A_TURN: usize = 4;
const EVENT_BYTES: usize = 60_000;
const TURNS_AT_MOST: usize = 120;

/// A reader over a plain socket with little room, so that it is slow as soon as it does not read. HTTP/1.0 has no
/// chunks: what arrives are the frames.
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

    /// Reads until all of history has come, and returns it.
    async fn history(&mut self) -> String {
        let mut text = String::new();
        while !text[text.len().saturating_sub(1000)..].contains("event: replay_complete") {
            text.push_str(&self.read().await);
        }
        text
    }

    async fn read(&mut self) -> String {
        let mut bytes = vec![0; 64 * 1024];
        let read = tokio::time::timeout(Duration::from_secs(20), self.0.read(&mut bytes)).await;
        let count = read.expect("something within 20 s").expect("bytes");
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    }

    /// Reads everything that is left, to the end of the stream.
    async fn rest(mut self) -> Vec<Event> {
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
                let data = serde_json::from_str(field("data: ")?).expect("whole frames");
                Some(Event { id: field("id: ").map(str::to_owned), kind, data })
            })
            .collect()
    }
}

/// Appends once, and returns how long it took.
async fn write(world: &World, stage: &Stage, turn: usize) -> Duration {
    let events: Vec<Value> = (0..EVENTS_A_TURN)
        .map(|n| {
            let payload = json!({ "text": "x".repeat(EVENT_BYTES) });
            json!({ "id": format!("{turn}-{n}"), "type": "command_output", "commandId": stage.command, "payload": payload })
        })
        .collect();
    let began = Instant::now();
    let answer = world.one.append(&stage.held, json!(events)).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    began.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

async fn evictions(server: &TestServer) -> bool {
    server.get("/metrics").await.text.contains("guildhall_stream_evictions_total 1")
}

/// The behaviour behind `slow_client_warning`.
// covers: C4, C9
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_reader_is_warned_and_evicted_and_nobody_else_feels_it() {
    let world = World::new().await;
    let stage = Stage::new(&world, "acme").await;
    let bearer = &world.operator.access;
    let mut fast = world.one.events(&stage.path, bearer, None).await;
    let mut seen = fast.facts(world.events(&stage.run).await.len()).await;
    let mut alone = Vec::new();
    let mut turn = 0;
    while turn < 15 {
        alone.push(write(&world, &stage, turn).await);
        seen.extend(fast.facts(EVENTS_A_TURN).await);
        turn += 1;
    }

    let mut slow = SlowReader::open(&world.one, &stage.path, bearer).await;
    slow.history().await;
    let mut beside = Vec::new();
    while !evictions(&world.one).await {
        assert!(turn < TURNS_AT_MOST, "a reader that never reads is not evicted");
        beside.push(write(&world, &stage, turn).await);
        seen.extend(fast.facts(EVENTS_A_TURN).await);
        turn += 1;
        // The queue is full long before its patience is over.
        tokio::time::sleep(Duration::from_millis(40)).await;
    }
    let (alone, beside) = (median(alone), median(beside));
    assert!(
        beside < alone * 3 + Duration::from_millis(50),
        "the writer waits: {alone:?} alone, {beside:?} beside"
    );
    assert_eq!(data(&seen), world.events(&stage.run).await, "the fast reader has everything");

    // What it got before it was warned, and then evicted; all that it missed it reads again.
    let mut frames = slow.rest().await;
    let last = frames.pop().expect("a last frame");
    assert_eq!(
        (last.kind.as_str(), last.id, last.data),
        ("client_evicted", None, json!({ "v": 1, "type": "client_evicted", "reason": "queue_overflow" }))
    );
    let warnings = frames.iter().filter(|frame| frame.kind == "slow_client_warning").count();
    assert_eq!(warnings, 1, "warned once before it was evicted");
    let newest = frames.iter().rfind(|frame| frame.id.is_some()).expect("a fact");
    let (cursor, had) = (newest.id.clone().expect("a cursor"), newest.data["seq"].clone());
    let had = usize::try_from(had.as_i64().expect("a number")).expect("few");
    let mut again = world.other.events(&stage.path, bearer, Some(&cursor)).await;
    let rest = again.facts(seen.len() - had).await;
    assert_eq!(data(&rest), data(&seen[had..]));
}

/// A long history is read as slowly as one likes: it waits in PostgreSQL.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_of_history_is_never_evicted() {
    let world = World::new().await;
    let stage = Stage::new(&world, "acme").await;
    for turn in 0..40 {
        write(&world, &stage, turn).await;
    }
    let mut slow = SlowReader::open(&world.one, &stage.path, &world.operator.access).await;
    // Longer than anyone who is live may be behind.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let text = slow.history().await;
    let ids = text.lines().filter(|line| line.starts_with("id: ")).count();
    assert_eq!(ids, world.events(&stage.run).await.len());
    assert!(!text.contains("client_evicted") && !text.contains("slow_client_warning"));
}
