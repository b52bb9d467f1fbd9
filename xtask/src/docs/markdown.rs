//! The parts of a Markdown document that the checks need.

/// A parsed document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Document {
    /// Path relative to the root of the repository.
    pub(super) path: String,
    pub(super) blocks: Vec<Block>,
    pub(super) links: Vec<Located>,
    pub(super) spans: Vec<Located>,
    /// Anchors of the headings, as GitHub and mdBook name them.
    pub(super) anchors: Vec<String>,
}

/// A fenced code block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    /// Line of its first line of content.
    pub(super) line: usize,
    /// Language and options, such as `console,norun`.
    pub(super) info: String,
    pub(super) lines: Vec<String>,
}

/// A text and its line number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Located {
    pub(super) line: usize,
    pub(super) text: String,
}

impl Document {
    pub(super) fn parse(path: String, text: &str) -> Self {
        let mut document = Self { path, ..Self::default() };
        let mut fence: Option<(String, Block)> = None;
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            let trimmed = line.trim_start();
            match fence.take() {
                Some((mark, block)) if trimmed.trim_end() == mark => document.blocks.push(block),
                Some((mark, mut block)) => {
                    block.lines.push(line.to_owned());
                    fence = Some((mark, block));
                }
                None if trimmed.starts_with("```") => {
                    let mark: String = trimmed.chars().take_while(|c| *c == '`').collect();
                    let info = trimmed[mark.len()..].trim().to_owned();
                    fence = Some((mark, Block { line: number + 1, info, lines: Vec::new() }));
                }
                None => document.add_line(number, line),
            }
        }
        document
    }

    fn add_line(&mut self, number: usize, line: &str) {
        if let Some(heading) = heading(line) {
            let anchor = anchor(heading);
            let earlier = self.anchors.iter().filter(|known| **known == anchor).count();
            self.anchors.push(if earlier == 0 { anchor } else { format!("{anchor}-{earlier}") });
        }
        let (spans, rest) = split_spans(line);
        self.spans.extend(spans.into_iter().map(|text| Located { line: number, text }));
        self.links.extend(links(&rest).into_iter().map(|text| Located { line: number, text }));
    }

    /// Returns where a line of this document is, for messages.
    pub(super) fn at(&self, line: usize) -> String {
        format!("{}:{line}", self.path)
    }
}

fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    (text.len() < line.len() && text.starts_with(' ')).then(|| text.trim())
}

/// Returns the anchor of a heading: lower case, dashes for spaces, without punctuation.
fn anchor(heading: &str) -> String {
    let lower = heading.to_lowercase();
    let kept = lower.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Returns the code spans of a line, and the line without them.
fn split_spans(line: &str) -> (Vec<String>, String) {
    let (mut spans, mut rest) = (Vec::new(), String::new());
    for (index, part) in line.split('`').enumerate() {
        if index % 2 == 1 {
            spans.push(part.to_owned());
        } else {
            rest.push_str(part);
        }
    }
    (spans, rest)
}

/// Returns the targets of `[text](target)`.
fn links(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(start) = rest.find("](") {
        rest = &rest[start + 2..];
        let Some(end) = rest.find(')') else { break };
        found.push(rest[..end].to_owned());
        rest = &rest[end..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# The title\n\nSee [`a` page](a.md#part) and `code`.\n\n```console,norun\n$ ls\n```\n\n\
                        ## Set up `x`, then y\n## The title\n";

    #[test]
    fn document_has_links_spans_blocks_and_anchors() {
        let document = Document::parse("x.md".to_owned(), TEXT);
        assert_eq!(document.links, [Located { line: 3, text: "a.md#part".to_owned() }]);
        let spans: Vec<&str> = document.spans.iter().map(|span| span.text.as_str()).collect();
        assert_eq!(spans, ["a", "code", "x"]);
        let block = Block { line: 6, info: "console,norun".to_owned(), lines: vec!["$ ls".to_owned()] };
        assert_eq!(document.blocks, [block]);
        assert_eq!(document.anchors, ["the-title", "set-up-x-then-y", "the-title-1"]);
    }

    #[test]
    fn link_in_a_code_block_or_span_is_no_link() {
        let document = Document::parse("x.md".to_owned(), "```\n[a](b)\n```\n`[a](b)`\n");
        assert_eq!(document.links, []);
    }
}
