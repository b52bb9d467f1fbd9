//! V1: one envelope for each device, with keys of devices (`prekey_ecdh_v2`) or with identity keys alone (`long_term_key`).

mod aad;
mod check;
mod envelope;
mod keys;
mod multi_device;
mod open;
mod seal;
#[cfg(test)]
mod seal_tests;
#[cfg(test)]
mod tests;

pub use aad::{V1Aad, V1Mode};
pub use check::{KnownKeys, V1Expected, V1MultiDeviceExpected, check_v1_envelope, check_v1_multi_device};
pub use envelope::{ENVELOPE_TYPE, V1Envelope};
pub use multi_device::{DeviceCopy, MULTI_DEVICE_TYPE, V1MultiDevice};
pub use open::V1Reader;
pub use seal::{V1Message, V1Recipient};
