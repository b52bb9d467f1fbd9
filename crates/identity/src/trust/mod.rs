//! The signed list of trusted roots.
//!
//! A client imports a root only from a list that the authority has signed whose key it pinned before: a list that brings its own
//! key proves nothing.

mod authority_key;
mod list;
mod server_proof;
#[cfg(test)]
mod tests;
mod verify;

pub use authority_key::{AuthorityKey, InvalidAuthority};
pub use list::{RootEntry, content_hash, root_entries, sign_list};
pub use server_proof::{ServerProof, ServerProofError, root_of_chain, verify_aid_certificate};
pub use verify::{TrustListError, TrustListRules, TrustedRoot, TrustedRoots};
