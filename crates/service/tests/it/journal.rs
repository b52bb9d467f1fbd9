//! Following a growing stream.

use std::time::{Duration, Instant};

use guildhall_bus::{Bus, BusOptions};
use guildhall_domain::ids::EntryId;
use guildhall_domain::journal::{Fence, Journal, Seq, Stream};
use guildhall_runtime::Tasks;
use guildhall_runtime::telemetry::metrics::{Metrics, MetricsOptions};
use guildhall_service::journal::{Follower, Journals};
use guildhall_store::journal::{AppendRequest, NewEntry};
use guildhall_store::{Store, StoreOptions};
use guildhall_testkit::{
    EngineUrls, EntryPosition, History, PrivateEngines, Stopwatch, TestDb, nats_url, subject_prefix,
};
use secrecy::SecretString;
use uuid::Uuid;

struct Replica {
    journals: Journals,
    _tasks: Tasks,
}

async fn replica(db: &TestDb, nats: SecretString, prefix: &str) -> Replica {
    let second = Duration::from_secs(1);
    let options = StoreOptions {
        url: db.url(),
        max_connections: 8,
        acquire_timeout: second * 5,
        statement_timeout: second * 5,
    };
    let store = Store::new(&options).expect("a valid address");
    let bus = Bus::connect(&BusOptions { url: nats, subject_prefix: prefix.to_owned() })
        .await
        .expect("NATS is reachable");
    let tasks = Tasks::new();
    Replica { journals: Journals::start(&store, &bus, &tasks), _tasks: tasks }
}

async fn two_replicas(db: &TestDb, nats: SecretString) -> (Replica, Replica) {
    let prefix = subject_prefix();
    (replica(db, nats.clone(), &prefix).await, replica(db, nats, &prefix).await)
}

fn stream() -> Stream {
    Stream { journal: Journal::Audit, owner: Uuid::now_v7() }
}

/// Appends entries, retrying with the same ids until PostgreSQL confirms them.
async fn append_entries(replica: &Replica, stream: Stream, count: usize) -> Vec<EntryPosition> {
    let entry = || NewEntry {
        id: EntryId::generate(),
        kind: "test".into(),
        body: "{}".to_owned(),
        parsed_event: None,
    };
    let append = AppendRequest {
        stream,
        fence: Fence::Open,
        entries: (0..count).map(|_| entry()).collect(),
        quota: None,
    };
    loop {
        if let Ok(placed) = replica.journals.append(append.clone()).await {
            return append
                .entries
                .iter()
                .zip(placed)
                .map(|(entry, placed)| (stream, placed.seq(), entry.id))
                .collect();
        }
    }
}

/// Reads entries until a sequence number is reached.
async fn read_until(follower: &mut Follower, stream: Stream, last_seq: i64) -> Vec<EntryPosition> {
    let mut received = Vec::new();
    while follower.position().get() < last_seq {
        let entry =
            tokio::time::timeout(Duration::from_secs(120), follower.next()).await.expect("within 120 s");
        // PostgreSQL may be down; try again.
        if let Ok(entry) = entry {
            received.push((stream, entry.seq, entry.id));
        }
    }
    received
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn followers_on_two_replicas_receive_every_entry_once_in_order() {
    let db = TestDb::new().await;
    let (one, other) = two_replicas(&db, nats_url()).await;
    let stream = stream();
    let existing = append_entries(&one, stream, 700).await;
    let mut followers = [
        one.journals.follow(stream, Seq::ZERO),
        other.journals.follow(stream, Seq::ZERO),
        other.journals.follow(stream, Seq::ZERO),
    ];
    let writer = async {
        let mut appended = Vec::new();
        for round in 0..30 {
            appended.extend(append_entries(if round % 2 == 0 { &one } else { &other }, stream, 10).await);
        }
        appended
    };
    let [a, b, c] = &mut followers;
    let (appended, received_a, received_b, received_c) = tokio::join!(
        writer,
        read_until(a, stream, 1000),
        read_until(b, stream, 1000),
        read_until(c, stream, 1000)
    );
    let log = [existing, appended].concat();
    for received in [&received_a, &received_b, &received_c] {
        assert!(received.is_sorted_by(|one, next| one.1 < next.1), "out of order or duplicated");
    }
    let history =
        History { acknowledged: log.clone(), log, observed: vec![received_a, received_b, received_c] };
    assert_eq!(history.violations(), vec![]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nats_wake_up_delivers_entries_faster_than_the_timer() {
    let db = TestDb::new().await;
    let (one, other) = two_replicas(&db, nats_url()).await;
    let stream = stream();
    let mut follower = other.journals.follow(stream, Seq::ZERO);
    append_entries(&one, stream, 1).await;
    read_until(&mut follower, stream, 1).await;
    let mut latencies = Vec::new();
    for number in 2..22 {
        let started = Instant::now();
        append_entries(&one, stream, 1).await;
        read_until(&mut follower, stream, number).await;
        latencies.push(started.elapsed());
    }
    latencies.sort();
    assert!(
        latencies[10] < Duration::from_millis(300),
        "half of the entries took longer than {:?}: they came by the timer",
        latencies[10]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn followers_receive_every_entry_by_timer_without_nats() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.urls()).await;
    let (one, other) = two_replicas(&db, engines.nats.url()).await;
    engines.nats.kill();
    let stream = stream();
    let mut follower = other.journals.follow(stream, Seq::ZERO);
    let started = Stopwatch::start();
    let log = [append_entries(&one, stream, 5).await, append_entries(&one, stream, 5).await].concat();
    let received = read_until(&mut follower, stream, 10).await;
    assert!(started.elapsed() < Duration::from_secs(4), "took {:?}", started.elapsed());
    assert_eq!(History { acknowledged: log.clone(), log, observed: vec![received] }.violations(), vec![]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn follower_continues_after_postgres_restarts() {
    let engines = PrivateEngines::start();
    let addresses: EngineUrls = engines.urls();
    let db = TestDb::migrated(addresses).await;
    let (one, other) = two_replicas(&db, engines.nats.url()).await;
    let stream = stream();
    let mut follower = other.journals.follow(stream, Seq::ZERO);
    let writer = async {
        let mut log = append_entries(&one, stream, 5).await;
        engines.postgres.kill();
        engines.postgres.restart().expect("recovered");
        log.extend(append_entries(&one, stream, 5).await);
        log
    };
    let (log, received) = tokio::join!(writer, read_until(&mut follower, stream, 10));
    assert_eq!(History { acknowledged: log.clone(), log, observed: vec![received] }.violations(), vec![]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn followers_of_a_stream_share_one_reader() {
    let db = TestDb::new().await;
    let replica = replica(&db, nats_url(), &subject_prefix()).await;
    let stream = stream();
    let mut followers: Vec<Follower> = (0..100).map(|_| replica.journals.follow(stream, Seq::ZERO)).collect();
    assert_eq!(replica.journals.followed_streams(), 1);
    append_entries(&replica, stream, 3).await;
    let received =
        futures::future::join_all(followers.iter_mut().map(|follower| read_until(follower, stream, 3))).await;
    assert!(received.iter().all(|received| received.len() == 3));
    drop(followers);
    assert_eq!(replica.journals.followed_streams(), 0);
}

/// Returns the value of a counter metric.
fn counter_value(metrics: &Metrics, name: &str) -> u64 {
    let text = metrics.render();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.map_or(0, |value| value.parse().expect("a number"))
}

// covers: R9
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_thousand_followers_need_one_read_per_wake_up() {
    let metrics = Metrics::install(&MetricsOptions::default()).expect("installed");
    let db = TestDb::new().await;
    let replica = replica(&db, nats_url(), &subject_prefix()).await;
    let stream = stream();
    let mut log = append_entries(&replica, stream, 1).await;
    let mut followers: Vec<Follower> =
        (0..5000).map(|_| replica.journals.follow(stream, Seq::ZERO)).collect();
    // Each follower reads the existing entries itself; in chunks, because the connection pool is small.
    for chunk in followers.chunks_mut(50) {
        futures::future::join_all(chunk.iter_mut().map(|follower| read_until(follower, stream, 1))).await;
    }
    let names = ["guildhall_journal_tail_reads_total", "guildhall_journal_follower_reads_total"];
    let before = names.map(|name| counter_value(&metrics, name));
    for round in 1..=10 {
        let written = append_entries(&replica, stream, 3).await;
        let last_seq = 1 + 3 * round;
        let received = futures::future::join_all(
            followers.iter_mut().map(|follower| read_until(follower, stream, last_seq)),
        )
        .await;
        assert!(
            received.iter().all(|received| *received == written),
            "a follower received other entries in round {round}"
        );
        log.extend(written);
    }
    let after = names.map(|name| counter_value(&metrics, name));
    assert_eq!([after[0] - before[0], after[1] - before[1]], [10, 0], "reads for 10 wake-ups");
    assert_eq!(log.len(), 31);
}

/// NATS hints are not trusted: a hint with a sequence number beyond the end must not hide later entries.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn false_wake_up_hint_does_not_stop_a_stream() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.urls()).await;
    let (prefix, stream) = (subject_prefix(), stream());
    let replica = replica(&db, engines.nats.url(), &prefix).await;
    let options = BusOptions { url: engines.nats.url(), subject_prefix: prefix };
    let false_publisher = Bus::connect(&options).await.expect("NATS is reachable");
    let mut follower = replica.journals.follow(stream, Seq::ZERO);
    let mut log = append_entries(&replica, stream, 1).await;
    let mut received = read_until(&mut follower, stream, 1).await;
    false_publisher
        .publish(&format!("journal.audit.{}", stream.owner.simple()), b"9000000000".to_vec())
        .await;
    // Messages keep their order: after this round trip the false hint was delivered.
    false_publisher.round_trip(Duration::from_secs(5)).await.expect("NATS responds");
    tokio::time::sleep(Duration::from_millis(300)).await;
    engines.nats.kill();
    for number in 2..5 {
        log.extend(append_entries(&replica, stream, 1).await);
        received.extend(read_until(&mut follower, stream, number).await);
    }
    assert_eq!(received, log);
}
