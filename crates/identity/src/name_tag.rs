//! Keyed tags for unknown user names: equal names have equal tags, and a tag does not reveal the name.
//!
//! A user may type the password into the name field. The log of failed sign-ins must therefore not contain the name,
//! nor a plain hash of it, against which passwords could be guessed. The tag is keyed with the operator's
//! key-encryption key, which is not in the database, so a copy of the database does not help with guessing.

use std::fmt;

use aws_lc_rs::hmac;

use crate::seal::Kek;

const PURPOSE: &[u8] = b"guildhall name tag v1";

/// Enough to distinguish names: among a million names, a collision occurs in one of 37 million logs.
const TAG_BYTES: usize = 8;

/// Computes name tags.
pub struct NameTagger(hmac::Key);

impl NameTagger {
    #[must_use]
    pub fn new(kek: &Kek) -> Self {
        Self(kek.derive(PURPOSE))
    }

    /// Returns the tag of a name: 16 hexadecimal digits.
    #[must_use]
    pub fn tag(&self, name: &str) -> String {
        format!("{:016x}", self.tag_number(name))
    }

    /// Returns the tag of a name as a number.
    #[must_use]
    pub fn tag_number(&self, name: &str) -> u64 {
        let signed = hmac::sign(&self.0, name.as_bytes());
        signed.as_ref().iter().take(TAG_BYTES).fold(0, |number, byte| (number << 8) | u64::from(*byte))
    }
}

impl fmt::Debug for NameTagger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NameTagger([redacted])")
    }
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;

    use super::*;

    fn tags(digit: char) -> NameTagger {
        let text = SecretString::from(digit.to_string().repeat(64));
        NameTagger::new(&Kek::from_hex(&text).expect("a key"))
    }

    #[test]
    fn tag_depends_on_name_and_key() {
        let tag = tags('a').tag("ada");
        assert_eq!(tag, tags('a').tag("ada"));
        assert_eq!(tag.len(), 16);
        assert_ne!(tag, tags('a').tag("adb"));
        assert_ne!(tag, tags('b').tag("ada"), "another key gives another tag");
    }

    /// Computed with another program: the first eight bytes of HMAC-SHA256(HMAC-SHA256(key, purpose), name).
    #[test]
    fn tag_matches_an_independent_computation() {
        assert_eq!(tags('0').tag("nobody"), "ecc8219fdb84c543");
    }
}
