//! Limits the number of connections.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use guildhall_domain::ids::PrincipalId;
use guildhall_domain::ops::rate::RateKey;
use guildhall_domain::{Failure, FailureKind};
use metrics::gauge;

use super::sockets::SocketLimits;

/// Longer than usual: a place becomes free when a client goes away, or after the time for `auth.connect`.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// Counts the connections of this replica. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct SocketPlaces {
    limits: SocketLimits,
    open: Arc<Mutex<OpenSockets>>,
}

#[derive(Debug, Default)]
struct OpenSockets {
    total: usize,
    unauthenticated: usize,
    per_address: HashMap<RateKey, usize>,
    per_principal: HashMap<PrincipalId, usize>,
}

/// The place of one connection, returned on drop.
#[derive(Debug)]
pub(super) struct SocketPlace {
    places: SocketPlaces,
    address: RateKey,
    /// None until the connection is authenticated.
    principal: Option<PrincipalId>,
}

impl SocketPlaces {
    pub(super) fn new(limits: SocketLimits) -> Self {
        Self { limits, open: Arc::default() }
    }

    /// Takes a place for a connection that is not authenticated.
    pub(super) fn enter(&self, address: IpAddr) -> Result<SocketPlace, Failure> {
        let (mut open, address) = (self.lock(), RateKey::from_address(address));
        if open.total >= self.limits.total || open.unauthenticated >= self.limits.unauthenticated {
            let message = "too many open connections on this replica; try again in a moment";
            return Err(Failure::new(FailureKind::Overloaded, message).with_retry_after(RETRY_AFTER));
        }
        let count = open.per_address.get(&address).copied().unwrap_or_default();
        if count >= self.limits.per_address {
            let message =
                format!("{count} connections are open from your address, which is the limit: close one");
            return Err(Failure::new(FailureKind::RateLimited, message).with_retry_after(RETRY_AFTER));
        }
        open.total += 1;
        open.unauthenticated += 1;
        open.per_address.insert(address, count + 1);
        gauge!("guildhall_sockets_open").increment(1.0);
        drop(open);
        Ok(SocketPlace { places: self.clone(), address, principal: None })
    }

    fn lock(&self) -> MutexGuard<'_, OpenSockets> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SocketPlace {
    /// Turns the place into one of an authenticated principal.
    pub(super) fn authenticate(&mut self, principal: PrincipalId) -> Result<(), Failure> {
        let mut open = self.places.lock();
        let count = open.per_principal.get(&principal).copied().unwrap_or_default();
        if count >= self.places.limits.per_principal {
            let message =
                format!("{count} connections of you are open on this replica, which is the limit: close one");
            return Err(Failure::new(FailureKind::Overloaded, message).with_retry_after(RETRY_AFTER));
        }
        open.per_principal.insert(principal, count + 1);
        open.unauthenticated = open.unauthenticated.saturating_sub(1);
        self.principal = Some(principal);
        Ok(())
    }
}

impl Drop for SocketPlace {
    fn drop(&mut self) {
        let mut open = self.places.lock();
        open.total = open.total.saturating_sub(1);
        subtract(&mut open.per_address, self.address);
        match self.principal {
            Some(principal) => subtract(&mut open.per_principal, principal),
            None => open.unauthenticated = open.unauthenticated.saturating_sub(1),
        }
        gauge!("guildhall_sockets_open").decrement(1.0);
    }
}

/// Subtracts one, and removes a count of zero.
fn subtract<K: Eq + std::hash::Hash>(counts: &mut HashMap<K, usize>, key: K) {
    match counts.get_mut(&key) {
        Some(count) if *count > 1 => *count -= 1,
        Some(_) | None => {
            counts.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: SocketLimits = SocketLimits {
        total: 4,
        unauthenticated: 2,
        per_address: 3,
        per_principal: 1,
        concurrent_calls: 1,
        auth_timeout: Duration::from_secs(10),
        ping_after: Duration::from_secs(60),
        idle_timeout: Duration::from_secs(150),
    };

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    fn kind<T>(entered: Result<T, Failure>) -> Option<FailureKind> {
        entered.err().map(|failure| failure.kind)
    }

    #[test]
    fn limits_are_independent_and_places_return_on_drop() {
        let places = SocketPlaces::new(LIMITS);
        let mut first = places.enter(address(1)).expect("free");
        let mut second = places.enter(address(1)).expect("free");
        assert_eq!(kind(places.enter(address(2))), Some(FailureKind::Overloaded), "two are unauthenticated");
        let (ada, bob) = (PrincipalId::generate(), PrincipalId::generate());
        assert_eq!(first.authenticate(ada), Ok(()));
        assert_eq!(kind(second.authenticate(ada)), Some(FailureKind::Overloaded), "one for each principal");
        assert_eq!(second.authenticate(bob), Ok(()));
        let third = places.enter(address(1)).expect("free");
        assert_eq!(kind(places.enter(address(1))), Some(FailureKind::RateLimited), "three of one address");
        let fourth = places.enter(address(2)).expect("free");
        drop(third);
        drop((first, second, fourth));
        let open = places.lock();
        assert_eq!((open.total, open.unauthenticated), (0, 0));
        assert!(open.per_address.is_empty() && open.per_principal.is_empty(), "no count of zero remains");
    }
}
