//! Limits of envelopes.

/// Clients refuse to send a frame of more than 1,000,000 bytes, and to read one of more than 1 MiB.
pub const MAX_ENVELOPE_BYTES: usize = 1024 * 1024;

/// Rows or copies of one message. Each costs its sender a key agreement and about 200 bytes.
pub const MAX_RECIPIENTS: usize = 200;

/// The longest name or id in an envelope. An AID has up to 253 characters.
pub const MAX_TEXT_BYTES: usize = 256;

/// Objects and arrays within each other. The parser and the writer are recursive.
pub(super) const MAX_JSON_DEPTH: usize = 64;
