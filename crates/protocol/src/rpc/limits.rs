//! Limits of one frame, and the version of the protocol.

/// The version of the protocol. There is one yet.
pub const PROTOCOL_VERSION: &str = "1.0";

/// The largest frame that the server accepts. The clients of AUN send at most 1,000,000 bytes.
pub const MAX_FRAME_BYTES: usize = 1024 * 1024;

/// The largest frame before `auth.connect`. Keys, certificates and tokens have up to 2 KiB; 2,000 connections that send this much
/// of a frame and stop take 16 MiB.
pub const MAX_UNAUTHENTICATED_FRAME_BYTES: usize = 8 * 1024;

/// The largest number of JSON values in a frame. A value takes up to 600 bytes of memory, and four bytes of text.
pub const MAX_FRAME_VALUES: usize = 20_000;

/// The longest id of a request.
pub const MAX_ID_BYTES: usize = 1024;

/// The largest number of requests in one batch.
pub const MAX_BATCH: usize = 16;
