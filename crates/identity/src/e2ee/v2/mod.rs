//! V2: one ciphertext, and one row for each recipient with the key of the message.

mod aad;
mod check;
mod digest;
mod envelope;
mod headers;
mod open;
mod proof;
mod row;
mod seal;
#[cfg(test)]
mod seal_tests;
#[cfg(test)]
mod tests;
mod wrap;
mod wrap_protocol;

pub use aad::V2Aad;
pub use check::{KnownAid, KnownDevice, V2Expected, check_v2_envelope};
pub use digest::{leaf_hash, recipients_digest};
pub use envelope::{ENVELOPE_TYPE, V2Envelope, V2Recipients};
pub use open::V2Reader;
pub use proof::{Position, ProofStep, proof_of, verify_proof};
pub use row::{KeySource, RecipientRow, Role, WRAPPED_KEY_BYTES, check_order};
pub use seal::{V2Message, V2Recipient};
pub use wrap_protocol::WrapProtocol;
