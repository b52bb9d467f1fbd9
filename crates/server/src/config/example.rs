//! The example file, written from the words and defaults beside each field.

use std::fmt::Write;

use super::SECTIONS;

/// Returns a configuration file that says what every key means and sets none: each line is a default.
#[must_use]
pub fn example() -> String {
    let mut text = String::from(
        "# Every key of guildhall.toml with its default. A key may also be set in the environment:\n\
         # `http.listen` is GUILDHALL_HTTP_LISTEN. Flags win over the environment, the environment over this file.\n\
         # Written by `guildhall config example`.\n",
    );
    for section in &SECTIONS {
        let _infallible = write!(text, "\n{}[{}]\n", comment(section.about), section.name);
        for field in section.fields {
            let _infallible = writeln!(text, "{}# {} = {}", comment(field.about), field.name, field.default);
        }
    }
    text
}

/// Returns the default values as a configuration file.
pub(super) fn defaults() -> String {
    SECTIONS.iter().fold(String::new(), |mut text, section| {
        let _infallible = writeln!(text, "[{}]", section.name);
        for field in section.fields {
            let _infallible = writeln!(text, "{} = {}", field.name, field.default);
        }
        text
    })
}

fn comment(lines: &[&str]) -> String {
    lines.iter().fold(String::new(), |mut text, line| {
        let _infallible = writeln!(text, "#{line}");
        text
    })
}
