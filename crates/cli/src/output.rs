//! What a command shows: tables for people, JSON for programs.

use std::io::{Write, stdout};

use jiff::Timestamp;
use serde_json::Value;

/// Prints a line. Fails where `println!` would panic: when nobody reads any more.
pub(crate) fn line(text: &str) -> std::io::Result<()> {
    let mut out = stdout().lock();
    out.write_all(text.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Prints a value: as JSON on one line, or as the text of its form for people.
pub(crate) fn show(json: bool, value: &Value, text: impl FnOnce() -> String) -> std::io::Result<()> {
    if json { line(&value.to_string()) } else { line(&text()) }
}

/// Lays out rows below their headings. The last column is as wide as it likes.
pub(crate) fn table<const N: usize>(headings: [&str; N], rows: &[[String; N]]) -> String {
    let headings = headings.map(str::to_owned);
    let all: Vec<[String; N]> =
        std::iter::once(&headings).chain(rows).map(|row| row.each_ref().map(|cell| clean(cell))).collect();
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

/// Lays out what is known of one thing, a line each.
pub(crate) fn fields(fields: &[(&str, String)]) -> String {
    let width = fields.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines = fields.iter().map(|(name, value)| format!("{name:<width$}  {}", clean(value)));
    lines.collect::<Vec<_>>().join("\n")
}

/// Prints a piece of text that may end within a line, at once.
pub(crate) fn piece(text: &str) -> std::io::Result<()> {
    let mut out = stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Takes out of a text of several lines what could steer a terminal.
pub(crate) fn clean_text(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && !['\n', '\t'].contains(&c) { '\u{fffd}' } else { c }).collect()
}

/// Takes out what could steer a terminal: names come from other people.
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Writes a time to the second.
pub(crate) fn second(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Writes a time to the second, or a dash.
pub(crate) fn second_or_dash(time: Option<Timestamp>) -> String {
    time.map_or_else(|| "-".to_owned(), second)
}

/// Writes how long ago something was, in the unit that a person would use.
pub(crate) fn age(since: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(since).as_secs().max(0);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86400 => format!("{} h", seconds / 3600),
        86400.. => format!("{} d", seconds / 86400),
        // Not below zero, as the line above sees to.
        i64::MIN..0 => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_told_in_one_unit() {
        let at = |second| Timestamp::from_second(second).expect("in range");
        let ages = [0, 59, 60, 3599, 3600, 86399, 86400, 9 * 86400].map(|seconds| age(at(0), at(seconds)));
        assert_eq!(ages, ["0 s", "59 s", "1 min", "59 min", "1 h", "23 h", "1 d", "9 d"]);
        assert_eq!(age(at(5), at(0)), "0 s", "a clock that is behind");
    }

    #[test]
    fn a_text_keeps_its_lines_and_cannot_steer_a_terminal() {
        assert_eq!(clean_text("a\tb\nc\u{1b}[2J\r\u{9b}"), "a\tb\nc\u{fffd}[2J\u{fffd}\u{fffd}");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_and_cannot_steer_a_terminal() {
        let rows = [["a".to_owned(), "x\u{1b}[2Jy".to_owned()], ["longer".to_owned(), String::new()]];
        insta::assert_snapshot!(table(["NAME", "WHAT"], &rows), @r"
        NAME    WHAT
        a       x�[2Jy
        longer
        ");
    }
}
