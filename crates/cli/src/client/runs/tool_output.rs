//! The output of running tools, of which only the tail is shown.

use std::collections::VecDeque;

use crate::output::sanitize_line;

/// Lines shown of the output of a tool.
const TAIL_LINES: usize = 5;

/// Characters kept of a line.
const MAX_LINE_CHARS: usize = 160;

/// Tools that are tracked at a time. The oldest is dropped when there are more.
const MAX_OPEN_TOOLS: usize = 32;

/// The tools that have not ended, oldest first.
#[derive(Debug, Default)]
pub(super) struct ToolQueue(VecDeque<OpenTool>);

/// A tool that has not ended, with the tail of its output.
#[derive(Debug)]
pub(super) struct OpenTool {
    call: String,
    pub(super) name: String,
    tail: VecDeque<String>,
    lines: usize,
    /// Whether the last line may continue.
    in_line: bool,
}

impl ToolQueue {
    pub(super) fn start(&mut self, call: &str, name: String) {
        if self.0.iter().any(|tool| tool.call == call) {
            return;
        }
        if self.0.len() == MAX_OPEN_TOOLS {
            self.0.pop_front();
        }
        let tail = VecDeque::new();
        self.0.push_back(OpenTool { call: call.to_owned(), name, tail, lines: 0, in_line: false });
    }

    pub(super) fn end(&mut self, call: &str) -> Option<OpenTool> {
        let at = self.0.iter().position(|tool| tool.call == call)?;
        self.0.remove(at)
    }

    /// Removes all tools, at the end of their turn.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = OpenTool> {
        std::mem::take(&mut self.0).into_iter()
    }

    /// Adds output. `is_whole` replaces earlier chunks.
    pub(super) fn add_output(&mut self, call: &str, text: &str, is_whole: bool) {
        let Some(tool) = self.0.iter_mut().find(|tool| tool.call == call) else { return };
        if is_whole {
            (tool.lines, tool.in_line) = (0, false);
            tool.tail.clear();
        }
        for part in text.split_inclusive('\n') {
            tool.add_part(part);
        }
    }
}

impl OpenTool {
    fn add_part(&mut self, part: &str) {
        let text = part.trim_end_matches(['\n', '\r']);
        if !self.in_line {
            self.lines += 1;
            self.tail.push_back(String::new());
            if self.tail.len() > TAIL_LINES {
                self.tail.pop_front();
            }
        }
        if let Some(last) = self.tail.back_mut() {
            let room = MAX_LINE_CHARS.saturating_sub(last.chars().count());
            last.extend(text.chars().take(room));
        }
        self.in_line = !part.ends_with('\n');
    }

    /// Formats the tail, one indented line per line of output.
    pub(super) fn format_tail(&self) -> String {
        let hidden = self.lines - self.tail.len();
        let folded = (hidden > 0).then(|| format!("    | … {hidden} more lines\n"));
        let lines = self.tail.iter().map(|line| format!("    | {}\n", sanitize_line(line)));
        folded.into_iter().chain(lines).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_folded_to_its_last_lines() {
        let mut tools = ToolQueue::default();
        tools.start("a", "shell: make".to_owned());
        tools.add_output("a", "one\ntwo\nthr", false);
        tools.add_output("a", "ee\nfour\nfive\nsix\n\u{1b}seven", false);
        tools.add_output("another", "lost", false);
        let tool = tools.end("a").expect("open");
        insta::assert_snapshot!(tool.format_tail(), @r"
            | … 2 more lines
            | three
            | four
            | five
            | six
            | �seven
        ");
        assert!(tools.end("a").is_none());
    }

    #[test]
    fn whole_output_replaces_its_chunks() {
        let mut tools = ToolQueue::default();
        tools.start("a", String::new());
        tools.add_output("a", "part", false);
        tools.add_output("a", "all of it", true);
        assert_eq!(tools.end("a").expect("open").format_tail(), "    | all of it\n");
    }
}
