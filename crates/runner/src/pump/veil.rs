//! Takes secrets out of text that comes in pieces: a secret that is split over pieces is caught, because the end of the
//! text is held back until what follows can no longer belong to it.

use std::sync::LazyLock;

use guildhall_domain::redact::redact;
use regex::Regex;
use secrecy::{ExposeSecret, SecretString};

/// Held back at most: a private key of any size in use is shorter. A text that gives no place to cut for longer is let
/// go as it is then, redacted.
const HELD_AT_MOST: usize = 64 * 1024;

/// Shorter values are too likely to be ordinary words.
const VALUE_AT_LEAST: usize = 6;

const KNOWN: &str = "[redacted:known]";

#[expect(clippy::expect_used, reason = "a constant, compiled by every test of this module")]
static TRIGGER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i-u)auth|bearer|basic|pass|pwd|token|secret|key|-----BEGIN").expect("the pattern is valid")
});

/// The secrets of a run, which are taken out by value, whatever their shape.
#[derive(Debug, Clone, Default)]
pub struct Known(Vec<SecretString>);

impl Known {
    /// Keeps the values worth looking for, the longest first: one may be a part of another.
    #[must_use]
    pub fn new(values: impl IntoIterator<Item = SecretString>) -> Self {
        let mut values: Vec<_> =
            values.into_iter().filter(|value| value.expose_secret().len() >= VALUE_AT_LEAST).collect();
        values.sort_by_key(|value| std::cmp::Reverse(value.expose_secret().len()));
        Self(values)
    }

    /// Takes the known values and everything that looks like a credential out of a text.
    #[must_use]
    pub fn clean(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for value in &self.0 {
            if text.contains(value.expose_secret()) {
                text = text.replace(value.expose_secret(), KNOWN);
            }
        }
        redact(&text).text.into_owned()
    }

    /// Returns the values with a gap in them: they may be cut between words.
    fn gapped(&self) -> impl Iterator<Item = &str> {
        let values = self.0.iter().map(|value| value.expose_secret());
        values.filter(|value| value.contains(char::is_whitespace))
    }

    /// Returns how much of a text's end may be the beginning of a value.
    fn reach(&self) -> usize {
        self.gapped().map(str::len).max().unwrap_or(0)
    }

    /// Returns where a value begins that a cut would divide.
    fn divided(&self, text: &str, cut: usize) -> Option<usize> {
        self.gapped().find_map(|value| {
            let from = floor(text, cut.saturating_sub(value.len()));
            let starts = text[from..].match_indices(value).map(|(at, _)| from + at);
            starts.into_iter().find(|start| *start < cut && cut < start + value.len())
        })
    }
}

/// The text of one item, on its way out.
#[derive(Debug)]
pub struct Veil {
    known: Known,
    held: String,
}

impl Veil {
    #[must_use]
    pub fn new(known: Known) -> Self {
        Self { known, held: String::new() }
    }

    /// Takes a piece in. Returns what can go out.
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let cut = match safe_cut(&self.held, &self.known) {
            0 if self.held.len() > HELD_AT_MOST => self.held.len(),
            cut => cut,
        };
        let rest = self.held.split_off(cut);
        let ready = std::mem::replace(&mut self.held, rest);
        if ready.is_empty() { ready } else { self.known.clean(&ready) }
    }

    /// Returns what was held back: nothing follows.
    pub fn finish(&mut self) -> String {
        let rest = std::mem::take(&mut self.held);
        if rest.is_empty() { rest } else { self.known.clean(&rest) }
    }
}

/// Returns the last place where a text can be cut so that no secret spans it: behind a gap between words, in a line
/// that does not speak of secrets, and not inside a private key.
fn safe_cut(text: &str, known: &Known) -> usize {
    let mut end = floor(text, text.len().saturating_sub(known.reach()));
    loop {
        let cut = text[..end].rfind(char::is_whitespace).map_or(0, |gap| next_char(text, gap));
        if cut == 0 {
            return 0;
        }
        if let Some(begin) = open_key(&text[..cut]).or_else(|| known.divided(text, cut)) {
            end = begin;
            continue;
        }
        let line = line_start(text, cut);
        if !TRIGGER.is_match(&text[line..cut]) {
            return cut;
        }
        // The whole line waits for its end.
        end = if line < cut { line } else { cut - 1 };
        end = floor(text, end);
    }
}

/// Returns where the line begins in which a place stands. A line that ends in a sign that promises a value goes on in
/// the next, and so do empty ones.
fn line_start(text: &str, at: usize) -> usize {
    let mut start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    loop {
        let before = text[..start].trim_end();
        let promises = before.ends_with([':', '=', '>', '\\', '"', '\'']);
        if start == 0 || !promises {
            return start;
        }
        start = before.rfind('\n').map_or(0, |newline| newline + 1);
    }
}

/// Returns where a private key begins that has not ended.
fn open_key(text: &str) -> Option<usize> {
    let begin = text.rfind("-----BEGIN")?;
    let end = text[begin..].find("-----END").map(|end| begin + end + "-----END".len());
    let is_closed = end.is_some_and(|end| text[end..].contains("-----"));
    (!is_closed).then_some(begin)
}

fn next_char(text: &str, at: usize) -> usize {
    text[at..].chars().next().map_or(at, |found| at + found.len_utf8())
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn known() -> Known {
        Known::new(["hunter2hunter2", "two words here"].map(SecretString::from))
    }

    fn piecewise(text: &str, cuts: &[usize]) -> String {
        let mut veil = Veil::new(known());
        let mut out = String::new();
        let mut from = 0;
        for cut in cuts {
            let at = floor(text, (*cut).min(text.len())).max(from);
            out.push_str(&veil.push(&text[from..at]));
            from = at;
        }
        out.push_str(&veil.push(&text[from..]));
        out.push_str(&veil.finish());
        out
    }

    #[test]
    fn ordinary_words_are_held_back_by_one_at_most() {
        let mut veil = Veil::new(Known::default());
        assert_eq!(veil.push("I will tidy your no"), "I will tidy your ");
        assert_eq!(veil.push("tes now. "), "notes now. ");
        assert_eq!(veil.finish(), "");
    }

    #[test]
    fn a_known_value_is_caught_wherever_it_is_split() {
        let text = "it says hunter2hunter2 and then two words here.";
        for at in 0..=text.len() {
            assert_eq!(piecewise(text, &[at]), "it says [redacted:known] and then [redacted:known].", "{at}");
        }
    }

    #[test]
    fn a_key_of_many_lines_is_caught_wherever_it_is_split() {
        let text = "here:\n-----BEGIN RSA PRIVATE KEY-----\nMIIEow+a\nbbbb/cc==\n-----END RSA PRIVATE KEY-----\ndone";
        let whole = known().clean(text);
        assert!(!whole.contains("MIIE") && whole.ends_with("done"), "{whole}");
        for at in 0..=text.len() {
            assert_eq!(piecewise(text, &[at, at + 9]), whole, "{at}");
        }
    }

    #[test]
    fn a_text_without_a_gap_is_let_go_in_the_end() {
        let mut veil = Veil::new(Known::default());
        let released: usize = (0..200).map(|_| veil.push(&"x".repeat(1024)).len()).sum();
        assert!(released >= 100 * 1024 && veil.held.len() <= HELD_AT_MOST + 1024);
    }

    fn piece() -> impl Strategy<Value = String> {
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
        fn however_a_text_is_cut_no_secret_gets_through(
            pieces in proptest::collection::vec(piece(), 0..12),
            mut cuts in proptest::collection::vec(0usize..400, 0..12),
        ) {
            let text: String = pieces.concat();
            cuts.sort_unstable();
            let out = piecewise(&text, &cuts);
            for secret in ["abcDEF123456789012", "correct horse 9", "abcdefgh12345678", "sesame99",
                           "sk-abcDEF0123456789abcdef", "hunter2hunter2", "two words here", "AAAA+b"] {
                prop_assert!(!out.contains(secret), "{secret} in {out:?} of {text:?} cut at {cuts:?}");
            }
        }
    }
}
