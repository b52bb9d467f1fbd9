//! The keys of agents that the server answers for: in the key store, never in PostgreSQL.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use guildhall_domain::ids::AgentId;
use guildhall_identity::pki::EcKey;
use guildhall_runtime::reconcile::Reconciler;
use guildhall_store::{Store, StoreError, agent_inboxes};
use tracing::{error, info};

use super::error::IdentityError;
use super::key_store::{AgentKeyError, KeyStore};
use crate::ServiceError;

/// Keys that are moved, or removed, in one step.
const BATCH: u32 = 100;

/// Keys that one round checks.
const CHECKED: u32 = 500;

/// The keys of agents. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AgentKeys {
    store: Store,
    keys: Arc<dyn KeyStore>,
}

impl AgentKeys {
    pub(super) fn new(store: Store, keys: Arc<dyn KeyStore>) -> Self {
        Self { store, keys }
    }

    pub(crate) async fn get(&self, agent: AgentId) -> Result<EcKey, ServiceError> {
        Ok(self.with_keys(move |keys| keys.agent_key(agent)).await.map_err(IdentityError::from)?)
    }

    pub(crate) async fn put(&self, agent: AgentId, key: EcKey) -> Result<(), ServiceError> {
        let stored = self.with_keys(move |keys| keys.put_agent_key(agent, &key)).await;
        Ok(stored.map_err(IdentityError::from)?)
    }

    /// Removes the key of an agent whose AID was revoked. What fails here is done by a later round.
    pub(super) async fn remove_revoked(&self, agent: AgentId) {
        if let Err(error) = self.with_keys(move |keys| keys.remove_agent_key(agent)).await {
            error!(agent.id = %agent, error = &error as &dyn std::error::Error, "cannot remove the key of {agent}; trying again");
        }
    }

    /// Reads and writes files, which must not delay other tasks.
    async fn with_keys<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn KeyStore) -> Result<T, AgentKeyError> + Send + 'static,
    ) -> Result<T, AgentKeyError> {
        let keys = Arc::clone(&self.keys);
        let done = tokio::task::spawn_blocking(move || work(&*keys)).await;
        done.map_err(|_| AgentKeyError::Stopped)?
    }
}

/// A round over the keys of agents failed.
#[derive(Debug, thiserror::Error)]
pub enum AgentKeysError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("cannot access the keys of agents in secrets.folder")]
    Keys(#[from] AgentKeyError),
    #[error(
        "keys of agents that this replica cannot use: {count}; share secrets.folder, or restore it from its backup"
    )]
    Unusable {
        count: usize,
        #[source]
        first: AgentKeyError,
    },
}

/// Moves the keys that an earlier version has stored in PostgreSQL, removes those of revoked AIDs, and checks that this replica has the
/// others.
#[derive(Debug)]
pub struct KeepAgentKeys {
    keys: AgentKeys,
    /// The last agent whose key was checked.
    checked: Mutex<Option<AgentId>>,
}

impl KeepAgentKeys {
    pub const INTERVAL: Duration = Duration::from_secs(30);

    #[must_use]
    pub fn new(keys: AgentKeys) -> Self {
        Self { keys, checked: Mutex::default() }
    }

    async fn move_to_files(&self) -> Result<(), AgentKeysError> {
        loop {
            let sealed = agent_inboxes::list_sealed_keys(&self.keys.store, BATCH).await?;
            let (count, mut failed) = (sealed.len(), None);
            for (agent, sealed) in sealed {
                let copy = sealed.clone();
                if let Err(error) = self.keys.with_keys(move |keys| keys.import_agent_key(agent, &copy)).await
                {
                    failed.get_or_insert(error);
                    continue;
                }
                agent_inboxes::clear_sealed_key(&self.keys.store, agent, &sealed).await?;
                info!(agent.id = %agent, "moved the key of {agent} from PostgreSQL to secrets.folder");
            }
            if let Some(error) = failed {
                return Err(error.into());
            }
            if count < BATCH as usize {
                return Ok(());
            }
        }
    }

    /// Revoking removes the key too, unless the server dies in between.
    async fn remove_revoked(&self) -> Result<(), AgentKeysError> {
        let revoked = agent_inboxes::list_revoked(&self.keys.store, BATCH).await?;
        let removed = self
            .keys
            .with_keys(move |keys| revoked.into_iter().try_for_each(|agent| keys.remove_agent_key(agent)));
        Ok(removed.await?)
    }

    async fn check(&self) -> Result<(), AgentKeysError> {
        let after = *self.lock();
        let agents = agent_inboxes::list_active(&self.keys.store, after, CHECKED).await?;
        let is_last = agents.len() < CHECKED as usize;
        *self.lock() = agents.last().copied().filter(|_| !is_last);
        let unusable = self.keys.with_keys(move |keys| {
            let mut unusable = agents.into_iter().filter_map(|agent| keys.agent_key(agent).err());
            Ok(unusable.next().map(|first| AgentKeysError::Unusable { count: 1 + unusable.count(), first }))
        });
        unusable.await?.map_or(Ok(()), Err)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<AgentId>> {
        self.checked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reconciler for KeepAgentKeys {
    type Error = AgentKeysError;
    const NAME: &'static str = "agent-keys";

    async fn round(&self) -> Result<(), AgentKeysError> {
        self.move_to_files().await?;
        self.remove_revoked().await?;
        self.check().await
    }
}
