//! Finds the comments `// covers: R9, A4` above tests, and the nextest name of each test.

mod location;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::lexer::{Token, TokenKind, tokens};
use super::requirements::RequirementId;
use location::TestLocation;

/// The nextest name of a test.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TestId {
    /// `guildhall-x` for unit tests, `guildhall-x::it` for integration tests.
    pub(super) binary: String,
    /// Modules and function.
    pub(super) path: String,
}

impl fmt::Display for TestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.binary, self.path)
    }
}

/// A test that says it covers a requirement. The order of the fields is the sort order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Claim {
    pub(super) id: RequirementId,
    pub(super) test: TestId,
    /// `file:line` of the comment.
    pub(super) position: String,
}

/// Every claim in the crates, and the errors in `covers` comments.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Claims {
    pub(super) claims: Vec<Claim>,
    pub(super) errors: Vec<String>,
}

/// Reads the sources and tests of all crates below `root`.
pub(super) fn scan(root: &Path) -> anyhow::Result<Claims> {
    let mut found = Claims::default();
    for crate_dir in entries(&root.join("crates"))? {
        for folder in [crate_dir.join("src"), crate_dir.join("tests")] {
            for file in rust_files(&folder)? {
                let source = read(&file)?;
                let name = file.strip_prefix(root).unwrap_or(&file).display().to_string();
                // Most files have no claims: skip the manifest and the lexer for them.
                if contains_claim(&source) {
                    let location = TestLocation::of(&crate_dir, &file)?;
                    found.read_file(&name, &source, location.as_ref());
                }
            }
        }
    }
    found.claims.sort();
    Ok(found)
}

fn contains_claim(source: &str) -> bool {
    source.to_ascii_lowercase().contains("covers:")
}

fn rust_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in entries(folder)? {
        if entry.is_dir() {
            files.extend(rust_files(&entry)?);
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            files.push(entry);
        }
    }
    Ok(files)
}

/// Lists a folder in alphabetical order; a missing folder is empty.
fn entries(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let listed: Result<Vec<_>, _> = fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect());
    let mut paths = listed.with_context(|| format!("cannot list {}", folder.display()))?;
    paths.sort();
    Ok(paths)
}

fn read(file: &Path) -> anyhow::Result<String> {
    fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

impl Claims {
    /// Adds the claims of one file. Without a location its tests cannot claim anything.
    fn read_file(&mut self, file: &str, source: &str, location: Option<&TestLocation>) {
        let mut scanner = ClaimScanner {
            file,
            location,
            found: self,
            depth: 0,
            modules: Vec::new(),
            header: ItemHeader::default(),
        };
        let tokens = tokens(source);
        let mut at = 0;
        while at < tokens.len() {
            at = scanner.step(&tokens, at);
        }
        scanner.close_header("the file ends");
    }
}

/// The comments and attributes above an item.
#[derive(Debug, Default)]
struct ItemHeader {
    covers: Vec<(RequirementId, usize)>,
    is_test: bool,
    last_line: usize,
}

struct ClaimScanner<'a> {
    file: &'a str,
    location: Option<&'a TestLocation>,
    found: &'a mut Claims,
    depth: usize,
    /// Open inline modules and the depth outside each.
    modules: Vec<(String, usize)>,
    header: ItemHeader,
}

impl ClaimScanner<'_> {
    /// Processes the token at `at` (an attribute as a whole) and returns the index of the next one.
    fn step(&mut self, tokens: &[Token<'_>], at: usize) -> usize {
        let token = &tokens[at];
        let next = tokens.get(at + 1).map(|token| token.kind);
        if !self.header.covers.is_empty() && token.first_line > self.header.last_line + 1 {
            self.close_header("an empty line follows");
        }
        let own_line = at.checked_sub(1).is_none_or(|before| tokens[before].last_line < token.first_line);
        let end = match (token.kind, next) {
            (TokenKind::Comment(text), _) => {
                self.comment(text, token.first_line, own_line);
                at + 1
            }
            (TokenKind::Punctuation('#'), Some(TokenKind::Punctuation('['))) => self.attribute(tokens, at),
            (TokenKind::Word("fn"), Some(TokenKind::Word(name))) => {
                self.function(name);
                at + 2
            }
            (TokenKind::Word("mod"), Some(TokenKind::Word(name))) => {
                self.close_header("a module follows");
                if tokens.get(at + 2).is_some_and(|token| token.kind == TokenKind::Punctuation('{')) {
                    self.modules.push((name.to_owned(), self.depth));
                }
                at + 2
            }
            (TokenKind::Word("async"), _) => at + 1,
            (kind, _) => {
                self.close_header("something else follows");
                self.track_braces(kind);
                at + 1
            }
        };
        self.header.last_line = tokens[end - 1].last_line;
        end
    }

    fn track_braces(&mut self, kind: TokenKind<'_>) {
        if kind == TokenKind::Punctuation('{') {
            self.depth += 1;
        } else if kind == TokenKind::Punctuation('}') {
            self.depth = self.depth.saturating_sub(1);
            if self.modules.last().is_some_and(|(_, outside)| *outside == self.depth) {
                self.modules.pop();
            }
        }
    }

    /// Reads a `covers` comment, which has one form and its own line; ignores other comments.
    fn comment(&mut self, text: &str, line: usize, own_line: bool) {
        let content = text.trim_start_matches(['/', '*', '!']).trim_start().to_ascii_lowercase();
        if !content.starts_with("covers:") {
            return;
        }
        let Some(ids) = text.strip_prefix("// covers: ").filter(|_| own_line) else {
            return self
                .add_error(line, "a claim needs its own line: write `// covers: R9, A4` above the test");
        };
        for id in ids.split(',') {
            match id.trim().parse() {
                Ok(id) => self.header.covers.push((id, line)),
                Err(error) => self.add_error(line, &format!("{error}, separated by commas")),
            }
        }
    }

    /// Reads `#[…]` and returns the index after it; `#[test]` and `#[tokio::test(…)]` mark a test.
    fn attribute(&mut self, tokens: &[Token<'_>], at: usize) -> usize {
        let inside = &tokens[at + 2..];
        let path_end =
            inside.iter().position(|token| matches!(token.kind, TokenKind::Punctuation(']' | '(' | '=')));
        let name = path_end.and_then(|end| inside[..end].last());
        self.header.is_test |= name.is_some_and(|name| name.kind == TokenKind::Word("test"));
        let mut open = 1_usize;
        for (length, token) in inside.iter().enumerate() {
            match token.kind {
                TokenKind::Punctuation('[') => open += 1,
                TokenKind::Punctuation(']') => open -= 1,
                TokenKind::Punctuation(_)
                | TokenKind::Word(_)
                | TokenKind::Literal
                | TokenKind::Comment(_) => {}
            }
            if open == 0 {
                return at + 2 + length + 1;
            }
        }
        tokens.len()
    }

    fn function(&mut self, name: &str) {
        if !self.header.is_test {
            return self.close_header(&format!("`fn {name}` is not a test"));
        }
        let ItemHeader { covers, .. } = std::mem::take(&mut self.header);
        let Some(location) = self.location else {
            let advice = "tests in a binary's sources cannot claim requirements: move the test to the library or to tests/it";
            return covers.iter().for_each(|(_, line)| self.add_error(*line, advice));
        };
        let test = location.test(self.modules.iter().map(|(name, _)| name.as_str()), name);
        for (id, line) in covers {
            self.found.claims.push(Claim {
                id,
                test: test.clone(),
                position: format!("{}:{line}", self.file),
            });
        }
    }

    /// Ends the header of an item that is not a test; each line with claims in it is an error.
    fn close_header(&mut self, reason: &str) {
        let ItemHeader { mut covers, .. } = std::mem::take(&mut self.header);
        covers.dedup_by_key(|(_, line)| *line);
        for (_, line) in covers {
            self.add_error(
                line,
                &format!(
                    "this claim has no test below it ({reason}): put it directly above a test, or remove it"
                ),
            );
        }
    }

    fn add_error(&mut self, line: usize, message: &str) {
        self.found.errors.push(format!("{}:{line}: {message}", self.file));
    }
}

#[cfg(test)]
mod tests;
