//! The terminal of a chat: lines that scroll, and below them the line that is typed.
//!
//! A line begins with its delivery mark, so that the mark can be replaced while the line is still on the terminal, however
//! long the text after it is.

use std::collections::VecDeque;

use super::chat_line::{ChatLine, DeliveryState};
use super::line_editor::{LineEditor, columns_of};
use crate::output::Colour;

/// Lines whose marks may still change. Older ones have left most terminals.
const MAX_LINES: usize = 200;

/// Returns to the start of the line and clears it.
const CLEAR_LINE: &str = "\r\u{1b}[2K";

const DIM: &str = "\u{1b}[2m";
const BOLD: &str = "\u{1b}[1m";
const RESET: &str = "\u{1b}[0m";

/// The size of a terminal in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TerminalSize {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

/// What was printed, as far as it may change. All methods return what has to be written to the terminal.
pub(super) struct Screen {
    size: TerminalSize,
    colour: Colour,
    /// Before the cursor, such as `you> `.
    prompt: String,
    /// A notice in the place of the prompt, such as `bobby is typing`.
    status: Option<String>,
    lines: VecDeque<PrintedLine>,
}

/// A line above the prompt.
struct PrintedLine {
    /// The message whose mark it has.
    message: Option<u64>,
    rows: usize,
}

impl Screen {
    pub(super) fn new(size: TerminalSize, colour: Colour) -> Self {
        Self { size, colour, prompt: "> ".to_owned(), status: None, lines: VecDeque::new() }
    }

    /// Takes the current size. Lines of another width have moved.
    pub(super) fn resize(&mut self, size: TerminalSize) {
        if size != self.size {
            self.size = size;
            self.lines.clear();
        }
    }

    pub(super) fn set_status(&mut self, status: Option<String>) {
        self.status = status;
    }

    /// Prints a line above the prompt. `message` finds it again.
    pub(super) fn print(&mut self, line: &ChatLine, message: Option<u64>, editor: &LineEditor) -> String {
        let plain = line.text();
        let rows = plain.split('\n').map(|row| self.rows_of(row)).sum();
        self.lines.push_back(PrintedLine { message, rows });
        if self.lines.len() > MAX_LINES {
            self.lines.pop_front();
        }
        // A terminal in raw mode still makes a new line of each line feed.
        format!("{CLEAR_LINE}{}\n{}", self.coloured(line), self.draw_prompt(editor))
    }

    /// Replaces the mark of a message, if its line is still on the terminal.
    pub(super) fn mark(&mut self, message: u64, state: DeliveryState, editor: &LineEditor) -> String {
        let Some(at) = self.lines.iter().rposition(|line| line.message == Some(message)) else {
            return String::new();
        };
        let up: usize = self.lines.iter().skip(at).map(|line| line.rows).sum();
        if up >= self.size.rows {
            return String::new();
        }
        format!("\u{1b}[{up}A\r{}\u{1b}[{up}B{}", state.mark(), self.draw_prompt(editor))
    }

    /// Draws the typed line again.
    pub(super) fn draw_prompt(&self, editor: &LineEditor) -> String {
        let before = match &self.status {
            Some(status) => format!("[{status}] {}", self.prompt),
            None => self.prompt.clone(),
        };
        let before: String = clip(&before, self.size.columns / 2);
        let width = columns(&before);
        // The last column stays free: some terminals wrap when it is written.
        let (typed, cursor) = editor.view(self.size.columns.saturating_sub(width + 1));
        let back = columns(&typed) - cursor;
        let back = if back > 0 { format!("\u{1b}[{back}D") } else { String::new() };
        format!("{CLEAR_LINE}{}{typed}{back}", self.style(DIM, &before))
    }

    /// Removes the typed line.
    pub(super) fn clear_prompt(&self) -> String {
        CLEAR_LINE.to_owned()
    }

    fn coloured(&self, line: &ChatLine) -> String {
        match line {
            ChatLine::Message { state, time, name, note, text } => {
                let (time, name) = (self.style(DIM, time), self.style(BOLD, name));
                let note =
                    note.map_or(String::new(), |note| format!(" {}", self.style(DIM, &format!("({note})"))));
                format!("{}{time} {name}{note}: {text}", state.mark())
            }
            ChatLine::Notice(text) => self.style(DIM, &format!("   {text}")),
        }
    }

    fn style(&self, style: &str, text: &str) -> String {
        if self.colour == Colour::Yes { format!("{style}{text}{RESET}") } else { text.to_owned() }
    }

    fn rows_of(&self, text: &str) -> usize {
        columns(text).div_ceil(self.size.columns.max(1)).max(1)
    }
}

fn columns(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

fn clip(text: &str, max_columns: usize) -> String {
    let mut width = 0;
    let fits = |char: &char| {
        width += columns_of(*char);
        width <= max_columns
    };
    text.chars().take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::super::line_editor::Key;
    use super::*;

    const SIZE: TerminalSize = TerminalSize { columns: 20, rows: 5 };

    fn message(text: &str) -> ChatLine {
        ChatLine::Message {
            state: DeliveryState::Sending,
            time: "21:03".to_owned(),
            name: "you".to_owned(),
            note: None,
            text: text.to_owned(),
        }
    }

    fn editor(text: &str) -> LineEditor {
        let mut editor = LineEditor::default();
        text.chars().for_each(|char| drop(editor.apply(Key::Char(char))));
        editor
    }

    #[test]
    fn line_is_printed_above_what_is_typed() {
        let mut screen = Screen::new(SIZE, Colour::No);
        let printed = screen.print(&message("hi"), Some(1), &editor("abc"));
        assert_eq!(printed, "\r\u{1b}[2K·  21:03 you: hi\n\r\u{1b}[2K> abc");
        let mut screen = Screen::new(SIZE, Colour::Yes);
        let printed = screen.print(&ChatLine::Notice("left".to_owned()), None, &editor(""));
        assert_eq!(printed, "\r\u{1b}[2K\u{1b}[2m   left\u{1b}[0m\n\r\u{1b}[2K\u{1b}[2m> \u{1b}[0m");
    }

    #[test]
    fn mark_is_replaced_where_its_line_stands() {
        let mut screen = Screen::new(SIZE, Colour::No);
        screen.print(&message("hi"), Some(1), &editor(""));
        // 13 + 10 columns: two rows.
        screen.print(&message("0123456789"), Some(2), &editor(""));
        let prompt = "\r\u{1b}[2K> ";
        let marked = |up: usize, mark: &str| format!("\u{1b}[{up}A\r{mark}\u{1b}[{up}B{prompt}");
        assert_eq!(screen.mark(1, DeliveryState::Stored, &editor("")), marked(3, "✓  "));
        assert_eq!(screen.mark(2, DeliveryState::Delivered, &editor("")), marked(2, "✓✓ "));
        assert_eq!(screen.mark(3, DeliveryState::Delivered, &editor("")), "", "not on the terminal");
        screen.print(&message("two\nlines"), Some(4), &editor(""));
        assert_eq!(screen.mark(1, DeliveryState::Delivered, &editor("")), "", "above the terminal");
        assert_eq!(screen.mark(4, DeliveryState::Delivered, &editor("")), marked(2, "✓✓ "));
        screen.resize(TerminalSize { columns: 10, rows: 5 });
        assert_eq!(screen.mark(4, DeliveryState::Delivered, &editor("")), "", "the lines have moved");
    }

    #[test]
    fn status_and_prompt_leave_room_for_the_typed_line() {
        let mut screen = Screen::new(SIZE, Colour::No);
        screen.set_status(Some("bobby is typing".to_owned()));
        assert_eq!(screen.draw_prompt(&editor("0123456789")), "\r\u{1b}[2K[bobby is 23456789");
        screen.set_status(None);
        let mut editor = editor("abc");
        editor.apply(Key::Left);
        assert_eq!(screen.draw_prompt(&editor), "\r\u{1b}[2K> abc\u{1b}[1D");
    }
}
