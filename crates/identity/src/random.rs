//! Random bytes, from the operating system's source through the library that also encrypts.

use secrecy::zeroize::Zeroizing;

/// Returns bytes that nobody can guess. They are wiped when dropped.
#[expect(
    clippy::expect_used,
    reason = "aws-lc waits for the system's source and ends the process if it breaks"
)]
pub(crate) fn bytes<const N: usize>() -> Zeroizing<[u8; N]> {
    let mut bytes = Zeroizing::new([0; N]);
    aws_lc_rs::rand::fill(bytes.as_mut()).expect("the system has a source of random bytes");
    bytes
}
