//! Tree heads whose signature was verified.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use guildhall_domain::identity::{SignedTreeHead, TreeHead};
use guildhall_identity::transparency::{InvalidProof, LogKey, verify_consistency};
use guildhall_protocol::rest::identity::{ConsistencyProofView, TreeHeadView};
use jiff::Timestamp;

/// A log is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum LogFault {
    #[error("the tree head is malformed: {0}")]
    Malformed(&'static str),
    #[error("the signature of the tree head is invalid")]
    Signature,
    #[error("the tree head is signed with another key: expected log {expected}, found log {found}")]
    OtherKey { expected: String, found: String },
    #[error(
        "the log shrank: the saved head has {saved} entries, the later one {current}: entries were removed, or a \
         backup was restored"
    )]
    Shrunk { saved: u64, current: u64 },
    #[error("the head of the server is older than the saved one: the server hides newer entries")]
    Older,
    #[error("the log forked at {saved} entries: the later head does not continue the saved one")]
    Forked { saved: u64 },
    #[error("the proof is malformed, or of other heads")]
    Proof,
    #[error("entry {index}: {reason}")]
    Entry { index: u64, reason: String },
    #[error("entries are missing: the head has {expected}, the server lists {found}")]
    MissingEntries { expected: u64, found: u64 },
    #[error("the first {size} entries are not those of the {which} head: an entry was changed")]
    OtherEntries { size: u64, which: &'static str },
}

/// A head with a valid signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VerifiedHead {
    pub(super) key: LogKey,
    pub(super) signed: SignedTreeHead,
}

impl VerifiedHead {
    /// Verifies a head, with a key that is known already or with its own.
    pub(super) fn new(view: &TreeHeadView, known: Option<&LogKey>) -> Result<Self, LogFault> {
        let malformed = |field| move || LogFault::Malformed(field);
        if (view.sth_version, view.signature_algorithm.as_str()) != (1, "ecdsa-p256-sha256") {
            return Err(LogFault::Malformed("unknown version or algorithm"));
        }
        let key = LogKey::from_base64(&view.public_key).ok().ok_or_else(malformed("public_key"))?;
        let expected = known.unwrap_or(&key);
        if key != *expected || key.log_id().to_string() != view.log_id {
            let (expected, found) = (expected.log_id().to_string(), view.log_id.clone());
            return Err(LogFault::OtherKey { expected, found });
        }
        let at = Timestamp::from_millisecond(view.timestamp).ok().ok_or_else(malformed("timestamp"))?;
        let root = view.root_hash.parse().ok().ok_or_else(malformed("root_hash"))?;
        let signature = STANDARD.decode(&view.signature).ok().ok_or_else(malformed("signature"))?;
        let signed = SignedTreeHead { head: TreeHead { size: view.tree_size, root, at }, signature };
        key.verify(&signed).map_err(|_| LogFault::Signature)?;
        Ok(Self { key, signed })
    }

    pub(super) const fn size(&self) -> u64 {
        self.signed.head.size
    }

    /// Checks what two heads show without a proof.
    pub(super) fn check_order(&self, saved: &Self) -> Result<(), LogFault> {
        if self.size() < saved.size() {
            return Err(LogFault::Shrunk { saved: saved.size(), current: self.size() });
        }
        if self.signed.head.at < saved.signed.head.at {
            return Err(LogFault::Older);
        }
        if self.size() == saved.size() && self.signed.head.root != saved.signed.head.root {
            return Err(LogFault::Forked { saved: saved.size() });
        }
        Ok(())
    }

    /// Verifies the proof that this head continues a saved one.
    pub(super) fn verify_growth(&self, saved: &Self, proof: &ConsistencyProofView) -> Result<(), LogFault> {
        let hashes = proof.hashes.iter().map(|hash| hash.parse()).collect::<Result<Vec<_>, _>>();
        let hashes = hashes.map_err(|_| LogFault::Proof)?;
        let pair = |head: &Self| (head.size(), head.signed.head.root);
        verify_consistency(pair(saved), pair(self), &hashes).map_err(|fault| match fault {
            InvalidProof::Length => LogFault::Proof,
            InvalidProof::Fork | InvalidProof::OtherRoot => LogFault::Forked { saved: saved.size() },
        })
    }
}
