//! Names, keys and texts in a manifest.

use super::finding::Rule;
use super::reader::Reader;

/// Longest key of a text in an i18n bundle.
const MAX_KEY_CHARS: usize = 128;

/// Longest label: one line of a consent page.
pub(super) const MAX_LABEL_CHARS: usize = 80;

/// Longest description: a paragraph of a consent page.
pub(super) const MAX_DESCRIPTION_CHARS: usize = 500;

/// Longest id of a scope.
const MAX_SCOPE_ID_CHARS: usize = 64;

/// Returns whether a name matches `^[a-z][a-z0-9_]{1,31}$`.
pub(super) fn is_tool_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|first| first.is_ascii_lowercase())
        && (2..=32).contains(&name.len())
        && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// Returns whether an id is like `filesystem:read`: lower-case ASCII, so that no id looks like another one.
pub(super) fn is_scope_id(id: &str) -> bool {
    let mut chars = id.chars();
    chars.next().is_some_and(|first| first.is_ascii_lowercase())
        && id.len() <= MAX_SCOPE_ID_CHARS
        && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.:-".contains(c))
}

/// Reads a key of an i18n bundle.
pub(super) fn i18n_key(reader: &mut Reader<'_, '_>, name: &str) -> Option<String> {
    let key = reader.string(name)?;
    let is_valid = !key.is_empty()
        && key.len() <= MAX_KEY_CHARS
        && key.chars().all(|c| c.is_ascii_alphanumeric() || "_.:-".contains(c));
    if !is_valid {
        let message = format!("use 1 to {MAX_KEY_CHARS} ASCII letters, digits and `_.:-`");
        reader.add(Rule::I18nKey, name, message);
        return None;
    }
    Some(key.to_owned())
}

/// Reads words that people see when they agree.
pub(super) fn optional_text(reader: &mut Reader<'_, '_>, name: &str, max: usize) -> Option<String> {
    let text = reader.optional_string(name)?;
    let count = text.chars().count();
    if text.trim().is_empty() || count > max {
        reader.add(Rule::Text, name, format!("use 1 to {max} characters, not {count}"));
        return None;
    }
    if let Some(hidden) = text.chars().find(|c| is_hidden(*c)) {
        let message = format!("U+{:04X} is not visible, or changes how the text is shown", u32::from(hidden));
        reader.add(Rule::Text, name, message);
        return None;
    }
    Some(text.to_owned())
}

/// Returns whether people cannot see a character, or it changes the order of others. Joiners are part of scripts and emoji.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_names_are_lower_case_and_2_to_32_long() {
        for name in ["ab", "read_file", "a1", "z_", &"a".repeat(32)] {
            assert!(is_tool_name(name), "{name}");
        }
        for name in ["", "a", "1a", "_a", "Read", "read-file", "réad", "a b", "ab\n", &"a".repeat(33)] {
            assert!(!is_tool_name(name), "{name}");
        }
    }

    #[test]
    fn scope_ids_are_lower_case_ascii() {
        for id in ["filesystem:read", "a", "git.hub:repo-write_2", &"a".repeat(64)] {
            assert!(is_scope_id(id), "{id}");
        }
        for id in ["", ":read", "Filesystem:read", "filesystem:réad", "a b", "a/b", &"a".repeat(65)] {
            assert!(!is_scope_id(id), "{id}");
        }
    }
}
