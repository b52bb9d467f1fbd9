//! Ids that clients choose.

use crate::random;

const BYTES: usize = 16;

/// Returns a new id of 32 digits: of a message, a device or a prekey.
#[must_use]
pub fn random_id() -> String {
    hex::encode(random::bytes::<BYTES>().as_ref())
}
