//! Seals audit logs: adds entries to the hash chain of their log, some seconds after they were appended.
//!
//! Appends do not touch the chain; entries are sealed in batches. A log that another replica is sealing is skipped. With
//! a signing key, each batch ends with a checkpoint, which is also appended to the anchor file.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use guildhall_domain::access::audit_chain::{self, AuditSealError, ChainTip, UnsealedEntry};
use guildhall_domain::access::audit_checkpoint::{AuditLog, Checkpoint, CheckpointStatement};
use guildhall_domain::journal::Entry;
use guildhall_domain::journal::{Journal, Seq, Stream};
use guildhall_identity::audit_key::AuditSigningKey;
use guildhall_runtime::Clock;
use guildhall_runtime::reconcile::Reconciler;
use guildhall_store::journal_seals::{self, SealFilter, SealHead, UnsealedStream};
use guildhall_store::{Store, StoreError, Tx, journal_checkpoints};
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;
use tracing::info;
use uuid::Uuid;

use super::audit_anchors::{AnchorFile, AnchorFileError};

/// Entries sealed in one transaction: some milliseconds of work, and no more memory than their bodies.
const BATCH_SIZE: u32 = 1_000;

/// Batches of one log in one round, so that one long backlog does not delay the other logs.
const MAX_BATCHES: usize = 10;

/// Logs found with one query.
const LOG_PAGE_SIZE: u32 = 100;

/// Rounds between two comparisons of all checkpoints with the anchor file: a minute with the default interval.
const ANCHOR_CHECK_ROUNDS: u32 = 30;

/// Rounds between two looks at logs without a mark: a minute with the default interval. Between them, only marked logs are read. A log
/// that somebody has rewritten in the database may have no mark.
const UNMARKED_LOOK_ROUNDS: u32 = 30;

/// Logs of one such look: some milliseconds, however many logs there are. The next look continues where this one ended.
const UNMARKED_LOOK_SIZE: u32 = 10_000;

#[derive(Debug)]
pub struct AuditSeal {
    store: Store,
    /// None: logs are sealed without checkpoints.
    signer: Option<CheckpointSigner>,
    /// Ends a round between two batches.
    stop: CancellationToken,
    unmarked: Mutex<UnmarkedLook>,
}

/// The next look at logs without a mark. The first round looks: logs may have been sealed without a signing key before.
#[derive(Debug, Default)]
struct UnmarkedLook {
    rounds_left: u32,
    from: Uuid,
}

/// Signs checkpoints and anchors them.
#[derive(Debug)]
pub struct CheckpointSigner {
    key: Arc<AuditSigningKey>,
    clock: Clock,
    anchors: Option<AnchorFile>,
    /// Rounds until the next comparison with the anchor file.
    anchor_check_in: AtomicU32,
}

impl CheckpointSigner {
    #[must_use]
    pub fn new(key: Arc<AuditSigningKey>, clock: Clock, anchors: Option<AnchorFile>) -> Self {
        Self { key, clock, anchors, anchor_check_in: AtomicU32::new(0) }
    }

    /// Signs the end of a log, unless that was done before.
    fn sign(&self, log: AuditLog, tip: ChainTip, signed_seq: Seq) -> Option<Checkpoint> {
        // PostgreSQL stores microseconds.
        let now = self.clock.now();
        let signed_at = Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now);
        (signed_seq < tip.seq).then(|| self.key.sign(CheckpointStatement { log, tip, signed_at }))
    }

    /// Checks that the stored chain contains the last anchor. Without this check, the server itself would sign a log
    /// that was rewritten.
    async fn check_anchor(&self, tx: &mut Tx, log: AuditLog, tip: ChainTip) -> Result<(), LogErrorCause> {
        let Some(anchor) = self.anchors.as_ref().and_then(|anchors| anchors.last(log)) else {
            return Ok(());
        };
        let stored = if anchor.seq == tip.seq {
            Some(tip.hash)
        } else {
            journal_seals::find_hash(tx, log.stream(), anchor.seq).await?
        };
        if anchor.seq <= tip.seq && stored == Some(anchor.hash) {
            return Ok(());
        }
        Err(AuditSealError::AnchorMismatch(anchor.seq).into())
    }

    async fn anchor(&self, checkpoints: Vec<Checkpoint>) -> Result<(), AnchorFileError> {
        let Some(anchors) = &self.anchors else { return Ok(()) };
        let appended = anchors.append(checkpoints).await;
        if appended.is_err() {
            self.anchor_check_in.store(0, Ordering::Relaxed);
        }
        appended
    }

    fn is_unanchored(&self, Checkpoint { statement, .. }: &Checkpoint) -> bool {
        let last = self.anchors.as_ref().and_then(|anchors| anchors.last(statement.log));
        last.is_none_or(|last| last.seq < statement.tip.seq)
    }

    /// Returns whether all checkpoints are to be compared with the anchor file in this round.
    fn is_anchor_check_due(&self) -> bool {
        let left = self.anchor_check_in.load(Ordering::Relaxed);
        self.anchor_check_in.store(left.checked_sub(1).unwrap_or(ANCHOR_CHECK_ROUNDS), Ordering::Relaxed);
        left == 0 && self.anchors.is_some()
    }

    /// Reads what other replicas anchored and, now and then, anchors what is missing.
    async fn repair_anchors(&self, store: &Store) -> Result<(), SealRoundError> {
        if let Some(anchors) = &self.anchors {
            anchors.refresh().await?;
        }
        if self.is_anchor_check_due() { self.anchor_all(store).await } else { Ok(()) }
    }

    /// Anchors the last checkpoint of every log, where that is missing: a write may have failed.
    async fn anchor_all(&self, store: &Store) -> Result<(), SealRoundError> {
        let mut from = Some(Uuid::nil());
        while let Some(owner) = from {
            let mut found = journal_checkpoints::list_latest(store, owner, LOG_PAGE_SIZE).await?;
            from = found.last().and_then(|last| after(last.statement.log.stream().owner));
            // A forged row of the database does not become an anchor.
            found.retain(|checkpoint| {
                self.is_unanchored(checkpoint) && self.key.public().verifies(checkpoint)
            });
            self.anchor(found).await?;
        }
        Ok(())
    }
}

/// Why logs were not sealed.
#[derive(Debug, thiserror::Error)]
pub enum SealRoundError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Anchors(#[from] AnchorFileError),
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
    #[error(transparent)]
    Anchors(#[from] AnchorFileError),
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
        // Without it the marked logs are sealed nevertheless.
        let looked = self.mark_unsealed().await;
        let filter = self.filter();
        // Without anchors the logs are sealed nevertheless; the next round anchors them.
        let mut anchored = match &self.signer {
            Some(signer) => signer.repair_anchors(&self.store).await,
            None => Ok(()),
        };
        let mut failed = Vec::new();
        let mut from = Some(Uuid::nil());
        while let Some(owner) = from {
            let found =
                journal_seals::find_unsealed(&self.store, Journal::Audit, filter, owner, LOG_PAGE_SIZE)
                    .await?;
            let is_full = u32::try_from(found.len()).is_ok_and(|count| count >= LOG_PAGE_SIZE);
            from = found.last().filter(|_| is_full).and_then(|last| after(last.stream.owner));
            for lagging in found {
                if self.stop.is_cancelled() {
                    return Ok(());
                }
                match self.seal(lagging).await {
                    Ok(()) => {}
                    // PostgreSQL is unavailable: the other logs would fail for the same reason.
                    Err(LogErrorCause::Store(error @ StoreError::Unavailable(_))) => return Err(error.into()),
                    Err(LogErrorCause::Anchors(error)) => anchored = Err(error.into()),
                    Err(cause) => failed.push(LogError { stream: lagging.stream, cause }),
                }
            }
        }
        looked?;
        let count = failed.len();
        failed.into_iter().next().map_or(anchored, |first| Err(SealRoundError::Logs { count, first }))
    }
}

impl AuditSeal {
    #[must_use]
    pub fn new(store: Store, signer: Option<CheckpointSigner>, stop: CancellationToken) -> Self {
        Self { store, signer, stop, unmarked: Mutex::default() }
    }

    fn filter(&self) -> SealFilter {
        if self.signer.is_some() { SealFilter::UnsealedOrUnsigned } else { SealFilter::Unsealed }
    }

    /// Looks at a page of all logs in the first round, and then now and then.
    async fn mark_unsealed(&self) -> Result<(), StoreError> {
        let Some(from) = self.unmarked_look_from() else { return Ok(()) };
        let (journal, filter) = (Journal::Audit, self.filter());
        let last =
            journal_seals::mark_unsealed(&self.store, journal, filter, from, UNMARKED_LOOK_SIZE).await?;
        self.unmarked_look().from = last.and_then(after).unwrap_or_default();
        Ok(())
    }

    /// Returns the log with which the look of this round begins, if one is due.
    fn unmarked_look_from(&self) -> Option<Uuid> {
        let mut look = self.unmarked_look();
        let left = look.rounds_left;
        look.rounds_left = left.checked_sub(1).unwrap_or(UNMARKED_LOOK_ROUNDS);
        (left == 0).then_some(look.from)
    }

    fn unmarked_look(&self) -> MutexGuard<'_, UnmarkedLook> {
        self.unmarked.lock().unwrap_or_else(PoisonError::into_inner)
    }

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
        let log = AuditLog::of_owner(stream.owner);
        let mut tx = self.store.begin().await?;
        let Some(SealHead { tip, signed_seq }) = journal_seals::lock(&mut tx, stream).await? else {
            return Ok(Batch::Last);
        };
        if let Some(signer) = &self.signer {
            signer.check_anchor(&mut tx, log, tip).await?;
        }
        let entries = journal_seals::list_unsealed(&mut tx, stream, tip.seq, BATCH_SIZE).await?;
        let seals = audit_chain::seal(tip, entries.iter().map(unsealed))?;
        if seals.is_empty() {
            check_complete(tip, last_seq)?;
        }
        journal_seals::insert(&mut tx, stream, &seals).await?;
        let tip = seals.last().map_or(tip, |last| ChainTip { seq: last.seq, hash: last.hash });
        let checkpoint = self.signer.as_ref().and_then(|signer| signer.sign(log, tip, signed_seq));
        if let Some(checkpoint) = &checkpoint {
            journal_checkpoints::insert(&mut tx, checkpoint).await?;
        }
        let count = seals.len();
        let is_last = u32::try_from(count).is_ok_and(|count| count < BATCH_SIZE);
        if is_last {
            journal_seals::unmark(&mut tx, stream, tip.seq).await?;
        }
        tx.commit().await?;
        info!(%stream, seq = %tip.seq, hash = %tip.hash, "sealed {count} entries of {stream} up to {}", tip.seq);
        if let (Some(signer), Some(checkpoint)) = (&self.signer, checkpoint) {
            signer.anchor(vec![checkpoint]).await?;
        }
        Ok(if is_last { Batch::Last } else { Batch::Full })
    }
}

fn unsealed(entry: &Entry) -> UnsealedEntry<'_> {
    let Entry { seq, id, kind, body, recorded_at } = entry;
    UnsealedEntry { seq: *seq, id: *id, action: kind, recorded_at: *recorded_at, body: body.as_deref() }
}

/// Checks that the tip is the last entry: otherwise entries are missing.
fn check_complete(tip: ChainTip, last_seq: Seq) -> Result<(), AuditSealError> {
    if tip.seq < last_seq { Err(AuditSealError::Missing(tip.seq.next())) } else { Ok(()) }
}

/// Returns the next owner in order, or `None` after the highest.
fn after(owner: Uuid) -> Option<Uuid> {
    owner.as_u128().checked_add(1).map(Uuid::from_u128)
}
