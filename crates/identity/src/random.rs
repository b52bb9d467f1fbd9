//! Random bytes from the operating system, through the cryptography library.

use secrecy::zeroize::Zeroizing;

/// Returns unpredictable bytes. They are zeroed when dropped.
#[expect(clippy::expect_used, reason = "aws-lc waits for the system's random source and aborts if it fails")]
pub(crate) fn bytes<const N: usize>() -> Zeroizing<[u8; N]> {
    let mut bytes = Zeroizing::new([0; N]);
    aws_lc_rs::rand::fill(bytes.as_mut()).expect("the system has a random source");
    bytes
}
