//! The transparency log: a Merkle tree of RFC 6962 over all certificates and published manifests, its proofs and its signed heads.
//!
//! Everybody can verify with these functions that a log has only grown, and that something is in it.

mod entry;
mod head;
mod proof;
#[cfg(test)]
mod tests;
mod tree;
mod verify;

pub use entry::{EntryMismatch, certificate_leaf, entry_leaf, manifest_leaf, verify_certificate};
pub use head::{LogKey, sign_head};
pub use proof::{MissingNode, ProofPlan};
pub use tree::{Frontier, leaf_hash};
pub use verify::{InvalidProof, verify_consistency, verify_inclusion};
