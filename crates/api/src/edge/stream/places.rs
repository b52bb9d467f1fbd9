//! How many streams may be open at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use guildhall_domain::ids::PrincipalId;
use guildhall_domain::{Failure, FailureKind};
use metrics::gauge;
use uuid::Uuid;

use crate::edge::error::ApiError;

/// A refused client comes back after this long: places get free when tabs are closed, not in a moment.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// The streams that are open on this replica. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Places {
    each: usize,
    all: usize,
    taken: Arc<Mutex<Taken>>,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    each: HashMap<(PrincipalId, Uuid), usize>,
}

/// A place, for as long as it is kept.
#[derive(Debug)]
pub(super) struct Place {
    whose: (PrincipalId, Uuid),
    taken: Arc<Mutex<Taken>>,
}

impl Places {
    /// Allows so many streams of each principal on each object, and so many of all.
    pub(super) fn new(each: usize, all: usize) -> Self {
        Self { each, all, taken: Arc::default() }
    }

    pub(super) fn take(&self, principal: PrincipalId, object: Uuid) -> Result<Place, ApiError> {
        let (mut taken, whose) = (lock(&self.taken), (principal, object));
        if taken.all >= self.all {
            let words = "the server holds as many streams as it can; try again in a moment";
            return Err(ApiError::new(FailureKind::Overloaded, words));
        }
        let each = taken.each.get(&whose).copied().unwrap_or_default();
        if each >= self.each {
            let words = format!(
                "you hold {each} streams of this on this replica, which is the limit: close one first"
            );
            return Err(Failure::new(FailureKind::RateLimited, words).after(RETRY_AFTER).into());
        }
        taken.each.insert(whose, each + 1);
        taken.all += 1;
        gauge!("guildhall_streams_open").increment(1.0);
        Ok(Place { whose, taken: Arc::clone(&self.taken) })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = lock(&self.taken);
        taken.all = taken.all.saturating_sub(1);
        match taken.each.get_mut(&self.whose) {
            Some(count) if *count > 1 => *count -= 1,
            Some(_) | None => {
                taken.each.remove(&self.whose);
            }
        }
        gauge!("guildhall_streams_open").decrement(1.0);
    }
}

fn lock(taken: &Mutex<Taken>) -> MutexGuard<'_, Taken> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_again_when_its_stream_ends_and_others_are_not_touched() {
        let places = Places::new(2, 4);
        let (ada, bob) = (PrincipalId::generate(), PrincipalId::generate());
        let (run, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let kind = |taken: Result<Place, ApiError>| taken.err().map(|error| error.failure.kind);
        let (first, second) = (places.take(ada, run).expect("free"), places.take(ada, run).expect("free"));
        assert_eq!(kind(places.take(ada, run)), Some(FailureKind::RateLimited));
        let (third, fourth) = (places.take(ada, other).expect("free"), places.take(bob, run).expect("free"));
        assert_eq!(kind(places.take(bob, other)), Some(FailureKind::Overloaded));
        drop(first);
        let again = places.take(ada, run).expect("free again");
        drop((second, third, fourth, again));
        let taken = lock(&places.taken);
        assert_eq!((taken.all, taken.each.len()), (0, 0), "nothing is kept of streams that ended");
    }
}
