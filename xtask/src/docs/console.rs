//! Console blocks: commands with their expected output.

use std::net::Ipv4Addr;

use super::markdown::{Block, Document};

/// A command of a console block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) line: usize,
    pub(super) command: String,
    pub(super) expected: Vec<String>,
}

/// Marks the blocks of documents that need agents.
const WITH_AGENTS: &str = "console,agents";

/// Returns the commands that run. Blocks with `norun` are left out.
pub(super) fn steps(document: &Document) -> Vec<Step> {
    let runs = |block: &&Block| [WITH_AGENTS, "console"].contains(&block.info.as_str());
    document.blocks.iter().filter(runs).flat_map(parse).collect()
}

/// Returns whether the commands need agents and a model.
pub(super) fn needs_agents(document: &Document) -> bool {
    document.blocks.iter().any(|block| block.info == WITH_AGENTS)
}

/// Returns the commands of all console blocks.
pub(super) fn all_steps(document: &Document) -> Vec<Step> {
    let is_console = |block: &&Block| block.info.split(',').next() == Some("console");
    document.blocks.iter().filter(is_console).flat_map(parse).collect()
}

/// Returns the files of blocks such as `json,file=manifest.json`: their names and contents.
pub(super) fn files(document: &Document) -> Vec<(&str, String)> {
    let files = document.blocks.iter().filter_map(|block| {
        let (_, name) = block.info.split_once(",file=")?;
        Some((name, format!("{}\n", block.lines.join("\n"))))
    });
    files.collect()
}

fn parse(block: &Block) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for (index, line) in block.lines.iter().enumerate() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => {
                let line = block.line + index;
                steps.push(Step { line, command: command.to_owned(), expected: Vec::new() });
            }
            (None, Some(step)) => step.expected.push(line.clone()),
            // Output without a command belongs to no command and is not checked.
            (None, None) => {}
        }
    }
    steps
}

/// Returns whether the output matches. `...` matches any lines, `…` any text in a line. Blank lines, ids, times, ports,
/// versions and durations are ignored.
pub(super) fn matches(expected: &[String], actual: &str) -> bool {
    let is_visible = |line: &&str| !line.trim().is_empty();
    let expected: Vec<String> = expected.iter().map(String::as_str).filter(is_visible).map(mask).collect();
    let actual: Vec<String> = actual.lines().filter(is_visible).map(mask).collect();
    lines_match(&expected, &actual)
}

fn lines_match(expected: &[String], actual: &[String]) -> bool {
    let Some((first, rest)) = expected.split_first() else { return actual.is_empty() };
    if first == "..." {
        return (0..=actual.len()).any(|skipped| lines_match(rest, &actual[skipped..]));
    }
    let Some((line, others)) = actual.split_first() else { return false };
    line_matches(first, line) && lines_match(rest, others)
}

/// Compares a line with a pattern in which `…` stands for any text.
fn line_matches(pattern: &str, line: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('…') else { return pattern == line };
    let Some(mut line) = line.strip_prefix(start) else { return false };
    let mut parts = rest.split('…').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return line.ends_with(part);
        }
        let Some(at) = line.find(part) else { return false };
        line = &line[at + part.len()..];
    }
    true
}

/// Replaces what differs between two runs, and collapses white space.
pub(super) fn mask(line: &str) -> String {
    let mut words: Vec<String> = line.split_whitespace().map(mask_word).collect();
    for index in 1..words.len() {
        let is_unit = ["s", "ms", "min", "h", "d"].contains(&words[index].trim_end_matches(['.', ',']));
        if is_unit && is_number(&words[index - 1]) {
            words[index - 1] = "<n>".to_owned();
        }
    }
    words.join(" ")
}

/// Masks the tokens of a word such as `(prn_0192…)`.
fn mask_word(word: &str) -> String {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "_.:-…".contains(c);
    let mut masked = String::new();
    let mut rest = word;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_token(c)).unwrap_or(rest.len());
        let token = rest[..end].trim_end_matches(['.', ':']);
        masked.push_str(&mask_token(token));
        masked.push_str(&rest[token.len()..end]);
        rest = &rest[end..];
        let end = rest.find(is_token).unwrap_or(rest.len());
        masked.push_str(&rest[..end]);
        rest = &rest[end..];
    }
    masked
}

fn mask_token(token: &str) -> String {
    let is_hex = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    if let Some((prefix, rest)) = token.split_once('_') {
        if prefix.len() == 3 && rest.len() == 32 && is_hex(rest) {
            return format!("{prefix}_<id>");
        }
        if prefix.len() == 3 && prefix.starts_with("gh") && !rest.is_empty() {
            return format!("{prefix}_<secret>");
        }
    }
    if let Some((host, port)) = token.rsplit_once(':')
        && host.parse::<Ipv4Addr>().is_ok()
        && is_number(port)
    {
        return format!("{host}:<port>");
    }
    if is_time(token) {
        return "<time>".to_owned();
    }
    let has_digit = token.bytes().any(|b| b.is_ascii_digit());
    if [8, 12, 16, 32, 40, 64].contains(&token.len()) && is_hex(token) && has_digit {
        return "<hash>".to_owned();
    }
    let is_version = token.contains('.') && token.split('.').all(is_number);
    if is_version { "<n>".to_owned() } else { token.to_owned() }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Returns whether a token is an RFC 3339 time, or a date.
fn is_time(token: &str) -> bool {
    let digits = |range: std::ops::Range<usize>| token.get(range).is_some_and(is_number);
    digits(0..4) && digits(5..7) && digits(8..10) && token.as_bytes().get(4) == Some(&b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn block_is_split_into_commands_and_expected_output() {
        let text = "```console\n$ one\nout\n$ two\n```\n```console,norun\n$ three\n```\n";
        let document = Document::parse("x.md".to_owned(), text);
        let step = |line, command: &str, expected| Step { line, command: command.to_owned(), expected };
        let ran = vec![step(2, "one", lines("out")), step(4, "two", Vec::new())];
        assert_eq!(steps(&document), ran);
        assert_eq!(all_steps(&document), [ran, vec![step(7, "three", Vec::new())]].concat());
    }

    #[test]
    fn blocks_with_a_file_name_are_files() {
        let text = "```json,file=a.json\n{\n}\n```\n```json\n[]\n```\n";
        let document = Document::parse("x.md".to_owned(), text);
        assert_eq!(files(&document), [("a.json", "{\n}\n".to_owned())]);
    }

    #[test]
    fn comparison_ignores_ids_times_ports_versions_and_widths() {
        let expected = "guildhall 0.1.0   at http://127.0.0.1:7117/docs\n\
                        as admin (prn_01a1de9be882760098cb5c2cbae6ba1b);  2026-11-15T04:46:29Z\n\
                        Ready in 1.3 s. age 1 s\nghk_…\nhash 5aa49e43";
        let actual = "guildhall 0.2.11 at http://127.0.0.1:33025/docs\n\n\
                      as admin (prn_0000000000760098cb5c2cbae6ba1baa); 2027-01-01T00:00:00.5Z\n\
                      Ready in 12.5 s. age 22 s\nghk_Ab-3_x\nhash 0123abcd";
        assert!(matches(&lines(expected), actual));
    }

    #[test]
    fn ellipses_match_any_lines_and_any_text() {
        assert!(matches(&lines("a\n...\nd"), "a\nb\nc\nd"));
        assert!(matches(&lines("...\ncompleted"), "completed"));
        assert!(matches(&lines("signed in … as … now"), "signed in to x as y now"));
        assert!(!matches(&lines("signed in … as … now"), "signed in to x as y then"));
    }

    #[test]
    fn planted_faults_in_expected_output_are_found() {
        let actual = "created run_01a1de9be882760098cb5c2cbae6ba1b\ncompleted";
        assert!(matches(&lines("created run_01a1de9be882760098cb5c2cbae6ba1b\ncompleted"), actual));
        for wrong in [
            "made run_01a1de9be882760098cb5c2cbae6ba1b\ncompleted",
            "created cmd_01a1de9be882760098cb5c2cbae6ba1b\ncompleted",
            "created run_01a1de9be882760098cb5c2cbae6ba1b\nfailed",
            "created run_01a1de9be882760098cb5c2cbae6ba1b",
            "created run_01a1de9be882760098cb5c2cbae6ba1b\ncompleted\nmore",
            "",
        ] {
            assert!(!matches(&lines(wrong), actual), "{wrong}");
        }
    }
}
