//! Limits the number of open streams.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use guildhall_domain::ids::PrincipalId;
use guildhall_domain::{Failure, FailureKind};
use metrics::gauge;
use uuid::Uuid;

use super::StreamLimits;
use crate::edge::error::ApiError;

/// Longer than usual: permits become free when browser tabs are closed.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// Counts the open streams of this replica. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct StreamPermits {
    limits: StreamLimits,
    open: Arc<Mutex<OpenStreams>>,
}

#[derive(Debug, Default)]
struct OpenStreams {
    total: usize,
    per_principal: HashMap<(PrincipalId, Uuid), usize>,
}

/// The permit of one open stream, returned on drop.
#[derive(Debug)]
pub(crate) struct StreamPermit {
    key: (PrincipalId, Uuid),
    open: Arc<Mutex<OpenStreams>>,
}

impl StreamPermits {
    pub(super) fn new(limits: StreamLimits) -> Self {
        Self { limits, open: Arc::default() }
    }

    pub(super) fn acquire(&self, principal: PrincipalId, object: Uuid) -> Result<StreamPermit, ApiError> {
        let (mut open, key) = (lock(&self.open), (principal, object));
        if open.total >= self.limits.total {
            let message = "too many open streams on this replica; try again in a moment";
            return Err(ApiError::new(FailureKind::Overloaded, message));
        }
        let count = open.per_principal.get(&key).copied().unwrap_or_default();
        if count >= self.limits.per_principal {
            let message =
                format!("you have {count} open streams of this object, which is the limit: close one");
            return Err(Failure::new(FailureKind::RateLimited, message).with_retry_after(RETRY_AFTER).into());
        }
        open.per_principal.insert(key, count + 1);
        open.total += 1;
        gauge!("guildhall_streams_open").increment(1.0);
        Ok(StreamPermit { key, open: Arc::clone(&self.open) })
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let mut open = lock(&self.open);
        open.total = open.total.saturating_sub(1);
        match open.per_principal.get_mut(&self.key) {
            Some(count) if *count > 1 => *count -= 1,
            Some(_) | None => {
                open.per_principal.remove(&self.key);
            }
        }
        gauge!("guildhall_streams_open").decrement(1.0);
    }
}

fn lock(open: &Mutex<OpenStreams>) -> MutexGuard<'_, OpenStreams> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permit_is_returned_on_drop_and_limits_are_independent() {
        let permits = StreamPermits::new(StreamLimits { per_principal: 2, total: 4 });
        let (ada, bob) = (PrincipalId::generate(), PrincipalId::generate());
        let (run, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let kind = |permit: Result<StreamPermit, ApiError>| permit.err().map(|error| error.failure.kind);
        let (first, second) =
            (permits.acquire(ada, run).expect("free"), permits.acquire(ada, run).expect("free"));
        assert_eq!(kind(permits.acquire(ada, run)), Some(FailureKind::RateLimited));
        let (third, fourth) =
            (permits.acquire(ada, other).expect("free"), permits.acquire(bob, run).expect("free"));
        assert_eq!(kind(permits.acquire(bob, other)), Some(FailureKind::Overloaded));
        drop(first);
        let again = permits.acquire(ada, run).expect("free again");
        drop((second, third, fourth, again));
        let open = lock(&permits.open);
        assert_eq!((open.total, open.per_principal.len()), (0, 0), "no count of ended streams remains");
    }
}
