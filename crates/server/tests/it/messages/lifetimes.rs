//! How long messages can be read and recalled: neither the clock of a replica nor an earlier configuration changes it.

use std::time::Duration;

use guildhall_bus::{Bus, BusOptions};
use guildhall_domain::identity::ClientSlot;
use guildhall_domain::messages::{
    DeliveryMode, InboxId, InboxSeq, MessageId, PageLimit, PageView, RecallError,
};
use guildhall_runtime::reconcile::Reconciler;
use guildhall_runtime::{Clock, Tasks};
use guildhall_service::messages::{
    self, ExpireMessages, Group, InboxClient, MessagePage, MessageParts, RecallOutcome,
};
use guildhall_service::ops::rates::{RatePolicy, Rates};
use guildhall_store::{Store, StoreOptions, retention};
use guildhall_testkit::{TestDb, nats_url, subject_prefix};
use jiff::SignedDuration;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{Pair, pull, texts};
use crate::support::Setup;
use crate::support::gateway::Gateway;

const QUEUE_LIFETIME: Duration = Duration::from_secs(300);

/// More than a message of the mode `queue` is kept, and more than a recall is possible.
const CLOCK_ERRORS: [SignedDuration; 2] = [SignedDuration::from_mins(6), SignedDuration::from_mins(-6)];

fn store(pair: &Pair) -> Store {
    let timeout = Duration::from_secs(30);
    let options = StoreOptions {
        url: pair.gateway.cluster.db.url(),
        max_connections: 2,
        acquire_timeout: timeout,
        statement_timeout: timeout,
    };
    Store::new(&options).expect("a URL")
}

/// The services of a further replica, whose clock is wrong.
struct WrongReplica {
    group: Group,
    _tasks: Tasks,
}

impl WrongReplica {
    async fn start(pair: &Pair, clock_error: SignedDuration) -> Self {
        let store = store(pair);
        let bus = BusOptions { url: nats_url(), subject_prefix: subject_prefix() };
        let bus = Bus::connect(&bus).await.expect("a bus");
        let now = retention::now(&store).await.expect("the time of PostgreSQL");
        let (clock, tasks) = (Clock::manual(now + clock_error), Tasks::new());
        let parts = MessageParts {
            store: &store,
            clock: &clock,
            bus: &bus,
            tasks: &tasks,
            issuer: Some("guild.example".parse().expect("an issuer")),
            lifetime: SignedDuration::from_hours(24),
            queue_lifetime: QUEUE_LIFETIME,
            rates: &Rates::new(store.clone(), RatePolicy::default()),
        };
        Self { group: messages::open(parts), _tasks: tasks }
    }

    /// Recalls a message of `alice`.
    async fn recall(&self, pair: &Pair, id: &str) -> RecallOutcome {
        let client = client(pair, &pair.alice.aid).await;
        self.group.recalls.recall(&client, &[message_id(id)]).await.expect("an answer")
    }

    /// Reads the inbox of `bobby`.
    async fn page(&self, pair: &Pair) -> MessagePage {
        let (client, limit) = (client(pair, &pair.bobby.aid).await, PageLimit::new(None));
        self.group.pulls.page(&client, InboxSeq::ZERO, limit, PageView::All).await.expect("a page")
    }
}

/// Returns the client of the device that `Pair` connects.
async fn client(pair: &Pair, aid: &str) -> InboxClient {
    let inbox = format!("SELECT id FROM inboxes WHERE aid = '{aid}'");
    InboxClient {
        aid: aid.parse().expect("an AID"),
        inbox: InboxId::new(pair.gateway.cluster.db.sql().await.number(inbox).await),
        instance: ClientSlot::new("device-1", "default").expect("a slot"),
        mode: DeliveryMode::Fanout,
    }
}

fn message_id(id: &str) -> MessageId {
    id.parse().expect("an id")
}

async fn send_as(pair: &mut Pair, id: &str, mode: &str) {
    let params = json!({
        "to": pair.bobby.aid, "payload": super::text(id), "message_id": id, "delivery_mode": { "mode": mode },
    });
    pair.sender.call("message.send", params).await.expect("sent");
}

/// Makes the messages of a table older.
async fn age(pair: &Pair, table: &str, condition: &str, seconds: u32) {
    let update =
        format!("UPDATE {table} SET sent_at = sent_at - interval '{seconds} seconds' WHERE {condition}");
    pair.gateway.cluster.db.sql().await.execute(update).await;
}

// covers: A7
#[tokio::test]
async fn recall_window_is_measured_by_the_clock_that_stamps_messages() {
    let mut pair = Pair::start().await;
    for (number, clock_error) in CLOCK_ERRORS.into_iter().enumerate() {
        let (fresh, late) = (format!("fresh-{number}"), format!("late-{number}"));
        send_as(&mut pair, &fresh, "fanout").await;
        send_as(&mut pair, &late, "fanout").await;
        age(&pair, "inbox_messages", &format!("message_id = '{late}'"), 121).await;
        let replica = WrongReplica::start(&pair, clock_error).await;
        let recalled = RecallOutcome { recalled: vec![message_id(&fresh)], errors: Vec::new() };
        assert_eq!(replica.recall(&pair, &fresh).await, recalled, "{clock_error}");
        let expired = vec![(message_id(&late), RecallError::Expired)];
        let refused = RecallOutcome { recalled: Vec::new(), errors: expired };
        assert_eq!(replica.recall(&pair, &late).await, refused, "{clock_error}");
    }
    let page = pull(&mut pair.receiver, 0).await;
    assert_eq!(texts(&page), ["-", "late-0", "-", "-", "late-1", "-"]);
}

// covers: A3
#[tokio::test]
async fn age_of_the_ring_is_measured_by_the_clock_that_stamps_messages() {
    let mut pair = Pair::start().await;
    send_as(&mut pair, "queued", "queue").await;
    let counters = |page: &MessagePage| {
        let seqs: Vec<i64> = page.messages.iter().map(|message| message.seq.get()).collect();
        (seqs, page.ring_earliest.map(InboxSeq::get), page.ring_dropped)
    };
    for clock_error in CLOCK_ERRORS {
        let replica = WrongReplica::start(&pair, clock_error).await;
        assert_eq!(counters(&replica.page(&pair).await), (vec![1], Some(1), 0), "{clock_error}");
    }
    age(&pair, "ring_messages", "true", 301).await;
    for clock_error in CLOCK_ERRORS {
        let replica = WrongReplica::start(&pair, clock_error).await;
        assert_eq!(counters(&replica.page(&pair).await), (vec![], None, 1), "{clock_error}");
    }
}

// covers: A3
#[tokio::test]
async fn queue_messages_are_readable_for_the_configured_time() {
    let gateway = Gateway::with(|setup| setup.with("aun.queue_lifetime", "1m")).await;
    let mut pair = Pair::of(gateway).await;
    for id in ["kept", "old"] {
        send_as(&mut pair, id, "queue").await;
    }
    age(&pair, "ring_messages", "message_id = 'kept'", 30).await;
    age(&pair, "ring_messages", "message_id = 'old'", 61).await;
    let page = pull(&mut pair.receiver, 0).await;
    let counters = (&page["ephemeral_earliest_available_seq"], &page["ephemeral_dropped_count"]);
    assert_eq!((texts(&page), counters), (vec!["kept".to_owned()], (&json!(1), &json!(1))));
}

#[tokio::test]
async fn lifetimes_out_of_their_range_are_refused_at_the_start() {
    let db = TestDb::new().await;
    for (key, value, expected) in [
        ("aun.queue_lifetime", "0s", "expected a second to an hour, such as 5m"),
        ("aun.queue_lifetime", "61m", "expected a second to an hour, such as 5m"),
        ("aun.message_lifetime", "0s", "expected a second to 30 days, such as 24h"),
        ("aun.message_lifetime", "721h", "expected a second to 30 days, such as 24h"),
    ] {
        let refused = Setup::new(&db).with(key, value).try_start().await.expect_err("refused");
        let text = refused.to_string();
        assert!(text.starts_with(&format!("invalid {key} ")) && text.ends_with(expected), "{text}");
    }
}

// covers: A4
#[tokio::test]
async fn shorter_lifetime_hides_no_message_that_is_still_stored() {
    let gateway = Gateway::with(|setup| setup.with("aun.message_lifetime", "720h")).await;
    let mut pair = Pair::of(gateway).await;
    pair.send("first").await;
    pair.send("second").await;
    // Sent three days ago.
    age(&pair, "inbox_messages", "true", 3 * 24 * 3600).await;
    let mut sql = pair.gateway.cluster.db.sql().await;
    sql.execute("UPDATE inbox_senders SET active_on = active_on - 3").await;
    let expire = ExpireMessages {
        store: store(&pair),
        lifetime: SignedDuration::from_hours(24),
        queue_lifetime: QUEUE_LIFETIME,
        stop: CancellationToken::new(),
    };
    expire.round().await.expect("a round");
    let peers = pair.receiver.call("message.peers", json!({ "filter": "pending" })).await.expect("peers");
    let expected = json!([{
        "sender_aid": pair.alice.aid, "head_seq": 2, "server_ack_seq": 0, "initial_after_seq": 0,
        "next_pending_seq": 1, "volatile_has_more": false, "retention_floor_seq": 0,
    }]);
    assert_eq!(peers["peers"], expected);
    let params = json!({ "cursor_scope": "peer", "sender_aid": pair.alice.aid, "limit": 1 });
    let page = pair.receiver.call("message.v2.pull", params).await.expect("a page");
    let coverage = (&page["count"], &page["covered_through_seq"], &page["head_seq"], &page["has_more"]);
    assert_eq!(coverage, (&json!(1), &json!(1), &json!(2), &json!(true)));

    sql.execute("UPDATE inbox_senders SET active_on = active_on - 29").await;
    expire.round().await.expect("a round");
    assert_eq!(sql.number("SELECT count(*) FROM inbox_senders").await, 0, "all its messages have expired");
}
