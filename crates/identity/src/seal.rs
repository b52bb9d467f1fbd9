//! Authenticated encryption of private keys in the database, so that a copy of the database cannot sign.
//!
//! AES-256-GCM with a key-encryption key that the operator keeps outside the database, and a random nonce. The
//! additional data (for a signing key its id) binds the ciphertext to its name: it cannot be opened under another one.

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::hmac;
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretBox, SecretSlice, SecretString};

use crate::random;

const KEY_BYTES: usize = 32;

/// The first byte of the ciphertext: its format version.
const FORMAT: u8 = 1;

/// Sealing or opening failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    #[error(
        "invalid key-encryption key: expected 64 hexadecimal digits, as `openssl rand -hex 32` prints them"
    )]
    InvalidKey,
    #[error("cannot encrypt the data")]
    Seal,
    #[error("cannot decrypt the data: it was encrypted with another key-encryption key, or was changed")]
    Open,
    #[error("cannot decrypt the data: its format is unknown, a newer server may have written it")]
    UnknownFormat,
}

/// A key-encryption key: 32 bytes that decrypt every private key of an installation.
pub struct Kek(SecretBox<[u8; KEY_BYTES]>);

impl Kek {
    /// Parses 64 hexadecimal digits. Surrounding white space is ignored, because files end with a line break.
    pub fn from_hex(text: &SecretString) -> Result<Self, SealError> {
        let mut bytes = Zeroizing::new([0; KEY_BYTES]);
        hex::decode_to_slice(text.expose_secret().trim(), bytes.as_mut())
            .map_err(|_| SealError::InvalidKey)?;
        Ok(Self(SecretBox::init_with_mut(|key: &mut [u8; KEY_BYTES]| key.copy_from_slice(bytes.as_ref()))))
    }

    /// Generates a new key.
    #[must_use]
    pub fn generate() -> Self {
        let bytes = random::bytes::<KEY_BYTES>();
        Self(SecretBox::init_with_mut(|key: &mut [u8; KEY_BYTES]| key.copy_from_slice(bytes.as_ref())))
    }

    /// Formats the key for [`Self::from_hex`].
    #[must_use]
    pub fn to_hex(&self) -> SecretString {
        SecretString::from(hex::encode(self.0.expose_secret()))
    }

    /// Derives a key for a purpose. It reveals nothing about this key or the keys of other purposes.
    pub(crate) fn derive(&self, purpose: &[u8]) -> hmac::Key {
        let kek = hmac::Key::new(hmac::HMAC_SHA256, self.0.expose_secret());
        hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&kek, purpose).as_ref())
    }

    /// Derives an encryption key for a purpose, as [`Self::derive`] does for a signature.
    pub(crate) fn derive_kek(&self, purpose: &[u8]) -> Self {
        let kek = hmac::Key::new(hmac::HMAC_SHA256, self.0.expose_secret());
        let derived = hmac::sign(&kek, purpose);
        Self(SecretBox::init_with_mut(|key: &mut [u8; KEY_BYTES]| key.copy_from_slice(derived.as_ref())))
    }

    fn cipher(&self) -> Result<RandomizedNonceKey, aws_lc_rs::error::Unspecified> {
        RandomizedNonceKey::new(&AES_256_GCM, self.0.expose_secret())
    }
}

impl Clone for Kek {
    fn clone(&self) -> Self {
        Self(SecretBox::init_with_mut(|key: &mut [u8; KEY_BYTES]| {
            key.copy_from_slice(self.0.expose_secret())
        }))
    }
}

impl fmt::Debug for Kek {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kek([redacted])")
    }
}

/// Encrypts bytes, bound to the additional data. The ciphertext differs each time.
pub fn seal(kek: &Kek, aad: &[u8], plaintext: &[u8]) -> Result<Vec<u8>, SealError> {
    // Encrypted in place with the exact capacity, so that no copy of the plaintext stays in memory.
    let mut body = Vec::with_capacity(plaintext.len() + AES_256_GCM.tag_len());
    body.extend_from_slice(plaintext);
    let cipher = kek.cipher().map_err(|_| SealError::Seal)?;
    let nonce = cipher.seal_in_place_append_tag(Aad::from(aad), &mut body).map_err(|_| SealError::Seal)?;
    Ok([&[FORMAT], nonce.as_ref().as_slice(), &body].concat())
}

/// Decrypts what was sealed with the same key and additional data.
pub fn open(kek: &Kek, aad: &[u8], sealed: &[u8]) -> Result<SecretSlice<u8>, SealError> {
    let (format, rest) = sealed.split_first().ok_or(SealError::Open)?;
    if *format != FORMAT {
        return Err(SealError::UnknownFormat);
    }
    let (nonce, body) = rest.split_at_checked(NONCE_LEN).ok_or(SealError::Open)?;
    let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| SealError::Open)?;
    let cipher = kek.cipher().map_err(|_| SealError::Open)?;
    let mut body = Zeroizing::new(body.to_vec());
    let plaintext = cipher.open_in_place(nonce, Aad::from(aad), &mut body).map_err(|_| SealError::Open)?;
    Ok(SecretSlice::from(plaintext.to_vec()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn opened(kek: &Kek, aad: &[u8], sealed: &[u8]) -> Result<Vec<u8>, SealError> {
        open(kek, aad, sealed).map(|plaintext| plaintext.expose_secret().to_vec())
    }

    #[test]
    fn key_is_parsed_from_its_hex_form() {
        let kek = Kek::generate();
        let again = Kek::from_hex(&SecretString::from(format!("{}\n", kek.to_hex().expose_secret())));
        let sealed = seal(&kek, b"name", b"plaintext").expect("sealed");
        assert_eq!(opened(&again.expect("the digits of a key"), b"name", &sealed), Ok(b"plaintext".to_vec()));
    }

    #[test]
    fn invalid_key_is_rejected_and_not_printed() {
        let long = "0".repeat(66);
        for text in ["", "00", "secret", &long[..63], &long, &"g".repeat(64)] {
            let error = Kek::from_hex(&SecretString::from(text)).expect_err("invalid key");
            assert_eq!(
                error.to_string(),
                "invalid key-encryption key: expected 64 hexadecimal digits, as `openssl rand -hex 32` prints them"
            );
        }
        let kek = Kek::generate();
        assert_eq!(format!("{kek:?}"), "Kek([redacted])");
    }

    #[test]
    fn another_key_or_name_cannot_open() {
        let kek = Kek::generate();
        let sealed = seal(&kek, b"one", b"plaintext").expect("sealed");
        assert_eq!(opened(&kek, b"one", &sealed), Ok(b"plaintext".to_vec()));
        assert_eq!(opened(&kek, b"two", &sealed), Err(SealError::Open));
        assert_eq!(opened(&kek, b"", &sealed), Err(SealError::Open));
        assert_eq!(opened(&Kek::generate(), b"one", &sealed), Err(SealError::Open));
    }

    #[test]
    fn ciphertexts_of_the_same_bytes_differ() {
        let kek = Kek::generate();
        assert_ne!(seal(&kek, b"name", b"plaintext"), seal(&kek, b"name", b"plaintext"));
    }

    #[test]
    fn unknown_format_is_a_distinct_error() {
        let kek = Kek::generate();
        let mut sealed = seal(&kek, b"name", b"plaintext").expect("sealed");
        sealed[0] = 2;
        assert_eq!(opened(&kek, b"name", &sealed), Err(SealError::UnknownFormat));
    }

    proptest! {
        #[test]
        fn sealed_bytes_are_opened_and_do_not_contain_the_plaintext(plaintext in proptest::collection::vec(any::<u8>(), 0..200), aad in any::<Vec<u8>>()) {
            let kek = Kek::generate();
            let sealed = seal(&kek, &aad, &plaintext).expect("sealed");
            prop_assert_eq!(sealed.len(), 1 + NONCE_LEN + plaintext.len() + 16);
            prop_assert!(plaintext.len() < 8 || !sealed.windows(plaintext.len()).any(|part| part == plaintext));
            prop_assert_eq!(opened(&kek, &aad, &sealed), Ok(plaintext));
        }

        #[test]
        fn changed_bit_is_detected(plaintext in proptest::collection::vec(any::<u8>(), 0..60), at in any::<prop::sample::Index>(), bit in 0u8..8) {
            let kek = Kek::generate();
            let mut sealed = seal(&kek, b"name", &plaintext).expect("sealed");
            let at = at.index(sealed.len());
            sealed[at] ^= 1 << bit;
            prop_assert!(opened(&kek, b"name", &sealed).is_err());
        }

        #[test]
        fn truncated_or_arbitrary_bytes_are_rejected_without_panic(bytes in any::<Vec<u8>>(), length in 0usize..37) {
            let kek = Kek::generate();
            prop_assert!(open(&kek, b"name", &bytes).is_err());
            let sealed = seal(&kek, b"name", b"plaintext").expect("sealed");
            prop_assert!(open(&kek, b"name", &sealed[..length]).is_err());
        }
    }
}
