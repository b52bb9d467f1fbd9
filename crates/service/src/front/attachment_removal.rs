//! Removes attachments that no session uses.
//!
//! A row is claimed, then its object is deleted, then the row: an object without a row, which nobody would find again, never
//! exists. Replicas share the work: each claimed row belongs to one of them, and no lock is held while objects are deleted.

use std::time::Duration;

use guildhall_domain::front::attachment::object_key;
use guildhall_runtime::reconcile::Reconciler;
use guildhall_store::attachments::{self, RemovalAges};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::attachments::Attachments;
use crate::ServiceError;

/// Attachments claimed by one statement. A round of deletions that are slow must end within its time limit.
const BATCH_SIZE: u32 = 50;

/// Batches in one round. The rest waits for the next round.
const MAX_BATCHES: usize = 20;

/// Longer than an upload can take.
const UNFINISHED_UPLOAD: Duration = Duration::from_secs(3600);

/// Longer than a round can take: then its replica has stopped, or the storage has failed.
const UNFINISHED_REMOVAL: Duration = Duration::from_secs(300);

/// Removes attachments.
#[derive(Debug)]
pub struct RemoveAttachments {
    pub attachments: Attachments,
    /// How long an attachment is kept that no session has used.
    pub unreferenced_after: Duration,
    /// Ends a round between two batches.
    pub stop: CancellationToken,
}

impl Reconciler for RemoveAttachments {
    type Error = ServiceError;
    const NAME: &'static str = "attachments";

    async fn round(&self) -> Result<(), ServiceError> {
        if self.attachments.options.storage.is_none() {
            return Ok(());
        }
        for _ in 0..MAX_BATCHES {
            if self.remove_batch().await? < BATCH_SIZE as usize || self.stop.is_cancelled() {
                break;
            }
        }
        Ok(())
    }
}

impl RemoveAttachments {
    /// Returns how many were claimed. One object that cannot be deleted does not keep the others.
    async fn remove_batch(&self) -> Result<usize, ServiceError> {
        let (store, storage) = (&self.attachments.store, self.attachments.storage()?);
        let ages = RemovalAges {
            unreferenced: self.unreferenced_after,
            unfinished_upload: UNFINISHED_UPLOAD,
            unfinished_removal: UNFINISHED_REMOVAL,
        };
        let claimed = attachments::begin_removal(store, ages, BATCH_SIZE).await?;
        let (mut removed, mut failed) = (Vec::new(), None);
        for &(tenant, id) in &claimed {
            match storage.delete(&object_key(tenant, id)).await {
                Ok(()) => removed.push(id),
                Err(error) => {
                    warn!(attachment.id = %id, error = &error as &dyn std::error::Error, "cannot remove {id}");
                    failed = Some(error);
                }
            }
        }
        attachments::delete(store, &removed).await?;
        debug!(removed = removed.len(), "removed {} attachments", removed.len());
        failed.map_or(Ok(claimed.len()), |error| Err(error.into()))
    }
}
