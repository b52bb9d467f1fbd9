//! Tags for names that belong to nobody: the same name has the same tag, and the tag does not tell the name.
//!
//! Who mistypes at a sign-in may have put the password where the name belongs. What is kept of such a name must not be
//! the name, nor a plain hash of it: passwords can be guessed, and every guess could be held against a hash. The tag is
//! keyed with what the operator keeps apart from the database, so that a copy of the database answers no guess.

use std::fmt;

use aws_lc_rs::hmac;

use crate::seal::Kek;

const PURPOSE: &[u8] = b"guildhall name tag v1";

/// Enough to tell names apart: with a million of them two share a tag once in 37 million logs.
const TAG_BYTES: usize = 8;

/// Makes tags.
pub struct NameTags(hmac::Key);

impl NameTags {
    #[must_use]
    pub fn new(kek: &Kek) -> Self {
        Self(kek.derive(PURPOSE))
    }

    /// Returns the tag of a name: 16 hexadecimal digits, however long the name is.
    #[must_use]
    pub fn tag(&self, name: &str) -> String {
        hex::encode(&hmac::sign(&self.0, name.as_bytes()).as_ref()[..TAG_BYTES])
    }
}

impl fmt::Debug for NameTags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NameTags([redacted])")
    }
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;

    use super::*;

    fn tags(digit: char) -> NameTags {
        let text = SecretString::from(digit.to_string().repeat(64));
        NameTags::new(&Kek::from_hex(&text).expect("a key"))
    }

    #[test]
    fn a_tag_is_that_of_the_name_under_the_key_and_of_no_other() {
        let tag = tags('a').tag("ada");
        assert_eq!(tag, tags('a').tag("ada"));
        assert_eq!(tag.len(), 16);
        assert_ne!(tag, tags('a').tag("adb"));
        assert_ne!(tag, tags('b').tag("ada"), "without the key nobody can make it");
    }

    /// Computed by another program: HMAC-SHA256(HMAC-SHA256(key, purpose), name), the first eight bytes.
    #[test]
    fn a_tag_is_what_anyone_gets_who_has_the_key() {
        assert_eq!(tags('0').tag("nobody"), "ecc8219fdb84c543");
    }
}
