//! Sealing beside appending.

use guildhall_domain::access::audit_chain::{Digest, Seal, Tip};
use guildhall_domain::ids::EntryId;
use guildhall_domain::journal::{Fence, Journal, Seq, Stream};
use guildhall_store::journal::{self, Append, NewEntry};
use guildhall_store::journal_seals::{self, Lagging};
use guildhall_store::{Store, StoreError};
use guildhall_testkit::TestDb;
use uuid::Uuid;

use crate::store;

async fn append(store: &Store, stream: Stream) {
    let entry = NewEntry { id: EntryId::generate(), kind: "test".into(), body: "{}".to_owned(), mark: None };
    let append = Append { stream, fence: Fence::Open, entries: vec![entry] };
    let mut tx = store.begin().await.expect("begun");
    journal::append(&mut tx, &append).await.expect("appended");
    tx.commit().await.expect("committed");
}

fn audit(owner: u128) -> Stream {
    Stream { journal: Journal::Audit, owner: Uuid::from_u128(owner) }
}

fn seal(number: i64, byte: u8) -> Seal {
    let digest = Digest::from_bytes([byte; 32]);
    Seal { seq: seq(number), body_hash: digest, hash: digest }
}

fn seq(number: i64) -> Seq {
    Seq::new(number).expect("positive")
}

#[tokio::test]
async fn one_seals_a_stream_while_the_others_pass_by_and_appends_go_on() {
    let db = TestDb::new().await;
    let (store, stream) = (store(db.url()), audit(1));
    append(&store, stream).await;
    // The row is there from now on: opening it is the one moment in which two sealers wait for each other.
    let mut tx = store.begin().await.expect("begun");
    assert_eq!(journal_seals::lock(&mut tx, stream).await.expect("locked"), Some(Tip::START));
    tx.commit().await.expect("committed");

    let mut first = store.begin().await.expect("begun");
    assert_eq!(journal_seals::lock(&mut first, stream).await.expect("locked"), Some(Tip::START));
    let mut second = store.begin().await.expect("begun");
    assert_eq!(journal_seals::lock(&mut second, stream).await.expect("answered"), None);
    append(&store, stream).await;
    journal_seals::write(&mut first, stream, &[seal(1, 7)]).await.expect("written");
    first.commit().await.expect("committed");
    let tip = Tip { seq: seq(1), hash: Digest::from_bytes([7; 32]) };
    assert_eq!(journal_seals::lock(&mut second, stream).await.expect("locked"), Some(tip));
    let unsealed = journal_seals::unsealed(&mut second, stream, tip.seq, 10).await.expect("read");
    assert_eq!(unsealed.into_iter().map(|entry| entry.seq).collect::<Vec<_>>(), vec![seq(2)]);
    assert_eq!(journal_seals::range(&store, stream, seq(1), seq(9)).await.expect("read"), vec![seal(1, 7)]);
}

#[tokio::test]
async fn streams_with_something_to_seal_are_found_in_order_and_page_by_page() {
    let db = TestDb::new().await;
    let store = store(db.url());
    for owner in [0, 3, 1, 2] {
        append(&store, audit(owner)).await;
    }
    let mut tx = store.begin().await.expect("begun");
    journal_seals::lock(&mut tx, audit(1)).await.expect("locked");
    journal_seals::write(&mut tx, audit(1), &[seal(1, 7)]).await.expect("written");
    tx.commit().await.expect("committed");
    let find = async |from| {
        journal_seals::find_unsealed(&store, Journal::Audit, Uuid::from_u128(from), 2).await.expect("found")
    };
    let lagging = |owner| Lagging { stream: audit(owner), last_seq: seq(1) };
    assert_eq!(find(0).await, vec![lagging(0), lagging(2)]);
    assert_eq!(find(3).await, vec![lagging(3)]);
    assert_eq!(find(4).await, vec![]);
}

#[tokio::test]
async fn an_entry_is_sealed_once() {
    let db = TestDb::new().await;
    let (store, stream) = (store(db.url()), audit(1));
    append(&store, stream).await;
    for (attempt, byte) in [(1, 7), (2, 8)] {
        let mut tx = store.begin().await.expect("begun");
        journal_seals::lock(&mut tx, stream).await.expect("locked");
        match journal_seals::write(&mut tx, stream, &[seal(1, byte)]).await {
            Ok(()) => tx.commit().await.expect("committed"),
            Err(error) => assert!(attempt == 2 && matches!(error, StoreError::Refused(_)), "{error:?}"),
        }
    }
    assert_eq!(journal_seals::range(&store, stream, seq(1), seq(1)).await.expect("read"), vec![seal(1, 7)]);
}
