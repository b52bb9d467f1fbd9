//! Many readers of one run.

use std::time::{Duration, Instant};

use futures::future::join_all;
use futures::stream::{self, StreamExt};
use guildhall_testkit::TestDb;

use super::{StreamFixture, data};
use crate::support::Setup;
use crate::support::cluster::Cluster;

const READERS: usize = 300;

/// Tokens of different callers are checked together.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_with_tokens_of_their_own_share_authority_checks() {
    let cluster = Cluster::new().await;
    let fixture = StreamFixture::new(&cluster, "acme").await;
    let mut streams = Vec::new();
    for _ in 0..30 {
        let (_, key) = cluster.create_key(&fixture.tenant.id, "viewer").await;
        streams.push(cluster.second.open_stream(&fixture.path, &key, None).await);
    }
    let (began, before) = (Instant::now(), cluster.second.metric("guildhall_authority_looks_total").await);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let checks = cluster.second.metric("guildhall_authority_looks_total").await - before;
    let periods = u64::try_from(began.elapsed().as_millis() / 400).expect("a small number") + 2;
    assert!((1..=periods).contains(&checks), "{checks} checks for 30 tokens in {periods} periods");
    fixture.append_messages(&cluster, &["after"]).await;
    let history = cluster.list_events(&fixture.run).await.len();
    for stream in &mut streams {
        stream.next_events(history).await;
    }
}

/// The cost does not grow with the number of readers: one query per wake-up, and one authority check per interval.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_of_a_run_share_journal_reads_and_authority_checks() {
    let db = TestDb::new().await;
    let cluster = Cluster::with_setup(
        Setup::new(&db).with("http.max_streams_each", 1000).with("postgres.max_connections", 8),
        db,
    )
    .await;
    let fixture = StreamFixture::new(&cluster, "acme").await;
    let history = cluster.list_events(&fixture.run).await.len();
    // Four at a time: opening a stream needs its own queries.
    let opening =
        (0..READERS).map(|_| cluster.second.open_stream(&fixture.path, &cluster.operator.token, None));
    let mut streams: Vec<_> = stream::iter(opening).buffer_unordered(4).collect().await;
    join_all(streams.iter_mut().map(|stream| stream.next_events(history))).await;

    let names = [
        "guildhall_journal_tail_reads_total",
        "guildhall_journal_follower_reads_total",
        "guildhall_authority_looks_total",
    ];
    let before = [
        cluster.second.metric(names[0]).await,
        cluster.second.metric(names[1]).await,
        cluster.second.metric(names[2]).await,
    ];
    let began = Instant::now();
    for text in ["a", "b", "c", "d", "e"] {
        fixture.append_messages(&cluster, &[text]).await;
        join_all(streams.iter_mut().map(|stream| stream.next_events(1))).await;
    }
    tokio::time::sleep(Duration::from_secs(2).saturating_sub(began.elapsed())).await;
    let after = [
        cluster.second.metric(names[0]).await,
        cluster.second.metric(names[1]).await,
        cluster.second.metric(names[2]).await,
    ];
    let [tail, own, checks] = [0, 1, 2].map(|at| after[at] - before[at]);
    assert!((1..=5).contains(&tail), "{tail} journal reads for 5 wake-ups");
    assert_eq!(own, 0, "a live reader read the journal itself");
    let periods = u64::try_from(began.elapsed().as_millis() / 400).expect("a small number") + 2;
    assert!((1..=periods).contains(&checks), "{checks} checks for {READERS} streams in {periods} periods");
    let events = cluster
        .second
        .open_stream(&fixture.path, &cluster.operator.token, None)
        .await
        .next_events(history + 5)
        .await;
    assert_eq!(data(&events), cluster.list_events(&fixture.run).await);
}
