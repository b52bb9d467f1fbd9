//! Seals audit logs: gives every entry its place in the hash chain of its log, some seconds after it was written.
//!
//! Appends know nothing of the chain and wait for nobody; here many entries are sealed at once. Replicas that meet at
//! a log do not queue for it: the second goes on to the next.

use guildhall_domain::access::audit_chain::{self, Tip, Unfit, Unsealed};
use guildhall_domain::journal::{Journal, Seq, Stream};
use guildhall_runtime::reconcile::Reconciler;
use guildhall_store::journal::Entry;
use guildhall_store::journal_seals::{self, Lagging};
use guildhall_store::{Store, StoreError};
use tokio_util::sync::CancellationToken;
use tracing::info;
use uuid::Uuid;

/// Entries sealed in one transaction: some milliseconds of work, and no more memory than their bodies.
const BATCH: u32 = 1_000;

/// Batches of one log in one round: a log with a long arrears shall not keep the others waiting.
const BATCHES_AT_ONCE: usize = 10;

/// Logs found with one query.
const LOGS_AT_ONCE: u32 = 100;

#[derive(Debug)]
pub struct AuditSeal {
    pub store: Store,
    /// Ends a round between two batches.
    pub stop: CancellationToken,
}

/// Why logs were not sealed.
#[derive(Debug, thiserror::Error)]
pub enum AuditSealError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The others were sealed.
    #[error("cannot seal {count} of the audit logs")]
    Logs {
        count: usize,
        #[source]
        first: LogError,
    },
}

/// Why one log was not sealed.
#[derive(Debug, thiserror::Error)]
#[error("cannot seal {stream}")]
pub struct LogError {
    stream: Stream,
    #[source]
    cause: LogErrorCause,
}

#[derive(Debug, thiserror::Error)]
enum LogErrorCause {
    #[error(transparent)]
    Unfit(#[from] Unfit),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a batch did.
enum Batch {
    /// There is more to seal.
    Full,
    /// The log is sealed to its end, or another replica is at it.
    Last,
}

impl Reconciler for AuditSeal {
    type Error = AuditSealError;
    const NAME: &'static str = "audit-seal";

    async fn round(&self) -> Result<(), AuditSealError> {
        let mut failed = Vec::new();
        let mut from = Some(Uuid::nil());
        while let Some(owner) = from {
            let found =
                journal_seals::find_unsealed(&self.store, Journal::Audit, owner, LOGS_AT_ONCE).await?;
            from = found.last().and_then(|last| after(last.stream.owner));
            for lagging in found {
                if self.stop.is_cancelled() {
                    return Ok(());
                }
                match self.seal(lagging).await {
                    Ok(()) => {}
                    // PostgreSQL is away: the other logs would fail for the same reason.
                    Err(LogErrorCause::Store(error @ StoreError::Unavailable(_))) => return Err(error.into()),
                    Err(cause) => failed.push(LogError { stream: lagging.stream, cause }),
                }
            }
        }
        let count = failed.len();
        failed.into_iter().next().map_or(Ok(()), |first| Err(AuditSealError::Logs { count, first }))
    }
}

impl AuditSeal {
    async fn seal(&self, lagging: Lagging) -> Result<(), LogErrorCause> {
        for _ in 0..BATCHES_AT_ONCE {
            match self.seal_batch(lagging).await? {
                Batch::Full if !self.stop.is_cancelled() => {}
                Batch::Full | Batch::Last => return Ok(()),
            }
        }
        Ok(())
    }

    async fn seal_batch(&self, Lagging { stream, last_seq }: Lagging) -> Result<Batch, LogErrorCause> {
        let mut tx = self.store.begin().await?;
        let Some(tip) = journal_seals::lock(&mut tx, stream).await? else { return Ok(Batch::Last) };
        let entries = journal_seals::unsealed(&mut tx, stream, tip.seq, BATCH).await?;
        let seals = audit_chain::seal(tip, entries.iter().map(unsealed))?;
        let Some(last) = seals.last() else { return at_the_end(tip, last_seq) };
        journal_seals::write(&mut tx, stream, &seals).await?;
        tx.commit().await?;
        let count = seals.len();
        info!(%stream, seq = %last.seq, hash = %last.hash, "sealed {count} entries of {stream} up to {}", last.seq);
        Ok(if u32::try_from(count).is_ok_and(|count| count < BATCH) { Batch::Last } else { Batch::Full })
    }
}

fn unsealed(entry: &Entry) -> Unsealed<'_> {
    let Entry { seq, id, kind, body, recorded_at } = entry;
    Unsealed { seq: *seq, id: *id, action: kind, recorded_at: *recorded_at, body: body.as_deref() }
}

/// Decides what it means that nothing follows on a tip: all is sealed, or what the head counts was taken away.
fn at_the_end(tip: Tip, last_seq: Seq) -> Result<Batch, LogErrorCause> {
    if tip.seq < last_seq { Err(Unfit::Missing(tip.seq.next()).into()) } else { Ok(Batch::Last) }
}

/// Returns the owner that comes next in order, unless there can be none.
fn after(owner: Uuid) -> Option<Uuid> {
    owner.as_u128().checked_add(1).map(Uuid::from_u128)
}
