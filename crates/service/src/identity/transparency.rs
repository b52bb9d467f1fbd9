//! The transparency log: every certificate is in it before its owner gets it, and every manifest before it is public.

use std::sync::Arc;
use std::time::Duration;

use guildhall_domain::identity::{
    LogEntry, LoggedCertificate, LoggedManifest, NodeId, Serial, SignedTreeHead, TreeHash, TreeHead,
};
use guildhall_identity::pki::der_to_pem;
use guildhall_identity::transparency::{
    Frontier, LogKey, ProofPlan, certificate_leaf, entry_leaf, manifest_leaf, sign_head,
};
use guildhall_runtime::Clock;
use guildhall_store::{Store, Tx, transparency_log};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Mutex;

use super::error::IdentityError;
use super::issuer::{Issuer, LogSigner};
use crate::ServiceError;

/// A head is signed again after this time, so that readers can tell an old one from a current one.
const HEAD_AGE: Duration = Duration::from_secs(3600);

/// Certificates that are appended in one transaction at start: ten megabytes, and about a second.
const BACKFILL_BATCH: u32 = 10_000;

/// A leaf is in the log: the hashes from it to the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InclusionProof {
    pub leaf: TreeHash,
    pub hashes: Vec<TreeHash>,
}

/// Returns the hash of the leaf of an entry.
#[must_use]
pub fn leaf_hash(entry: &LogEntry) -> TreeHash {
    entry_leaf(entry)
}

/// Returns the certificate of an entry in PEM.
#[must_use]
pub fn certificate_pem(logged: &LoggedCertificate) -> String {
    der_to_pem(&logged.der)
}

/// Appends certificates, in this order. Nobody else appends until the transaction ends, so it should end soon.
pub async fn append(
    tx: &mut Tx,
    certificates: &[(&Serial, &[u8])],
    now: Timestamp,
) -> Result<(), ServiceError> {
    let logged_at = whole_milliseconds(now);
    let mut leaves = Vec::with_capacity(certificates.len());
    for (serial, der) in certificates {
        leaves.push((Some(*serial), certificate_leaf(logged_at, der)));
    }
    append_leaves(tx, &leaves, logged_at).await?;
    Ok(())
}

/// Appends a version of a manifest that becomes public. Nobody else appends until the transaction ends. Returns its index.
pub async fn append_manifest(
    tx: &mut Tx,
    manifest: &LoggedManifest,
    now: Timestamp,
) -> Result<u64, ServiceError> {
    let logged_at = whole_milliseconds(now);
    append_leaves(tx, &[(None, manifest_leaf(logged_at, manifest))], logged_at).await
}

/// Appends leaves, with the serial numbers of those that are certificates. Returns the index of the first one.
async fn append_leaves(
    tx: &mut Tx,
    leaves: &[(Option<&Serial>, TreeHash)],
    logged_at: Timestamp,
) -> Result<u64, ServiceError> {
    let size = transparency_log::lock(tx).await?;
    let ids = Frontier::peaks_of(size);
    let stored = transparency_log::locked_nodes(tx, &ids).await?;
    let peaks = ids.iter().map(|id| stored.get(id).copied()).collect::<Option<Vec<_>>>();
    let frontier = peaks.and_then(|peaks| Frontier::open(size, peaks));
    let mut frontier = frontier.ok_or(IdentityError::LogDamaged)?;
    let mut nodes = Vec::with_capacity(leaves.len() * 2);
    for (_, leaf) in leaves {
        frontier.append(*leaf, |id, hash| nodes.push((id, hash)));
    }
    let serials: Vec<Option<&Serial>> = leaves.iter().map(|(serial, _)| *serial).collect();
    transparency_log::append(tx, size, &serials, logged_at, &nodes).await?;
    Ok(size)
}

/// Appends the certificates that were issued before the log existed, in their order. Replicas that start together do not append
/// one twice. Returns how many were appended.
pub async fn backfill(store: &Store, clock: &Clock) -> Result<usize, ServiceError> {
    let mut appended = 0;
    loop {
        let mut tx = store.begin().await?;
        // Without the lock: this reads all certificates, and is the answer of nearly every start.
        if transparency_log::list_missing(&mut tx, 1).await?.is_empty() {
            tx.rollback().await?;
            return Ok(appended);
        }
        // Whoever issues a certificate commits it with its entry, so under the lock only old ones have none.
        transparency_log::lock(&mut tx).await?;
        let missing = transparency_log::list_missing(&mut tx, BACKFILL_BATCH).await?;
        let certificates: Vec<(&Serial, &[u8])> =
            missing.iter().map(|found| (&found.serial, found.der.as_slice())).collect();
        append(&mut tx, &certificates, clock.now()).await?;
        tx.commit().await?;
        appended += missing.len();
    }
}

/// Reads the log, and signs its heads.
#[derive(Debug, Clone)]
pub struct Transparency {
    store: Store,
    clock: Clock,
    issuer: Arc<Issuer>,
    /// One request at a time signs a new head.
    signing: Arc<Mutex<()>>,
}

impl Transparency {
    #[must_use]
    pub fn new(store: Store, clock: Clock, issuer: Arc<Issuer>) -> Self {
        Self { store, clock, issuer, signing: Arc::default() }
    }

    /// Returns the key that signs the heads.
    pub fn key(&self) -> Result<&LogKey, ServiceError> {
        Ok(&self.issuer.log()?.public)
    }

    /// Returns the name of the issuer of all certificates in the log.
    #[must_use]
    pub fn issuer(&self) -> &str {
        self.issuer.authority.name().as_str()
    }

    /// Returns the newest head: that of the whole log, at most an hour old.
    pub async fn head(&self) -> Result<SignedTreeHead, ServiceError> {
        let signer = self.issuer.log()?;
        if let Some(head) = self.current_head().await? {
            return Ok(head);
        }
        let _signing = self.signing.lock().await;
        // Another request may have signed one, or another replica is faster than this one.
        for _ in 0..3 {
            if let Some(head) = self.current_head().await? {
                return Ok(head);
            }
            let signed = self.sign_head(signer).await?;
            if transparency_log::set_head(&self.store, &signed).await? {
                return Ok(signed);
            }
        }
        Err(ServiceError::Overloaded)
    }

    /// Lists at most `limit` entries by index.
    pub async fn entries(&self, start: u64, limit: u32) -> Result<Vec<LogEntry>, ServiceError> {
        Ok(transparency_log::entries(&self.store, start, limit).await?)
    }

    pub async fn entry(&self, index: u64) -> Result<LogEntry, ServiceError> {
        let found = transparency_log::entries(&self.store, index, 1).await?.pop();
        found.filter(|entry| entry.index == index).ok_or(IdentityError::LogTooShort.into())
    }

    /// Finds the entry of a certificate.
    pub async fn find(&self, serial: &Serial) -> Result<LogEntry, ServiceError> {
        let found = transparency_log::find_by_serial(&self.store, serial).await?;
        found.ok_or(ServiceError::NOT_FOUND)
    }

    /// Proves that an entry is in the log of a size.
    pub async fn prove_inclusion(&self, size: u64, index: u64) -> Result<InclusionProof, ServiceError> {
        let plan = ProofPlan::inclusion(index, size).ok_or(IdentityError::LogTooShort)?;
        let leaf = NodeId { level: 0, index };
        let mut ids = plan.nodes();
        ids.push(leaf);
        let nodes = transparency_log::nodes(&self.store, &ids).await?;
        let (leaf, hashes) = (nodes.get(&leaf).copied(), plan.resolve(&nodes));
        match (leaf, hashes) {
            (Some(leaf), Ok(hashes)) => Ok(InclusionProof { leaf, hashes }),
            _ => Err(IdentityError::LogTooShort.into()),
        }
    }

    /// Proves that the log has only grown from one size to another.
    pub async fn prove_consistency(&self, first: u64, second: u64) -> Result<Vec<TreeHash>, ServiceError> {
        let plan = ProofPlan::consistency(first, second).ok_or(IdentityError::LogTooShort)?;
        let nodes = transparency_log::nodes(&self.store, &plan.nodes()).await?;
        Ok(plan.resolve(&nodes).map_err(|_| IdentityError::LogTooShort)?)
    }

    /// Returns the stored head, if it is one of the whole log and not old.
    async fn current_head(&self) -> Result<Option<SignedTreeHead>, ServiceError> {
        let state = transparency_log::get(&self.store).await?;
        let now = self.clock.now();
        let is_current = |signed: &SignedTreeHead| {
            signed.head.size == state.size
                && Duration::try_from(now.duration_since(signed.head.at)).unwrap_or_default() < HEAD_AGE
        };
        Ok(state.head.clone().filter(is_current))
    }

    /// Signs the root of the whole log. A log that does not continue its last head is not signed.
    async fn sign_head(&self, signer: &LogSigner) -> Result<SignedTreeHead, ServiceError> {
        let state = transparency_log::get(&self.store).await?;
        let last = state.head.as_ref().map(|signed| signed.head);
        let root = self.root(state.size).await?;
        if let Some(signed) = &state.head {
            let is_ours = signer.public.verify(signed).is_ok();
            if !is_ours || self.root(signed.head.size).await? != signed.head.root {
                return Err(IdentityError::LogDamaged.into());
            }
        }
        let mut at = whole_milliseconds(self.clock.now());
        // The clock may have been set back: heads never get older.
        if let Some(last) = last.filter(|last| last.at >= at) {
            at = last.at.saturating_add(SignedDuration::from_millis(1)).unwrap_or(last.at);
        }
        let head = TreeHead { size: state.size, root, at };
        Ok(sign_head(head, &*signer.key).map_err(IdentityError::from)?)
    }

    async fn root(&self, size: u64) -> Result<TreeHash, ServiceError> {
        let Some(plan) = ProofPlan::root(size) else { return Ok(Frontier::empty().root()) };
        let nodes = transparency_log::nodes(&self.store, &plan.nodes()).await?;
        let root = plan.resolve(&nodes).ok().and_then(|hashes| hashes.first().copied());
        root.ok_or(IdentityError::LogDamaged.into())
    }
}

/// Leaves and heads contain milliseconds.
fn whole_milliseconds(at: Timestamp) -> Timestamp {
    Timestamp::from_millisecond(at.as_millisecond()).unwrap_or(at)
}
