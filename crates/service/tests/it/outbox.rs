//! Effects of the outbox, and those who race for them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use guildhall_domain::ids::EffectId;
use guildhall_domain::ops::outbox::{ATTEMPTS_AT_MOST, Fault};
use guildhall_runtime::reconcile::Reconciler;
use guildhall_service::ops::outbox::{Effect, Handler, Outbox, Pace, Undone, enqueue};
use guildhall_store::Store;
use guildhall_store::outbox::{self, Claim};
use guildhall_testkit::TestDb;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::store;

pub(crate) const KIND: &str = "bell";

/// Remembers what it rang for, and fails as it is told.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    pub(crate) rung: Mutex<Vec<EffectId>>,
    pub(crate) fault: Option<Fault>,
}

impl Handler for Bell {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn perform<'a>(&'a self, effect: &'a Effect) -> BoxFuture<'a, Result<(), Undone>> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            self.rung.lock().expect("nobody panicked").push(effect.id);
            self.fault.map_or(Ok(()), |fault| Err(Undone { fault, words: "the bell is cracked".to_owned() }))
        })
    }
}

impl Bell {
    pub(crate) fn rung(&self) -> Vec<EffectId> {
        let mut rung = self.rung.lock().expect("nobody panicked").clone();
        rung.sort_unstable();
        rung
    }
}

pub(crate) fn worker(store: &Store, bell: &Arc<Bell>, pace: Pace) -> Outbox {
    let handlers: Vec<Arc<dyn Handler>> = vec![Arc::<Bell>::clone(bell)];
    Outbox::new(store.clone(), handlers, pace, CancellationToken::new()).expect("a handler is there")
}

/// Enqueues so many, in one transaction, and returns their ids in order.
pub(crate) async fn enqueue_many(store: &Store, count: usize) -> Vec<EffectId> {
    let mut tx = store.begin().await.expect("begun");
    let mut ids = Vec::new();
    for number in 0..count {
        ids.push(enqueue(&mut tx, KIND, &json!({ "number": number })).await.expect("enqueued"));
    }
    tx.commit().await.expect("committed");
    ids.sort_unstable();
    ids
}

#[tokio::test]
async fn two_workers_that_race_over_a_thousand_effects_do_each_exactly_once() {
    let db = TestDb::new().await;
    let (one, other) = (store(db.url()), store(db.url()));
    let ids = enqueue_many(&one, 1000).await;
    let (bell, other_bell) = (Arc::new(Bell::default()), Arc::new(Bell::default()));
    let (worker, other_worker) = (worker(&one, &bell, Pace::USUAL), worker(&other, &other_bell, Pace::USUAL));
    let (first, second) = tokio::join!(worker.round(), other_worker.round());
    first.expect("a round");
    second.expect("a round");
    let (mut rung, others) = (bell.rung(), other_bell.rung());
    assert!(!rung.is_empty() && !others.is_empty(), "{} and {}: there was no race", rung.len(), others.len());
    rung.extend(others);
    rung.sort_unstable();
    assert_eq!(rung, ids);
    assert_eq!(db.sql().await.number("SELECT count(*) FROM outbox").await, 0);
}

#[tokio::test]
async fn an_effect_exists_if_and_only_if_its_fact_was_committed() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let mut undone = store.begin().await.expect("begun");
    enqueue(&mut undone, KIND, &json!({})).await.expect("enqueued");
    undone.rollback().await.expect("undone");
    // A transaction that commits late has an early id: a cursor over ids would have passed it.
    let mut late = store.begin().await.expect("begun");
    let early_id = enqueue(&mut late, KIND, &json!({})).await.expect("enqueued");
    let ids = enqueue_many(&store, 3).await;
    assert!(early_id < ids[0]);
    let bell = Arc::new(Bell::default());
    let worker = worker(&store, &bell, Pace::USUAL);
    worker.round().await.expect("a round");
    assert_eq!(bell.rung(), ids);
    late.commit().await.expect("committed");
    worker.round().await.expect("a round");
    assert_eq!(bell.rung(), [vec![early_id], ids].concat());
}

#[tokio::test]
async fn a_failed_effect_waits_and_is_given_up_where_somebody_can_see_it() {
    let db = TestDb::new().await;
    let (store, mut sql) = (store(db.url()), db.sql().await);
    enqueue_many(&store, 1).await;
    let bell = Arc::new(Bell { fault: Some(Fault::Passing), ..Bell::default() });
    let worker = worker(&store, &bell, Pace::USUAL);
    for attempt in 1..=ATTEMPTS_AT_MOST {
        worker.round().await.expect("a round");
        worker.round().await.expect("a round");
        assert_eq!(bell.rung().len(), attempt as usize, "it is not tried again before its time");
        sql.execute("UPDATE outbox SET next_attempt_at = now()").await;
    }
    worker.round().await.expect("a round");
    assert_eq!(bell.rung().len(), ATTEMPTS_AT_MOST as usize, "the dead stay dead");
    let seen = "SELECT attempts || ' ' || (dead_at IS NOT NULL) || ' ' || last_error FROM outbox";
    assert_eq!(sql.texts(seen).await, ["20 true the bell is cracked"]);
    assert_eq!(outbox::count_dead(&store, 10).await.expect("counted"), 1);
}

#[tokio::test]
async fn a_lasting_fault_is_not_tried_again() {
    let db = TestDb::new().await;
    let store = store(db.url());
    enqueue_many(&store, 1).await;
    let bell = Arc::new(Bell { fault: Some(Fault::Lasting), ..Bell::default() });
    worker(&store, &bell, Pace::USUAL).round().await.expect("a round");
    let seen = "SELECT attempts || ' ' || (dead_at IS NOT NULL) FROM outbox";
    assert_eq!(db.sql().await.texts(seen).await, ["1 true"]);
}

/// An effect that kills its worker would be taken again and again, by one worker after the other.
#[tokio::test]
async fn an_effect_whose_workers_never_came_back_is_given_up_without_another_attempt() {
    let db = TestDb::new().await;
    let (store, mut sql) = (store(db.url()), db.sql().await);
    enqueue_many(&store, 1).await;
    sql.execute(format!("UPDATE outbox SET attempts = {ATTEMPTS_AT_MOST}, claim = gen_random_uuid()")).await;
    let bell = Arc::new(Bell::default());
    worker(&store, &bell, Pace::USUAL).round().await.expect("a round");
    assert_eq!(bell.rung(), []);
    let seen = "SELECT last_error FROM outbox WHERE dead_at IS NOT NULL";
    assert_eq!(sql.texts(seen).await, ["the last worker did not come back"]);
}

#[tokio::test]
async fn a_worker_that_was_overtaken_changes_nothing() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let ids = enqueue_many(&store, 1).await;
    let take = async |visible_after| {
        let claim = Uuid::now_v7();
        let taking = Claim { kind: KIND, claim, attempts_at_most: 9, limit: 10, visible_after };
        let claimed = outbox::claim(&store, &taking).await.expect("taken");
        (claim, claimed.into_iter().map(|claimed| (claimed.id, claimed.attempts)).collect::<Vec<_>>())
    };
    let (slow, taken) = take(Duration::ZERO).await;
    assert_eq!(taken, [(ids[0], 1)]);
    let (quick, taken) = take(Duration::from_secs(60)).await;
    assert_eq!(taken, [(ids[0], 2)]);
    assert_eq!(take(Duration::from_secs(60)).await.1, [], "nobody sees what a worker is at");
    assert!(!outbox::give_up(&store, ids[0], slow, "late").await.expect("answered"));
    assert!(!outbox::retry(&store, ids[0], slow, "late", Duration::ZERO).await.expect("answered"));
    assert!(!outbox::done(&store, ids[0], slow).await.expect("answered"));
    assert!(outbox::done(&store, ids[0], quick).await.expect("answered"));
    assert_eq!(db.sql().await.number("SELECT count(*) FROM outbox").await, 0);
}

#[tokio::test]
async fn effects_that_nobody_here_can_perform_are_left_alone_and_without_a_handler_there_is_no_worker() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let mut tx = store.begin().await.expect("begun");
    enqueue(&mut tx, "of a newer replica", &json!({})).await.expect("enqueued");
    tx.commit().await.expect("committed");
    let bell = Arc::new(Bell::default());
    worker(&store, &bell, Pace::USUAL).round().await.expect("a round");
    assert_eq!(db.sql().await.number("SELECT count(*) FROM outbox WHERE attempts = 0").await, 1);
    assert!(Outbox::new(store, Vec::new(), Pace::USUAL, CancellationToken::new()).is_none());
}
