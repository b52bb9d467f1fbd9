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

#[cfg(test)]
mod tests {
    use super::*;

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
