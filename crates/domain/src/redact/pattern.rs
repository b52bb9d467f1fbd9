//! The shapes of credentials, as one expression, and the second thoughts about what it matches.
//!
//! The expression engine searches in linear time; going through all matches of a text stays linear only when no match
//! makes the next search read far ahead again. Two rules see to that: nothing waits for an end that may never
//! come (a quoted value needs no closing quote, a private key no last line), and a key found inside a run of key
//! characters takes the whole run.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::kind::Kind;

/// What the next match is, and where to search on.
pub(super) struct Finding {
    /// The part that is secret.
    pub(super) secret: Range<usize>,
    /// None for what only looked like a credential.
    pub(super) kind: Option<Kind>,
    /// Always behind the start of the match.
    pub(super) resume: usize,
}

// In the expression below, `\s` and `\b` are spelled out in ASCII: the tables of Unicode are left out of the build. A
// key may follow an escape in JSON text (`\nghp_…`), where the letter of the escape hides the beginning of the word.
const PATTERN: &str = r##"(?x)
    # scheme://user:password@host; without a password only for HTTP, where a lone user is a token
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

/// The groups of the expression, in their order in it, with what each one means.
const GROUPS: &[(&str, Kind, Doubt)] = &[
    ("url", Kind::Url, Doubt::UserAlone),
    ("url_token", Kind::Url, Doubt::Marker),
    ("pem", Kind::PrivateKey, Doubt::None),
    ("guildhall", Kind::Guildhall, Doubt::None),
    ("jwt", Kind::Jwt, Doubt::None),
    ("provider", Kind::ProviderKey, Doubt::None),
    ("sk", Kind::ProviderKey, Doubt::PlainWords),
    ("scheme", Kind::Authorization, Doubt::PlainWord),
    ("header", Kind::Authorization, Doubt::Marker),
    ("bearer", Kind::Authorization, Doubt::PlainWord),
    ("password_double", Kind::Password, Doubt::Marker),
    ("password_single", Kind::Password, Doubt::Marker),
    ("password_escaped", Kind::Password, Doubt::Marker),
    ("password_dsn", Kind::Password, Doubt::Marker),
    ("password_bare", Kind::Password, Doubt::Marker),
    ("pwd", Kind::Password, Doubt::Marker),
    ("field_double", Kind::Field, Doubt::Marker),
    ("field_single", Kind::Field, Doubt::Marker),
    ("field_escaped", Kind::Field, Doubt::Marker),
    ("field_bare", Kind::Field, Doubt::Marker),
];

/// What can speak against a match.
#[derive(Debug, Clone, Copy)]
enum Doubt {
    None,
    /// It was redacted before.
    Marker,
    /// A user without a password, whose name holds one of our marks.
    UserAlone,
    /// One word of prose, as in "basic understanding".
    PlainWord,
    /// Words with dashes between them, as in a style's `sk-circle-fade-dot`.
    PlainWords,
}

#[expect(clippy::expect_used, reason = "a constant, compiled by every test of this module")]
static CREDENTIAL: LazyLock<Regex> = LazyLock::new(|| Regex::new(PATTERN).expect("the pattern is valid"));

/// Finds the first credential at or behind a place.
pub(super) fn next(text: &str, from: usize) -> Option<Finding> {
    // Without groups first: most texts have no match, and this search is several times faster.
    let start = CREDENTIAL.find_at(text, from)?.start();
    let captures = CREDENTIAL.captures_at(text, start)?;
    Some(weigh(&captures))
}

fn weigh(captures: &Captures<'_>) -> Finding {
    let whole = captures.get_match().range();
    let matched = GROUPS.iter().find_map(|(name, kind, doubt)| Some((captures.name(name)?, *kind, *doubt)));
    let Some((secret, kind, doubt)) = matched else {
        return Finding { secret: whole.clone(), kind: None, resume: whole.end };
    };
    let value = secret.as_str();
    let dismissed = match doubt {
        Doubt::None => false,
        Doubt::Marker => Kind::is_marker(value.trim()),
        Doubt::UserAlone => !Kind::without_markers(value).contains(':'),
        Doubt::PlainWord => Kind::is_marker(value) || is_plain(value),
        Doubt::PlainWords => is_plain(value),
    };
    let resume = match (dismissed, doubt) {
        // Another credential may stand inside; these matches do not overlap each other, so the text is read twice at most.
        (true, Doubt::UserAlone | Doubt::PlainWord) => whole.start + 1,
        (true, Doubt::None | Doubt::Marker | Doubt::PlainWords) | (false, _) => whole.end,
    };
    Finding { secret: secret.range(), kind: (!dismissed).then_some(kind), resume }
}

/// Says whether a text is words rather than something drawn at random: no digit and no capital behind its first letter.
fn is_plain(text: &str) -> bool {
    !text.bytes().skip(1).any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
}

/// Names the groups that [`GROUPS`] lacks: a match of one would be dismissed.
#[cfg(test)]
pub(super) fn groups_without_meaning() -> Vec<String> {
    let known = |name: &&str| GROUPS.iter().any(|(group, ..)| group == name);
    CREDENTIAL.capture_names().flatten().filter(|name| !known(name)).map(str::to_owned).collect()
}
