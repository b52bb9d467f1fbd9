//! Sealing concurrently with appending.

use guildhall_domain::access::audit_chain::{ChainTip, Digest, EntrySeal};
use guildhall_domain::access::audit_checkpoint::{
    AuditKeyId, AuditLog, Checkpoint, CheckpointSignature, CheckpointStatement,
};
use guildhall_domain::ids::EntryId;
use guildhall_domain::journal::{Fence, Journal, Seq, Stream};
use guildhall_store::journal::{self, AppendRequest, NewEntry};
use guildhall_store::journal_seals::{self, SealFilter, SealHead, UnsealedStream};
use guildhall_store::{Store, StoreError, journal_checkpoints};
use guildhall_testkit::TestDb;
use uuid::Uuid;

use crate::store;

async fn append(store: &Store, stream: Stream) {
    let entry =
        NewEntry { id: EntryId::generate(), kind: "test".into(), body: "{}".to_owned(), parsed_event: None };
    let append = AppendRequest { stream, fence: Fence::Open, entries: vec![entry], quota: None };
    let mut tx = store.begin().await.expect("a transaction");
    journal::append(&mut tx, &append).await.expect("appended");
    tx.commit().await.expect("committed");
}

fn audit(owner: u128) -> Stream {
    Stream { journal: Journal::Audit, owner: Uuid::from_u128(owner) }
}

fn seal(number: i64, byte: u8) -> EntrySeal {
    let digest = Digest::from_bytes([byte; 32]);
    EntrySeal { seq: seq(number), body_hash: digest, hash: digest }
}

fn head(tip: ChainTip) -> SealHead {
    SealHead { tip, signed_seq: Seq::ZERO }
}

fn seq(number: i64) -> Seq {
    Seq::new(number).expect("positive")
}

#[tokio::test]
async fn locked_stream_is_skipped_by_other_sealers_and_accepts_appends() {
    let db = TestDb::new().await;
    let (store, stream) = (store(db.url()), audit(1));
    append(&store, stream).await;
    // The row exists from now on: its creation is the only moment in which two sealers wait for each other.
    let mut tx = store.begin().await.expect("a transaction");
    assert_eq!(journal_seals::lock(&mut tx, stream).await.expect("locked"), Some(head(ChainTip::START)));
    tx.commit().await.expect("committed");

    let mut first = store.begin().await.expect("a transaction");
    assert_eq!(journal_seals::lock(&mut first, stream).await.expect("locked"), Some(head(ChainTip::START)));
    let mut second = store.begin().await.expect("a transaction");
    assert_eq!(journal_seals::lock(&mut second, stream).await.expect("answered"), None);
    append(&store, stream).await;
    journal_seals::insert(&mut first, stream, &[seal(1, 7)]).await.expect("written");
    first.commit().await.expect("committed");
    let tip = ChainTip { seq: seq(1), hash: Digest::from_bytes([7; 32]) };
    assert_eq!(journal_seals::lock(&mut second, stream).await.expect("locked"), Some(head(tip)));
    let entries = journal_seals::list_unsealed(&mut second, stream, tip.seq, 10).await.expect("read");
    assert_eq!(entries.into_iter().map(|entry| entry.seq).collect::<Vec<_>>(), vec![seq(2)]);
    assert_eq!(journal_seals::list(&store, stream, seq(1), seq(9)).await.expect("read"), vec![seal(1, 7)]);
}

#[tokio::test]
async fn unsealed_streams_are_found_in_order_and_in_pages() {
    let db = TestDb::new().await;
    let store = store(db.url());
    for owner in [0, 3, 1, 2] {
        append(&store, audit(owner)).await;
    }
    let mut tx = store.begin().await.expect("a transaction");
    journal_seals::lock(&mut tx, audit(1)).await.expect("locked");
    journal_seals::insert(&mut tx, audit(1), &[seal(1, 7)]).await.expect("written");
    tx.commit().await.expect("committed");
    let find = async |filter, from| {
        let from = Uuid::from_u128(from);
        journal_seals::find_unsealed(&store, Journal::Audit, filter, from, 2).await.expect("found")
    };
    let unsealed = |owner| UnsealedStream { stream: audit(owner), last_seq: seq(1) };
    assert_eq!(find(SealFilter::Unsealed, 0).await, vec![unsealed(0), unsealed(2)]);
    assert_eq!(find(SealFilter::Unsealed, 3).await, vec![unsealed(3)]);
    assert_eq!(find(SealFilter::Unsealed, 4).await, vec![]);

    // Sealed, but not signed.
    assert_eq!(find(SealFilter::UnsealedOrUnsigned, 0).await, vec![unsealed(0), unsealed(1)]);
    let checkpoint = checkpoint(1, seal(1, 7));
    let mut tx = store.begin().await.expect("a transaction");
    journal_checkpoints::insert(&mut tx, &checkpoint).await.expect("written");
    tx.commit().await.expect("committed");
    assert_eq!(find(SealFilter::UnsealedOrUnsigned, 0).await, vec![unsealed(0), unsealed(2)]);
    let log = checkpoint.statement.log;
    let listed = journal_checkpoints::list(&store, log, seq(1), seq(9)).await.expect("read");
    assert_eq!(listed, vec![checkpoint]);
    let latest = journal_checkpoints::list_latest(&store, Uuid::nil(), 10).await.expect("read");
    assert_eq!(latest, vec![checkpoint]);
}

fn checkpoint(owner: u128, seal: EntrySeal) -> Checkpoint {
    let log = AuditLog::of_owner(Uuid::from_u128(owner));
    let tip = ChainTip { seq: seal.seq, hash: seal.hash };
    let signed_at = jiff::Timestamp::from_microsecond(1_700_000_000_123_456).expect("in range");
    Checkpoint {
        statement: CheckpointStatement { log, tip, signed_at },
        key: AuditKeyId::from_bytes([3; 8]),
        signature: CheckpointSignature::from_bytes([4; 64]),
    }
}

#[tokio::test]
async fn entry_is_sealed_once() {
    let db = TestDb::new().await;
    let (store, stream) = (store(db.url()), audit(1));
    append(&store, stream).await;
    for (attempt, byte) in [(1, 7), (2, 8)] {
        let mut tx = store.begin().await.expect("a transaction");
        journal_seals::lock(&mut tx, stream).await.expect("locked");
        match journal_seals::insert(&mut tx, stream, &[seal(1, byte)]).await {
            Ok(()) => tx.commit().await.expect("committed"),
            Err(error) => assert!(attempt == 2 && matches!(error, StoreError::Rejected(_)), "{error:?}"),
        }
    }
    assert_eq!(journal_seals::list(&store, stream, seq(1), seq(1)).await.expect("read"), vec![seal(1, 7)]);
}

#[tokio::test]
async fn mark_stays_while_a_writer_has_not_committed() {
    let db = TestDb::new().await;
    let (store, stream) = (store(db.url()), audit(1));
    append(&store, stream).await;
    let seal_first = async || {
        let mut tx = store.begin().await.expect("a transaction");
        journal_seals::lock(&mut tx, stream).await.expect("locked");
        journal_seals::unmark(&mut tx, stream, seq(1)).await.expect("written");
        tx.commit().await.expect("committed");
    };
    let find = async || {
        let found =
            journal_seals::find_unsealed(&store, Journal::Audit, SealFilter::Unsealed, Uuid::nil(), 2);
        found.await.expect("found")
    };
    let mut writer = store.begin().await.expect("a transaction");
    let entry =
        NewEntry { id: EntryId::generate(), kind: "test".into(), body: "{}".to_owned(), parsed_event: None };
    journal::append_new(&mut writer, stream, &[entry]).await.expect("appended");
    seal_first().await;
    writer.commit().await.expect("committed");
    assert_eq!(find().await, vec![UnsealedStream { stream, last_seq: seq(2) }]);

    // The head has moved since the sealer read the entries.
    seal_first().await;
    assert_eq!(find().await, vec![UnsealedStream { stream, last_seq: seq(2) }]);

    let mut tx = store.begin().await.expect("a transaction");
    journal_seals::unmark(&mut tx, stream, seq(2)).await.expect("written");
    tx.commit().await.expect("committed");
    assert_eq!(find().await, vec![]);
    let (journal, filter) = (Journal::Audit, SealFilter::Unsealed);
    let last = journal_seals::mark_unsealed(&store, journal, filter, Uuid::nil(), 2).await.expect("marked");
    assert_eq!((find().await.len(), last), (1, None), "a look at all logs finds it again");
}

#[tokio::test]
async fn look_at_unmarked_logs_continues_page_by_page() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let streams: Vec<Stream> = (1..=5).map(audit).collect();
    for stream in &streams {
        append(&store, *stream).await;
        let mut tx = store.begin().await.expect("a transaction");
        journal_seals::lock(&mut tx, *stream).await.expect("locked");
        journal_seals::unmark(&mut tx, *stream, seq(1)).await.expect("written");
        tx.commit().await.expect("committed");
    }
    let mut pages = Vec::new();
    let mut from = Some(Uuid::nil());
    while let Some(owner) = from {
        let (journal, filter) = (Journal::Audit, SealFilter::Unsealed);
        let last = journal_seals::mark_unsealed(&store, journal, filter, owner, 2).await.expect("marked");
        let found = journal_seals::find_unsealed(&store, journal, filter, Uuid::nil(), 10).await;
        pages.push(found.expect("found").len());
        from = last.map(|last| Uuid::from_u128(last.as_u128() + 1));
    }
    assert_eq!(pages, [2, 4, 5]);
}
