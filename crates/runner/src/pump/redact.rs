//! Redacts secrets in streamed text. A secret split over chunks is found, because the end of the text is held back
//! until no secret can continue in the next chunk.

use std::sync::{Arc, LazyLock, PoisonError, RwLock, RwLockReadGuard};

use guildhall_domain::redact::redact;
use regex::Regex;
use secrecy::{ExposeSecret, SecretString};

/// Bytes to hold back at most, more than any private key in use. A longer text without a safe place to cut is redacted
/// and released as it is.
const MAX_HELD_BYTES: usize = 64 * 1024;

/// Shorter values are too likely to be ordinary words.
const MIN_SECRET_BYTES: usize = 6;

const KNOWN_SECRET_MARKER: &str = "[redacted:known]";

/// Words that may introduce a secret in the same line.
#[expect(clippy::expect_used, reason = "a constant, compiled by every test of this module")]
static TRIGGER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i-u)auth|bearer|basic|pass|pwd|token|secret|key|-----BEGIN").expect("the pattern is valid")
});

/// The secrets of a run, which are redacted by value, whatever their format. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct RunSecrets(Arc<RwLock<Vec<SecretString>>>);

impl RunSecrets {
    #[must_use]
    pub fn new(values: impl IntoIterator<Item = SecretString>) -> Self {
        let secrets = Self::default();
        secrets.add(values);
        secrets
    }

    /// Keeps the values that are long enough, longest first: one may be a part of another.
    pub fn add(&self, values: impl IntoIterator<Item = SecretString>) {
        let new = values.into_iter().filter(|value| value.expose_secret().len() >= MIN_SECRET_BYTES);
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        known.extend(new);
        known.sort_by_key(|value| std::cmp::Reverse(value.expose_secret().len()));
    }

    fn known(&self) -> RwLockReadGuard<'_, Vec<SecretString>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Redacts the known values and everything that looks like a credential.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for value in self.known().iter() {
            if text.contains(value.expose_secret()) {
                text = text.replace(value.expose_secret(), KNOWN_SECRET_MARKER);
            }
        }
        redact(&text).text.into_owned()
    }

    /// Returns the values that contain whitespace: a cut between words could divide them.
    fn with_whitespace(&self) -> Vec<SecretString> {
        let has_whitespace = |value: &&SecretString| value.expose_secret().contains(char::is_whitespace);
        self.known().iter().filter(has_whitespace).cloned().collect()
    }

    /// Returns how many bytes at the end of a text may be the start of such a value.
    fn max_overlap(&self) -> usize {
        self.with_whitespace().iter().map(|value| value.expose_secret().len()).max().unwrap_or(0)
    }

    /// Returns the start of a value that a cut would divide.
    fn divided_by(&self, text: &str, cut: usize) -> Option<usize> {
        self.with_whitespace().iter().find_map(|value| {
            let value = value.expose_secret();
            let from = text.floor_char_boundary(cut.saturating_sub(value.len()));
            let starts = text[from..].match_indices(value).map(|(at, _)| from + at);
            starts.into_iter().find(|start| *start < cut && cut < start + value.len())
        })
    }
}

/// Redacts the text of one item, chunk by chunk.
#[derive(Debug)]
pub struct StreamRedactor {
    secrets: RunSecrets,
    held: String,
}

impl StreamRedactor {
    #[must_use]
    pub fn new(secrets: RunSecrets) -> Self {
        Self { secrets, held: String::new() }
    }

    /// Adds a chunk. Returns the redacted text that can be released.
    pub fn push(&mut self, chunk: &str) -> String {
        self.held.push_str(chunk);
        let cut = match safe_cut(&self.held, &self.secrets) {
            0 if self.held.len() > MAX_HELD_BYTES => self.held.len(),
            cut => cut,
        };
        let rest = self.held.split_off(cut);
        let ready = std::mem::replace(&mut self.held, rest);
        if ready.is_empty() { ready } else { self.secrets.redact(&ready) }
    }

    /// Returns the redacted text that was held back, at the end of the stream.
    pub fn finish(&mut self) -> String {
        let rest = std::mem::take(&mut self.held);
        if rest.is_empty() { rest } else { self.secrets.redact(&rest) }
    }
}

/// Returns the last offset at which no secret spans the cut: after whitespace, in a line without a trigger word, and
/// outside of private keys.
fn safe_cut(text: &str, secrets: &RunSecrets) -> usize {
    let mut end = text.floor_char_boundary(text.len().saturating_sub(secrets.max_overlap()));
    loop {
        let cut = text[..end].rfind(char::is_whitespace).map_or(0, |gap| next_char(text, gap));
        if cut == 0 {
            return 0;
        }
        if let Some(start) = unclosed_key(&text[..cut]).or_else(|| secrets.divided_by(text, cut)) {
            end = start;
            continue;
        }
        let line = line_start(text, cut);
        if !TRIGGER.is_match(&text[line..cut]) {
            return cut;
        }
        // Hold the whole line until it ends.
        end = if line < cut { line } else { cut - 1 };
        end = text.floor_char_boundary(end);
    }
}

/// Returns the start of the logical line at an offset. A line that ends in a character that announces a value (such as
/// `:` or `=`) continues in the next line, across empty lines too.
fn line_start(text: &str, at: usize) -> usize {
    let mut start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    loop {
        let before = text[..start].trim_end();
        let is_continued = before.ends_with([':', '=', '>', '\\', '"', '\'']);
        if start == 0 || !is_continued {
            return start;
        }
        start = before.rfind('\n').map_or(0, |newline| newline + 1);
    }
}

/// Returns the start of a private key that has no end yet.
fn unclosed_key(text: &str) -> Option<usize> {
    let begin = text.rfind("-----BEGIN")?;
    let end = text[begin..].find("-----END").map(|end| begin + end + "-----END".len());
    let is_closed = end.is_some_and(|end| text[end..].contains("-----"));
    (!is_closed).then_some(begin)
}

fn next_char(text: &str, at: usize) -> usize {
    text[at..].chars().next().map_or(at, |found| at + found.len_utf8())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn secrets() -> RunSecrets {
        RunSecrets::new(["hunter2hunter2", "two words here"].map(SecretString::from))
    }

    fn redact_in_chunks(text: &str, cuts: &[usize]) -> String {
        let mut redactor = StreamRedactor::new(secrets());
        let mut out = String::new();
        let mut from = 0;
        for cut in cuts {
            let at = text.floor_char_boundary(*cut).max(from);
            out.push_str(&redactor.push(&text[from..at]));
            from = at;
        }
        out.push_str(&redactor.push(&text[from..]));
        out.push_str(&redactor.finish());
        out
    }

    #[test]
    fn plain_text_is_held_back_by_at_most_one_word() {
        let mut redactor = StreamRedactor::new(RunSecrets::default());
        assert_eq!(redactor.push("I will tidy your no"), "I will tidy your ");
        assert_eq!(redactor.push("tes now. "), "notes now. ");
        assert_eq!(redactor.finish(), "");
    }

    #[test]
    fn known_secret_is_redacted_wherever_it_is_split() {
        let text = "it says hunter2hunter2 and then two words here.";
        for at in 0..=text.len() {
            assert_eq!(
                redact_in_chunks(text, &[at]),
                "it says [redacted:known] and then [redacted:known].",
                "{at}"
            );
        }
    }

    #[test]
    fn multi_line_key_is_redacted_wherever_it_is_split() {
        let text = "here:\n-----BEGIN RSA PRIVATE KEY-----\nMIIEow+a\nbbbb/cc==\n-----END RSA PRIVATE KEY-----\ndone";
        let whole = secrets().redact(text);
        assert!(!whole.contains("MIIE") && whole.ends_with("done"), "{whole}");
        for at in 0..=text.len() {
            assert_eq!(redact_in_chunks(text, &[at, at + 9]), whole, "{at}");
        }
    }

    #[test]
    fn text_without_whitespace_is_released_at_the_limit() {
        let mut redactor = StreamRedactor::new(RunSecrets::default());
        let released: usize = (0..200).map(|_| redactor.push(&"x".repeat(1024)).len()).sum();
        assert!(released >= 100 * 1024 && redactor.held.len() <= MAX_HELD_BYTES + 1024);
    }

    fn text_piece() -> impl Strategy<Value = String> {
        prop_oneof![
            4 => "[a-z]{1,8}[ \n.]",
            1 => Just("Authorization: Bearer abcDEF123456789012 ".to_owned()),
            1 => Just("password=\"correct horse 9\" ".to_owned()),
            1 => Just("api_key:\n  \"abcdefgh12345678\"\n".to_owned()),
            1 => Just("postgres://me:sesame99@db/x ".to_owned()),
            1 => Just("sk-abcDEF0123456789abcdef ".to_owned()),
            1 => Just("hunter2hunter2".to_owned()),
            1 => Just("two words here ".to_owned()),
            1 => Just("-----BEGIN PRIVATE KEY-----\nAAAA+b\n-----END PRIVATE KEY-----\n".to_owned()),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]
        #[test]
        fn chunked_text_never_leaks_a_secret(
            pieces in proptest::collection::vec(text_piece(), 0..12),
            mut cuts in proptest::collection::vec(0usize..400, 0..12),
        ) {
            let text: String = pieces.concat();
            cuts.sort_unstable();
            let out = redact_in_chunks(&text, &cuts);
            for secret in ["abcDEF123456789012", "correct horse 9", "abcdefgh12345678", "sesame99",
                           "sk-abcDEF0123456789abcdef", "hunter2hunter2", "two words here", "AAAA+b"] {
                prop_assert!(!out.contains(secret), "{secret} in {out:?} of {text:?} cut at {cuts:?}");
            }
        }
    }
}
