//! Removes what has expired, and creates partitions ahead of time.

use std::time::Duration;

use guildhall_domain::messages::MAX_MESSAGE_LIFETIME;
use guildhall_domain::messages::keys::{PREKEY_LIFETIME, SIGNED_PREKEY_LIFETIME};
use guildhall_runtime::reconcile::Reconciler;
use guildhall_store::{
    Store, StoreError, e2ee_prekeys, e2ee_signed_prekeys, inbox_cursors, inbox_messages, inbox_senders,
    retention, ring_messages,
};
use jiff::{SignedDuration, Timestamp};
use metrics::counter;
use tokio_util::sync::CancellationToken;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Partitions are created for this many days beyond the lifetime of a message.
const DAYS_AHEAD: u32 = 4;

/// Partitions that hold the messages of a lifetime, about. Fewer keep expired messages for longer, more cost each send time.
const PARTITIONS: u32 = 7;

/// No partition has more than a week: what is left of a detached one is found by its first day.
const MAX_DAYS_EACH: u32 = 7;

/// An instance that has not read for this long is forgotten, with its cursors.
const INSTANCE_LIFETIME: Duration = Duration::from_secs(180 * 24 * 3600);

/// Rows deleted by one statement.
const BATCH: u32 = 1_000;

/// Batches of one kind in one round. The rest waits for the next one.
const MAX_BATCHES: usize = 1_000;

/// Removes expired messages and what belongs to them.
#[derive(Debug)]
pub struct ExpireMessages {
    /// Connects as the owner of the tables: the server itself may not drop partitions.
    pub store: Store,
    /// How long durable messages are kept.
    pub lifetime: SignedDuration,
    /// How long messages of the mode `queue` can be read.
    pub queue_lifetime: Duration,
    /// Ends a round between two batches.
    pub stop: CancellationToken,
}

impl ExpireMessages {
    pub const INTERVAL: Duration = Duration::from_secs(600);
}

impl Reconciler for ExpireMessages {
    type Error = StoreError;
    const NAME: &'static str = "messages";

    async fn round(&self) -> Result<(), StoreError> {
        // The clock of a replica may be wrong.
        let now = retention::now(&self.store).await?;
        self.create_partitions().await?;
        self.drop_partitions(now).await?;
        self.delete_rows(now).await
    }
}

impl ExpireMessages {
    /// Creates the partitions for the messages of the next days. Without its partition no message is stored.
    pub async fn create_partitions(&self) -> Result<(), StoreError> {
        let lifetime = u32::try_from(self.lifetime.as_hours().div_euclid(24)).unwrap_or_default();
        let days_each = lifetime.div_ceil(PARTITIONS).clamp(1, MAX_DAYS_EACH);
        inbox_messages::create_partitions(&self.store, lifetime.saturating_add(DAYS_AHEAD), days_each).await
    }

    async fn drop_partitions(&self, now: Timestamp) -> Result<(), StoreError> {
        inbox_messages::drop_detached_partitions(&self.store, now).await?;
        for partition in inbox_messages::list_expired_partitions(&self.store, now).await? {
            if !inbox_messages::drop_partition(&self.store, &partition).await? || self.stop.is_cancelled() {
                break;
            }
            counter!("guildhall_message_partitions_dropped_total").increment(1);
        }
        Ok(())
    }

    async fn delete_rows(&self, now: Timestamp) -> Result<(), StoreError> {
        let store = &self.store;
        // Not the configured lifetime: it may have been longer, and the messages of that time are still there.
        let inactive = now - MAX_MESSAGE_LIFETIME - DAY;
        let (silent, old) = (now - INSTANCE_LIFETIME, now - PREKEY_LIFETIME);
        self.batches(|| ring_messages::delete_old(store, now - self.queue_lifetime, BATCH)).await?;
        self.batches(|| inbox_senders::delete_inactive(store, inactive, BATCH)).await?;
        self.batches(|| inbox_cursors::delete_unused(store, silent, BATCH)).await?;
        self.batches(|| e2ee_prekeys::delete_old(store, old, BATCH)).await?;
        self.batches(|| e2ee_signed_prekeys::delete_old(store, now - SIGNED_PREKEY_LIFETIME, BATCH)).await
    }

    async fn batches<F: Future<Output = Result<u64, StoreError>>>(
        &self,
        delete: impl Fn() -> F,
    ) -> Result<(), StoreError> {
        for _ in 0..MAX_BATCHES {
            if delete().await? < u64::from(BATCH) || self.stop.is_cancelled() {
                break;
            }
        }
        Ok(())
    }
}
