//! Outbox effects and concurrent workers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use guildhall_domain::ids::{EffectId, TenantId};
use guildhall_domain::ops::outbox::{FailureClass, MAX_ATTEMPTS};
use guildhall_runtime::reconcile::Reconciler;
use guildhall_service::ops::outbox::{
    EffectAttempt, EffectError, Handler, MAX_IN_FLIGHT_OF_TENANT, Outbox, OutboxTimeouts, enqueue,
};
use guildhall_store::Store;
use guildhall_store::outbox::{self, ClaimRequest};
use guildhall_testkit::TestDb;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::store;

pub(crate) const KIND: &str = "test";

/// Records the effects it performed, and can fail.
#[derive(Debug, Default)]
pub(crate) struct RecordingHandler {
    pub(crate) performed: Mutex<Vec<EffectId>>,
    pub(crate) class: Option<FailureClass>,
}

impl Handler for RecordingHandler {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn perform<'a>(&'a self, effect: &'a EffectAttempt) -> BoxFuture<'a, Result<(), EffectError>> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            self.performed.lock().expect("the lock is not poisoned").push(effect.id);
            self.class.map_or(Ok(()), |class| {
                Err(EffectError { class, message: "simulated failure".to_owned(), pause: None })
            })
        })
    }
}

impl RecordingHandler {
    pub(crate) fn performed(&self) -> Vec<EffectId> {
        let mut performed = self.performed.lock().expect("the lock is not poisoned").clone();
        performed.sort_unstable();
        performed
    }
}

pub(crate) fn worker(store: &Store, handler: &Arc<RecordingHandler>, timeouts: OutboxTimeouts) -> Outbox {
    let handlers: Vec<Arc<dyn Handler>> = vec![Arc::<RecordingHandler>::clone(handler)];
    Outbox::new(store.clone(), handlers, timeouts, CancellationToken::new()).expect("there is a handler")
}

/// Enqueues `count` effects in one transaction and returns their ids in order.
pub(crate) async fn enqueue_many(store: &Store, count: usize) -> Vec<EffectId> {
    let mut tx = store.begin().await.expect("a transaction");
    let mut ids = Vec::new();
    for number in 0..count {
        ids.push(enqueue(&mut tx, KIND, None, &json!({ "number": number })).await.expect("enqueued"));
    }
    tx.commit().await.expect("committed");
    ids.sort_unstable();
    ids
}

#[tokio::test]
async fn concurrent_workers_perform_each_effect_exactly_once() {
    let db = TestDb::new().await;
    let (one, other) = (store(db.url()), store(db.url()));
    let ids = enqueue_many(&one, 1000).await;
    let (handler, other_handler) =
        (Arc::new(RecordingHandler::default()), Arc::new(RecordingHandler::default()));
    let (worker, other_worker) = (
        worker(&one, &handler, OutboxTimeouts::DEFAULT),
        worker(&other, &other_handler, OutboxTimeouts::DEFAULT),
    );
    let (first, second) = tokio::join!(worker.round(), other_worker.round());
    first.expect("a round");
    second.expect("a round");
    let (mut performed, others) = (handler.performed(), other_handler.performed());
    assert!(
        !performed.is_empty() && !others.is_empty(),
        "{} and {}: the workers did not run concurrently",
        performed.len(),
        others.len()
    );
    performed.extend(others);
    performed.sort_unstable();
    assert_eq!(performed, ids);
    assert_eq!(db.sql().await.number("SELECT count(*) FROM outbox").await, 0);
}

#[tokio::test]
async fn effect_exists_only_if_its_transaction_committed() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let mut rolled_back = store.begin().await.expect("a transaction");
    enqueue(&mut rolled_back, KIND, None, &json!({})).await.expect("enqueued");
    rolled_back.rollback().await.expect("rolled back");
    // A transaction that commits late has an early id; a cursor over ids would miss it.
    let mut late = store.begin().await.expect("a transaction");
    let early_id = enqueue(&mut late, KIND, None, &json!({})).await.expect("enqueued");
    let ids = enqueue_many(&store, 3).await;
    assert!(early_id < ids[0]);
    let handler = Arc::new(RecordingHandler::default());
    let worker = worker(&store, &handler, OutboxTimeouts::DEFAULT);
    worker.round().await.expect("a round");
    assert_eq!(handler.performed(), ids);
    late.commit().await.expect("committed");
    worker.round().await.expect("a round");
    assert_eq!(handler.performed(), [vec![early_id], ids].concat());
}

#[tokio::test]
async fn transient_failure_is_retried_and_then_dead_lettered() {
    let db = TestDb::new().await;
    let (store, mut sql) = (store(db.url()), db.sql().await);
    enqueue_many(&store, 1).await;
    let handler =
        Arc::new(RecordingHandler { class: Some(FailureClass::Transient), ..RecordingHandler::default() });
    let worker = worker(&store, &handler, OutboxTimeouts::DEFAULT);
    for attempt in 1..=MAX_ATTEMPTS {
        worker.round().await.expect("a round");
        worker.round().await.expect("a round");
        assert_eq!(
            handler.performed().len(),
            attempt as usize,
            "it must not be retried before its next attempt is due"
        );
        sql.execute("UPDATE outbox SET next_attempt_at = now()").await;
    }
    worker.round().await.expect("a round");
    assert_eq!(handler.performed().len(), MAX_ATTEMPTS as usize, "a dead effect must not be retried");
    let query = "SELECT attempts || ' ' || (dead_at IS NOT NULL) || ' ' || last_error FROM outbox";
    assert_eq!(sql.texts(query).await, ["20 true simulated failure"]);
    assert_eq!(outbox::count_dead(&store, 10).await.expect("counted"), 1);
}

#[tokio::test]
async fn permanent_failure_is_not_retried() {
    let db = TestDb::new().await;
    let store = store(db.url());
    enqueue_many(&store, 1).await;
    let handler =
        Arc::new(RecordingHandler { class: Some(FailureClass::Permanent), ..RecordingHandler::default() });
    worker(&store, &handler, OutboxTimeouts::DEFAULT).round().await.expect("a round");
    let query = "SELECT attempts || ' ' || (dead_at IS NOT NULL) FROM outbox";
    assert_eq!(db.sql().await.texts(query).await, ["1 true"]);
}

/// An effect that crashes its worker must not be claimed forever.
#[tokio::test]
async fn effect_of_crashed_workers_is_dead_lettered_after_max_attempts() {
    let db = TestDb::new().await;
    let (store, mut sql) = (store(db.url()), db.sql().await);
    enqueue_many(&store, 1).await;
    sql.execute(format!("UPDATE outbox SET attempts = {MAX_ATTEMPTS}, claim = gen_random_uuid()")).await;
    let handler = Arc::new(RecordingHandler::default());
    worker(&store, &handler, OutboxTimeouts::DEFAULT).round().await.expect("a round");
    assert_eq!(handler.performed(), []);
    let query = "SELECT last_error FROM outbox WHERE dead_at IS NOT NULL";
    assert_eq!(sql.texts(query).await, ["the last worker did not come back"]);
}

#[tokio::test]
async fn worker_with_an_expired_claim_cannot_change_the_effect() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let ids = enqueue_many(&store, 1).await;
    let take = async |visibility_timeout| {
        let claim = Uuid::now_v7();
        let performed = &BTreeMap::new();
        let request = ClaimRequest {
            kind: KIND,
            claim,
            max_attempts: 9,
            limit: 10,
            tenant_limit: 10,
            performed,
            visibility_timeout,
        };
        let claimed = outbox::claim(&store, &request).await.expect("claimed").effects;
        (claim, claimed.into_iter().map(|claimed| (claimed.id, claimed.attempts)).collect::<Vec<_>>())
    };
    let (expired, claimed_effects) = take(Duration::ZERO).await;
    assert_eq!(claimed_effects, [(ids[0], 1)]);
    let (current, claimed_effects) = take(Duration::from_secs(60)).await;
    assert_eq!(claimed_effects, [(ids[0], 2)]);
    assert_eq!(take(Duration::from_secs(60)).await.1, [], "a claimed effect is not visible to other workers");
    assert!(!outbox::mark_dead(&store, ids[0], expired, "late").await.expect("a result"));
    assert!(!outbox::retry(&store, ids[0], expired, "late", Duration::ZERO).await.expect("a result"));
    assert!(!outbox::complete(&store, ids[0], expired).await.expect("a result"));
    assert!(outbox::complete(&store, ids[0], current).await.expect("a result"));
    assert_eq!(db.sql().await.number("SELECT count(*) FROM outbox").await, 0);
}

/// Performs all effects but one, which waits until it is released.
#[derive(Debug)]
struct SlowEffectHandler {
    handler: RecordingHandler,
    slow: EffectId,
    release: Semaphore,
}

impl Handler for SlowEffectHandler {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn perform<'a>(&'a self, effect: &'a EffectAttempt) -> BoxFuture<'a, Result<(), EffectError>> {
        Box::pin(async move {
            if effect.id == self.slow {
                self.release.acquire().await.expect("never closed").forget();
            }
            self.handler.perform(effect).await
        })
    }
}

/// Readiness judges a worker by the end of its rounds, and a receiver of webhooks may be as slow as it likes.
#[tokio::test]
async fn slow_effect_delays_neither_the_round_nor_other_effects() {
    let db = TestDb::new().await;
    let (store, mut sql) = (store(db.url()), db.sql().await);
    let ids = enqueue_many(&store, 30).await;
    let slow =
        SlowEffectHandler { handler: RecordingHandler::default(), slow: ids[0], release: Semaphore::new(0) };
    let handler = Arc::new(slow);
    let handlers: Vec<Arc<dyn Handler>> = vec![Arc::<SlowEffectHandler>::clone(&handler)];
    let stop = CancellationToken::new();
    let worker = Outbox::new(store.clone(), handlers, OutboxTimeouts::DEFAULT, stop).expect("a handler");
    let rounds = async {
        while handler.handler.performed().len() < 29 {
            worker.round().await.expect("a round");
        }
        let more = enqueue_many(&store, 1).await;
        while !handler.handler.performed().contains(&more[0]) {
            worker.round().await.expect("a round");
        }
    };
    tokio::time::timeout(Duration::from_secs(120), rounds).await.expect("the others are performed");
    assert!(!handler.handler.performed().contains(&ids[0]));
    handler.release.add_permits(1);
    let last = async {
        while sql.number("SELECT count(*) FROM outbox").await > 0 {
            worker.round().await.expect("a round");
        }
    };
    tokio::time::timeout(Duration::from_secs(120), last).await.expect("the slow one is performed");
    assert_eq!(handler.handler.performed().len(), 31, "each once");
}

/// Holds the effects of one tenant until they are released, and counts them.
#[derive(Debug)]
struct SlowTenantHandler {
    handler: RecordingHandler,
    held: AtomicU32,
    most_held: AtomicU32,
    release: Semaphore,
}

impl Handler for SlowTenantHandler {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn perform<'a>(&'a self, effect: &'a EffectAttempt) -> BoxFuture<'a, Result<(), EffectError>> {
        Box::pin(async move {
            if effect.body.contains("slow") {
                let held = self.held.fetch_add(1, Ordering::SeqCst) + 1;
                self.most_held.fetch_max(held, Ordering::SeqCst);
                let _permit = self.release.acquire().await.expect("never closed");
                self.held.fetch_sub(1, Ordering::SeqCst);
            }
            self.handler.perform(effect).await
        })
    }
}

#[tokio::test]
async fn slow_targets_of_one_tenant_do_not_delay_other_tenants() {
    let db = TestDb::new().await;
    let (store, mut sql) = (store(db.url()), db.sql().await);
    let enqueue_for = async |tenant: TenantId, name: &str, count: usize| {
        let mut tx = store.begin().await.expect("a transaction");
        let mut ids = Vec::new();
        for _ in 0..count {
            ids.push(enqueue(&mut tx, KIND, Some(tenant), &json!({ "name": name })).await.expect("enqueued"));
        }
        tx.commit().await.expect("committed");
        ids
    };
    // More than a worker performs at once.
    enqueue_for(TenantId::generate(), "slow", 150).await;
    let others = enqueue_for(TenantId::generate(), "fast", 30).await;
    let handler = Arc::new(SlowTenantHandler {
        handler: RecordingHandler::default(),
        held: AtomicU32::new(0),
        most_held: AtomicU32::new(0),
        release: Semaphore::new(0),
    });
    let handlers: Vec<Arc<dyn Handler>> = vec![Arc::<SlowTenantHandler>::clone(&handler)];
    let stop = CancellationToken::new();
    let worker = Outbox::new(store.clone(), handlers, OutboxTimeouts::DEFAULT, stop).expect("a handler");
    let rounds = async {
        while handler.handler.performed().len() < others.len() {
            worker.round().await.expect("a round");
        }
    };
    tokio::time::timeout(Duration::from_secs(20), rounds).await.expect("the other tenant is served");
    assert_eq!(handler.handler.performed(), others);
    assert_eq!(handler.most_held.load(Ordering::SeqCst), MAX_IN_FLIGHT_OF_TENANT);
    handler.release.add_permits(150);
    let rest = async {
        while sql.number("SELECT count(*) FROM outbox").await > 0 {
            worker.round().await.expect("a round");
        }
    };
    tokio::time::timeout(Duration::from_secs(60), rest).await.expect("the slow ones are performed");
    let most_held = handler.most_held.load(Ordering::SeqCst);
    assert_eq!((handler.handler.performed().len(), most_held), (180, MAX_IN_FLIGHT_OF_TENANT), "each once");
}

#[tokio::test]
async fn effects_without_a_handler_are_not_claimed() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let mut tx = store.begin().await.expect("a transaction");
    enqueue(&mut tx, "kind-of-a-newer-replica", None, &json!({})).await.expect("enqueued");
    tx.commit().await.expect("committed");
    let handler = Arc::new(RecordingHandler::default());
    worker(&store, &handler, OutboxTimeouts::DEFAULT).round().await.expect("a round");
    assert_eq!(db.sql().await.number("SELECT count(*) FROM outbox WHERE attempts = 0").await, 1);
    assert!(Outbox::new(store, Vec::new(), OutboxTimeouts::DEFAULT, CancellationToken::new()).is_none());
}
