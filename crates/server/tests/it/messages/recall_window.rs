//! The edge of the time in which a message can be recalled, with a clock that the test sets.

use std::time::Duration;

use guildhall_bus::{Bus, BusOptions};
use guildhall_domain::identity::ClientSlot;
use guildhall_domain::messages::{DeliveryMode, InboxId, MessageId, RECALL_WINDOW, RecallError};
use guildhall_runtime::{Clock, Tasks};
use guildhall_service::messages::{self, Group, InboxClient, MessageParts, RecallOutcome};
use guildhall_service::ops::rates::{RatePolicy, Rates};
use guildhall_store::{Store, StoreOptions};
use guildhall_testkit::{nats_url, subject_prefix};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Pair, pull, text, texts};

/// The services of a further replica, whose clock stands still.
struct ManualReplica {
    clock: Clock,
    group: Group,
    _tasks: Tasks,
}

impl ManualReplica {
    async fn start(pair: &Pair) -> Self {
        let timeout = Duration::from_secs(30);
        let options = StoreOptions {
            url: pair.gateway.cluster.db.url(),
            max_connections: 2,
            acquire_timeout: timeout,
            statement_timeout: timeout,
        };
        let store = Store::new(&options).expect("a URL");
        let bus = BusOptions { url: nats_url(), subject_prefix: subject_prefix() };
        let bus = Bus::connect(&bus).await.expect("a bus");
        let (clock, tasks) = (Clock::manual(Timestamp::UNIX_EPOCH), Tasks::new());
        let issuer = Some("guild.example".parse().expect("an issuer"));
        let lifetime = SignedDuration::from_hours(24);
        let rates = Rates::new(store.clone(), RatePolicy::default());
        let parts = MessageParts {
            store: &store,
            clock: &clock,
            bus: &bus,
            tasks: &tasks,
            issuer,
            lifetime,
            rates: &rates,
        };
        Self { group: messages::open(parts), clock, _tasks: tasks }
    }

    /// Recalls a message of an AID at a time.
    async fn recall_at(&self, pair: &Pair, id: &str, now: Timestamp) -> RecallOutcome {
        let aid = &pair.alice.aid;
        let inbox = format!("SELECT id FROM inboxes WHERE aid = '{aid}'");
        let client = InboxClient {
            aid: aid.parse().expect("an AID"),
            inbox: InboxId::new(pair.gateway.cluster.db.sql().await.number(inbox).await),
            instance: ClientSlot::default(),
            mode: DeliveryMode::Fanout,
        };
        self.clock.set(now);
        self.group.recalls.recall(&client, &[message_id(id)]).await.expect("an answer")
    }
}

fn message_id(id: &str) -> MessageId {
    id.parse().expect("an id")
}

/// Sends a message, and returns when the server got it.
async fn send_as(pair: &mut Pair, id: &str) -> Timestamp {
    let params = json!({ "to": pair.bobby.aid, "payload": text(id), "message_id": id });
    let sent: Value = pair.sender.call("message.send", params).await.expect("sent");
    Timestamp::from_millisecond(sent["timestamp"].as_i64().expect("a time")).expect("in range")
}

// covers: A7
#[tokio::test]
async fn message_can_be_recalled_for_two_minutes_to_the_millisecond() {
    let mut pair = Pair::start().await;
    let (edge, late) = (send_as(&mut pair, "edge").await, send_as(&mut pair, "late").await);
    let replica = ManualReplica::start(&pair).await;
    let window = SignedDuration::try_from(RECALL_WINDOW).expect("in range");
    let millisecond = SignedDuration::from_millis(1);

    let outcome = replica.recall_at(&pair, "late", late + window + millisecond).await;
    let expired = vec![(message_id("late"), RecallError::Expired)];
    assert_eq!(outcome, RecallOutcome { recalled: Vec::new(), errors: expired });
    assert_eq!(texts(&pull(&mut pair.receiver, 0).await), ["edge", "late"]);

    let outcome = replica.recall_at(&pair, "edge", edge + window).await;
    assert_eq!(outcome, RecallOutcome { recalled: vec![message_id("edge")], errors: Vec::new() });
    assert_eq!(texts(&pull(&mut pair.receiver, 0).await), ["-", "late", "-"]);
}
