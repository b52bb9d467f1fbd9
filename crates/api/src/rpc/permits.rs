//! Limits the number of connections.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use guildhall_domain::ops::rate::RateKey;
use guildhall_domain::{Failure, FailureKind};
use metrics::gauge;

use super::limits::SocketLimits;

/// Longer than usual: a permit is returned when a client goes away, or after the time for `auth.connect`.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// Counts the connections of this replica. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct SocketPermits {
    limits: SocketLimits,
    open: Arc<Mutex<OpenSockets>>,
}

#[derive(Debug, Default)]
struct OpenSockets {
    total: usize,
    unauthenticated: usize,
    per_address: HashMap<RateKey, usize>,
    unauthenticated_per_address: HashMap<RateKey, usize>,
    per_client: HashMap<RateKey, usize>,
}

/// The permit of one connection, returned on drop.
#[derive(Debug)]
pub(super) struct SocketPermit {
    permits: SocketPermits,
    address: RateKey,
    /// None until the connection is authenticated.
    client: Option<RateKey>,
}

impl SocketPermits {
    pub(super) fn new(limits: SocketLimits) -> Self {
        Self { limits, open: Arc::default() }
    }

    /// Returns a permit for a connection that is not authenticated.
    pub(super) fn acquire(&self, address: IpAddr) -> Result<SocketPermit, Failure> {
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
        let pending = open.unauthenticated_per_address.get(&address).copied().unwrap_or_default();
        if pending >= self.limits.unauthenticated_per_address {
            let message =
                format!("{pending} connections from your address wait for auth.connect, which is the limit");
            return Err(Failure::new(FailureKind::RateLimited, message).with_retry_after(RETRY_AFTER));
        }
        open.total += 1;
        open.unauthenticated += 1;
        open.per_address.insert(address, count + 1);
        open.unauthenticated_per_address.insert(address, pending + 1);
        gauge!("guildhall_sockets_open").increment(1.0);
        drop(open);
        Ok(SocketPermit { permits: self.clone(), address, client: None })
    }

    fn lock(&self) -> MutexGuard<'_, OpenSockets> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SocketPermit {
    /// Turns the permit into one of an authenticated client: an AID or a user.
    pub(super) fn authenticate(&mut self, client: RateKey) -> Result<(), Failure> {
        let mut open = self.permits.lock();
        let count = open.per_client.get(&client).copied().unwrap_or_default();
        if count >= self.permits.limits.per_client {
            let message =
                format!("{count} connections of you are open on this replica, which is the limit: close one");
            return Err(Failure::new(FailureKind::Overloaded, message).with_retry_after(RETRY_AFTER));
        }
        open.per_client.insert(client, count + 1);
        open.forget_unauthenticated(self.address);
        self.client = Some(client);
        Ok(())
    }
}

impl OpenSockets {
    fn forget_unauthenticated(&mut self, address: RateKey) {
        self.unauthenticated = self.unauthenticated.saturating_sub(1);
        subtract(&mut self.unauthenticated_per_address, address);
    }
}

impl Drop for SocketPermit {
    fn drop(&mut self) {
        let mut open = self.permits.lock();
        open.total = open.total.saturating_sub(1);
        subtract(&mut open.per_address, self.address);
        match self.client {
            Some(client) => subtract(&mut open.per_client, client),
            None => open.forget_unauthenticated(self.address),
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
        unauthenticated_per_address: 2,
        per_client: 1,
        concurrent_calls: 1,
        auth_timeout: Duration::from_secs(10),
        ping_after: Duration::from_secs(60),
        idle_timeout: Duration::from_secs(90),
        write_timeout: Duration::from_secs(30),
    };

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    fn kind<T>(entered: Result<T, Failure>) -> Option<FailureKind> {
        entered.err().map(|failure| failure.kind)
    }

    #[test]
    fn limits_are_independent_and_permits_return_on_drop() {
        let permits = SocketPermits::new(LIMITS);
        let mut first = permits.acquire(address(1)).expect("free");
        let mut second = permits.acquire(address(1)).expect("free");
        assert_eq!(
            kind(permits.acquire(address(2))),
            Some(FailureKind::Overloaded),
            "two are unauthenticated"
        );
        let (ada, bob) = (RateKey::Account(1), RateKey::Account(2));
        assert_eq!(first.authenticate(ada), Ok(()));
        assert_eq!(kind(second.authenticate(ada)), Some(FailureKind::Overloaded), "one for each client");
        assert_eq!(second.authenticate(bob), Ok(()));
        let third = permits.acquire(address(1)).expect("free");
        assert_eq!(kind(permits.acquire(address(1))), Some(FailureKind::RateLimited), "three of one address");
        let fourth = permits.acquire(address(2)).expect("free");
        drop(third);
        drop((first, second, fourth));
        let open = permits.lock();
        assert_eq!((open.total, open.unauthenticated), (0, 0));
        assert!(
            open.per_address.is_empty()
                && open.per_client.is_empty()
                && open.unauthenticated_per_address.is_empty(),
            "no count of zero remains"
        );
    }
}
