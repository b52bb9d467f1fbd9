//! Opaque secrets: service keys, refresh tokens, invitations, enrolment tokens, browser sessions, and the state of a
//! sign-in in progress.
//!
//! Their format is `<prefix>_<id>_<secret>`: a prefix that people and secret scanners recognise, the public id of the
//! stored hash, and 32 random bytes. Only the hash is stored. Because the secret is random, one SHA-256 is enough; a
//! slow hash on every request would only help an attacker to overload the server.

use std::fmt;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::SecretString;
use secrecy::zeroize::Zeroizing;
use subtle::ConstantTimeEq;
use uuid::Uuid;

use crate::random;

const PREFIX_LENGTH: usize = 3;
const ID_LENGTH: usize = 32;
const SECRET_BYTES: usize = 32;
const SECRET_LENGTH: usize = 43;

/// Length of an opaque secret, in characters.
pub const LENGTH: usize = PREFIX_LENGTH + 1 + ID_LENGTH + 1 + SECRET_LENGTH;

/// The kind of an opaque secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OpaqueSecretKind {
    ServiceKey,
    Refresh,
    Invite,
    Enrolment,
    BrowserSession,
    /// Binds a sign-in at an identity provider to the browser that started it.
    SignIn,
    /// Transfers a sign-in from a browser to the CLI, once.
    Handoff,
}

impl OpaqueSecretKind {
    pub const ALL: &'static [Self] = &[
        Self::ServiceKey,
        Self::Refresh,
        Self::Invite,
        Self::Enrolment,
        Self::BrowserSession,
        Self::SignIn,
        Self::Handoff,
    ];

    /// Returns the prefix of secrets of this kind.
    #[must_use]
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::ServiceKey => "ghk",
            Self::Refresh => "ghr",
            Self::Invite => "ghi",
            Self::Enrolment => "ghe",
            Self::BrowserSession => "ghb",
            Self::SignIn => "ghs",
            Self::Handoff => "ghh",
        }
    }
}

/// The stored SHA-256 of an opaque secret. It covers the whole text, so a secret cannot be used for another kind or id.
/// Equality is constant-time.
#[derive(Clone, Copy)]
pub struct SecretHash([u8; 32]);

impl SecretHash {
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    fn of(text: &str) -> Self {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
        Self(hash)
    }
}

impl PartialEq for SecretHash {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for SecretHash {}

impl fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretHash([redacted])")
    }
}

/// The text is not an opaque secret. It is not included in the message: it may be a truncated secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid key or token: copy all {LENGTH} characters, including the prefix")]
pub struct InvalidOpaqueSecret;

/// A parsed secret. It is valid only if its hash equals the stored one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpaqueSecret {
    pub kind: OpaqueSecretKind,
    pub id: Uuid,
    pub hash: SecretHash,
}

impl OpaqueSecret {
    /// Generates a secret for the object with this id. Returns it with the hash to store.
    #[must_use]
    pub fn generate(kind: OpaqueSecretKind, id: Uuid) -> (SecretString, SecretHash) {
        // Allocated with the exact size: reallocation would leave copies in memory.
        let mut text = String::with_capacity(LENGTH);
        text.push_str(kind.prefix());
        text.push('_');
        text.push_str(id.simple().encode_lower(&mut Uuid::encode_buffer()));
        text.push('_');
        URL_SAFE_NO_PAD.encode_string(random::bytes::<SECRET_BYTES>(), &mut text);
        let hash = SecretHash::of(&text);
        (SecretString::from(text), hash)
    }

    /// Parses a secret. Only the canonical spelling is accepted.
    pub fn parse(text: &str) -> Result<Self, InvalidOpaqueSecret> {
        parse(text).ok_or(InvalidOpaqueSecret)
    }
}

fn parse(text: &str) -> Option<OpaqueSecret> {
    if text.len() != LENGTH {
        return None;
    }
    let (prefix, rest) = text.split_at_checked(PREFIX_LENGTH)?;
    let kind = OpaqueSecretKind::ALL.iter().copied().find(|kind| kind.prefix() == prefix)?;
    // The secret may contain underscores too, so the parts are split by position.
    let (id, secret) = rest.strip_prefix('_')?.split_at_checked(ID_LENGTH)?;
    if !id.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)) {
        return None;
    }
    let id = Uuid::try_parse(id).ok()?;
    // 43 characters are left; decoding rejects non-canonical encodings of 32 bytes.
    let _secret = Zeroizing::new(URL_SAFE_NO_PAD.decode(secret.strip_prefix('_')?).ok()?);
    Some(OpaqueSecret { kind, id, hash: SecretHash::of(text) })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use secrecy::ExposeSecret;

    use super::*;

    fn any_kind() -> impl Strategy<Value = OpaqueSecretKind> {
        proptest::sample::select(OpaqueSecretKind::ALL)
    }

    #[test]
    fn secret_has_prefix_id_and_43_random_characters() {
        let id = Uuid::from_u128(0x0192_0000_0000_7000_8000_0000_0000_0001);
        let (secret, _) = OpaqueSecret::generate(OpaqueSecretKind::ServiceKey, id);
        let text = secret.expose_secret();
        assert!(text.starts_with("ghk_01920000000070008000000000000001_"), "{text}");
        assert_eq!(text.len(), LENGTH);
        let (another, _) = OpaqueSecret::generate(OpaqueSecretKind::ServiceKey, id);
        assert_ne!(another.expose_secret(), text);
    }

    #[test]
    fn debug_and_error_output_contain_no_secret() {
        let (secret, hash) = OpaqueSecret::generate(OpaqueSecretKind::Refresh, Uuid::nil());
        let parsed = OpaqueSecret::parse(secret.expose_secret()).expect("just generated");
        let printed = format!("{secret:?} {hash:?} {parsed:?}");
        let (_, random) = secret.expose_secret().split_at(LENGTH - SECRET_LENGTH);
        assert!(!printed.contains(random) && !printed.contains(&hex::encode(hash.as_bytes())), "{printed}");
        let cut = &secret.expose_secret()[..LENGTH - 1];
        let error = OpaqueSecret::parse(cut).expect_err("cut off");
        assert_eq!(error.to_string(), "invalid key or token: copy all 80 characters, including the prefix");
    }

    #[test]
    fn changed_kind_or_id_changes_the_hash() {
        let (secret, hash) = OpaqueSecret::generate(OpaqueSecretKind::Invite, Uuid::nil());
        let text = secret.expose_secret();
        for moved in [text.replacen("ghi", "ghk", 1), text.replacen("_0", "_1", 1)] {
            assert_ne!(OpaqueSecret::parse(&moved).expect("valid format").hash, hash);
        }
    }

    #[test]
    fn non_canonical_spelling_is_rejected() {
        let canonical = format!("ghk_{}_{}A", "0".repeat(32), "A".repeat(42));
        let with_loose_bits = format!("ghk_{}_{}B", "0".repeat(32), "A".repeat(42));
        assert!(OpaqueSecret::parse(&canonical).is_ok());
        assert_eq!(OpaqueSecret::parse(&with_loose_bits), Err(InvalidOpaqueSecret));
        for length in [42, 44] {
            let other_length = format!("ghk_{}_{}", "0".repeat(32), "A".repeat(length));
            assert_eq!(OpaqueSecret::parse(&other_length), Err(InvalidOpaqueSecret));
        }
        let upper_case = format!("ghk_{}_{}A", "A".repeat(32), "A".repeat(42));
        assert_eq!(OpaqueSecret::parse(&upper_case), Err(InvalidOpaqueSecret));
    }

    proptest! {
        #[test]
        fn generated_secret_is_parsed(kind in any_kind(), bits in any::<u128>()) {
            let id = Uuid::from_u128(bits);
            let (secret, hash) = OpaqueSecret::generate(kind, id);
            prop_assert_eq!(OpaqueSecret::parse(secret.expose_secret()), Ok(OpaqueSecret { kind, id, hash }));
        }

        #[test]
        fn parsing_arbitrary_text_does_not_panic(text in any::<String>()) {
            prop_assert_eq!(OpaqueSecret::parse(&text), Err(InvalidOpaqueSecret));
        }

        #[test]
        fn only_canonical_spelling_is_parsed(
            text in "gh[a-s]_[0-9a-f]{31}[0-9a-fA-F-]_[A-Za-z0-9_-]{41}[A-Za-z0-9_=+/-]{2}",
        ) {
            if let Ok(parsed) = OpaqueSecret::parse(&text) {
                let secret = URL_SAFE_NO_PAD.decode(&text[LENGTH - SECRET_LENGTH..]).expect("parsed");
                let spelled = format!(
                    "{}_{}_{}", parsed.kind.prefix(), parsed.id.simple(), URL_SAFE_NO_PAD.encode(secret),
                );
                prop_assert_eq!(spelled, text);
            }
        }

        #[test]
        fn multibyte_characters_are_rejected(text in "[a-z_é€]{78,80}") {
            prop_assert_eq!(OpaqueSecret::parse(&text), Err(InvalidOpaqueSecret));
        }

        #[test]
        fn changed_character_gives_another_hash_or_an_error(kind in any_kind(), at in 0usize..LENGTH, to in "[ -~]") {
            let (secret, hash) = OpaqueSecret::generate(kind, Uuid::nil());
            let mut changed = secret.expose_secret().to_owned();
            changed.replace_range(at..=at, &to);
            prop_assume!(changed != secret.expose_secret());
            prop_assert!(OpaqueSecret::parse(&changed).is_ok_and(|parsed| parsed.hash != hash) || OpaqueSecret::parse(&changed).is_err());
        }
    }
}
