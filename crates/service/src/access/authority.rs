//! Whether the callers of open streams may still read: one look for all streams of a token and tenant.

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

/// How often authority is looked at again. What was revoked is closed within a second, also when one look fails.
const LOOK_EVERY: Duration = Duration::from_millis(400);

/// After a look that failed.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// What was seen holds this long. PostgreSQL that does not answer for longer means no.
const HOLDS_FOR: Duration = Duration::from_millis(900);

/// The watches of one replica. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Watches {
    auth: Auth,
    tasks: Tasks,
    open: Arc<Mutex<HashMap<Key, Weak<Shared>>>>,
}

/// Which look serves a stream: the token, by its hash, and the tenant that the role is read in.
type Key = ([u8; 32], TenantId);

/// What the streams of one token and tenant share. The last of them to go ends the looking.
#[derive(Debug)]
struct Shared {
    standing: watch::Receiver<Standing>,
    done: CancellationToken,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.done.cancel();
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Standing {
    Holds(Caller),
    /// It ended, or it is not known: that is no difference to a stream but in the words.
    Ended(FailureKind),
}

/// One stream's watch.
#[derive(Debug)]
pub struct Watch {
    standing: watch::Receiver<Standing>,
    _shared: Arc<Shared>,
}

impl Watch {
    /// Waits until the caller may no longer read, and returns why.
    pub async fn ended(&mut self, may_read: impl Fn(&Caller) -> bool) -> FailureKind {
        let over = |standing: &Standing| match standing {
            Standing::Holds(caller) => !may_read(caller),
            Standing::Ended(_) => true,
        };
        match self.standing.wait_for(over).await.as_deref() {
            Ok(Standing::Ended(kind)) => *kind,
            Ok(Standing::Holds(_)) => FailureKind::Forbidden,
            // Nobody looks any more: the server stops.
            Err(_) => FailureKind::NotReady,
        }
    }
}

impl Watches {
    #[must_use]
    pub fn new(auth: Auth, tasks: Tasks) -> Self {
        Self { auth, tasks, open: Arc::default() }
    }

    /// Watches over a caller that was found behind a token or a session just now.
    #[must_use]
    pub fn watch(&self, credential: &Credential, tenant: TenantId, caller: Caller) -> Watch {
        let key = (fingerprint(credential), tenant);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let known = open.get(&key).and_then(Weak::upgrade);
        // One that has ended stays so for those who have it; whoever was let in since gets another.
        if let Some(shared) = known.filter(|shared| matches!(*shared.standing.borrow(), Standing::Holds(_))) {
            return Watch { standing: shared.standing.clone(), _shared: shared };
        }
        let (say, standing) = watch::channel(Standing::Holds(caller));
        let done = CancellationToken::new();
        let looker = Looker { auth: self.auth.clone(), credential: credential.clone(), tenant, say };
        self.tasks.spawn("authority", looker.run(done.clone(), self.tasks.stop()));
        let shared = Arc::new(Shared { standing: standing.clone(), done });
        open.retain(|_, shared| shared.strong_count() > 0);
        open.insert(key, Arc::downgrade(&shared));
        Watch { standing, _shared: shared }
    }
}

fn fingerprint(credential: &Credential) -> [u8; 32] {
    let (kind, secret) = match credential {
        Credential::Bearer(token) => (b'b', token),
        Credential::Cookie(cookie) => (b'c', cookie),
    };
    Sha256::new().chain_update([kind]).chain_update(secret.expose_secret()).finalize().into()
}

struct Looker {
    auth: Auth,
    credential: Credential,
    tenant: TenantId,
    say: watch::Sender<Standing>,
}

impl Looker {
    async fn run(self, done: CancellationToken, stop: CancellationToken) {
        let looking = async {
            let mut holds_until = Instant::now() + HOLDS_FOR;
            let mut rest = LOOK_EVERY;
            loop {
                tokio::time::sleep(rest).await;
                let began = Instant::now();
                match tokio::time::timeout_at(holds_until, self.look()).await {
                    Ok(Ok(caller)) => {
                        (holds_until, rest) = (began + HOLDS_FOR, LOOK_EVERY);
                        self.change(Standing::Holds(caller));
                    }
                    Ok(Err(error)) if is_passing(&error) && Instant::now() + LOOK_AGAIN < holds_until => {
                        rest = LOOK_AGAIN;
                    }
                    Ok(Err(error)) => return self.change(Standing::Ended(error.failure().kind)),
                    Err(_) => return self.change(Standing::Ended(FailureKind::InfraFailed)),
                }
            }
        };
        tokio::select! {
            () = looking => {}
            () = done.cancelled() => {}
            () = stop.cancelled() => {}
        }
    }

    async fn look(&self) -> Result<Caller, ServiceError> {
        counter!("guildhall_authority_looks_total").increment(1);
        self.auth.caller_of(&self.credential, Some(self.tenant)).await
    }

    /// Tells the streams, where there is something to tell: thousands of them are not woken for nothing.
    fn change(&self, standing: Standing) {
        self.say.send_if_modified(|before| {
            let differs = *before != standing;
            *before = standing;
            differs
        });
    }
}

/// Returns whether an error says nothing of the caller.
fn is_passing(error: &ServiceError) -> bool {
    matches!(error, ServiceError::Store(_) | ServiceError::Signing(_) | ServiceError::CannotSign)
}
