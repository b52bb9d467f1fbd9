//! Seals audit logs: adds entries to the hash chain of their log, some seconds after they were appended.
//!
//! Appends do not touch the chain; entries are sealed in batches. A log that another replica is sealing is skipped.

use guildhall_domain::access::audit_chain::{self, AuditSealError, ChainTip, UnsealedEntry};
use guildhall_domain::journal::Entry;
use guildhall_domain::journal::{Journal, Seq, Stream};
use guildhall_runtime::reconcile::Reconciler;
use guildhall_store::journal_seals::{self, UnsealedStream};
use guildhall_store::{Store, StoreError};
use tokio_util::sync::CancellationToken;
use tracing::info;
use uuid::Uuid;

/// Entries sealed in one transaction: some milliseconds of work, and no more memory than their bodies.
const BATCH_SIZE: u32 = 1_000;

/// Batches of one log in one round, so that one long backlog does not delay the other logs.
const MAX_BATCHES: usize = 10;

/// Logs found with one query.
const LOG_PAGE_SIZE: u32 = 100;

#[derive(Debug)]
pub struct AuditSeal {
    pub store: Store,
    /// Ends a round between two batches.
    pub stop: CancellationToken,
}

/// Why logs were not sealed.
#[derive(Debug, thiserror::Error)]
pub enum SealRoundError {
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
    Chain(#[from] AuditSealError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a batch did.
enum Batch {
    /// There is more to seal.
    Full,
    /// The log is sealed to its end, or another replica is sealing it.
    Last,
}

impl Reconciler for AuditSeal {
    type Error = SealRoundError;
    const NAME: &'static str = "audit-seal";

    async fn round(&self) -> Result<(), SealRoundError> {
        let mut failed = Vec::new();
        let mut from = Some(Uuid::nil());
        while let Some(owner) = from {
            let found =
                journal_seals::find_unsealed(&self.store, Journal::Audit, owner, LOG_PAGE_SIZE).await?;
            from = found.last().and_then(|last| after(last.stream.owner));
            for lagging in found {
                if self.stop.is_cancelled() {
                    return Ok(());
                }
                match self.seal(lagging).await {
                    Ok(()) => {}
                    // PostgreSQL is unavailable: the other logs would fail for the same reason.
                    Err(LogErrorCause::Store(error @ StoreError::Unavailable(_))) => return Err(error.into()),
                    Err(cause) => failed.push(LogError { stream: lagging.stream, cause }),
                }
            }
        }
        let count = failed.len();
        failed.into_iter().next().map_or(Ok(()), |first| Err(SealRoundError::Logs { count, first }))
    }
}

impl AuditSeal {
    async fn seal(&self, lagging: UnsealedStream) -> Result<(), LogErrorCause> {
        for _ in 0..MAX_BATCHES {
            match self.seal_batch(lagging).await? {
                Batch::Full if !self.stop.is_cancelled() => {}
                Batch::Full | Batch::Last => return Ok(()),
            }
        }
        Ok(())
    }

    async fn seal_batch(
        &self,
        UnsealedStream { stream, last_seq }: UnsealedStream,
    ) -> Result<Batch, LogErrorCause> {
        let mut tx = self.store.begin().await?;
        let Some(tip) = journal_seals::lock(&mut tx, stream).await? else { return Ok(Batch::Last) };
        let entries = journal_seals::list_unsealed(&mut tx, stream, tip.seq, BATCH_SIZE).await?;
        let seals = audit_chain::seal(tip, entries.iter().map(unsealed))?;
        let Some(last) = seals.last() else { return check_complete(tip, last_seq) };
        journal_seals::insert(&mut tx, stream, &seals).await?;
        tx.commit().await?;
        let count = seals.len();
        info!(%stream, seq = %last.seq, hash = %last.hash, "sealed {count} entries of {stream} up to {}", last.seq);
        Ok(if u32::try_from(count).is_ok_and(|count| count < BATCH_SIZE) { Batch::Last } else { Batch::Full })
    }
}

fn unsealed(entry: &Entry) -> UnsealedEntry<'_> {
    let Entry { seq, id, kind, body, recorded_at } = entry;
    UnsealedEntry { seq: *seq, id: *id, action: kind, recorded_at: *recorded_at, body: body.as_deref() }
}

/// Checks that the tip is the last entry: otherwise entries are missing.
fn check_complete(tip: ChainTip, last_seq: Seq) -> Result<Batch, LogErrorCause> {
    if tip.seq < last_seq { Err(AuditSealError::Missing(tip.seq.next()).into()) } else { Ok(Batch::Last) }
}

/// Returns the next owner in order, or `None` after the highest.
fn after(owner: Uuid) -> Option<Uuid> {
    owner.as_u128().checked_add(1).map(Uuid::from_u128)
}
