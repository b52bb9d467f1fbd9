//! Appends in a transaction and in groups.

use std::time::Duration;

use guildhall_domain::ids::EntryId;
use guildhall_domain::journal::{AppendRejection, AppendedEntry, Epoch, Fence, Journal, Seq, Stream};
use guildhall_runtime::Tasks;
use guildhall_store::journal::{self, AppendError, AppendRequest, GroupWriter, NewEntry, StreamUpdate};
use guildhall_store::{Store, schema_state};
use guildhall_testkit::{History, PrivateEngines, TestDb};
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::store;

fn stream() -> Stream {
    Stream { journal: Journal::Audit, owner: Uuid::now_v7() }
}

fn entry(id: EntryId, text: &str) -> NewEntry {
    NewEntry { id, kind: "test".into(), body: format!("{{\"word\":\"{text}\"}}"), parsed_event: None }
}

fn new_entry() -> NewEntry {
    entry(EntryId::generate(), "x")
}

fn open(stream: Stream, entries: Vec<NewEntry>) -> AppendRequest {
    AppendRequest { stream, fence: Fence::Open, entries, quota: None }
}

fn seq(number: i64) -> Seq {
    Seq::new(number).expect("positive")
}

async fn append(store: &Store, append: &AppendRequest) -> Result<Vec<AppendedEntry>, AppendError> {
    let mut tx = store.begin().await.expect("a transaction");
    let appended = journal::append(&mut tx, append).await?;
    tx.commit().await.expect("committed");
    Ok(appended)
}

struct Writer {
    writer: GroupWriter,
    tasks: Tasks,
    updates: mpsc::Receiver<StreamUpdate>,
}

fn writer(store: &Store) -> Writer {
    let (tasks, (sender, updates)) = (Tasks::new(), mpsc::channel(1000));
    Writer { writer: GroupWriter::start(store, &tasks, 2, &sender), tasks, updates }
}

async fn log(store: &Store, stream: Stream) -> Vec<(i64, EntryId)> {
    let entries = journal::page(store, stream, Seq::ZERO, 100_000).await.expect("read");
    entries.into_iter().map(|entry| (entry.seq.get(), entry.id)).collect()
}

#[tokio::test]
async fn repeated_entry_keeps_its_seq() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let Writer { writer, .. } = writer(&store);
    let (stream, first, second) = (stream(), new_entry(), new_entry());
    let appended = append(&store, &open(stream, vec![first.clone()])).await.expect("appended");
    assert_eq!(appended, vec![AppendedEntry::New(seq(1))]);
    let appended = writer.append(open(stream, vec![first.clone(), second.clone()])).await.expect("appended");
    assert_eq!(appended, vec![AppendedEntry::Replayed(seq(1)), AppendedEntry::New(seq(2))]);
    let appended = append(&store, &open(stream, vec![second.clone()])).await.expect("appended");
    assert_eq!(appended, vec![AppendedEntry::Replayed(seq(2))]);
    assert_eq!(log(&store, stream).await, vec![(1, first.id), (2, second.id)]);
}

#[tokio::test]
async fn same_id_with_another_body_is_rejected() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let Writer { writer, .. } = writer(&store);
    let (stream, id) = (stream(), EntryId::generate());
    writer.append(open(stream, vec![entry(id, "one")])).await.expect("appended");
    let other = open(stream, vec![new_entry(), entry(id, "other")]);
    for result in [append(&store, &other).await, writer.append(other.clone()).await] {
        assert!(
            matches!(result, Err(AppendError::Rejected(AppendRejection::Conflict(there))) if there == id),
            "{result:?}"
        );
    }
    assert_eq!(log(&store, stream).await.len(), 1, "a rejected append writes nothing");
}

#[tokio::test]
async fn erased_entry_keeps_its_seq_and_detects_a_repeat() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let (stream, leaked) = (stream(), new_entry());
    append(&store, &open(stream, vec![new_entry(), leaked.clone(), new_entry()])).await.expect("appended");
    let mut tx = store.begin().await.expect("a transaction");
    assert!(journal::erase(&mut tx, stream, seq(2)).await.expect("erased"));
    assert!(!journal::erase(&mut tx, stream, seq(2)).await.expect("asked again"), "already gone");
    tx.commit().await.expect("committed");
    let page = journal::page(&store, stream, Seq::ZERO, 10).await.expect("read");
    let bodies: Vec<_> = page.iter().map(|entry| (entry.seq.get(), entry.body.is_some())).collect();
    assert_eq!(bodies, vec![(1, true), (2, false), (3, true)]);
    let again = append(&store, &open(stream, vec![leaked])).await.expect("recognised");
    assert_eq!(again, vec![AppendedEntry::Replayed(seq(2))]);
}

#[tokio::test]
async fn rolled_back_append_writes_nothing() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let stream = stream();
    let mut tx = store.begin().await.expect("a transaction");
    journal::append(&mut tx, &open(stream, vec![new_entry()])).await.expect("appended");
    drop(tx);
    let appended = append(&store, &open(stream, vec![new_entry()])).await.expect("appended");
    assert_eq!(appended, vec![AppendedEntry::New(seq(1))]);
}

#[tokio::test]
async fn stale_holder_is_rejected_and_the_rest_of_the_group_is_written() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let Writer { writer, .. } = writer(&store);
    let (held, other) = (stream(), stream());
    let by = |epoch: i64| AppendRequest {
        stream: held,
        fence: Fence::Holder(Epoch::new(epoch)),
        entries: vec![new_entry()],
        quota: None,
    };
    let take_over = async |expected: i64| {
        let mut tx = store.begin().await.expect("a transaction");
        assert_eq!(journal::take_over(&mut tx, held).await.expect("a new epoch"), Epoch::new(expected));
        tx.commit().await.expect("committed");
    };
    take_over(1).await;
    writer.append(by(1)).await.expect("the holder writes");
    take_over(2).await;
    let (stale, current, other_stream) = tokio::join!(
        writer.append(by(1)),
        writer.append(by(2)),
        writer.append(open(other, vec![new_entry()]))
    );
    let stale_epoch = AppendRejection::StaleEpoch { given: Epoch::new(1), current: Epoch::new(2) };
    assert!(matches!(stale, Err(AppendError::Rejected(refusal)) if refusal == stale_epoch), "{stale:?}");
    assert_eq!(current.expect("the new holder writes"), vec![AppendedEntry::New(seq(2))]);
    assert_eq!(other_stream.expect("other streams are not affected"), vec![AppendedEntry::New(seq(1))]);
}

#[tokio::test]
async fn append_reports_the_last_seq_of_its_stream() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let Writer { writer, mut updates, .. } = writer(&store);
    let stream = stream();
    writer.append(open(stream, vec![new_entry(), new_entry()])).await.expect("appended");
    assert_eq!(updates.recv().await, Some(StreamUpdate { stream, last_seq: seq(2) }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_appends_on_two_replicas_leave_no_gap() {
    let db = TestDb::new().await;
    let (one, other) = (store(db.url()), store(db.url()));
    let writers = [writer(&one), writer(&other)];
    let streams: Vec<Stream> = (0..4).map(|_| stream()).collect();
    let calls = (0..400).map(|number: usize| {
        let (writer, stream) = (&writers[number % 2].writer, streams[number % 4]);
        let entries: Vec<NewEntry> = (0..=number % 3).map(|_| new_entry()).collect();
        async move {
            let ids: Vec<EntryId> = entries.iter().map(|entry| entry.id).collect();
            let appended = writer.append(open(stream, entries)).await.expect("appended");
            ids.into_iter().zip(appended).map(|(id, entry)| (stream, entry.seq(), id)).collect::<Vec<_>>()
        }
    });
    let acknowledged = futures::future::join_all(calls).await.concat();
    let mut history = History { acknowledged, ..History::default() };
    for stream in streams {
        history.log.extend(log(&one, stream).await.into_iter().map(|(number, id)| (stream, seq(number), id)));
    }
    assert_eq!(history.violations(), vec![]);
    assert_eq!(history.log.len(), history.acknowledged.len());
}

#[tokio::test]
async fn queued_appends_are_written_before_shutdown() {
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
async fn killed_postgres_neither_loses_nor_duplicates_appends() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.urls()).await;
    let store = store(db.url());
    let Writer { writer, .. } = writer(&store);
    let stream = stream();
    let mut acknowledged = Vec::new();
    for round in 0..60 {
        let entry = new_entry();
        if round == 20 || round == 40 {
            engines.postgres.kill();
            engines.postgres.restart().expect("recovered");
        }
        // A caller without a reply retries with the same id, as a runner does.
        let appended = loop {
            if let Ok(appended) = writer.append(open(stream, vec![entry.clone()])).await {
                break appended[0];
            }
        };
        acknowledged.push((stream, appended.seq(), entry.id));
    }
    let entries =
        log(&store, stream).await.into_iter().map(|(number, id)| (stream, seq(number), id)).collect();
    assert_eq!(History { acknowledged, log: entries, observed: vec![] }.violations(), vec![]);
}

#[tokio::test]
async fn incarnation_survives_a_crash() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.urls()).await;
    let store = store(db.url());
    let before = schema_state::incarnation(&store).await.expect("read");
    engines.postgres.kill();
    engines.postgres.restart().expect("recovered");
    assert_eq!(schema_state::incarnation(&store).await.expect("read"), before);
}
