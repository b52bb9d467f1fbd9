//! Groups of messages: one that cannot be stored fails alone, and an outage does not take the time of every message.

use std::time::Duration;

use futures::future::join_all;
use guildhall_domain::ids::RelationId;
use guildhall_domain::messages::{InboxId, InboxSeq, MessageKind};
use guildhall_runtime::Tasks;
use guildhall_store::inbox_messages::{
    InboxUpdate, MessageWriter, NewMessage, SendError, StoredMessage, Target,
};
use guildhall_store::{Store, StoreError, inboxes};
use guildhall_testkit::{EarlierConnections, Stopwatch, TestDb};
use jiff::SignedDuration;
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::silent_connections::open_store;
use crate::store_with_timeout;

/// Messages of a group that meets an outage. If each took a connection attempt of two seconds, they would take minutes.
const GROUP: usize = 60;

/// A writer, and the inboxes of two AIDs.
struct Fixture {
    writer: MessageWriter,
    inboxes: [InboxId; 2],
    _tasks: Tasks,
    _updates: mpsc::Receiver<Vec<InboxUpdate>>,
}

impl Fixture {
    async fn new(db: &TestDb, store: &Store) -> Self {
        let principal = Uuid::now_v7();
        let insert = format!(
            "INSERT INTO principals (id, kind, name) VALUES ('{principal}', 'person', 'p');
             INSERT INTO aids (aid, principal)
             VALUES ('alice.guild.example', '{principal}'), ('bobby.guild.example', '{principal}')"
        );
        db.sql().await.execute(insert).await;
        let mut found = Vec::new();
        for aid in ["alice.guild.example", "bobby.guild.example"] {
            let inbox = inboxes::find_or_create(store, &aid.parse().expect("an AID")).await;
            found.push(inbox.expect("read").expect("an inbox"));
        }
        let (tasks, (updates, receiver)) = (Tasks::new(), mpsc::channel(10));
        let writer = MessageWriter::start(store, &tasks, &updates);
        let inboxes = found.try_into().expect("two");
        Self { writer, inboxes, _tasks: tasks, _updates: receiver }
    }

    /// Sends messages at the same moment: they are in one group, because the lane runs after all were queued.
    async fn send_group(
        &self,
        messages: impl IntoIterator<Item = NewMessage>,
    ) -> Vec<Result<StoredMessage, SendError>> {
        join_all(messages.into_iter().map(|message| self.writer.send(message))).await
    }

    /// Returns a message for the inbox of the first AID.
    fn message(&self, id: &str, payload: &str) -> NewMessage {
        NewMessage {
            inbox: self.inboxes[0],
            sender: self.inboxes[1],
            recipient: None,
            id: id.parse().expect("an id"),
            kind: MessageKind::Plain,
            relation: None,
            envelope_type: String::new(),
            payload: payload.to_owned(),
            target: Target::Durable,
            lifetime: SignedDuration::from_hours(24),
        }
    }
}

/// Returns the seqs of stored messages; none where a message failed.
fn seqs(outcomes: &[Result<StoredMessage, SendError>]) -> Vec<Option<i64>> {
    let seq = |outcome: &Result<StoredMessage, SendError>| match outcome {
        Ok(StoredMessage::New { seq, .. } | StoredMessage::Repeated { seq, .. }) => Some(seq.get()),
        Err(_) => None,
    };
    outcomes.iter().map(seq).collect()
}

fn is_outage(outcome: &Result<StoredMessage, SendError>) -> bool {
    matches!(outcome, Err(SendError::Store(StoreError::Unavailable(_))))
}

// covers: A2
#[tokio::test]
async fn message_with_a_nul_character_fails_alone() {
    let db = TestDb::new().await;
    let store = store_with_timeout(db.url(), Duration::from_secs(10));
    let fixture = Fixture::new(&db, &store).await;
    let payloads = ["{}", "{}", "{\"text\":\"\0\"}", "{}", r#"{"text":"\u0000"}"#];
    let numbered = payloads.iter().enumerate();
    let outcomes = fixture
        .send_group(numbered.map(|(number, payload)| fixture.message(&format!("m-{number}"), payload)))
        .await;
    assert_eq!(seqs(&outcomes), [Some(1), Some(2), None, Some(3), Some(4)], "{outcomes:?}");
    assert!(matches!(outcomes[2], Err(SendError::Store(StoreError::Rejected(_)))), "{outcomes:?}");
}

/// A relation with some agent. Foreign keys are not checked.
const INSERT_RELATION: &str = "SET session_replication_role = replica;
    INSERT INTO relations (id, agent, principal, manifest_version, manifest_hash, revision)
    VALUES (gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 1, sha256('manifest'), 1)";

// covers: M12
#[tokio::test]
async fn call_is_refused_if_its_relation_ends_while_it_waits() {
    let db = TestDb::new().await;
    let store = store_with_timeout(db.url(), Duration::from_secs(10));
    let fixture = Fixture::new(&db, &store).await;
    let (mut sql, mut observer) = (db.sql().await, db.sql().await);
    sql.execute(INSERT_RELATION).await;
    let relation: Uuid = sql.texts("SELECT id::text FROM relations").await[0].parse().expect("an id");
    let call = |id: &str| NewMessage {
        relation: Some(RelationId::from_uuid(relation)),
        ..fixture.message(id, "{}")
    };
    assert_eq!(seqs(&fixture.send_group([call("first")]).await), [Some(1)]);

    sql.execute("BEGIN; SELECT FROM inboxes ORDER BY id FOR UPDATE").await;
    let revoke = async {
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'
            AND datname = current_database()";
        let limit = Stopwatch::start();
        while observer.number(waiting).await == 0 {
            assert!(limit.elapsed() < Duration::from_secs(10), "the call does not wait for the inbox");
        }
        sql.execute("UPDATE relations SET ended_at = now(); COMMIT").await;
    };
    let words = fixture.message("words", "{}");
    let (outcomes, ()) = tokio::join!(fixture.send_group([call("second"), words]), revoke);
    assert!(matches!(outcomes[0], Err(SendError::RelationEnded)), "{outcomes:?}");
    assert_eq!(seqs(&outcomes), [None, Some(2)], "other messages of the group are stored");
}

// covers: A2
#[tokio::test]
async fn group_without_postgresql_fails_together_and_can_be_repeated() {
    let db = TestDb::new().await;
    let (store, forwarder) = open_store(&db, 2).await;
    let fixture = Fixture::new(&db, &store).await;
    let group = || (0..GROUP).map(|number| fixture.message(&format!("m-{number}"), "{}"));
    let first = fixture.send_group([fixture.message("first", "{}")]).await;
    assert_eq!(seqs(&first), [Some(1)]);

    forwarder.drop_traffic();
    let waited = Stopwatch::start();
    let outcomes = fixture.send_group(group()).await;
    assert!(outcomes.iter().all(is_outage), "{outcomes:?}");
    assert!(waited.elapsed() < Duration::from_secs(15), "{:?}", waited.elapsed());

    forwarder.resume_traffic();
    let repeated = fixture.send_group(group()).await;
    let end = i64::try_from(GROUP).expect("small") + 1;
    let mut stored: Vec<i64> = seqs(&repeated).into_iter().flatten().collect();
    stored.sort_unstable();
    // The traffic of the first attempt arrives late: its commit may come before, and the seqs stay the same.
    assert_eq!(stored, (2..=end).collect::<Vec<_>>(), "{repeated:?}");
    let inbox = fixture.inboxes[0];
    let last = inboxes::last_seqs(&store, &[inbox]).await.expect("read").remove(&inbox);
    assert_eq!(last, InboxSeq::new(end));
}

#[tokio::test]
async fn group_on_a_silent_connection_continues_on_a_new_one() {
    let db = TestDb::new().await;
    let (store, forwarder) = open_store(&db, 2).await;
    let fixture = Fixture::new(&db, &store).await;
    fixture.send_group([fixture.message("first", "{}")]).await;
    forwarder.sever(EarlierConnections::Silent);
    let waited = Stopwatch::start();
    let outcomes = fixture.send_group(["a", "b"].map(|id| fixture.message(id, "{}"))).await;
    assert_eq!(seqs(&outcomes), [Some(2), Some(3)], "{outcomes:?}");
    assert!(waited.elapsed() < Duration::from_secs(8), "{:?}", waited.elapsed());
}
