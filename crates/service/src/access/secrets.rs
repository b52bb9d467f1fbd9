//! Checks shared by everything that is proved with an opaque secret.

use guildhall_identity::opaque::SecretHash;
use jiff::{SignedDuration, Timestamp};

/// The last use of a key or an enrolment is stored at most this often.
const TOUCH_INTERVAL: SignedDuration = SignedDuration::from_mins(1);

/// Compares a stored hash with the hash of a presented secret, in constant time.
pub(crate) fn matches(stored: &[u8], presented: &SecretHash) -> bool {
    <[u8; 32]>::try_from(stored).is_ok_and(|stored| SecretHash::from_bytes(stored) == *presented)
}

/// Returns whether the last use is to be stored: the stored one is some time ago.
pub(crate) fn is_due_for_touch(last_used_at: Option<Timestamp>, now: Timestamp) -> bool {
    last_used_at.is_none_or(|at| now.duration_since(at) > TOUCH_INTERVAL)
}
