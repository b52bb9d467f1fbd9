//! Connections that stay open and answer nothing, as after a failover of a host that lost its power.

use std::time::Duration;

use futures::future::{join, join_all};
use guildhall_domain::ids::EntryId;
use guildhall_domain::journal::{AppendedEntry, Fence, Journal, Seq, Stream};
use guildhall_runtime::Tasks;
use guildhall_store::journal::{self, AppendRequest, GroupWriter, NewEntry};
use guildhall_store::{Store, StoreError, StoreOptions};
use guildhall_testkit::{EarlierConnections, Forwarder, Stopwatch, TestDb};
use secrecy::{ExposeSecret, SecretString};
use sqlx::postgres::PgConnectOptions;
use tokio::sync::mpsc;
use uuid::Uuid;

const CONNECTIONS: u32 = 2;

/// Idle connections of a pool, which one caller could find silent one after the other.
const IDLE_CONNECTIONS: u32 = 6;

/// Opens a store whose connections go through a forwarder.
pub(crate) async fn open_store(db: &TestDb, max_connections: u32) -> (Store, Forwarder) {
    let url = db.url().expose_secret().to_owned();
    let port = url.parse::<PgConnectOptions>().expect("a URL").get_port();
    let forwarder = Forwarder::start(port).await;
    let url = url.replacen(&format!(":{port}/"), &format!(":{}/", forwarder.port()), 1);
    let options = StoreOptions {
        url: SecretString::from(url),
        max_connections,
        acquire_timeout: Duration::from_secs(10),
        statement_timeout: Duration::from_millis(500),
    };
    (Store::new(&options).expect("a store"), forwarder)
}

fn append(stream: Stream, id: EntryId) -> AppendRequest {
    let entry = NewEntry { id, kind: "test".into(), body: "{}".to_owned(), parsed_event: None };
    AppendRequest { stream, fence: Fence::Open, entries: vec![entry], quota: None }
}

#[tokio::test]
async fn statements_and_appends_continue_on_new_connections() {
    let db = TestDb::new().await;
    let (store, forwarder) = open_store(&db, CONNECTIONS).await;
    let (tasks, (updates, _receiver)) = (Tasks::new(), mpsc::channel(10));
    let writer = GroupWriter::start(&store, &tasks, 1, &updates);
    let stream = Stream { journal: Journal::Audit, owner: Uuid::now_v7() };
    writer.append(append(stream, EntryId::generate())).await.expect("appended");
    // Both connections of the pool are in use when they fall silent.
    let (first, second) = join(store.begin(), store.begin()).await;
    let (first, second) = (first.expect("a transaction"), second.expect("a transaction"));

    forwarder.sever(EarlierConnections::Silent);
    let waited = Stopwatch::start();
    drop((first, second));
    let appended = writer.append(append(stream, EntryId::generate())).await.expect("appended");
    assert_eq!(appended, vec![AppendedEntry::New(Seq::new(2).expect("a seq"))]);
    let page = journal::page(&store, stream, Seq::ZERO, 10).await.expect("the pool has new connections");
    assert_eq!(page.len(), 2);
    assert!(waited.elapsed() < Duration::from_secs(8), "{:?}", waited.elapsed());
}

/// Each silent connection takes two seconds to find. Six statements in a row would find six of them, in twelve seconds.
#[tokio::test]
async fn idle_connections_are_replaced_after_the_first_silent_one() {
    let db = TestDb::new().await;
    let (store, forwarder) = open_store(&db, IDLE_CONNECTIONS).await;
    let open = join_all((0..IDLE_CONNECTIONS).map(|_| store.begin())).await;
    for tx in open {
        tx.expect("a transaction").rollback().await.expect("the connection is idle again");
    }
    forwarder.sever(EarlierConnections::Silent);
    let waited = Stopwatch::start();
    let stream = Stream { journal: Journal::Audit, owner: Uuid::now_v7() };
    for _ in 0..IDLE_CONNECTIONS {
        assert_eq!(journal::page(&store, stream, Seq::ZERO, 10).await.expect("a new connection").len(), 0);
    }
    assert!(waited.elapsed() < Duration::from_secs(5), "{:?}", waited.elapsed());
}

#[tokio::test]
async fn statement_on_a_silent_connection_is_an_outage() {
    let db = TestDb::new().await;
    let (store, forwarder) = open_store(&db, CONNECTIONS).await;
    let mut tx = store.begin().await.expect("a transaction");
    forwarder.sever(EarlierConnections::Silent);
    let waited = Stopwatch::start();
    let stream = Stream { journal: Journal::Audit, owner: Uuid::now_v7() };
    let erased = store.answer(journal::erase(&mut tx, stream, Seq::new(1).expect("a seq"))).await;
    assert!(matches!(erased, Err(StoreError::Unavailable(_))), "{erased:?}");
    assert!(waited.elapsed() < Duration::from_secs(8), "{:?}", waited.elapsed());
}
