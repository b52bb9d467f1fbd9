//! The credential patterns as one regular expression, and the filter for its false positives.
//!
//! The regex engine searches in linear time. Iterating over all matches stays linear only if no match makes the next
//! search read far ahead again. Two rules ensure that: no pattern requires a terminator that may be missing (a quoted
//! value needs no closing quote, a private key no last line), and a key inside a run of key characters consumes the
//! whole run.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::kind::CredentialKind;

/// A match of the regular expression.
pub(super) struct CredentialMatch {
    /// The range of the secret.
    pub(super) secret: Range<usize>,
    /// `None` for a false positive.
    pub(super) kind: Option<CredentialKind>,
    /// Where to continue the search. Always after the start of the match.
    pub(super) resume: usize,
}

// The expression spells out `\s` and `\b` in ASCII, because the build excludes the Unicode tables. A key may follow an
// escape in JSON text (`\nghp_…`), where the letter of the escape hides the word boundary.
const PATTERN: &str = r##"(?x)
    # scheme://user:password@host; without a password only for HTTP, where a user alone is a token
      ://(?P<url> [^\x20\t\r\n/?\#"'<>\\@:]* : [^\x20\t\r\n/?\#"'<>\\]+ ) @
    | (?i-u:https?)://(?P<url_token> [^\x20\t\r\n/?\#"'<>\\]+ ) @

    | -----BEGIN\x20 (?:[A-Z0-9]+\x20){0,4} PRIVATE\x20KEY (?:\x20BLOCK)? -----
      (?P<pem> (?:[A-Za-z0-9+/=\x20\t\r\n\\:,.] | -[A-Za-z0-9])+ )
      (?: -----END\x20 (?:[A-Z0-9]+\x20){0,4} PRIVATE\x20KEY (?:\x20BLOCK)? ----- )?

    | (?: (?-u:\b) | _ | \\[bfnrt] ) (?:
          (?P<guildhall> gh[krieb]_[0-9a-f]{32}_[A-Za-z0-9_-]{20,} )
        | (?P<jwt> eyJ[A-Za-z0-9_-]{5,} \. [A-Za-z0-9_-]{4,} \. [A-Za-z0-9_.-]* )
        | (?P<provider> (?:
              gh[pousr]_[A-Za-z0-9]{20} | github_pat_[A-Za-z0-9]{20} | glpat-[A-Za-z0-9_-]{20}
            | (?:AKIA|ASIA)[A-Z0-9]{16} | AIza[A-Za-z0-9_-]{30} | xox[abeoprs]-[A-Za-z0-9-]{10}
            | hf_[A-Za-z0-9]{30} | npm_[A-Za-z0-9]{36}
          ) [A-Za-z0-9_-]* )
        | (?P<sk> sk-[A-Za-z0-9_-]{16,} )
      )

    | (?i-u:authorization) \\*["']? [\x20\t]{0,8} [:=] [\x20\t]{0,8} \\*["']? (?:
          (?i-u:bearer|basic|token|digest|negotiate|ntlm|apikey|bot) [\x20\t]{1,8} (?P<scheme> [^\x20\t\r\n"'\\]+ )
        | (?P<header> [^\x20\t\r\n"'\\{\[(<=:] [^\x20\t\r\n"'\\]{7,} )
      )
    | (?-u:\b) (?i-u:bearer|basic) [\x20\t]{1,8} (?P<bearer> [A-Za-z0-9._~+/=-]{8,} )

    | (?i-u:passw(?:or)?d) (?:
          \\*["']? [\x20\t]{0,8} (?:=>|:=|[:=]) [\x20\t\r\n]{0,8} (?:
              "(?P<password_double> (?:[^"\\\r\n]|\\.)+ )
            | '(?P<password_single> (?:[^'\\\r\n]|\\.)+ )
            | \\+["'](?P<password_escaped> [^"'\\\r\n]+ )
          )
        | =(?P<password_dsn> [^\x20\t\r\n"'\\=>]  [^\x20\t\r\n"'\\]* )
        | [\x20\t]{0,8} (?:=>|:=|[:=]) [\x20\t]{0,8} (?P<password_bare> [^\x20\t\r\n"'\\{\[(<=:>] [^\x20\t\r\n"'\\]{7,} )
      )
    | (?i-u:pwd) =(?P<pwd> [^\x20\t\r\n"'\\=/~] [^\x20\t\r\n"'\\]* )

    | (?i-u:api[_-]?key|access[_-]?key|private[_-]?key|token|secret) (?:
          \\*["']? [\x20\t]{0,8} (?:=>|:=|[:=]) [\x20\t\r\n]{0,8} (?:
              "(?P<field_double> (?:[^"\\\r\n]|\\.){8,} )
            | '(?P<field_single> (?:[^'\\\r\n]|\\.){8,} )
            | \\+["'](?P<field_escaped> [^"'\\\r\n]{8,} )
          )
        | [\x20\t]{0,8} (?:=>|:=|[:=]) [\x20\t]{0,8} (?P<field_bare> [^\x20\t\r\n"'\\{\[(<=:>] [^\x20\t\r\n"'\\]{7,} )
      )
"##;

/// The capture groups in order, with their credential kind and false-positive filter.
const GROUPS: &[(&str, CredentialKind, FalsePositive)] = &[
    ("url", CredentialKind::Url, FalsePositive::UserOnly),
    ("url_token", CredentialKind::Url, FalsePositive::Marker),
    ("pem", CredentialKind::PrivateKey, FalsePositive::None),
    ("guildhall", CredentialKind::Guildhall, FalsePositive::None),
    ("jwt", CredentialKind::Jwt, FalsePositive::None),
    ("provider", CredentialKind::ProviderKey, FalsePositive::None),
    ("sk", CredentialKind::ProviderKey, FalsePositive::PlainWords),
    ("scheme", CredentialKind::Authorization, FalsePositive::PlainWord),
    ("header", CredentialKind::Authorization, FalsePositive::Marker),
    ("bearer", CredentialKind::Authorization, FalsePositive::PlainWord),
    ("password_double", CredentialKind::Password, FalsePositive::Marker),
    ("password_single", CredentialKind::Password, FalsePositive::Marker),
    ("password_escaped", CredentialKind::Password, FalsePositive::Marker),
    ("password_dsn", CredentialKind::Password, FalsePositive::Marker),
    ("password_bare", CredentialKind::Password, FalsePositive::Marker),
    ("pwd", CredentialKind::Password, FalsePositive::Marker),
    ("field_double", CredentialKind::Field, FalsePositive::Sentence),
    ("field_single", CredentialKind::Field, FalsePositive::Sentence),
    ("field_escaped", CredentialKind::Field, FalsePositive::Sentence),
    ("field_bare", CredentialKind::Field, FalsePositive::Code),
];

/// How to recognise a false positive of a group.
#[derive(Debug, Clone, Copy)]
enum FalsePositive {
    None,
    /// The value is already a marker.
    Marker,
    /// A user without a password, whose name contains a marker.
    UserOnly,
    /// A word of prose, as in "basic understanding".
    PlainWord,
    /// Words joined by dashes, as in the CSS class `sk-circle-fade-dot`.
    PlainWords,
    /// Several words in quotes, as in `"token": "the name of the token"`.
    Sentence,
    /// An unquoted word or expression after a space, as in `token: CancellationToken` or `token: Permission denied`. A value
    /// right after the sign, as in `TOKEN=value`, is always a secret.
    Code,
}

#[expect(clippy::expect_used, reason = "a constant that every test of this module compiles")]
static CREDENTIAL: LazyLock<Regex> = LazyLock::new(|| Regex::new(PATTERN).expect("the pattern is valid"));

/// Finds the first match at or after `from`.
pub(super) fn find_next(text: &str, from: usize) -> Option<CredentialMatch> {
    // Search without capture groups first: most texts have no match, and this is several times faster.
    let start = CREDENTIAL.find_at(text, from)?.start();
    let captures = CREDENTIAL.captures_at(text, start)?;
    Some(classify(&captures))
}

fn classify(captures: &Captures<'_>) -> CredentialMatch {
    let whole = captures.get_match().range();
    let matched = GROUPS.iter().find_map(|(name, kind, filter)| Some((captures.name(name)?, *kind, *filter)));
    let Some((secret, kind, filter)) = matched else {
        return CredentialMatch { secret: whole.clone(), kind: None, resume: whole.end };
    };
    let value = secret.as_str();
    let is_false_positive = match filter {
        FalsePositive::None => false,
        FalsePositive::Marker => CredentialKind::is_marker(value.trim()),
        FalsePositive::UserOnly => !CredentialKind::without_markers(value).contains(':'),
        FalsePositive::PlainWord => CredentialKind::is_marker(value) || looks_like_words(value),
        FalsePositive::PlainWords => looks_like_words(value),
        FalsePositive::Sentence => CredentialKind::is_marker(value.trim()) || is_sentence(value),
        FalsePositive::Code => {
            let sign = &captures.get_match().as_str()[..secret.start() - whole.start];
            CredentialKind::is_marker(value) || (sign.ends_with([' ', '\t']) && is_code(value))
        }
    };
    let resume = match (is_false_positive, filter) {
        // The match may contain another credential. Such matches do not overlap, so the text is read at most twice.
        (true, FalsePositive::UserOnly | FalsePositive::PlainWord) => whole.start + 1,
        (true, FalsePositive::Sentence | FalsePositive::Code) => secret.start(),
        (true, FalsePositive::None | FalsePositive::Marker | FalsePositive::PlainWords) | (false, _) => {
            whole.end
        }
    };
    CredentialMatch { secret: secret.range(), kind: (!is_false_positive).then_some(kind), resume }
}

/// Returns whether a text looks like words, not random characters: no digits, and capitals only at the start.
fn looks_like_words(text: &str) -> bool {
    !text.bytes().skip(1).any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
}

/// Returns whether a text is several words without digits.
fn is_sentence(text: &str) -> bool {
    text.trim().contains(' ') && text.split(' ').all(is_words)
}

/// Returns whether a text is an identifier, a path of identifiers, or an expression of a programming language.
fn is_code(text: &str) -> bool {
    // Of an expression, the first name is enough: `Option<String>`, `load(path)`.
    text.starts_with('$') || text.split(['(', '<', '[', '{']).next().is_some_and(is_words)
}

/// Returns whether a text is names without digits, joined by punctuation: `snake_case`, `camelCase`, `TypeName`, `CONSTANT`.
fn is_words(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric()).all(is_name)
}

/// Returns whether letters form one name: all of one case, or in camel case with at least two letters in each part.
fn is_name(text: &str) -> bool {
    let letters = text.as_bytes();
    if letters.iter().any(u8::is_ascii_digit) {
        return false;
    }
    let is_constant = letters.iter().all(u8::is_ascii_uppercase);
    let has_lone_capital = |pair: &[u8]| pair[0].is_ascii_uppercase() && !pair[1].is_ascii_lowercase();
    let is_camel_case =
        !letters.windows(2).any(has_lone_capital) && !letters.last().is_some_and(u8::is_ascii_uppercase);
    is_constant || is_camel_case
}

/// Returns capture groups that are missing in [`GROUPS`]; their matches would be ignored.
#[cfg(test)]
pub(super) fn unlisted_groups() -> Vec<String> {
    let known = |name: &&str| GROUPS.iter().any(|(group, ..)| group == name);
    CREDENTIAL.capture_names().flatten().filter(|name| !known(name)).map(str::to_owned).collect()
}
