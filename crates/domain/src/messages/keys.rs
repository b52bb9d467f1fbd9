//! Public keys of devices for end-to-end encryption. The server stores and hands them out; their signatures prove that the AID made
//! them.

use std::time::Duration;

/// Devices of one AID whose keys and cursors are kept. The one that was not seen for longest goes first.
pub const MAX_DEVICES: u32 = 100;

/// Keys of the second version that are kept of each device: senders remember them for an hour.
pub const MAX_GENERATIONS: u32 = 64;

/// How long prekeys of the first version are handed out.
pub const PREKEY_LIFETIME: Duration = Duration::from_secs(30 * 24 * 3600);

/// How long keys of the second version are handed out.
pub const SIGNED_PREKEY_LIFETIME: Duration = Duration::from_secs(180 * 24 * 3600);

/// The longest text of a key, a signature or an id.
const MAX_TEXT: usize = 512;

/// A key cannot be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}: expected 1 to {MAX_TEXT} printable ASCII characters")]
pub struct InvalidKeyText(pub &'static str);

/// A prekey of the first version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prekey {
    pub device: String,
    pub id: String,
    /// SubjectPublicKeyInfo in base64.
    pub public_key: String,
    pub signature: String,
    pub created_at_ms: Option<i64>,
    pub cert_fingerprint: Option<String>,
}

/// A key of the second version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedPrekey {
    pub device: String,
    pub id: String,
    /// SubjectPublicKeyInfo in base64.
    pub public_key: String,
    pub signature: String,
    /// In seconds since 1970. The signature covers it.
    pub signed_at: i64,
}

/// Checks the texts of a key before they are looked at any closer.
pub fn check_texts(texts: &[(&'static str, &str)]) -> Result<(), InvalidKeyText> {
    let is_valid =
        |text: &str| (1..=MAX_TEXT).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
    match texts.iter().find(|(_, text)| !is_valid(text)) {
        Some((name, _)) => Err(InvalidKeyText(name)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_printable_and_short() {
        assert_eq!(check_texts(&[("a", "x"), ("b", "sha256:00/+=")]), Ok(()));
        for text in ["", "a b", "\0", "ä", &"x".repeat(MAX_TEXT + 1)] {
            assert_eq!(check_texts(&[("a", "x"), ("b", text)]), Err(InvalidKeyText("b")));
        }
    }
}
