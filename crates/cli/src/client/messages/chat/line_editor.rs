//! The line that a person types, on a terminal that neither shows nor edits what is typed.

use unicode_width::UnicodeWidthChar;

/// The longest line. More is not taken.
const MAX_CHARS: usize = 16 * 1024;

/// A pressed key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Enter,
    Backspace,
    Delete,
    Left,
    Right,
    Home,
    End,
    /// Ctrl-W: the word before the cursor.
    DeleteWord,
    /// Ctrl-U: everything before the cursor.
    DeleteToStart,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D.
    EndOfInput,
}

/// What a key led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Edit {
    /// The line may look different now.
    Changed,
    /// A line is complete; the next one is empty.
    Line(String),
    /// The person leaves.
    Leave,
}

/// Makes keys of the bytes that a terminal sends.
#[derive(Debug, Default)]
pub(super) struct KeyDecoder(Vec<u8>);

/// The line so far.
#[derive(Debug, Default)]
pub(super) struct LineEditor {
    text: Vec<char>,
    /// The character before which the next one is inserted.
    cursor: usize,
}

impl KeyDecoder {
    /// Returns the keys in these bytes and in what was left of earlier ones. Unknown ones are skipped.
    pub(super) fn decode(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.0.extend_from_slice(bytes);
        let mut keys = Vec::new();
        let mut rest = self.0.as_slice();
        while let Some((key, length)) = next_key(rest) {
            keys.extend(key);
            rest = &rest[length..];
        }
        self.0 = rest.to_vec();
        keys
    }
}

/// Returns the first key, if its bytes are complete, and how many there are.
fn next_key(bytes: &[u8]) -> Option<(Option<Key>, usize)> {
    let key = match *bytes.first()? {
        b'\r' | b'\n' => Some(Key::Enter),
        0x7f | 0x08 => Some(Key::Backspace),
        0x01 => Some(Key::Home),
        0x02 => Some(Key::Left),
        0x03 => Some(Key::Interrupt),
        0x04 => Some(Key::EndOfInput),
        0x05 => Some(Key::End),
        0x06 => Some(Key::Right),
        0x15 => Some(Key::DeleteToStart),
        0x17 => Some(Key::DeleteWord),
        0x1b => return next_sequence(bytes),
        b'\t' => Some(Key::Char(' ')),
        ..0x20 => None,
        0x20.. => return next_char(bytes),
    };
    Some((key, 1))
}

/// Reads a sequence that starts with Escape, such as that of an arrow.
fn next_sequence(bytes: &[u8]) -> Option<(Option<Key>, usize)> {
    match *bytes.get(1)? {
        b'[' => {}
        b'O' => return Some((arrow(*bytes.get(2)?), 3)),
        _ => return Some((None, 2)),
    }
    let end = bytes.iter().skip(2).position(|byte| (0x40..0x7f).contains(byte))? + 2;
    let key = match &bytes[2..end] {
        b"" => arrow(bytes[end]),
        b"3" => Some(Key::Delete),
        b"1" | b"7" => Some(Key::Home),
        b"4" | b"8" => Some(Key::End),
        _ => None,
    };
    Some((key, end + 1))
}

fn arrow(last: u8) -> Option<Key> {
    match last {
        b'C' => Some(Key::Right),
        b'D' => Some(Key::Left),
        b'F' => Some(Key::End),
        b'H' => Some(Key::Home),
        _ => None,
    }
}

fn next_char(bytes: &[u8]) -> Option<(Option<Key>, usize)> {
    let length = match bytes.first()? {
        0x00..0x80 => 1,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf8 => 4,
        // Not the start of a character.
        0x80..0xc0 | 0xf8.. => return Some((None, 1)),
    };
    let found = std::str::from_utf8(bytes.get(..length)?).ok().and_then(|text| text.chars().next());
    Some(match found {
        // C1 control characters have two bytes.
        Some(found) if !found.is_control() => (Some(Key::Char(found)), length),
        Some(_) => (None, length),
        None => (None, 1),
    })
}

impl LineEditor {
    pub(super) fn apply(&mut self, key: Key) -> Edit {
        match key {
            Key::Char(char) if self.text.len() < MAX_CHARS => {
                self.text.insert(self.cursor, char);
                self.cursor += 1;
            }
            Key::Char(_) => {}
            Key::Enter => {
                self.cursor = 0;
                return Edit::Line(std::mem::take(&mut self.text).into_iter().collect());
            }
            Key::Backspace => self.delete(self.cursor.saturating_sub(1)),
            Key::Delete | Key::EndOfInput if !self.text.is_empty() => {
                if self.cursor < self.text.len() {
                    self.text.remove(self.cursor);
                }
            }
            Key::Delete => {}
            Key::EndOfInput | Key::Interrupt => return Edit::Leave,
            Key::Left => self.cursor = self.cursor.saturating_sub(1),
            Key::Right => self.cursor = self.text.len().min(self.cursor + 1),
            Key::Home => self.cursor = 0,
            Key::End => self.cursor = self.text.len(),
            Key::DeleteToStart => self.delete(0),
            Key::DeleteWord => {
                let before = &self.text[..self.cursor];
                let word_end =
                    before.iter().rposition(|char| !char.is_whitespace()).map_or(0, |last| last + 1);
                let start = before[..word_end].iter().rposition(|char| char.is_whitespace());
                self.delete(start.map_or(0, |space| space + 1));
            }
        }
        Edit::Changed
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns the part of the line around the cursor that fits into some columns, and the column of the cursor in it.
    pub(super) fn view(&self, columns: usize) -> (String, usize) {
        let width = |chars: &[char]| chars.iter().map(|char| columns_of(*char)).sum::<usize>();
        let mut start = 0;
        // One column stays free for the cursor.
        while width(&self.text[start..self.cursor]) >= columns.max(1) {
            start += 1;
        }
        let mut end = self.cursor;
        while end < self.text.len() && width(&self.text[start..=end]) < columns {
            end += 1;
        }
        (self.text[start..end].iter().collect(), width(&self.text[start..self.cursor]))
    }

    /// Deletes the characters from a position to the cursor.
    fn delete(&mut self, start: usize) {
        self.text.drain(start..self.cursor);
        self.cursor = start;
    }
}

/// Returns how many columns a character takes.
pub(super) fn columns_of(char: char) -> usize {
    char.width().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn type_keys(editor: &mut LineEditor, bytes: &[u8]) -> Edit {
        let keys = KeyDecoder::default().decode(bytes);
        keys.into_iter().fold(Edit::Changed, |_, key| editor.apply(key))
    }

    #[test]
    fn line_is_edited_at_the_cursor() {
        for (typed, expected) in [
            ("hello\r", "hello"),
            ("helo\u{1b}[Dl\r", "hello"),
            ("ello\u{1b}[Hh\u{5}!\n", "hello!"),
            ("hellp\u{7f}o\r", "hello"),
            ("xhello\u{1}\u{1b}[3~\r", "hello"),
            ("one two  \u{17}three\r", "one three"),
            ("wrong\u{15}right\r", "right"),
            ("über\u{1b}[D\u{1b}[D\u{1b}[D\u{7f}Ü\r", "Über"),
            ("a\tb\u{1b}[5~\u{1b}x\u{0}\r", "a b"),
            ("\r", ""),
        ] {
            let mut editor = LineEditor::default();
            assert_eq!(
                type_keys(&mut editor, typed.as_bytes()),
                Edit::Line(expected.to_owned()),
                "{typed:?}"
            );
            assert!(editor.is_empty());
        }
    }

    #[test]
    fn keys_whose_bytes_come_apart_are_put_together() {
        let mut decoder = KeyDecoder::default();
        let bytes = "é\u{1b}[3~😀".as_bytes();
        let keys: Vec<Key> = bytes.iter().flat_map(|byte| decoder.decode(&[*byte])).collect();
        assert_eq!(keys, [Key::Char('é'), Key::Delete, Key::Char('😀')]);
        assert_eq!(decoder.decode(&[0xff, b'a', 0xc3, b'b']), [Key::Char('a'), Key::Char('b')]);
        assert_eq!(decoder.decode("\u{9b}c".as_bytes()), [Key::Char('c')], "a control character");
    }

    #[test]
    fn ctrl_d_leaves_only_an_empty_line_and_ctrl_c_every_line() {
        let mut editor = LineEditor::default();
        assert_eq!(type_keys(&mut editor, b"a\x04"), Edit::Changed);
        assert_eq!(type_keys(&mut editor, b"\x03"), Edit::Leave);
        assert_eq!(type_keys(&mut LineEditor::default(), b"\x04"), Edit::Leave);
    }

    #[test]
    fn long_line_is_shown_around_the_cursor() {
        let mut editor = LineEditor::default();
        type_keys(&mut editor, "0123456789".as_bytes());
        assert_eq!(editor.view(20), ("0123456789".to_owned(), 10));
        assert_eq!(editor.view(5), ("6789".to_owned(), 4));
        editor.apply(Key::Home);
        assert_eq!(editor.view(5), ("0123".to_owned(), 0));
        let mut wide = LineEditor::default();
        type_keys(&mut wide, "日本語".as_bytes());
        assert_eq!(wide.view(5), ("本語".to_owned(), 4));
    }
}
