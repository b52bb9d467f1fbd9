//! Evicts expired session storage, and removes its files where this server owns them.

use std::sync::Arc;
use std::time::Duration;

use guildhall_launcher::storage::SessionStorage;
use guildhall_runtime::reconcile::Reconciler;
use guildhall_store::{Store, session_storage as rows};
use tracing::{info, warn};

use super::storage::evict_expired;
use crate::ServiceError;

/// Sessions handled in one round; the next takes the rest.
const BATCH_SIZE: u32 = 200;

/// The reconciler of session storage.
#[derive(Debug)]
pub struct CollectSessionStorage {
    pub store: Store,
    /// How long after its last use storage is kept, unless its session says otherwise.
    pub expire_after: Duration,
    /// The storage that this server may remove. Elsewhere its owner removes it.
    pub storage: Option<Arc<dyn SessionStorage>>,
}

impl Reconciler for CollectSessionStorage {
    type Error = ServiceError;
    const NAME: &'static str = "session-storage";

    async fn round(&self) -> Result<(), ServiceError> {
        let store = &self.store;
        for (id, tenant) in rows::list_expired(store, self.expire_after, BATCH_SIZE).await? {
            if evict_expired(store, id, tenant).await? {
                info!(session.id = %id, "the storage of {id} has expired");
            }
        }
        let Some(storage) = &self.storage else { return Ok(()) };
        let mut after = None;
        loop {
            let evicted = rows::list_to_remove(store, after, BATCH_SIZE).await?;
            for id in &evicted {
                match storage.remove(*id).await {
                    Ok(()) => rows::set_removed(store, *id).await?,
                    // The next round retries it.
                    Err(error) => {
                        warn!(session.id = %id, error = &error as &dyn std::error::Error, "cannot remove the storage of {id}");
                    }
                }
            }
            after = evicted.last().copied();
            if evicted.len() < BATCH_SIZE as usize {
                return Ok(());
            }
        }
    }
}
