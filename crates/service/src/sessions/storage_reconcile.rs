//! Storage of sessions that has had its time goes, and with it what is kept on this machine.

use std::sync::Arc;
use std::time::Duration;

use guildhall_launcher::storage::SessionStorage;
use guildhall_runtime::reconcile::Reconciler;
use guildhall_store::session_storage as rows;
use tracing::{info, warn};

use crate::ServiceError;
use crate::runs::Runs;

/// Sessions looked after in one round; the next takes the rest.
const AT_ONCE: u32 = 200;

/// Gives up storage that has expired, and removes what was given up where this server owns it.
#[derive(Debug)]
pub struct CollectSessionStorage {
    pub runs: Runs,
    /// How long after its last use storage is kept, unless its session says otherwise.
    pub expire_after: Duration,
    /// Where storage stands that this server may remove. Elsewhere those who own it do.
    pub storage: Option<Arc<dyn SessionStorage>>,
}

impl Reconciler for CollectSessionStorage {
    type Error = ServiceError;
    const NAME: &'static str = "session-storage";

    async fn round(&self) -> Result<(), ServiceError> {
        let store = &self.runs.store;
        for (id, tenant) in rows::expired(store, self.expire_after, AT_ONCE).await? {
            if self.runs.evict_expired(id, tenant).await? {
                info!(session.id = %id, "the storage of {id} has expired");
            }
        }
        let Some(storage) = &self.storage else { return Ok(()) };
        let mut after = None;
        loop {
            let evicted = rows::to_remove(store, after, AT_ONCE).await?;
            for id in &evicted {
                match storage.remove(*id).await {
                    Ok(()) => rows::removed(store, *id).await?,
                    // The next round tries again; the others do not wait for it.
                    Err(error) => {
                        warn!(session.id = %id, error = &error as &dyn std::error::Error, "cannot remove the storage of {id}");
                    }
                }
            }
            after = evicted.last().copied();
            if evicted.len() < AT_ONCE as usize {
                return Ok(());
            }
        }
    }
}
