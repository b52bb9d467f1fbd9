//! Following a stream that grows.

use std::time::{Duration, Instant};

use guildhall_bus::{Bus, BusOptions};
use guildhall_domain::ids::EntryId;
use guildhall_domain::journal::{Fence, Journal, Seq, Stream};
use guildhall_runtime::Tasks;
use guildhall_runtime::telemetry::metrics::Metrics;
use guildhall_service::journal::{Follower, Journals};
use guildhall_store::journal::{Append, NewEntry};
use guildhall_store::{Store, StoreOptions};
use guildhall_testkit::{Addresses, History, PrivateEngines, Sighting, TestDb, nats_url, subject_prefix};
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
    let bus =
        Bus::connect(&BusOptions { url: nats, subject_prefix: prefix.to_owned() }).await.expect("prepared");
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

/// Appends entries until PostgreSQL has confirmed them, under the same ids each time.
async fn write(replica: &Replica, stream: Stream, count: usize) -> Vec<Sighting> {
    let entry =
        || NewEntry { id: EntryId::generate(), kind: "test".into(), body: "{}".to_owned(), mark: None };
    let append = Append { stream, fence: Fence::Open, entries: (0..count).map(|_| entry()).collect() };
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

/// Follows until a number is reached.
async fn see(follower: &mut Follower, stream: Stream, until: i64) -> Vec<Sighting> {
    let mut seen = Vec::new();
    while follower.position().get() < until {
        let entry =
            tokio::time::timeout(Duration::from_secs(20), follower.next()).await.expect("within 20 s");
        // PostgreSQL may be away; the follower is asked again.
        if let Ok(entry) = entry {
            seen.push((stream, entry.seq, entry.id));
        }
    }
    seen
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_on_either_replica_sees_every_entry_once_and_in_order() {
    let db = TestDb::new().await;
    let (one, other) = two_replicas(&db, nats_url()).await;
    let stream = stream();
    let early = write(&one, stream, 700).await;
    let mut followers = [
        one.journals.follow(stream, Seq::ZERO),
        other.journals.follow(stream, Seq::ZERO),
        other.journals.follow(stream, Seq::ZERO),
    ];
    let writing = async {
        let mut late = Vec::new();
        for round in 0..30 {
            late.extend(write(if round % 2 == 0 { &one } else { &other }, stream, 10).await);
        }
        late
    };
    let [a, b, c] = &mut followers;
    let (late, seen_a, seen_b, seen_c) =
        tokio::join!(writing, see(a, stream, 1000), see(b, stream, 1000), see(c, stream, 1000));
    let log = [early, late].concat();
    for seen in [&seen_a, &seen_b, &seen_c] {
        assert!(seen.is_sorted_by(|one, next| one.1 < next.1), "out of order or doubled");
    }
    let history = History { acknowledged: log.clone(), log, followed: vec![seen_a, seen_b, seen_c] };
    assert_eq!(history.faults(), vec![]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_entry_reaches_the_other_replica_by_its_wake_up_and_not_by_the_timer() {
    let db = TestDb::new().await;
    let (one, other) = two_replicas(&db, nats_url()).await;
    let stream = stream();
    let mut follower = other.journals.follow(stream, Seq::ZERO);
    write(&one, stream, 1).await;
    see(&mut follower, stream, 1).await;
    let mut times = Vec::new();
    for number in 2..22 {
        let began = Instant::now();
        write(&one, stream, 1).await;
        see(&mut follower, stream, number).await;
        times.push(began.elapsed());
    }
    times.sort();
    assert!(
        times[10] < Duration::from_millis(300),
        "half took longer than {:?}: the timer brought them",
        times[10]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_nats_the_timer_brings_every_entry() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.addresses()).await;
    let (one, other) = two_replicas(&db, engines.nats.url()).await;
    engines.nats.kill();
    let stream = stream();
    let mut follower = other.journals.follow(stream, Seq::ZERO);
    let began = Instant::now();
    let log = [write(&one, stream, 5).await, write(&one, stream, 5).await].concat();
    let seen = see(&mut follower, stream, 10).await;
    assert!(began.elapsed() < Duration::from_secs(4), "took {:?}", began.elapsed());
    assert_eq!(History { acknowledged: log.clone(), log, followed: vec![seen] }.faults(), vec![]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_goes_on_after_postgres_was_killed() {
    let engines = PrivateEngines::start();
    let addresses: Addresses = engines.addresses();
    let db = TestDb::migrated(addresses).await;
    let (one, other) = two_replicas(&db, engines.nats.url()).await;
    let stream = stream();
    let mut follower = other.journals.follow(stream, Seq::ZERO);
    let writing = async {
        let mut log = write(&one, stream, 5).await;
        engines.postgres.kill();
        engines.postgres.up().expect("recovered");
        log.extend(write(&one, stream, 5).await);
        log
    };
    let (log, seen) = tokio::join!(writing, see(&mut follower, stream, 10));
    assert_eq!(History { acknowledged: log.clone(), log, followed: vec![seen] }.faults(), vec![]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_followers_of_a_stream_share_one_reader_that_ends_with_them() {
    let db = TestDb::new().await;
    let replica = replica(&db, nats_url(), &subject_prefix()).await;
    let stream = stream();
    let mut followers: Vec<Follower> = (0..100).map(|_| replica.journals.follow(stream, Seq::ZERO)).collect();
    assert_eq!(replica.journals.followed_streams(), 1);
    write(&replica, stream, 3).await;
    let seen = futures::future::join_all(followers.iter_mut().map(|follower| see(follower, stream, 3))).await;
    assert!(seen.iter().all(|seen| seen.len() == 3));
    drop(followers);
    assert_eq!(replica.journals.followed_streams(), 0);
}

/// Reads a counter of this process.
fn counted(metrics: &Metrics, name: &str) -> u64 {
    let text = metrics.render();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.map_or(0, |value| value.parse().expect("a number"))
}

// covers: R9
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_thousand_followers_cost_one_read_a_wake_up() {
    let metrics = Metrics::install().expect("installed");
    let db = TestDb::new().await;
    let replica = replica(&db, nats_url(), &subject_prefix()).await;
    let stream = stream();
    let mut log = write(&replica, stream, 1).await;
    let mut followers: Vec<Follower> =
        (0..5000).map(|_| replica.journals.follow(stream, Seq::ZERO)).collect();
    // What is there already each of them reads for itself, some at a time: the pool is small.
    for some in followers.chunks_mut(50) {
        futures::future::join_all(some.iter_mut().map(|follower| see(follower, stream, 1))).await;
    }
    let names = ["guildhall_journal_tail_reads_total", "guildhall_journal_follower_reads_total"];
    let before = names.map(|name| counted(&metrics, name));
    for round in 1..=10 {
        let written = write(&replica, stream, 3).await;
        let until = 1 + 3 * round;
        let seen =
            futures::future::join_all(followers.iter_mut().map(|follower| see(follower, stream, until)))
                .await;
        assert!(seen.iter().all(|seen| *seen == written), "a follower saw something else in round {round}");
        log.extend(written);
    }
    let after = names.map(|name| counted(&metrics, name));
    assert_eq!([after[0] - before[0], after[1] - before[1]], [10, 0], "reads for 10 wake-ups");
    assert_eq!(log.len(), 31);
}

/// NATS may say anything, and then nothing more: a number that no stream has reached must not hide those that it reaches.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hint_that_lies_does_not_stop_a_stream() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.addresses()).await;
    let (prefix, stream) = (subject_prefix(), stream());
    let replica = replica(&db, engines.nats.url(), &prefix).await;
    let options = BusOptions { url: engines.nats.url(), subject_prefix: prefix };
    let liar = Bus::connect(&options).await.expect("prepared");
    let mut follower = replica.journals.follow(stream, Seq::ZERO);
    let mut log = write(&replica, stream, 1).await;
    let mut seen = see(&mut follower, stream, 1).await;
    liar.publish(&format!("journal.audit.{}", stream.owner.simple()), b"9000000000".to_vec()).await;
    // The lie overtakes nothing: once this made its way, so did the lie.
    liar.round_trip(Duration::from_secs(5)).await.expect("NATS answers");
    tokio::time::sleep(Duration::from_millis(300)).await;
    engines.nats.kill();
    for number in 2..5 {
        log.extend(write(&replica, stream, 1).await);
        seen.extend(see(&mut follower, stream, number).await);
    }
    assert_eq!(seen, log);
}
