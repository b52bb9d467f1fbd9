//! Opaque secrets: service keys, refresh tokens, invites, enrolment tokens, browser sessions, and what carries a sign-in
//! from one place to the next.
//!
//! Their form is `<prefix>_<id>_<secret>`: a prefix that people and secret scanners recognise, the public id under which
//! the hash is found, and 32 random bytes. Only the hash is stored. The secret is random, so one SHA-256 is enough;
//! a slow hash on every request would only serve whoever wants to overload the server.

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

/// The length of every opaque secret, in characters.
pub const LENGTH: usize = PREFIX_LENGTH + 1 + ID_LENGTH + 1 + SECRET_LENGTH;

/// What an opaque secret is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OpaqueKind {
    ServiceKey,
    Refresh,
    Invite,
    Enrolment,
    BrowserSession,
    /// Ties a sign-in on its way through an identity provider to the browser that began it.
    SignIn,
    /// Carries a sign-in from a browser to a command, once.
    Handoff,
}

impl OpaqueKind {
    pub const ALL: &'static [Self] = &[
        Self::ServiceKey,
        Self::Refresh,
        Self::Invite,
        Self::Enrolment,
        Self::BrowserSession,
        Self::SignIn,
        Self::Handoff,
    ];

    /// Returns the letters that a secret of this kind begins with.
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

/// The SHA-256 of an opaque secret: what is stored. It is of the whole text, so a secret cannot be moved to another kind
/// or id. Equality takes the same time whatever differs.
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

/// A text that no opaque secret looks like. It is not repeated: it may be a secret that was cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a key or token of this server: copy all {LENGTH} characters of it, from the prefix to the end")]
pub struct InvalidOpaque;

/// A presented secret, taken apart. Whether it is valid is known only after its hash was compared with the stored one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opaque {
    pub kind: OpaqueKind,
    pub id: Uuid,
    pub hash: SecretHash,
}

impl Opaque {
    /// Makes a secret for the object with this id, and the hash to store. The secret is not seen again.
    #[must_use]
    pub fn generate(kind: OpaqueKind, id: Uuid) -> (SecretString, SecretHash) {
        // Of the exact size: a text that grows leaves copies of itself behind.
        let mut text = String::with_capacity(LENGTH);
        text.push_str(kind.prefix());
        text.push('_');
        text.push_str(id.simple().encode_lower(&mut Uuid::encode_buffer()));
        text.push('_');
        URL_SAFE_NO_PAD.encode_string(random::bytes::<SECRET_BYTES>(), &mut text);
        let hash = SecretHash::of(&text);
        (SecretString::from(text), hash)
    }

    /// Takes a presented text apart. There is one spelling of each secret; everything else is refused.
    pub fn parse(text: &str) -> Result<Self, InvalidOpaque> {
        parse(text).ok_or(InvalidOpaque)
    }
}

fn parse(text: &str) -> Option<Opaque> {
    if text.len() != LENGTH {
        return None;
    }
    let (prefix, rest) = text.split_at_checked(PREFIX_LENGTH)?;
    let kind = OpaqueKind::ALL.iter().copied().find(|kind| kind.prefix() == prefix)?;
    // The secret may contain underscores too, so the places are counted.
    let (id, secret) = rest.strip_prefix('_')?.split_at_checked(ID_LENGTH)?;
    if !id.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)) {
        return None;
    }
    let id = Uuid::try_parse(id).ok()?;
    // What is left are 43 characters; decoding refuses those that 32 bytes would not be written as.
    let _secret = Zeroizing::new(URL_SAFE_NO_PAD.decode(secret.strip_prefix('_')?).ok()?);
    Some(Opaque { kind, id, hash: SecretHash::of(text) })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use secrecy::ExposeSecret;

    use super::*;

    fn any_kind() -> impl Strategy<Value = OpaqueKind> {
        proptest::sample::select(OpaqueKind::ALL)
    }

    #[test]
    fn a_secret_has_a_prefix_an_id_and_43_random_characters() {
        let id = Uuid::from_u128(0x0192_0000_0000_7000_8000_0000_0000_0001);
        let (secret, _) = Opaque::generate(OpaqueKind::ServiceKey, id);
        let text = secret.expose_secret();
        assert!(text.starts_with("ghk_01920000000070008000000000000001_"), "{text}");
        assert_eq!(text.len(), LENGTH);
        let (another, _) = Opaque::generate(OpaqueKind::ServiceKey, id);
        assert_ne!(another.expose_secret(), text);
    }

    #[test]
    fn neither_the_secret_nor_its_hash_nor_a_refused_text_prints() {
        let (secret, hash) = Opaque::generate(OpaqueKind::Refresh, Uuid::nil());
        let parsed = Opaque::parse(secret.expose_secret()).expect("just made");
        let printed = format!("{secret:?} {hash:?} {parsed:?}");
        let (_, random) = secret.expose_secret().split_at(LENGTH - SECRET_LENGTH);
        assert!(!printed.contains(random) && !printed.contains(&hex::encode(hash.as_bytes())), "{printed}");
        let cut = &secret.expose_secret()[..LENGTH - 1];
        let error = Opaque::parse(cut).expect_err("cut off");
        assert_eq!(
            error.to_string(),
            "not a key or token of this server: copy all 80 characters of it, from the prefix to the end"
        );
    }

    #[test]
    fn a_secret_moved_to_another_kind_or_id_has_another_hash() {
        let (secret, hash) = Opaque::generate(OpaqueKind::Invite, Uuid::nil());
        let text = secret.expose_secret();
        for moved in [text.replacen("ghi", "ghk", 1), text.replacen("_0", "_1", 1)] {
            assert_ne!(Opaque::parse(&moved).expect("of the form").hash, hash);
        }
    }

    #[test]
    fn a_second_spelling_of_the_same_bytes_is_refused() {
        let canonical = format!("ghk_{}_{}A", "0".repeat(32), "A".repeat(42));
        let with_loose_bits = format!("ghk_{}_{}B", "0".repeat(32), "A".repeat(42));
        assert!(Opaque::parse(&canonical).is_ok());
        assert_eq!(Opaque::parse(&with_loose_bits), Err(InvalidOpaque));
        for length in [42, 44] {
            let other_length = format!("ghk_{}_{}", "0".repeat(32), "A".repeat(length));
            assert_eq!(Opaque::parse(&other_length), Err(InvalidOpaque));
        }
        let upper_case = format!("ghk_{}_{}A", "A".repeat(32), "A".repeat(42));
        assert_eq!(Opaque::parse(&upper_case), Err(InvalidOpaque));
    }

    proptest! {
        #[test]
        fn what_was_generated_is_parsed(kind in any_kind(), bits in any::<u128>()) {
            let id = Uuid::from_u128(bits);
            let (secret, hash) = Opaque::generate(kind, id);
            prop_assert_eq!(Opaque::parse(secret.expose_secret()), Ok(Opaque { kind, id, hash }));
        }

        #[test]
        fn any_text_is_parsed_or_refused_without_a_panic(text in any::<String>()) {
            prop_assert_eq!(Opaque::parse(&text), Err(InvalidOpaque));
        }

        #[test]
        fn only_the_canonical_spelling_parses(
            text in "gh[a-s]_[0-9a-f]{31}[0-9a-fA-F-]_[A-Za-z0-9_-]{41}[A-Za-z0-9_=+/-]{2}",
        ) {
            if let Ok(parsed) = Opaque::parse(&text) {
                let secret = URL_SAFE_NO_PAD.decode(&text[LENGTH - SECRET_LENGTH..]).expect("parsed");
                let spelled = format!(
                    "{}_{}_{}", parsed.kind.prefix(), parsed.id.simple(), URL_SAFE_NO_PAD.encode(secret),
                );
                prop_assert_eq!(spelled, text);
            }
        }

        #[test]
        fn a_text_with_characters_of_several_bytes_is_refused(text in "[a-z_é€]{78,80}") {
            prop_assert_eq!(Opaque::parse(&text), Err(InvalidOpaque));
        }

        #[test]
        fn one_changed_character_is_another_secret_or_none(kind in any_kind(), at in 0usize..LENGTH, to in "[ -~]") {
            let (secret, hash) = Opaque::generate(kind, Uuid::nil());
            let mut changed = secret.expose_secret().to_owned();
            changed.replace_range(at..=at, &to);
            prop_assume!(changed != secret.expose_secret());
            prop_assert!(Opaque::parse(&changed).is_ok_and(|parsed| parsed.hash != hash) || Opaque::parse(&changed).is_err());
        }
    }
}
