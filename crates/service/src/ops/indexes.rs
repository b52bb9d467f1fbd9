//! Builds the indexes that no migration builds. A build may take longer than a round of a reconciler.

use std::time::Duration;

use guildhall_runtime::Tasks;
use guildhall_store::{Store, StoreError, deferred_indexes};
use tracing::warn;

/// How long to wait after a failure, or while another replica builds.
const RETRY_AFTER: Duration = Duration::from_secs(60);

/// Starts to build the missing indexes, until all are there.
pub fn start_builds(store: &Store, tasks: &Tasks) {
    let (store, stop) = (store.clone(), tasks.stop());
    tasks.spawn("indexes", async move {
        tokio::select! {
            () = build_all(&store) => stop.cancelled().await,
            () = stop.cancelled() => {}
        }
    });
}

async fn build_all(store: &Store) {
    loop {
        match build(store).await {
            Ok(true) => return,
            Ok(false) => {}
            Err(error) => warn!(error = &error as &dyn std::error::Error, "cannot build an index"),
        }
        tokio::time::sleep(RETRY_AFTER).await;
    }
}

async fn build(store: &Store) -> Result<bool, StoreError> {
    deferred_indexes::build(store).await?;
    deferred_indexes::are_built(store).await
}
