//! What the devices of one user have to know.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use guildhall_domain::ids::PrincipalId;
use guildhall_domain::relations::{MAX_RELATIONS, RelationNotice, RelationState};
use guildhall_store::{Store, relation_heads, relations as rows};
use tokio::sync::{broadcast, watch};
use tracing::debug;

use super::feed::{Feed, FeedSubscription, KnownRevision};
use super::gaps::Gaps;
use super::{open_notices, states};
use crate::ServiceError;

/// The pause after a failed read.
const RETRY_DELAY: Duration = Duration::from_millis(200);

/// A full page has this many rows, or more: it goes on to the end of a revision.
const PAGE_SIZE: usize = MAX_RELATIONS as usize;

/// Something that a device has to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RelationEvent {
    /// A consent was given, changed or taken back, or what waited for one is over. Or a manifest has changed and tools wait for a new
    /// consent: a notice follows.
    Changed(Box<RelationState>),
    /// A manifest was changed.
    Notice(Box<RelationNotice>),
}

impl RelationEvent {
    /// Returns the revision of the user's head at this event.
    #[must_use]
    pub fn revision(&self) -> i64 {
        match self {
            Self::Changed(state) => state.relation.revision,
            Self::Notice(notice) => notice.revision,
        }
    }
}

/// Watches the relations of a user.
#[derive(Debug)]
pub struct RelationWatch {
    store: Store,
    gaps: Gaps,
    user: PrincipalId,
    revision: watch::Receiver<KnownRevision>,
    told: broadcast::Receiver<Arc<RelationState>>,
    restores: u32,
    /// The newest revision that is known.
    head: i64,
    /// Everything up to here is in the queue, or was taken from it. Below the head if a page was full.
    seen: i64,
    queue: VecDeque<RelationEvent>,
}

impl RelationWatch {
    pub(super) async fn open(
        store: &Store,
        gaps: &Gaps,
        feed: &Feed,
        user: PrincipalId,
        after: Option<i64>,
    ) -> Result<Self, ServiceError> {
        // Before the read: what changes later is found by the feed.
        let FeedSubscription { revision, told } = feed.subscribe(user);
        let head = relation_heads::list(store, &[user]).await?.remove(&user).unwrap_or_default();
        let restores = revision.borrow().restores;
        // A revision from before a restore of the database says nothing.
        let seen = after.map(|after| if (0..=head).contains(&after) { after } else { 0 });
        let mut watch = Self {
            store: store.clone(),
            gaps: gaps.clone(),
            user,
            revision,
            told,
            restores,
            head,
            seen: seen.unwrap_or(head),
            queue: VecDeque::new(),
        };
        if seen.is_none() && head > 0 {
            let notices = open_notices(store, user, 0).await?;
            watch.add(complete_to(head, &[], &revisions_of(&notices)), Vec::new(), notices);
        }
        watch.fill().await?;
        Ok(watch)
    }

    /// Returns the user whose relations these are.
    #[must_use]
    pub fn user(&self) -> PrincipalId {
        self.user
    }

    /// Returns the next event that waits.
    pub fn next_waiting(&mut self) -> Option<RelationEvent> {
        self.queue.pop_front()
    }

    /// Returns up to which revision everything was taken, if nothing waits.
    #[must_use]
    pub fn drained(&self) -> Option<i64> {
        (self.queue.is_empty() && self.seen >= self.head).then_some(self.seen)
    }

    /// Waits for the next event. Cancel-safe.
    pub async fn next(&mut self) -> RelationEvent {
        loop {
            let filled = self.fill().await;
            if let Some(event) = self.queue.pop_front() {
                return event;
            }
            if let Err(error) = filled {
                debug!(user = %self.user, error = &error as &dyn std::error::Error, "cannot read relations");
                tokio::time::sleep(RETRY_DELAY).await;
                continue;
            }
            let (seen, restores) = (self.seen, self.restores);
            let is_new = |known: &KnownRevision| known.number > seen || known.restores != restores;
            let known = tokio::select! {
                // The order of revisions first: what is told at once has none.
                biased;
                known = self.revision.wait_for(is_new) => known.map(|known| *known).ok(),
                state = next_told(&mut self.told) => return told_event(&state, seen),
            };
            let Some(known) = known else {
                // The server shuts down.
                return std::future::pending().await;
            };
            self.head = known.number;
            if known.restores != restores {
                // After a restore of the database, everything is read again.
                (self.seen, self.restores) = (0, known.restores);
            }
        }
    }

    /// Reads on until two events wait, or everything was read: with the last event of a page, more are there. Cancel-safe.
    async fn fill(&mut self) -> Result<(), ServiceError> {
        while self.queue.len() < 2 && self.seen < self.head {
            let mut changed = rows::list_changed(&self.store, self.user, self.seen, MAX_RELATIONS).await?;
            let notices = open_notices(&self.store, self.user, self.seen).await?;
            let revisions: Vec<i64> = changed.iter().map(|relation| relation.revision).collect();
            let read_to = complete_to(self.head, &revisions, &revisions_of(&notices));
            changed.retain(|relation| relation.revision <= read_to);
            let changed = states(&self.store, &self.gaps, self.user, changed).await?;
            self.add(read_to, changed, notices);
        }
        Ok(())
    }

    /// Queues what was read, in the order of revisions. What is behind the end comes with the next read.
    fn add(&mut self, read_to: i64, changed: Vec<RelationState>, notices: Vec<RelationNotice>) {
        let changed = changed.into_iter().map(|state| RelationEvent::Changed(Box::new(state)));
        let notices = notices.into_iter().map(|notice| RelationEvent::Notice(Box::new(notice)));
        let mut events: Vec<RelationEvent> = changed.chain(notices).collect();
        events.retain(|event| event.revision() <= read_to);
        events.sort_by_key(RelationEvent::revision);
        self.queue.extend(events);
        self.seen = read_to;
    }
}

/// Waits for a relation that the user is told about at once. What a slow connection has missed comes as a notice. Cancel-safe.
async fn next_told(told: &mut broadcast::Receiver<Arc<RelationState>>) -> Arc<RelationState> {
    loop {
        match told.recv().await {
            Ok(state) => return state,
            Err(broadcast::error::RecvError::Lagged(_)) => {}
            // The server shuts down.
            Err(broadcast::error::RecvError::Closed) => return std::future::pending().await,
        }
    }
}

/// Returns the event of a relation that is told without a revision of its own: a cursor stays where it is.
fn told_event(state: &RelationState, seen: i64) -> RelationEvent {
    let mut state = state.clone();
    state.relation.revision = seen;
    RelationEvent::Changed(Box::new(state))
}

fn revisions_of(notices: &[RelationNotice]) -> Vec<i64> {
    notices.iter().map(|notice| notice.revision).collect()
}

/// Returns up to which revision two pages have everything: up to the head, or to where the first full one ends.
///
/// What happened after the head, while the pages were read, is perhaps there in part.
fn complete_to(head: i64, changed: &[i64], notices: &[i64]) -> i64 {
    let full = [changed, notices].into_iter().filter(|page| page.len() >= PAGE_SIZE);
    full.filter_map(|page| page.last().copied()).fold(head, i64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: i64 = PAGE_SIZE as i64;

    /// One row for each revision.
    fn page(first: i64, rows: i64) -> Vec<i64> {
        (first..first + rows).collect()
    }

    #[test]
    fn pages_that_are_not_full_have_everything_up_to_the_head() {
        assert_eq!(complete_to(0, &[], &[]), 0);
        assert_eq!(complete_to(9_000, &[], &[]), 9_000);
        assert_eq!(complete_to(9_000, &page(1, FULL - 1), &page(3, FULL - 1)), 9_000);
        // Meanwhile, something else has changed.
        assert_eq!(complete_to(7, &page(1, 9), &[12]), 7);
    }

    #[test]
    fn full_page_has_everything_up_to_its_last_revision() {
        let (early, late) = (page(1, FULL), page(1_001, FULL));
        assert_eq!(complete_to(9_000, &early, &[]), FULL);
        assert_eq!(complete_to(9_000, &[], &late), 1_000 + FULL);
        assert_eq!(complete_to(9_000, &early, &late), FULL);
        assert_eq!(complete_to(9_000, &late, &early), FULL);
        assert_eq!(complete_to(9_000, &late, &[9_001]), 1_000 + FULL);
        assert_eq!(complete_to(1_100, &late, &[]), 1_100);
    }

    /// A page goes on to the end of a revision, however many rows share it.
    #[test]
    fn rows_of_one_revision_are_in_one_page() {
        let mut shared = page(1, FULL - 1);
        shared.extend([FULL; 40]);
        assert_eq!(complete_to(9_000, &shared, &[]), FULL);
        assert_eq!(complete_to(9_000, &[5; PAGE_SIZE], &[]), 5);
    }
}
