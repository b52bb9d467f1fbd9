//! Re-checks the authority of callers with open streams. All streams of one token and tenant share one poller.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_domain::access::caller::Caller;
use guildhall_domain::ids::TenantId;
use guildhall_runtime::Tasks;
use metrics::counter;
use secrecy::ExposeSecret;
use sha2::{Digest, Sha256};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::ServiceError;
use crate::access::auth::{Auth, Credential};
use crate::access::error::AccessError;

/// How often authority is read again. Revocation closes a stream within a second, even when one read fails.
const POLL_INTERVAL: Duration = Duration::from_millis(400);

/// The delay after a failed read.
const RETRY_DELAY: Duration = Duration::from_millis(50);

/// The shortest time for which a state is valid: the next read must have a chance.
const MIN_STATE_TTL: Duration = Duration::from_millis(900);

/// The authority watches of one replica. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AuthorityWatches {
    auth: Auth,
    tasks: Tasks,
    state_ttl: Duration,
    open: Arc<Mutex<HashMap<WatchKey, Weak<SharedWatch>>>>,
}

/// Identifies a poller: the hash of the credential, and the tenant whose role is read; none for the installation.
type WatchKey = ([u8; 32], Option<TenantId>);

/// Shared by the streams of one token and tenant. Dropping the last reference stops the poller.
#[derive(Debug)]
struct SharedWatch {
    state: watch::Receiver<AuthorityState>,
    done: CancellationToken,
}

impl Drop for SharedWatch {
    fn drop(&mut self) {
        self.done.cancel();
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum AuthorityState {
    Valid(Caller),
    /// Authority was revoked or cannot be read. The failure kind says which.
    Ended(FailureKind),
}

/// Watches the authority of one stream's caller.
#[derive(Debug)]
pub struct AuthorityWatch {
    state: watch::Receiver<AuthorityState>,
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
            // The poller has stopped: the server shuts down.
            Err(_) => FailureKind::NotReady,
        }
    }
}

impl AuthorityWatches {
    /// When PostgreSQL is silent for longer than `state_ttl`, access is denied.
    #[must_use]
    pub fn new(auth: Auth, tasks: Tasks, state_ttl: Duration) -> Self {
        Self { auth, tasks, state_ttl: state_ttl.max(MIN_STATE_TTL), open: Arc::default() }
    }

    /// Watches a caller that was authenticated just now.
    #[must_use]
    pub fn watch(&self, credential: &Credential, tenant: Option<TenantId>, caller: Caller) -> AuthorityWatch {
        let key = (fingerprint(credential), tenant);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let known = open.get(&key).and_then(Weak::upgrade);
        // An ended watch stays ended. A caller that was authenticated since gets a new one.
        if let Some(shared) =
            known.filter(|shared| matches!(*shared.state.borrow(), AuthorityState::Valid(_)))
        {
            return AuthorityWatch { state: shared.state.clone(), _shared: shared };
        }
        let (sender, state) = watch::channel(AuthorityState::Valid(caller));
        let done = CancellationToken::new();
        let (auth, credential, state_ttl) = (self.auth.clone(), credential.clone(), self.state_ttl);
        let poller = AuthorityPoller { auth, credential, tenant, state_ttl, sender };
        self.tasks.spawn("authority", poller.run(done.clone(), self.tasks.stop()));
        let shared = Arc::new(SharedWatch { state: state.clone(), done });
        open.retain(|_, shared| shared.strong_count() > 0);
        open.insert(key, Arc::downgrade(&shared));
        AuthorityWatch { state, _shared: shared }
    }
}

fn fingerprint(credential: &Credential) -> [u8; 32] {
    let (kind, secret) = match credential {
        Credential::Bearer(token) => (b'b', token),
        Credential::Cookie(cookie) => (b'c', cookie),
    };
    Sha256::new().chain_update([kind]).chain_update(secret.expose_secret()).finalize().into()
}

struct AuthorityPoller {
    auth: Auth,
    credential: Credential,
    tenant: Option<TenantId>,
    state_ttl: Duration,
    sender: watch::Sender<AuthorityState>,
}

impl AuthorityPoller {
    async fn run(self, done: CancellationToken, stop: CancellationToken) {
        let polling = async {
            let mut valid_until = Instant::now() + self.state_ttl;
            let mut delay = POLL_INTERVAL;
            loop {
                tokio::time::sleep(delay).await;
                let started_at = Instant::now();
                match tokio::time::timeout_at(valid_until, self.read_caller()).await {
                    Ok(Ok(caller)) => {
                        (valid_until, delay) = (started_at + self.state_ttl, POLL_INTERVAL);
                        self.publish(AuthorityState::Valid(caller));
                    }
                    Ok(Err(error)) if is_transient(&error) && Instant::now() + RETRY_DELAY < valid_until => {
                        delay = RETRY_DELAY;
                    }
                    Ok(Err(error)) => return self.publish(AuthorityState::Ended(error.failure().kind)),
                    Err(_) => return self.publish(AuthorityState::Ended(FailureKind::InfraFailed)),
                }
            }
        };
        tokio::select! {
            () = polling => {}
            () = done.cancelled() => {}
            () = stop.cancelled() => {}
        }
    }

    async fn read_caller(&self) -> Result<Caller, ServiceError> {
        counter!("guildhall_authority_looks_total").increment(1);
        self.auth.authenticate(&self.credential, self.tenant).await
    }

    /// Publishes a changed state. An unchanged state wakes no stream; there can be thousands.
    fn publish(&self, state: AuthorityState) {
        self.sender.send_if_modified(|before| {
            let differs = *before != state;
            *before = state;
            differs
        });
    }
}

/// Returns whether an error says nothing about the authority of the caller.
fn is_transient(error: &ServiceError) -> bool {
    matches!(
        error,
        ServiceError::Store(_) | ServiceError::Access(AccessError::Signing(_) | AccessError::CannotSign)
    )
}
