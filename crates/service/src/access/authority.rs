//! Re-checks the authority of callers with open streams. All streams of a replica share one statement.
//!
//! While authority cannot be read, streams are paused: nothing is sent on authority that is older than a second. They end
//! when that lasts too long.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_domain::access::caller::{Caller, TenantRole};
use guildhall_domain::access::principal::TokenKind;
use guildhall_domain::access::role::Permission;
use guildhall_domain::access::subject::SubjectScope;
use guildhall_domain::ids::TenantId;
use guildhall_runtime::{Clock, Tasks};
use guildhall_store::principals::{self, CallerAuthority, CallerIdentity};
use guildhall_store::{Store, StoreError};
use jiff::Timestamp;
use metrics::counter;
use tokio::sync::watch;
use tokio::time::Instant;

/// How often authority is read again. Revocation closes a stream within a second, even when one read fails.
const POLL_INTERVAL: Duration = Duration::from_millis(400);

/// The delay after a failed read.
const RETRY_DELAY: Duration = Duration::from_millis(50);

/// The longest time of a read. The next one may get a better connection.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// How old authority may be when something is sent.
const MAX_AGE: Duration = Duration::from_secs(1);

/// The authority watches of one replica. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AuthorityWatches {
    watched: Arc<WatchedCallers>,
    confirmed_at: watch::Receiver<Instant>,
}

type WatchedCallers = Mutex<HashMap<WatchKey, Weak<SharedWatch>>>;

/// Identifies a shared watch. Tokens of one login differ in their expiry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct WatchKey {
    kind: TokenKind,
    identity: CallerIdentity,
    subject: Option<SubjectScope>,
    expires_at: Timestamp,
}

/// Shared by the streams of one credential and tenant. The last stream drops it.
#[derive(Debug)]
struct SharedWatch {
    state: watch::Sender<AuthorityState>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum AuthorityState {
    Valid(Caller),
    /// Authority was revoked or cannot be read. The failure kind says which.
    Ended(FailureKind),
}

/// Watches the authority of one stream's caller.
#[derive(Debug, Clone)]
pub struct AuthorityWatch {
    state: watch::Receiver<AuthorityState>,
    /// When the authority of all watched callers was read last.
    confirmed_at: watch::Receiver<Instant>,
    authenticated_at: Instant,
    _shared: Arc<SharedWatch>,
}

impl AuthorityWatch {
    /// Waits until the caller may no longer read, and returns why.
    pub async fn ended(&mut self, may_read: impl Fn(&Caller) -> bool) -> FailureKind {
        let is_over = |state: &AuthorityState| match state {
            AuthorityState::Valid(caller) => !may_read(caller),
            AuthorityState::Ended(_) => true,
        };
        match self.state.wait_for(is_over).await.as_deref() {
            Ok(AuthorityState::Ended(kind)) => *kind,
            Ok(AuthorityState::Valid(_)) => FailureKind::Forbidden,
            // Cannot happen: this watch keeps the sender.
            Err(_) => FailureKind::NotReady,
        }
    }

    /// Returns whether the authority is young enough to send something.
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        self.authenticated_at.max(*self.confirmed_at.borrow()).elapsed() < MAX_AGE
    }

    /// Waits until the authority is fresh, or has ended.
    pub async fn fresh(&mut self) {
        loop {
            self.confirmed_at.mark_unchanged();
            if self.is_fresh() || matches!(*self.state.borrow_and_update(), AuthorityState::Ended(_)) {
                return;
            }
            tokio::select! {
                confirmed = self.confirmed_at.changed() => if confirmed.is_err() {
                    // The server shuts down.
                    return;
                },
                _ended_or_changed = self.state.changed() => {}
            }
        }
    }
}

impl AuthorityWatches {
    /// Streams end if authority cannot be read for `timeout`.
    #[must_use]
    pub fn start(store: Store, clock: Clock, tasks: &Tasks, timeout: Duration) -> Self {
        let (sender, confirmed_at) = watch::channel(Instant::now());
        let watches = Self { watched: Arc::default(), confirmed_at };
        let stop = tasks.stop();
        let poller = AuthorityPoller {
            store,
            clock,
            timeout,
            watched: Arc::clone(&watches.watched),
            confirmed_at: sender,
        };
        tasks.spawn("authority", async move {
            tokio::select! {
                () = poller.run() => {}
                () = stop.cancelled() => {}
            }
        });
        watches
    }

    /// Watches a caller that was authenticated just now, and their role in a tenant.
    #[must_use]
    pub fn watch(&self, caller: Caller, tenant: Option<TenantId>) -> AuthorityWatch {
        // A service key has a role in its own tenant, whichever tenant is asked for.
        let of_key = caller.key.and(caller.tenant.map(|own| own.tenant));
        let tenant = of_key.or(caller.subject.map(|scope| scope.tenant)).or(tenant);
        let identity = CallerIdentity {
            principal: caller.principal,
            login: caller.login,
            service_key: caller.key,
            tenant,
        };
        let (kind, subject, expires_at) = (caller.kind, caller.subject, caller.expires_at);
        let key = WatchKey { kind, identity, subject, expires_at };
        let mut watched = lock(&self.watched);
        // An ended watch stays ended. A caller that was authenticated since gets a new one.
        let valid = watched
            .get(&key)
            .and_then(Weak::upgrade)
            .filter(|shared| matches!(*shared.state.borrow(), AuthorityState::Valid(_)));
        let shared = valid.unwrap_or_else(|| {
            let shared = Arc::new(SharedWatch { state: watch::Sender::new(AuthorityState::Valid(caller)) });
            watched.insert(key, Arc::downgrade(&shared));
            shared
        });
        AuthorityWatch {
            state: shared.state.subscribe(),
            confirmed_at: self.confirmed_at.clone(),
            authenticated_at: Instant::now(),
            _shared: shared,
        }
    }
}

fn lock(watched: &WatchedCallers) -> MutexGuard<'_, HashMap<WatchKey, Weak<SharedWatch>>> {
    watched.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads the authority of all watched callers with one statement.
struct AuthorityPoller {
    store: Store,
    clock: Clock,
    timeout: Duration,
    watched: Arc<WatchedCallers>,
    confirmed_at: watch::Sender<Instant>,
}

impl AuthorityPoller {
    async fn run(self) {
        let mut delay = POLL_INTERVAL;
        loop {
            tokio::time::sleep(delay).await;
            let started_at = Instant::now();
            let keys = self.watched_keys();
            let ends_at = *self.confirmed_at.borrow() + self.timeout;
            let read_until = ends_at.clamp(started_at + MAX_AGE, started_at + READ_TIMEOUT);
            delay = match tokio::time::timeout_at(read_until, self.read(&keys)).await {
                Ok(Ok(authorities)) => {
                    self.publish(&keys, &authorities);
                    // Streams that were opened since were authenticated later than this.
                    self.confirmed_at.send_replace(started_at);
                    POLL_INTERVAL
                }
                Ok(Err(_)) | Err(_) => {
                    if Instant::now() >= ends_at {
                        self.end_all(&keys);
                    }
                    RETRY_DELAY
                }
            };
        }
    }

    fn watched_keys(&self) -> Vec<WatchKey> {
        let mut watched = lock(&self.watched);
        watched.retain(|_, shared| shared.strong_count() > 0);
        watched.keys().copied().collect()
    }

    async fn read(&self, keys: &[WatchKey]) -> Result<Vec<Option<CallerAuthority>>, StoreError> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        counter!("guildhall_authority_looks_total").increment(1);
        let callers: Vec<CallerIdentity> = keys.iter().map(|key| key.identity).collect();
        principals::list_authorities(&self.store, &callers).await
    }

    fn publish(&self, keys: &[WatchKey], authorities: &[Option<CallerAuthority>]) {
        let now = self.clock.now();
        let watched = lock(&self.watched);
        for (key, authority) in keys.iter().zip(authorities) {
            let state = match authority.and_then(|authority| key.caller(authority, now)) {
                Some(caller) => AuthorityState::Valid(caller),
                None => AuthorityState::Ended(FailureKind::Unauthenticated),
            };
            publish_to(&watched, key, state);
        }
    }

    /// Ends the streams whose authority could not be read for too long.
    fn end_all(&self, keys: &[WatchKey]) {
        let watched = lock(&self.watched);
        for key in keys {
            publish_to(&watched, key, AuthorityState::Ended(FailureKind::InfraFailed));
        }
    }
}

/// Publishes a changed state. An unchanged state wakes no stream; there can be thousands.
fn publish_to(watched: &HashMap<WatchKey, Weak<SharedWatch>>, key: &WatchKey, state: AuthorityState) {
    let Some(shared) = watched.get(key).and_then(Weak::upgrade) else { return };
    shared.state.send_if_modified(|before| {
        let differs = matches!(before, AuthorityState::Valid(_)) && *before != state;
        if differs {
            *before = state;
        }
        differs
    });
}

impl WatchKey {
    /// Returns the caller with its current authority; none if its credential is no longer valid. The tokens of enrolments
    /// and runs open no streams.
    fn caller(&self, authority: CallerAuthority, now: Timestamp) -> Option<Caller> {
        let role = match self.kind {
            TokenKind::User | TokenKind::Agent | TokenKind::Service => authority.role,
            // The role is that of the key that vouches for the subject, which has none of its own.
            TokenKind::External => {
                authority.role.filter(|role| role.allows(Permission::SubjectsVouch))?;
                None
            }
            TokenKind::Enrolment | TokenKind::Run => return None,
        };
        if self.expires_at <= now {
            return None;
        }
        let CallerIdentity { principal, login, service_key, tenant } = self.identity;
        Some(Caller {
            principal,
            kind: self.kind,
            login,
            key: service_key,
            tenant: tenant.zip(role).map(|(tenant, role)| TenantRole { tenant, role }),
            subject: self.subject,
            expires_at: self.expires_at,
            // A service key never operates the installation, nor does a subject.
            is_operator: authority.is_operator && service_key.is_none(),
        })
    }
}
