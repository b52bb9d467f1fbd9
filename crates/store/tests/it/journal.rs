//! Appending, alone and in groups.

use std::time::Duration;

use guildhall_domain::ids::EntryId;
use guildhall_domain::journal::{Epoch, Fence, Journal, Placed, Refusal, Seq, Stream};
use guildhall_runtime::Tasks;
use guildhall_store::journal::{self, Append, AppendError, GroupWriter, NewEntry, Wake};
use guildhall_store::{Store, schema_state};
use guildhall_testkit::{History, PrivateEngines, TestDb};
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::store;

fn stream() -> Stream {
    Stream { journal: Journal::Audit, owner: Uuid::now_v7() }
}

fn entry(id: EntryId, word: &str) -> NewEntry {
    NewEntry { id, kind: "test".into(), body: format!("{{\"word\":\"{word}\"}}"), mark: None }
}

fn new_entry() -> NewEntry {
    entry(EntryId::generate(), "x")
}

fn open(stream: Stream, entries: Vec<NewEntry>) -> Append {
    Append { stream, fence: Fence::Open, entries }
}

fn seq(number: i64) -> Seq {
    Seq::new(number).expect("positive")
}

async fn append(store: &Store, append: &Append) -> Result<Vec<Placed>, AppendError> {
    let mut tx = store.begin().await.expect("begun");
    let placed = journal::append(&mut tx, append).await?;
    tx.commit().await.expect("committed");
    Ok(placed)
}

struct Writer {
    writer: GroupWriter,
    tasks: Tasks,
    wakes: mpsc::Receiver<Wake>,
}

fn writer(store: &Store) -> Writer {
    let (tasks, (sender, wakes)) = (Tasks::new(), mpsc::channel(1000));
    Writer { writer: GroupWriter::start(store, &tasks, 2, &sender), tasks, wakes }
}

async fn log(store: &Store, stream: Stream) -> Vec<(i64, EntryId)> {
    let entries = journal::page(store, stream, Seq::ZERO, 100_000).await.expect("read");
    entries.into_iter().map(|entry| (entry.seq.get(), entry.id)).collect()
}

#[tokio::test]
async fn a_repeated_entry_keeps_its_number_on_either_way_in() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let Writer { writer, .. } = writer(&store);
    let (stream, first, second) = (stream(), new_entry(), new_entry());
    let placed = append(&store, &open(stream, vec![first.clone()])).await.expect("appended");
    assert_eq!(placed, vec![Placed::New(seq(1))]);
    let placed = writer.append(open(stream, vec![first.clone(), second.clone()])).await.expect("appended");
    assert_eq!(placed, vec![Placed::Replay(seq(1)), Placed::New(seq(2))]);
    let placed = append(&store, &open(stream, vec![second.clone()])).await.expect("appended");
    assert_eq!(placed, vec![Placed::Replay(seq(2))]);
    assert_eq!(log(&store, stream).await, vec![(1, first.id), (2, second.id)]);
}

#[tokio::test]
async fn the_same_id_with_other_words_is_refused_on_either_way_in() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let Writer { writer, .. } = writer(&store);
    let (stream, id) = (stream(), EntryId::generate());
    writer.append(open(stream, vec![entry(id, "one")])).await.expect("appended");
    let other = open(stream, vec![new_entry(), entry(id, "other")]);
    for refused in [append(&store, &other).await, writer.append(other.clone()).await] {
        assert!(
            matches!(refused, Err(AppendError::Refused(Refusal::Conflict(there))) if there == id),
            "{refused:?}"
        );
    }
    assert_eq!(log(&store, stream).await.len(), 1, "nothing of a refused append is written");
}

#[tokio::test]
async fn an_erased_entry_keeps_its_number_and_still_recognises_a_repeat() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let (stream, leaked) = (stream(), new_entry());
    append(&store, &open(stream, vec![new_entry(), leaked.clone(), new_entry()])).await.expect("appended");
    let mut tx = store.begin().await.expect("begun");
    assert!(journal::erase(&mut tx, stream, seq(2)).await.expect("erased"));
    assert!(!journal::erase(&mut tx, stream, seq(2)).await.expect("asked again"), "already gone");
    tx.commit().await.expect("committed");
    let page = journal::page(&store, stream, Seq::ZERO, 10).await.expect("read");
    let bodies: Vec<_> = page.iter().map(|entry| (entry.seq.get(), entry.body.is_some())).collect();
    assert_eq!(bodies, vec![(1, true), (2, false), (3, true)]);
    let again = append(&store, &open(stream, vec![leaked])).await.expect("recognised");
    assert_eq!(again, vec![Placed::Replay(seq(2))]);
}

#[tokio::test]
async fn an_append_that_is_rolled_back_leaves_no_trace() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let stream = stream();
    let mut tx = store.begin().await.expect("begun");
    journal::append(&mut tx, &open(stream, vec![new_entry()])).await.expect("appended");
    drop(tx);
    let placed = append(&store, &open(stream, vec![new_entry()])).await.expect("appended");
    assert_eq!(placed, vec![Placed::New(seq(1))]);
}

#[tokio::test]
async fn a_holder_that_lost_the_stream_is_refused_alone_and_the_group_goes_on() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let Writer { writer, .. } = writer(&store);
    let (held, other) = (stream(), stream());
    let by = |epoch: i64| Append {
        stream: held,
        fence: Fence::Holder(Epoch::new(epoch)),
        entries: vec![new_entry()],
    };
    let take_over = async |wanted: i64| {
        let mut tx = store.begin().await.expect("begun");
        assert_eq!(journal::take_over(&mut tx, held).await.expect("taken"), Epoch::new(wanted));
        tx.commit().await.expect("committed");
    };
    take_over(1).await;
    writer.append(by(1)).await.expect("the holder writes");
    take_over(2).await;
    let (late, new, beside) = tokio::join!(
        writer.append(by(1)),
        writer.append(by(2)),
        writer.append(open(other, vec![new_entry()]))
    );
    let stale = Refusal::Stale { given: Epoch::new(1), current: Epoch::new(2) };
    assert!(matches!(late, Err(AppendError::Refused(refusal)) if refusal == stale), "{late:?}");
    assert_eq!(new.expect("the new holder writes"), vec![Placed::New(seq(2))]);
    assert_eq!(beside.expect("nobody else is touched"), vec![Placed::New(seq(1))]);
}

#[tokio::test]
async fn every_append_is_announced_with_where_its_stream_ends() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let Writer { writer, mut wakes, .. } = writer(&store);
    let stream = stream();
    writer.append(open(stream, vec![new_entry(), new_entry()])).await.expect("appended");
    assert_eq!(wakes.recv().await, Some(Wake { stream, last_seq: seq(2) }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_callers_on_two_replicas_make_one_gapless_log() {
    let db = TestDb::new().await;
    let (one, other) = (store(db.url()), store(db.url()));
    let writers = [writer(&one), writer(&other)];
    let streams: Vec<Stream> = (0..4).map(|_| stream()).collect();
    let calls = (0..400).map(|number: usize| {
        let (writer, stream) = (&writers[number % 2].writer, streams[number % 4]);
        let entries: Vec<NewEntry> = (0..=number % 3).map(|_| new_entry()).collect();
        async move {
            let ids: Vec<EntryId> = entries.iter().map(|entry| entry.id).collect();
            let placed = writer.append(open(stream, entries)).await.expect("appended");
            ids.into_iter().zip(placed).map(|(id, placed)| (stream, placed.seq(), id)).collect::<Vec<_>>()
        }
    });
    let acknowledged = futures::future::join_all(calls).await.concat();
    let mut history = History { acknowledged, ..History::default() };
    for stream in streams {
        history.log.extend(log(&one, stream).await.into_iter().map(|(number, id)| (stream, seq(number), id)));
    }
    assert_eq!(history.faults(), vec![]);
    assert_eq!(history.log.len(), history.acknowledged.len());
}

#[tokio::test]
async fn what_was_taken_before_the_stop_is_finished() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let Writer { writer, tasks, .. } = writer(&store);
    let stream = stream();
    let appends = futures::future::join_all((0..50).map(|_| writer.append(open(stream, vec![new_entry()]))));
    let (outcomes, left) = tokio::join!(appends, tasks.shutdown(Duration::from_secs(10)));
    assert_eq!(left, Vec::<&str>::new());
    let written = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert_eq!(log(&store, stream).await.len(), written);
    let late = writer.append(open(stream, vec![new_entry()])).await;
    assert!(matches!(late, Err(AppendError::Store(_))), "{late:?}");
}

#[tokio::test]
async fn appends_survive_a_killed_postgres_without_loss_or_double() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.addresses()).await;
    let store = store(db.url());
    let Writer { writer, .. } = writer(&store);
    let stream = stream();
    let mut acknowledged = Vec::new();
    for round in 0..60 {
        let entry = new_entry();
        if round == 20 || round == 40 {
            engines.postgres.kill();
            engines.postgres.up().expect("recovered");
        }
        // A caller that was given no answer asks again under the same id, as a runner does.
        let placed = loop {
            if let Ok(placed) = writer.append(open(stream, vec![entry.clone()])).await {
                break placed[0];
            }
        };
        acknowledged.push((stream, placed.seq(), entry.id));
    }
    let entries =
        log(&store, stream).await.into_iter().map(|(number, id)| (stream, seq(number), id)).collect();
    assert_eq!(History { acknowledged, log: entries, followed: vec![] }.faults(), vec![]);
}

#[tokio::test]
async fn a_database_keeps_its_incarnation_across_a_crash() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.addresses()).await;
    let store = store(db.url());
    let before = schema_state::incarnation(&store).await.expect("read");
    engines.postgres.kill();
    engines.postgres.up().expect("recovered");
    assert_eq!(schema_state::incarnation(&store).await.expect("read"), before);
}
