//! The users who are connected to one replica: their revisions, which one statement reads, and what they are told at once.

use std::collections::HashMap;
use std::error::Error;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use guildhall_domain::ids::PrincipalId;
use guildhall_domain::relations::RelationState;
use guildhall_runtime::Tasks;
use guildhall_store::{Store, relation_heads};
use tokio::sync::{Notify, broadcast, watch};
use tracing::debug;

/// How often revisions are read. What a user takes back is known on every replica within a second, even when one read
/// fails, and without NATS.
const POLL_INTERVAL: Duration = Duration::from_millis(400);

/// Users whose revisions one statement reads.
pub(super) const READ_SIZE: usize = 5_000;

/// What a connection is told at once and has not taken. One that falls behind gets the notices.
const MAX_WAITING: usize = 4;

/// The revision of a user, as it was read last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct KnownRevision {
    pub(super) number: i64,
    /// How often it has become smaller: the database was restored.
    pub(super) restores: u32,
}

impl KnownRevision {
    fn read(self, number: i64) -> Self {
        Self { number, restores: self.restores + u32::from(number < self.number) }
    }
}

/// The revisions of connected users. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Feed(Arc<Inner>);

/// A connected user.
#[derive(Debug)]
struct SubscribedUser {
    revision: watch::Sender<KnownRevision>,
    told: broadcast::Sender<Arc<RelationState>>,
}

impl SubscribedUser {
    fn new() -> Self {
        Self { revision: watch::channel(KnownRevision::default()).0, told: broadcast::channel(MAX_WAITING).0 }
    }
}

/// What a connection of a user follows.
#[derive(Debug)]
pub(super) struct FeedSubscription {
    /// That of the last read, or none.
    pub(super) revision: watch::Receiver<KnownRevision>,
    /// Relations that need a new consent, before the notices of that.
    pub(super) told: broadcast::Receiver<Arc<RelationState>>,
}

#[derive(Debug, Default)]
struct Inner {
    users: Mutex<HashMap<PrincipalId, SubscribedUser>>,
    changed_here: Notify,
}

impl Feed {
    pub(super) fn start(store: &Store, tasks: &Tasks) -> Self {
        let feed = Self(Arc::default());
        let (running, store, stop) = (feed.clone(), store.clone(), tasks.stop());
        tasks.spawn("relation-feed", async move {
            tokio::select! {
                () = running.poll(&store) => {}
                () = stop.cancelled() => {}
            }
        });
        feed
    }

    pub(super) fn subscribe(&self, user: PrincipalId) -> FeedSubscription {
        let mut users = self.0.users();
        let user = users.entry(user).or_insert_with(SubscribedUser::new);
        FeedSubscription { revision: user.revision.subscribe(), told: user.told.subscribe() }
    }

    /// Returns the users with subscribers.
    pub(super) fn connected(&self) -> Vec<PrincipalId> {
        self.0.connected()
    }

    /// Tells the connections of a user about a relation.
    pub(super) fn tell(&self, user: PrincipalId, state: &Arc<RelationState>) {
        if let Some(user) = self.0.users().get(&user) {
            // Nobody is there any more.
            let _receivers = user.told.send(Arc::clone(state));
        }
    }

    /// Reads the revisions soon: this replica has changed one.
    pub(super) fn notify(&self) {
        self.0.changed_here.notify_one();
    }

    async fn poll(&self, store: &Store) {
        loop {
            let notified = self.0.changed_here.notified();
            let _changed_or_interval = tokio::time::timeout(POLL_INTERVAL, notified).await;
            let users = self.0.connected();
            for batch in users.chunks(READ_SIZE) {
                match store.answer(relation_heads::list(store, batch)).await {
                    Ok(revisions) => self.0.set(&revisions),
                    Err(error) => {
                        debug!(error = &error as &dyn Error, "cannot read the revisions of relations");
                    }
                }
            }
        }
    }
}

impl Inner {
    fn users(&self) -> MutexGuard<'_, HashMap<PrincipalId, SubscribedUser>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the users with subscribers, and forgets the others.
    fn connected(&self) -> Vec<PrincipalId> {
        let mut users = self.users();
        users.retain(|_, user| user.revision.receiver_count() > 0);
        users.keys().copied().collect()
    }

    fn set(&self, revisions: &HashMap<PrincipalId, i64>) {
        let users = self.users();
        for (user, revision) in revisions {
            if let Some(user) = users.get(user) {
                user.revision.send_if_modified(|known| {
                    let read = known.read(*revision);
                    std::mem::replace(known, read) != read
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smaller_revision_is_a_restore() {
        let known = KnownRevision::default().read(7).read(7).read(9);
        assert_eq!(known, KnownRevision { number: 9, restores: 0 });
        assert_eq!(known.read(2), KnownRevision { number: 2, restores: 1 });
    }
}
