//! Many readers of one run.

use std::time::{Duration, Instant};

use futures::future::join_all;
use futures::stream::{self, StreamExt};
use guildhall_testkit::TestDb;

use super::{Stage, data};
use crate::support::people::World;
use crate::support::{Setup, TestServer};

const READERS: usize = 300;

async fn metric(server: &TestServer, name: &str) -> u64 {
    let text = server.get("/metrics").await.text;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.map_or(0, |value| value.parse().expect("a number"))
}

/// What they cost does not grow with their number: one query a wake-up for what is new, and one look at authority.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hundreds_of_readers_of_a_run_share_the_reading_and_the_look_at_their_authority() {
    let db = TestDb::new().await;
    let world =
        World::on(Setup::on(&db).with("http.max_streams_each", 1000).with("postgres.max_connections", 8), db)
            .await;
    let stage = Stage::new(&world, "acme").await;
    let history = world.events(&stage.run).await.len();
    // Some at a time: opening one takes queries of its own.
    let opening = (0..READERS).map(|_| world.other.events(&stage.path, &world.operator.access, None));
    let mut streams: Vec<_> = stream::iter(opening).buffer_unordered(4).collect().await;
    join_all(streams.iter_mut().map(|stream| stream.facts(history))).await;

    let names = [
        "guildhall_journal_tail_reads_total",
        "guildhall_journal_follower_reads_total",
        "guildhall_authority_looks_total",
    ];
    let before = [
        metric(&world.other, names[0]).await,
        metric(&world.other, names[1]).await,
        metric(&world.other, names[2]).await,
    ];
    let began = Instant::now();
    for word in ["a", "b", "c", "d", "e"] {
        stage.say(&world, &[word]).await;
        join_all(streams.iter_mut().map(|stream| stream.facts(1))).await;
    }
    tokio::time::sleep(Duration::from_secs(2).saturating_sub(began.elapsed())).await;
    let after = [
        metric(&world.other, names[0]).await,
        metric(&world.other, names[1]).await,
        metric(&world.other, names[2]).await,
    ];
    let [tail, own, looks] = [0, 1, 2].map(|at| after[at] - before[at]);
    assert!((1..=5).contains(&tail), "{tail} reads for 5 wake-ups");
    assert_eq!(own, 0, "a reader that is live read for itself");
    let periods = u64::try_from(began.elapsed().as_millis() / 400).expect("few") + 2;
    assert!((1..=periods).contains(&looks), "{looks} looks for {READERS} streams in {periods} periods");
    let one = world.other.events(&stage.path, &world.operator.access, None).await.facts(history + 5).await;
    assert_eq!(data(&one), world.events(&stage.run).await);
}
