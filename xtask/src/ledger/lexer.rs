//! A minimal lexer for Rust: words, punctuation and comments with their lines, enough to find tests.
//!
//! A line scanner would not do: braces in a raw string would open and close modules.

/// A token and the lines that it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind<'a>,
    pub(super) first_line: usize,
    pub(super) last_line: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind<'a> {
    /// A name, keyword or number.
    Word(&'a str),
    /// A string or character; its content is never code.
    Literal,
    /// With its slashes.
    Comment(&'a str),
    Punctuation(char),
}

/// Splits `source` into tokens. Invalid Rust gives odd tokens, never a panic.
pub(super) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut rest, mut line) = (source, 1);
    while let Some(first) = rest.chars().next() {
        let (kind, length) = first_token(rest, first);
        let last_line = line + rest[..length].matches('\n').count();
        if let Some(kind) = kind {
            tokens.push(Token { kind, first_line: line, last_line });
        }
        (rest, line) = (&rest[length..], last_line);
    }
    tokens
}

/// Returns the token at the start of `rest` (none for white space) and its length in bytes.
fn first_token(rest: &str, first: char) -> (Option<TokenKind<'_>>, usize) {
    if first.is_whitespace() {
        return (None, first.len_utf8());
    }
    if rest.starts_with("//") {
        let length = rest.find('\n').unwrap_or(rest.len());
        return (Some(TokenKind::Comment(&rest[..length])), length);
    }
    if rest.starts_with("/*") {
        let length = block_comment(rest);
        return (Some(TokenKind::Comment(&rest[..length])), length);
    }
    if let Some(length) = literal(rest) {
        return (Some(TokenKind::Literal), length);
    }
    let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    if word > 0 {
        (Some(TokenKind::Word(&rest[..word])), word)
    } else {
        (Some(TokenKind::Punctuation(first)), first.len_utf8())
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

/// Returns the length of the string or character literal at the start of `rest`, if there is one.
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
        '"' => Some(prefix.len() + quoted_length(body, '"')),
        '\'' if is_character(body) => Some(prefix.len() + quoted_length(body, '\'')),
        _ => None,
    }
}

/// Distinguishes a character (`'a'`, `'\n'`) from a lifetime (`'a`).
fn is_character(body: &str) -> bool {
    let mut chars = body.chars().skip(1);
    chars.next() == Some('\\') || chars.next() == Some('\'')
}

/// Returns the length of a quoted text with escapes, both quotes included.
fn quoted_length(body: &str, quote: char) -> usize {
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

    fn kinds(source: &str) -> Vec<TokenKind<'_>> {
        tokens(source).into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn literal_content_is_not_code() {
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
            assert_eq!(
                kinds(&format!("{literal};")),
                [TokenKind::Literal, TokenKind::Punctuation(';')],
                "{literal}"
            );
        }
    }

    #[test]
    fn lifetime_is_not_a_literal() {
        let expected = [
            TokenKind::Punctuation('&'),
            TokenKind::Punctuation('\''),
            TokenKind::Word("a"),
            TokenKind::Word("str"),
            TokenKind::Punctuation('{'),
        ];
        assert_eq!(kinds("&'a str {"), expected);
    }

    #[test]
    fn raw_identifier_is_a_word() {
        assert_eq!(
            kinds("r#fn brr"),
            [
                TokenKind::Word("r"),
                TokenKind::Punctuation('#'),
                TokenKind::Word("fn"),
                TokenKind::Word("brr")
            ]
        );
    }

    #[test]
    fn comments_are_tokens_and_block_comments_nest() {
        let source = "/* a /* b */ { */ x // } y\nz";
        let expected = [
            TokenKind::Comment("/* a /* b */ { */"),
            TokenKind::Word("x"),
            TokenKind::Comment("// } y"),
            TokenKind::Word("z"),
        ];
        assert_eq!(kinds(source), expected);
    }

    #[test]
    fn tokens_have_first_and_last_line() {
        let lines: Vec<_> =
            tokens("a\n\"b\nc\"\nd").iter().map(|token| (token.first_line, token.last_line)).collect();
        assert_eq!(lines, [(1, 1), (2, 3), (4, 4)]);
    }

    #[test]
    fn unterminated_literal_or_comment_extends_to_the_end() {
        for open in ["\"abc", "r#\"abc", "/* abc", "'\\", "'", "b", "é'é"] {
            assert!(!tokens(open).is_empty(), "{open}");
        }
    }
}
