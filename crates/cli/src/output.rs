//! Output of commands: tables for people, JSON for programs.

use std::borrow::Cow;
use std::io::{IsTerminal, Write, stdout};

use jiff::Timestamp;
use serde_json::Value;

/// Whether output has colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colour {
    Yes,
    No,
}

impl Colour {
    /// Terminals have colours, unless the user has set `NO_COLOR`.
    pub(crate) fn of(stream: &impl IsTerminal) -> Self {
        let is_wanted =
            stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        if is_wanted { Self::Yes } else { Self::No }
    }
}

/// Prints a line. Returns an error where `println!` would panic: when standard output is closed.
pub(crate) fn print_line(text: &str) -> std::io::Result<()> {
    let mut out = stdout().lock();
    out.write_all(text.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Prints a result: as JSON on one line, or as text.
pub(crate) fn print_result(json: bool, value: &Value, text: impl FnOnce() -> String) -> std::io::Result<()> {
    if json { print_json(&value.to_string()) } else { print_line(&text()) }
}

/// Prints JSON on one line. Characters that could control the terminal are escaped.
pub(crate) fn print_json(json: &str) -> std::io::Result<()> {
    print_line(&escape_json(json))
}

/// Escapes the characters in JSON that could control a terminal and that a serialiser leaves as they are.
pub(crate) fn escape_json(json: &str) -> Cow<'_, str> {
    if !json.contains(is_unsafe) {
        return Cow::Borrowed(json);
    }
    let escaped = json.chars().fold(String::with_capacity(json.len()), |mut text, c| {
        if is_unsafe(c) {
            text.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            text.push(c);
        }
        text
    });
    Cow::Owned(escaped)
}

/// Formats rows below their headings. The last column is not padded.
pub(crate) fn format_table<const N: usize>(headings: [&str; N], rows: &[[String; N]]) -> String {
    let headings = headings.map(str::to_owned);
    let all: Vec<[String; N]> = std::iter::once(&headings)
        .chain(rows)
        .map(|row| row.each_ref().map(|cell| sanitize_line(cell)))
        .collect();
    let mut widths = [0; N];
    for row in &all {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let lines = all.iter().map(|row| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Formats the fields of one object, one per line.
pub(crate) fn format_fields(fields: &[(&str, String)]) -> String {
    let width = fields.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines = fields.iter().map(|(name, value)| format!("{name:<width$}  {}", sanitize_line(value)));
    lines.collect::<Vec<_>>().join("\n")
}

/// Prints text that may end in the middle of a line, and flushes it.
pub(crate) fn print_chunk(text: &str) -> std::io::Result<()> {
    let mut out = stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Replaces control characters, except line feeds and tabs, so that text cannot control the terminal.
pub(crate) fn sanitize_text(text: &str) -> String {
    text.chars().map(|c| if is_unsafe(c) && !['\n', '\t'].contains(&c) { '\u{fffd}' } else { c }).collect()
}

/// Replaces all control characters: names come from other users and could control the terminal.
pub(crate) fn sanitize_line(text: &str) -> String {
    text.chars().map(|c| if is_unsafe(c) { '\u{fffd}' } else { c }).collect()
}

/// Returns whether a character controls the terminal, or changes the direction of the text around it.
fn is_unsafe(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Formats a time in UTC, in seconds.
pub(crate) fn format_time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Formats a time in UTC, in seconds; `-` for none.
pub(crate) fn format_optional_time(time: Option<Timestamp>) -> String {
    time.map_or_else(|| "-".to_owned(), format_time)
}

/// Formats a duration until now in its largest unit.
pub(crate) fn format_age(since: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(since).as_secs().max(0);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86400 => format!("{} h", seconds / 3600),
        86400.. => format!("{} d", seconds / 86400),
        // Unreachable: `max(0)` above.
        i64::MIN..0 => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn age_is_formatted_in_its_largest_unit() {
        let at = |second| Timestamp::from_second(second).expect("in range");
        let ages =
            [0, 59, 60, 3599, 3600, 86399, 86400, 9 * 86400].map(|seconds| format_age(at(0), at(seconds)));
        assert_eq!(ages, ["0 s", "59 s", "1 min", "59 min", "1 h", "23 h", "1 d", "9 d"]);
        assert_eq!(format_age(at(5), at(0)), "0 s", "a clock that runs behind");
    }

    #[test]
    fn sanitize_text_keeps_lines_and_replaces_control_characters() {
        assert_eq!(sanitize_text("a\tb\nc\u{1b}[2J\r\u{9b}"), "a\tb\nc\u{fffd}[2J\u{fffd}\u{fffd}");
    }

    #[test]
    fn text_that_reverses_its_direction_is_replaced() {
        assert_eq!(sanitize_line("invoice\u{202e}fdp.exe\u{2066}"), "invoice\u{fffd}fdp.exe\u{fffd}");
        assert_eq!(
            sanitize_text("\u{5e9}\u{5dc}\u{5d5}\u{5dd}"),
            "\u{5e9}\u{5dc}\u{5d5}\u{5dd}",
            "Hebrew needs no override"
        );
    }

    #[test]
    fn escaped_json_has_no_raw_control_character_and_the_same_value() {
        let value =
            serde_json::json!({ "text": "\u{9b}2J \u{7f} \u{202e}drow \u{1b}[0m \\ \"é\"", "name\u{85}": 1 });
        let (json, plain) = (value.to_string(), r#"{"text":"é"}"#);
        let escaped = escape_json(&json);
        assert!(!escaped.contains(is_unsafe), "{escaped:?}");
        assert_eq!(serde_json::from_str::<Value>(&escaped).expect("JSON"), value);
        assert_eq!(escape_json(plain), plain);
    }

    #[test]
    fn table_pads_columns_and_replaces_control_characters() {
        let rows = [["a".to_owned(), "x\u{1b}[2Jy".to_owned()], ["longer".to_owned(), String::new()]];
        insta::assert_snapshot!(format_table(["NAME", "WHAT"], &rows), @r"
        NAME    WHAT
        a       x�[2Jy
        longer
        ");
    }
}
