//! Redaction of a JSON value: the same keys and lengths, with strings replaced.

use serde_json::map::Entry;
use serde_json::{Map, Value};

use super::{Counts, Kind, redact};

/// Names whose value is secret when it has [`FIELD_LENGTH`] characters, without their dashes and underscores.
const FIELDS: &[&str] = &["apikey", "accesskey", "privatekey", "token", "secret", "authorization"];

/// Names whose value is secret whatever its length.
const PASSWORDS: &[&str] = &["password", "passwd"];

/// Shorter ones are words: a piece of a model's output is called a token, too.
const FIELD_LENGTH: usize = 8;

/// Replaces every credential in the strings and names of a value, and every string below a name that says secret.
///
/// What was an object, a list, a number, a truth value or null stays one: a reader of the shape is not surprised. The
/// depth is that of the value; one that was parsed has 128 levels at most.
pub fn redact_json(value: &mut Value) -> Counts {
    let mut found = Counts::default();
    walk(value, None, &mut found);
    found
}

fn walk(value: &mut Value, named: Option<Kind>, found: &mut Counts) {
    match value {
        Value::String(text) => clean(text, named, found),
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, named, found)),
        Value::Object(entries) => {
            for (name, item) in entries.iter_mut() {
                walk(item, secret_name(name).or(named), found);
            }
            clean_names(entries, found);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn clean(text: &mut String, named: Option<Kind>, found: &mut Counts) {
    if let Some(kind) = named
        && long_enough(text, kind)
    {
        if !Kind::is_marker(text) {
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

fn long_enough(text: &str, kind: Kind) -> bool {
    match kind {
        Kind::Password => !text.is_empty(),
        Kind::Field
        | Kind::Url
        | Kind::Authorization
        | Kind::Jwt
        | Kind::PrivateKey
        | Kind::ProviderKey
        | Kind::Guildhall => text.chars().nth(FIELD_LENGTH - 1).is_some(),
    }
}

fn secret_name(name: &str) -> Option<Kind> {
    let bare: String =
        name.chars().filter(|c| !matches!(c, '_' | '-')).map(|c| c.to_ascii_lowercase()).collect();
    let ends_in = |words: &[&str]| words.iter().any(|word| bare.ends_with(word));
    if ends_in(PASSWORDS) { Some(Kind::Password) } else { ends_in(FIELDS).then_some(Kind::Field) }
}

/// Cleans the names themselves. Two that become the same are told apart by a number, so that no entry is lost.
fn clean_names(entries: &mut Map<String, Value>, found: &mut Counts) {
    if entries.keys().all(|name| redact(name).found.is_empty()) {
        return;
    }
    let mut copies = 1_u64;
    let mut cleaned = Map::new();
    for (name, value) in std::mem::take(entries) {
        let redaction = redact(&name);
        found.merge(&redaction.found);
        let mut name = redaction.text.into_owned();
        loop {
            match cleaned.entry(name) {
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
    *entries = cleaned;
}
