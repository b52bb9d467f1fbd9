//! Differences between versions of manifests. They never change, so they are computed once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use guildhall_domain::agents::manifest::Manifest;
use guildhall_domain::ids::AgentId;
use guildhall_domain::relations::ConsentGap;
use guildhall_store::{Store, Tx, agent_manifests};
use tokio::task::spawn_blocking;

use crate::ServiceError;

/// Differences that are kept: some kilobytes each. A full cache starts again.
const MAX_CACHED: usize = 1_000;

/// Two versions of the manifest of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct VersionPair {
    pub(super) agent: AgentId,
    /// The version of a consent.
    pub(super) agreed: i64,
    pub(super) current: i64,
}

/// The differences that one replica has computed. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct Gaps(Arc<Mutex<HashMap<VersionPair, Arc<ConsentGap>>>>);

impl Gaps {
    pub(super) async fn get(
        &self,
        store: &Store,
        pair: VersionPair,
    ) -> Result<Arc<ConsentGap>, ServiceError> {
        if let Some(found) = self.cached(pair) {
            return Ok(found);
        }
        let text = async |version| {
            let found = agent_manifests::find(store, pair.agent, version).await?;
            Ok::<_, ServiceError>(found.map(|found| found.canonical))
        };
        let (agreed, current) = (text(pair.agreed).await?, text(pair.current).await?);
        self.compute(pair, agreed, current).await
    }

    /// The same in a transaction.
    pub(super) async fn load(&self, tx: &mut Tx, pair: VersionPair) -> Result<Arc<ConsentGap>, ServiceError> {
        if let Some(found) = self.cached(pair) {
            return Ok(found);
        }
        let agreed = agent_manifests::load_text(tx, pair.agent, pair.agreed).await?;
        let current = agent_manifests::load_text(tx, pair.agent, pair.current).await?;
        self.compute(pair, agreed, current).await
    }

    fn cached(&self, pair: VersionPair) -> Option<Arc<ConsentGap>> {
        if pair.agreed == pair.current {
            return Some(Arc::default());
        }
        self.lock().get(&pair).cloned()
    }

    /// Compares large manifests without holding up other requests.
    async fn compute(
        &self,
        pair: VersionPair,
        agreed: Option<String>,
        current: Option<String>,
    ) -> Result<Arc<ConsentGap>, ServiceError> {
        let compare = move || {
            let read = |text: Option<String>| text.as_deref().and_then(Manifest::read_stored);
            match (read(agreed), read(current)) {
                (Some(agreed), Some(current)) => ConsentGap::between(&agreed, &current),
                (None, Some(current)) => ConsentGap::whole(&current),
                // Nothing of a manifest that cannot be read works.
                (_, None) => ConsentGap { contract_breaks: true, ..ConsentGap::default() },
            }
        };
        let gap = Arc::new(spawn_blocking(compare).await.map_err(|_| ServiceError::Overloaded)?);
        let mut cached = self.lock();
        if cached.len() >= MAX_CACHED {
            cached.clear();
        }
        cached.insert(pair, Arc::clone(&gap));
        Ok(gap)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<VersionPair, Arc<ConsentGap>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
