//! The server's second look for credentials, by their shape, before a text is kept.
//!
//! A runner knows the secrets of its run and removes them by value. Whatever it sends is searched here again, by
//! pattern, because a runner may be old, wrong or not ours. A credential that is found is replaced by
//! `[redacted:<kind>]`; text around it stays as it is.
//!
//! What this cannot do:
//! - A secret without a shape (a bare password in a sentence, random letters alone) passes. So does one that was
//!   split over two texts, encoded (base64, percent signs, a picture), or written as a number.
//! - A password in a URL that contains an unencoded `/`, `?` or `#` passes: what follows looks like a path.
//! - Cookies and signatures of requests (Digest, AWS) pass; what makes them does not.
//! - It errs towards removing: `token: CancellationToken` in source code reads like a token in YAML and is replaced,
//!   and so is all text that a private key's first line is followed by, up to the first sign that no key contains.
//!
//! Cost: one pass of one automaton, in time linear in the text, whatever the text; a text without findings is not
//! copied, one with findings grows to [`GROWTH`] times its length at most. Measured on one busy core (`measure` in the
//! tests, optimised): prose 160 MB/s, JSON, logs and base64 290 to 340 MB/s, a key in each line 24 MB/s, texts made
//! to be slow 9 MB/s and more. An event of 4 KiB thus costs about 25 µs. The automaton is its own filter:
//! the groups are looked for only where it has matched.

mod glance;
mod json;
mod kind;
mod pattern;
#[cfg(test)]
mod tests;

pub use json::redact_json;
pub use kind::{Counts, Kind};

use std::borrow::Cow;

use pattern::Finding;

/// How many times longer a redacted text can be, at most: the shortest thing that is recognised is `pwd=` with one
/// letter behind it, five characters that become 23.
pub const GROWTH: usize = 5;

/// A text without the credentials that were recognised in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redaction<'a> {
    pub text: Cow<'a, str>,
    pub found: Counts,
}

/// Replaces every credential that has a recognisable shape. Doing it twice changes nothing more.
#[must_use]
pub fn redact(text: &str) -> Redaction<'_> {
    let mut found = Counts::default();
    if !glance::may_hold(text) {
        return Redaction { text: Cow::Borrowed(text), found };
    }
    let mut clean = String::new();
    let mut copied = 0;
    let mut from = 0;
    while let Some(Finding { secret, kind, resume }) = pattern::next(text, from) {
        from = resume;
        let Some(kind) = kind else { continue };
        found.add(kind);
        clean.push_str(&text[copied..secret.start]);
        clean.push_str(kind.marker());
        copied = secret.end;
    }
    if found.is_empty() {
        return Redaction { text: Cow::Borrowed(text), found };
    }
    clean.push_str(&text[copied..]);
    Redaction { text: Cow::Owned(clean), found }
}
