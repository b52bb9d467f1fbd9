//! Output of commands: tables for people, JSON for programs.

use std::io::{Write, stdout};

use jiff::Timestamp;
use serde_json::Value;

/// Prints a line. Returns an error where `println!` would panic: when standard output is closed.
pub(crate) fn print_line(text: &str) -> std::io::Result<()> {
    let mut out = stdout().lock();
    out.write_all(text.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Prints a result: as JSON on one line, or as text.
pub(crate) fn print_result(json: bool, value: &Value, text: impl FnOnce() -> String) -> std::io::Result<()> {
    if json { print_line(&value.to_string()) } else { print_line(&text()) }
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
    text.chars().map(|c| if c.is_control() && !['\n', '\t'].contains(&c) { '\u{fffd}' } else { c }).collect()
}

/// Replaces all control characters: names come from other users and could control the terminal.
pub(crate) fn sanitize_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
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
    fn table_pads_columns_and_replaces_control_characters() {
        let rows = [["a".to_owned(), "x\u{1b}[2Jy".to_owned()], ["longer".to_owned(), String::new()]];
        insta::assert_snapshot!(format_table(["NAME", "WHAT"], &rows), @r"
        NAME    WHAT
        a       x�[2Jy
        longer
        ");
    }
}
