//! A reader of Rust text that is just good enough to find tests: words, marks and comments, with their lines.
//!
//! Not a line scanner, because a test's JSON or Rust in a raw string would then open and close modules.

/// One piece of Rust text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) piece: Piece<'a>,
    pub(super) first_line: usize,
    pub(super) last_line: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// A name, keyword or number.
    Word(&'a str),
    /// A string or character; what it says is never code.
    Literal,
    /// With its slashes.
    Comment(&'a str),
    Mark(char),
}

/// Cuts `source` into tokens. Text that is not Rust gives odd tokens, never a panic.
pub(super) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut rest, mut line) = (source, 1);
    while let Some(first) = rest.chars().next() {
        let (piece, length) = piece(rest, first);
        let last_line = line + rest[..length].matches('\n').count();
        if let Some(piece) = piece {
            tokens.push(Token { piece, first_line: line, last_line });
        }
        (rest, line) = (&rest[length..], last_line);
    }
    tokens
}

/// Returns the piece at the start of `rest` (none for white space) and its length in bytes.
fn piece(rest: &str, first: char) -> (Option<Piece<'_>>, usize) {
    if first.is_whitespace() {
        return (None, first.len_utf8());
    }
    if rest.starts_with("//") {
        let length = rest.find('\n').unwrap_or(rest.len());
        return (Some(Piece::Comment(&rest[..length])), length);
    }
    if rest.starts_with("/*") {
        let length = block_comment(rest);
        return (Some(Piece::Comment(&rest[..length])), length);
    }
    if let Some(length) = literal(rest) {
        return (Some(Piece::Literal), length);
    }
    let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    if word > 0 {
        (Some(Piece::Word(&rest[..word])), word)
    } else {
        (Some(Piece::Mark(first)), first.len_utf8())
    }
}

/// Returns the length of a block comment; they nest.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        let here = &rest.as_bytes()[at..];
        if here.starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if here.starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
        } else {
            at += 1;
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// Returns the length of the string or character at the start of `rest`, if one stands there.
fn literal(rest: &str) -> Option<usize> {
    let prefix =
        ["br", "cr", "b", "c", "r"].into_iter().find(|prefix| rest.starts_with(prefix)).unwrap_or("");
    let body = &rest[prefix.len()..];
    if prefix.ends_with('r') {
        let hashes = body.len() - body.trim_start_matches('#').len();
        let text = body[hashes..].strip_prefix('"')?;
        let close = format!("\"{}", "#".repeat(hashes));
        let end = text.find(&close).map_or(text.len(), |end| end + close.len());
        return Some(prefix.len() + hashes + 1 + end);
    }
    match body.chars().next()? {
        '"' => Some(prefix.len() + quoted(body, '"')),
        '\'' if is_character(body) => Some(prefix.len() + quoted(body, '\'')),
        _ => None,
    }
}

/// Tells a character from a lifetime: `'a'` and `'\n'` against `'a`.
fn is_character(body: &str) -> bool {
    let mut chars = body.chars().skip(1);
    chars.next() == Some('\\') || chars.next() == Some('\'')
}

/// Returns the length of a quoted text with escapes, both quotes included.
fn quoted(body: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in body.char_indices().skip(1) {
        if c == quote && !escaped {
            return at + 1;
        }
        escaped = c == '\\' && !escaped;
    }
    body.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(source: &str) -> Vec<Piece<'_>> {
        tokens(source).into_iter().map(|token| token.piece).collect()
    }

    #[test]
    fn what_a_literal_says_is_not_code() {
        for literal in [
            r#""fn } // \" no""#,
            "r\"fn \\\"",
            "r##\"mod x { \"# } \"##",
            "br#\"}\"#",
            "b'}'",
            "'}'",
            "'\"'",
            r"'\''",
            r"'\\'",
            r#""\\""#,
        ] {
            assert_eq!(pieces(&format!("{literal};")), [Piece::Literal, Piece::Mark(';')], "{literal}");
        }
    }

    #[test]
    fn a_lifetime_opens_no_literal() {
        let expected =
            [Piece::Mark('&'), Piece::Mark('\''), Piece::Word("a"), Piece::Word("str"), Piece::Mark('{')];
        assert_eq!(pieces("&'a str {"), expected);
    }

    #[test]
    fn a_raw_name_is_a_word() {
        assert_eq!(
            pieces("r#fn brr"),
            [Piece::Word("r"), Piece::Mark('#'), Piece::Word("fn"), Piece::Word("brr")]
        );
    }

    #[test]
    fn comments_are_kept_and_block_comments_nest() {
        let source = "/* a /* b */ { */ x // } y\nz";
        let expected = [
            Piece::Comment("/* a /* b */ { */"),
            Piece::Word("x"),
            Piece::Comment("// } y"),
            Piece::Word("z"),
        ];
        assert_eq!(pieces(source), expected);
    }

    #[test]
    fn a_token_knows_its_lines() {
        let lines: Vec<_> =
            tokens("a\n\"b\nc\"\nd").iter().map(|token| (token.first_line, token.last_line)).collect();
        assert_eq!(lines, [(1, 1), (2, 3), (4, 4)]);
    }

    #[test]
    fn text_that_ends_in_the_middle_is_read_to_its_end() {
        for open in ["\"abc", "r#\"abc", "/* abc", "'\\", "'", "b", "é'é"] {
            assert!(!tokens(open).is_empty(), "{open}");
        }
    }
}
