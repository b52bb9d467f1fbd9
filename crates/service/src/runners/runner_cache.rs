//! Runners that ask for runs on this replica, as they were read last. All of them are read again with one statement, so
//! that the cost of waiting does not grow with the number of runners. A claim checks the runner again in its own
//! transaction.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use guildhall_domain::ids::{EnrolmentId, RunnerId};
use guildhall_domain::runners::enrolment::Enrolment;
use guildhall_domain::runners::runner::Runner;
use guildhall_identity::opaque::{OpaqueSecret, OpaqueSecretKind};
use guildhall_store::enrolments::ActiveEnrolment;
use guildhall_store::{Store, enrolments, runners};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::Instant;

use crate::ServiceError;
use crate::access::secrets::matches;

/// How old what is known of a runner may be.
const MAX_AGE: Duration = Duration::from_secs(1);

/// A runner that has not asked for this long is forgotten.
const FORGET_AFTER: Duration = Duration::from_secs(30);

/// Maximum number of known runners. More are read each time.
const MAX_RUNNERS: usize = 20_000;

/// The runners that ask for runs on one replica. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct RunnerCache {
    store: Store,
    known: Arc<Mutex<HashMap<RunnerId, CachedRunner>>>,
    /// Held by the one request that reads all runners.
    reading: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Debug, Clone)]
struct CachedRunner {
    active: Arc<ActiveEnrolment>,
    runner: Runner,
    read_at: Instant,
    asked_at: Instant,
}

impl RunnerCache {
    pub(super) fn new(store: Store) -> Self {
        Self { store, known: Arc::default(), reading: Arc::default() }
    }

    /// Authenticates a runner that asks for a run, by the token of its enrolment. A runner belongs to the enrolment that
    /// registered it: whoever could name another's runner would get the run that this one holds.
    pub(super) async fn authenticate(
        &self,
        bearer: &SecretString,
        runner: RunnerId,
    ) -> Result<(Enrolment, Runner), ServiceError> {
        let presented =
            OpaqueSecret::parse(bearer.expose_secret()).map_err(|_| ServiceError::Unauthenticated)?;
        if presented.kind != OpaqueSecretKind::Enrolment {
            return Err(ServiceError::Unauthenticated);
        }
        let enrolment = EnrolmentId::from_uuid(presented.id);
        let found = match self.find_fresh(runner) {
            Some(found) => Some(found),
            None => self.read_all(runner).await?,
        };
        let found = match found.filter(|found| found.active.enrolment.id == enrolment) {
            Some(found) if matches(&found.active.hash, &presented.hash) => found,
            Some(_) => return Err(ServiceError::Unauthenticated),
            None => self.read(enrolment, &presented, runner).await?,
        };
        self.remember(runner, &found);
        Ok((found.active.enrolment.clone(), found.runner))
    }

    fn find_fresh(&self, runner: RunnerId) -> Option<CachedRunner> {
        self.lock().get(&runner).filter(|known| known.read_at.elapsed() < MAX_AGE).cloned()
    }

    /// Reads one runner with its enrolment. Only who has the token learns whether the runner exists.
    async fn read(
        &self,
        enrolment: EnrolmentId,
        presented: &OpaqueSecret,
        runner: RunnerId,
    ) -> Result<CachedRunner, ServiceError> {
        let read_at = Instant::now();
        let active = enrolments::find(&self.store, enrolment).await?;
        let active = active
            .filter(|active| matches(&active.hash, &presented.hash))
            .ok_or(ServiceError::Unauthenticated)?;
        let runner = runners::find(&self.store, runner).await?;
        let runner = runner.filter(|runner| runner.enrolment == enrolment).ok_or(ServiceError::NOT_FOUND)?;
        Ok(CachedRunner { active: Arc::new(active), runner, read_at, asked_at: read_at })
    }

    /// Reads all known runners again, if this one is known and nobody else has just read it. Returns it.
    async fn read_all(&self, runner: RunnerId) -> Result<Option<CachedRunner>, ServiceError> {
        if !self.lock().contains_key(&runner) {
            return Ok(None);
        }
        let _only_reader = self.reading.lock().await;
        if let Some(found) = self.find_fresh(runner) {
            return Ok(Some(found));
        }
        let read_at = Instant::now();
        let asking: Vec<RunnerId> = {
            let mut known = self.lock();
            known.retain(|_, known| known.asked_at.elapsed() < FORGET_AFTER);
            known.keys().copied().collect()
        };
        let mut found = runners::touch_all(&self.store, &asking).await?;
        let mut known = self.lock();
        known.retain(|id, known| match found.remove(id) {
            Some((active, runner)) => {
                *known = CachedRunner { active: Arc::new(active), runner, read_at, asked_at: known.asked_at };
                true
            }
            // Revoked or expired, unless it came while the others were read.
            None => known.read_at >= read_at,
        });
        Ok(known.get(&runner).cloned())
    }

    fn remember(&self, runner: RunnerId, found: &CachedRunner) {
        let mut known = self.lock();
        if known.len() < MAX_RUNNERS || known.contains_key(&runner) {
            known.insert(runner, CachedRunner { asked_at: Instant::now(), ..found.clone() });
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunnerId, CachedRunner>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
