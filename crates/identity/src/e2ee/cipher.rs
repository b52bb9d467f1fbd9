//! The ciphers of both formats: AES-256-GCM, and the derivation of its keys.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Salt};
use secrecy::zeroize::Zeroizing;

use super::{NONCE_BYTES, TAG_BYTES};

pub(super) const KEY_BYTES: usize = 32;

/// A key of the cipher. Zeroed when it is dropped.
pub(super) type CipherKey = Zeroizing<[u8; KEY_BYTES]>;

/// The library failed, or the tag is not the one of the ciphertext.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CipherError;

struct KeyLength;

impl KeyType for KeyLength {
    fn len(&self) -> usize {
        KEY_BYTES
    }
}

/// Derives a key from what several pairs of keys agree on.
pub(super) fn derive_key(secrets: &[&[u8]], salt: &[u8], info: &[u8]) -> Result<CipherKey, CipherError> {
    let mut material = Zeroizing::new(Vec::with_capacity(secrets.iter().map(|secret| secret.len()).sum()));
    secrets.iter().for_each(|secret| material.extend_from_slice(secret));
    let extracted = Salt::new(HKDF_SHA256, salt).extract(&material);
    let mut key = CipherKey::default();
    let expanded = extracted.expand(&[info], KeyLength).and_then(|output| output.fill(key.as_mut()));
    expanded.map(|()| key).map_err(|_| CipherError)
}

/// Encrypts in place, and returns the tag.
pub(super) fn encrypt(
    key: &CipherKey,
    nonce: [u8; NONCE_BYTES],
    aad: &[u8],
    text: &mut [u8],
) -> Result<[u8; TAG_BYTES], CipherError> {
    let nonce = Nonce::assume_unique_for_key(nonce);
    let tag =
        cipher(key)?.seal_in_place_separate_tag(nonce, Aad::from(aad), text).map_err(|_| CipherError)?;
    tag.as_ref().try_into().map_err(|_| CipherError)
}

/// Returns the plaintext of a ciphertext with its tag behind it. The tag is compared in constant time.
pub(super) fn decrypt(
    key: &CipherKey,
    nonce: [u8; NONCE_BYTES],
    aad: &[u8],
    ciphertext: &[u8],
    tag: &[u8],
) -> Result<Zeroizing<Vec<u8>>, CipherError> {
    let mut body = Zeroizing::new([ciphertext, tag].concat());
    let nonce = Nonce::assume_unique_for_key(nonce);
    let length = cipher(key)?.open_in_place(nonce, Aad::from(aad), &mut body).map_err(|_| CipherError)?.len();
    body.truncate(length);
    Ok(body)
}

fn cipher(key: &CipherKey) -> Result<LessSafeKey, CipherError> {
    UnboundKey::new(&AES_256_GCM, key.as_ref()).map(LessSafeKey::new).map_err(|_| CipherError)
}
