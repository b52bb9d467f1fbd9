//! Finds the lines `// covers: R9, A4` above tests, and the name under which nextest reports each test.

mod home;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::points::Number;
use super::rust_source::{Piece, Token, tokens};
use home::Home;

/// A test as nextest names it.
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

/// One test's word that it covers one number. Fields stand in the order in which claims sort.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Claim {
    pub(super) number: Number,
    pub(super) test: TestId,
    /// `file:line` of the covers line.
    pub(super) place: String,
}

/// Every claim of the crates, and every covers line that cannot be one.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Claims {
    pub(super) claims: Vec<Claim>,
    pub(super) faults: Vec<String>,
}

/// Reads the sources and tests of all crates below `root`.
pub(super) fn scan(root: &Path) -> anyhow::Result<Claims> {
    let mut found = Claims::default();
    for krate in entries(&root.join("crates"))? {
        for folder in [krate.join("src"), krate.join("tests")] {
            for file in rust_files(&folder)? {
                let source = read(&file)?;
                let shown = file.strip_prefix(root).unwrap_or(&file).display().to_string();
                // Most files claim nothing; they need no crate, no module and no tokens.
                if mentions(&source) {
                    let home = Home::of(&krate, &file)?;
                    found.read_file(&shown, &source, home.as_ref());
                }
            }
        }
    }
    found.claims.sort();
    Ok(found)
}

fn mentions(source: &str) -> bool {
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

/// Lists a folder in order; a crate without tests has an empty list of them.
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
    /// Adds the claims of one file. Without a home its tests have no name that a claim could use.
    fn read_file(&mut self, file: &str, source: &str, home: Option<&Home>) {
        let mut reader =
            Reader { file, home, found: self, depth: 0, modules: Vec::new(), header: Header::default() };
        let tokens = tokens(source);
        let mut at = 0;
        while at < tokens.len() {
            at = reader.step(&tokens, at);
        }
        reader.close_header("the file ends");
    }
}

/// What stands above an item so far: comments and attributes.
#[derive(Debug, Default)]
struct Header {
    covers: Vec<(Number, usize)>,
    is_test: bool,
    last_line: usize,
}

struct Reader<'a> {
    file: &'a str,
    home: Option<&'a Home>,
    found: &'a mut Claims,
    depth: usize,
    /// Open inline modules and the depth outside each.
    modules: Vec<(String, usize)>,
    header: Header,
}

impl Reader<'_> {
    /// Takes in the token at `at` (an attribute as a whole) and returns where the next one stands.
    fn step(&mut self, tokens: &[Token<'_>], at: usize) -> usize {
        let token = &tokens[at];
        let next = tokens.get(at + 1).map(|token| token.piece);
        if !self.header.covers.is_empty() && token.first_line > self.header.last_line + 1 {
            self.close_header("an empty line follows");
        }
        let own_line = at.checked_sub(1).is_none_or(|before| tokens[before].last_line < token.first_line);
        let end = match (token.piece, next) {
            (Piece::Comment(text), _) => {
                self.comment(text, token.first_line, own_line);
                at + 1
            }
            (Piece::Mark('#'), Some(Piece::Mark('['))) => self.attribute(tokens, at),
            (Piece::Word("fn"), Some(Piece::Word(name))) => {
                self.function(name);
                at + 2
            }
            (Piece::Word("mod"), Some(Piece::Word(name))) => {
                self.close_header("a module follows");
                if tokens.get(at + 2).is_some_and(|token| token.piece == Piece::Mark('{')) {
                    self.modules.push((name.to_owned(), self.depth));
                }
                at + 2
            }
            (Piece::Word("async"), _) => at + 1,
            (piece, _) => {
                self.close_header("something else follows");
                self.mark(piece);
                at + 1
            }
        };
        self.header.last_line = tokens[end - 1].last_line;
        end
    }

    fn mark(&mut self, piece: Piece<'_>) {
        if piece == Piece::Mark('{') {
            self.depth += 1;
        } else if piece == Piece::Mark('}') {
            self.depth = self.depth.saturating_sub(1);
            if self.modules.last().is_some_and(|(_, outside)| *outside == self.depth) {
                self.modules.pop();
            }
        }
    }

    /// Takes in a comment: a covers line has one form and a line of its own, all else is passed over.
    fn comment(&mut self, text: &str, line: usize, own_line: bool) {
        let said = text.trim_start_matches(['/', '*', '!']).trim_start().to_ascii_lowercase();
        if !said.starts_with("covers:") {
            return;
        }
        let Some(numbers) = text.strip_prefix("// covers: ").filter(|_| own_line) else {
            return self
                .fault(line, "a claim is a line of its own: write `// covers: R9, A4` above the test");
        };
        for number in numbers.split(',') {
            match number.trim().parse() {
                Ok(number) => self.header.covers.push((number, line)),
                Err(error) => self.fault(line, &format!("{error}, with commas between")),
            }
        }
    }

    /// Takes in `#[…]` and returns where it ends; `#[test]` and `#[tokio::test(…)]` make a test.
    fn attribute(&mut self, tokens: &[Token<'_>], at: usize) -> usize {
        let inside = &tokens[at + 2..];
        let path_end = inside.iter().position(|token| matches!(token.piece, Piece::Mark(']' | '(' | '=')));
        let name = path_end.and_then(|end| inside[..end].last());
        self.header.is_test |= name.is_some_and(|name| name.piece == Piece::Word("test"));
        let mut open = 1_usize;
        for (length, token) in inside.iter().enumerate() {
            match token.piece {
                Piece::Mark('[') => open += 1,
                Piece::Mark(']') => open -= 1,
                Piece::Mark(_) | Piece::Word(_) | Piece::Literal | Piece::Comment(_) => {}
            }
            if open == 0 {
                return at + 2 + length + 1;
            }
        }
        tokens.len()
    }

    fn function(&mut self, name: &str) {
        if !self.header.is_test {
            return self.close_header(&format!("`fn {name}` is no test"));
        }
        let Header { covers, .. } = std::mem::take(&mut self.header);
        let Some(home) = self.home else {
            let advice = "a binary's own tests cannot claim: move the test to the library or to tests/it";
            return covers.iter().for_each(|(_, line)| self.fault(*line, advice));
        };
        let test = home.test(self.modules.iter().map(|(name, _)| name.as_str()), name);
        for (number, line) in covers {
            self.found.claims.push(Claim {
                number,
                test: test.clone(),
                place: format!("{}:{line}", self.file),
            });
        }
    }

    /// Ends what stands above an item that is no test; claims in it are faults, one a line.
    fn close_header(&mut self, why: &str) {
        let Header { mut covers, .. } = std::mem::take(&mut self.header);
        covers.dedup_by_key(|(_, line)| *line);
        for (_, line) in covers {
            self.fault(
                line,
                &format!(
                    "this claim has no test below it ({why}): put it directly above a test, or remove it"
                ),
            );
        }
    }

    fn fault(&mut self, line: usize, what: &str) {
        self.found.faults.push(format!("{}:{line}: {what}", self.file));
    }
}

#[cfg(test)]
mod tests;
