//! Redaction of JSON values. The structure is kept; only strings and keys change.

use serde_json::map::Entry;
use serde_json::{Map, Value};

use super::{CredentialKind, RedactionCounts, redact};

/// Key suffixes, without dashes and underscores, whose value is secret if it has at least [`MIN_SECRET_LENGTH`]
/// characters.
const SECRET_KEYS: &[&str] = &["apikey", "accesskey", "privatekey", "token", "secret", "authorization"];

/// Key suffixes whose value is secret regardless of its length.
const PASSWORD_KEYS: &[&str] = &["password", "passwd"];

/// Shorter values are ordinary words: parts of a model's output are called tokens, too.
const MIN_SECRET_LENGTH: usize = 8;

/// Replaces every credential in the strings and keys of a value, and every string below a key that denotes a secret.
///
/// Objects, arrays, numbers, booleans and nulls keep their type. The recursion depth is that of the value; parsed JSON
/// has at most 128 levels.
pub fn redact_json(value: &mut Value) -> RedactionCounts {
    let mut found = RedactionCounts::default();
    walk(value, None, &mut found);
    found
}

fn walk(value: &mut Value, inherited: Option<CredentialKind>, found: &mut RedactionCounts) {
    match value {
        Value::String(text) => redact_string(text, inherited, found),
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, inherited, found)),
        Value::Object(entries) => {
            for (name, item) in entries.iter_mut() {
                walk(item, secret_key_kind(name).or(inherited), found);
            }
            redact_keys(entries, found);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn redact_string(text: &mut String, inherited: Option<CredentialKind>, found: &mut RedactionCounts) {
    if let Some(kind) = inherited
        && is_long_enough(text, kind)
    {
        if !CredentialKind::is_marker(text) {
            found.add(kind);
            kind.marker().clone_into(text);
        }
        return;
    }
    let redaction = redact(text);
    found.merge(&redaction.found);
    if !redaction.found.is_empty() {
        *text = redaction.text.into_owned();
    }
}

fn is_long_enough(text: &str, kind: CredentialKind) -> bool {
    match kind {
        CredentialKind::Password => !text.is_empty(),
        CredentialKind::Field
        | CredentialKind::Url
        | CredentialKind::Authorization
        | CredentialKind::Jwt
        | CredentialKind::PrivateKey
        | CredentialKind::ProviderKey
        | CredentialKind::Guildhall => text.chars().nth(MIN_SECRET_LENGTH - 1).is_some(),
    }
}

fn secret_key_kind(name: &str) -> Option<CredentialKind> {
    let normalized: String =
        name.chars().filter(|c| !matches!(c, '_' | '-')).map(|c| c.to_ascii_lowercase()).collect();
    let has_suffix = |suffixes: &[&str]| suffixes.iter().any(|suffix| normalized.ends_with(suffix));
    if has_suffix(PASSWORD_KEYS) {
        Some(CredentialKind::Password)
    } else {
        has_suffix(SECRET_KEYS).then_some(CredentialKind::Field)
    }
}

/// Redacts the keys. Keys that become equal get a number, so that no entry is lost.
fn redact_keys(entries: &mut Map<String, Value>, found: &mut RedactionCounts) {
    if entries.keys().all(|name| redact(name).found.is_empty()) {
        return;
    }
    let mut copies = 1_u64;
    let mut redacted = Map::new();
    for (name, value) in std::mem::take(entries) {
        let redaction = redact(&name);
        found.merge(&redaction.found);
        let mut name = redaction.text.into_owned();
        loop {
            match redacted.entry(name) {
                Entry::Vacant(free) => {
                    free.insert(value);
                    break;
                }
                Entry::Occupied(taken) => {
                    copies += 1;
                    name = format!("{} ({copies})", taken.key());
                }
            }
        }
    }
    *entries = redacted;
}
