//! Pattern-based redaction of credentials, before the server stores a text.
//!
//! A runner knows the secrets of its run and removes them by value. The server searches everything it receives again,
//! by pattern, because a runner may be outdated, faulty or malicious. A credential is replaced by `[redacted:<kind>]`;
//! the text around it is unchanged.
//!
//! Limitations:
//! - A secret without a recognisable pattern (a password in a sentence, random letters) is not found. Neither is one
//!   that is split over two texts, encoded (base64, percent encoding, an image), or written as a number.
//! - A URL password with an unencoded `/`, `?` or `#` is not found, because the rest looks like a path.
//! - Cookies and request signatures (Digest, AWS) are not found; the keys that create them are.
//! - A value after a sign and a space that is a name or an expression of a program (`token: CancellationToken`) is not
//!   replaced, and neither is a sentence in quotes. A secret that consists of words is not found there. After `TOKEN=` and
//!   `password:` every value is replaced.
//! - The text after the first line of a private key is replaced up to the first character that no key contains.
//!
//! Cost: one pass of one automaton, linear in the length of the text. A text without credentials is not copied; one
//! with credentials grows to at most [`MAX_GROWTH`] times its length. Measured on one busy core (`measure` in the
//! tests, optimised): prose 160 MB/s; JSON, logs and base64 290 to 340 MB/s; a key in each line 24 MB/s; worst-case
//! texts at least 9 MB/s. An event of 4 KiB costs about 25 µs. Capture groups are resolved only where the automaton
//! has matched.

mod json;
mod kind;
mod pattern;
mod prefilter;
#[cfg(test)]
mod tests;

pub use json::redact_json;
pub use kind::{CredentialKind, RedactionCounts};

use std::borrow::Cow;

use pattern::CredentialMatch;

/// Maximum growth factor of a redacted text: the shortest match is `pwd=` plus one character, and these five characters
/// become 23.
pub const MAX_GROWTH: usize = 5;

/// A text with its recognised credentials replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redaction<'a> {
    pub text: Cow<'a, str>,
    pub found: RedactionCounts,
}

/// Replaces every credential with a recognisable pattern. Idempotent.
#[must_use]
pub fn redact(text: &str) -> Redaction<'_> {
    let mut found = RedactionCounts::default();
    if !prefilter::may_contain_credential(text) {
        return Redaction { text: Cow::Borrowed(text), found };
    }
    let mut redacted = String::new();
    let mut copied = 0;
    let mut from = 0;
    while let Some(CredentialMatch { secret, kind, resume }) = pattern::find_next(text, from) {
        from = resume;
        let Some(kind) = kind else { continue };
        found.add(kind);
        redacted.push_str(&text[copied..secret.start]);
        redacted.push_str(kind.marker());
        copied = secret.end;
    }
    if found.is_empty() {
        return Redaction { text: Cow::Borrowed(text), found };
    }
    redacted.push_str(&text[copied..]);
    Redaction { text: Cow::Owned(redacted), found }
}
