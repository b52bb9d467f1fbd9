//! A secret by its name: what a run holds instead of the secret.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::profile::{BackendProfile, is_slug};
use crate::redact::redact;

/// Names a secret and the keys in it that a run uses. It has no place for a value, on the wire or in memory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Value")]
pub struct SecretRef {
    name: String,
    keys: Vec<String>,
}

/// Why something is no reference to a secret. What was given is not repeated: it may be the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSecretRef {
    #[error("a secret is named as {{\"name\": …, \"keys\": […]}}")]
    Form,
    #[error(
        "a reference to a secret has `name` and `keys` alone and never a value: store the value as a secret and name it"
    )]
    Value,
    #[error("a secret's name is `guildhall-provider-<profile>` or `guildhall-tool-<tool>`")]
    Name,
    #[error(
        "a secret's keys are 1 to {} different names of 1 to {} letters, digits and `._-`",
        SecretRef::MAX_KEYS,
        SecretRef::MAX_KEY_LENGTH
    )]
    Keys,
}

impl SecretRef {
    pub const MAX_KEYS: usize = 16;
    pub const MAX_KEY_LENGTH: usize = 64;

    const PROVIDER: &'static str = "guildhall-provider-";
    const TOOL: &'static str = "guildhall-tool-";

    /// Makes a reference, if the name and the keys have the form.
    pub fn new<K: Into<String>>(
        name: &str,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Self, InvalidSecretRef> {
        let owner = name.strip_prefix(Self::PROVIDER).or_else(|| name.strip_prefix(Self::TOOL));
        if !owner.is_some_and(is_slug) || !redact(name).found.is_empty() {
            return Err(InvalidSecretRef::Name);
        }
        // One more than allowed is enough to refuse it.
        let keys: Vec<String> = keys.into_iter().take(Self::MAX_KEYS + 1).map(Into::into).collect();
        let different = keys.iter().collect::<BTreeSet<_>>().len() == keys.len();
        if keys.is_empty() || keys.len() > Self::MAX_KEYS || !different || !keys.iter().all(|key| is_key(key))
        {
            return Err(InvalidSecretRef::Keys);
        }
        Ok(Self { name: name.to_owned(), keys })
    }

    /// Returns the name that the provider credential of a profile has. There is no other: one profile never uses
    /// another one's.
    #[must_use]
    pub fn provider_name(profile: &BackendProfile) -> String {
        format!("{}{profile}", Self::PROVIDER)
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    #[must_use]
    pub fn keys(&self) -> &[String] {
        &self.keys
    }

    #[must_use]
    pub fn is_provider(&self) -> bool {
        self.name.starts_with(Self::PROVIDER)
    }
}

fn is_key(key: &str) -> bool {
    (1..=SecretRef::MAX_KEY_LENGTH).contains(&key.len())
        && key.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
        && redact(key).found.is_empty()
}

// Through a value and by hand, because serde repeats what it did not expect, and here that may be the secret itself.
impl TryFrom<Value> for SecretRef {
    type Error = InvalidSecretRef;

    fn try_from(value: Value) -> Result<Self, InvalidSecretRef> {
        let Value::Object(fields) = value else { return Err(InvalidSecretRef::Form) };
        if fields.keys().any(|field| !matches!(field.as_str(), "name" | "keys")) {
            return Err(InvalidSecretRef::Value);
        }
        let name = fields.get("name").and_then(Value::as_str).ok_or(InvalidSecretRef::Form)?;
        Self::new(name, keys_of(&fields)?)
    }
}

fn keys_of(fields: &Map<String, Value>) -> Result<Vec<&str>, InvalidSecretRef> {
    let keys = fields.get("keys").and_then(Value::as_array).ok_or(InvalidSecretRef::Form)?;
    keys.iter().map(|key| key.as_str().ok_or(InvalidSecretRef::Keys)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> Result<SecretRef, String> {
        serde_json::from_value(value).map_err(|error| error.to_string())
    }

    // covers: R24
    #[test]
    fn a_reference_is_written_as_it_was_read() {
        let written = json!({ "name": "guildhall-provider-codex", "keys": ["auth.json", "config.toml"] });
        assert_eq!(read(written.clone()).map(|read| json!(read)), Ok(written));
    }

    // covers: R24
    #[test]
    fn a_value_is_refused_under_any_name_and_never_repeated() {
        for field in ["value", "data", "token", "password", "stringData", "apiKey", "Value", "keys2"] {
            let with = json!({ "name": "guildhall-provider-codex", "keys": ["k"], field: "hunter2hunter2" });
            assert_eq!(read(with), Err(InvalidSecretRef::Value.to_string()), "{field}");
        }
        for bare in [json!("hunter2hunter2"), json!(["hunter2"]), json!(null), json!({ "name": "hunter2" })] {
            assert_eq!(read(bare), Err(InvalidSecretRef::Form.to_string()));
        }
        let map = json!({ "name": "guildhall-provider-codex", "keys": { "auth.json": "hunter2" } });
        assert_eq!(read(map), Err(InvalidSecretRef::Form.to_string()));
    }

    #[test]
    fn names_and_keys_outside_the_form_are_refused() {
        for name in [
            "codex",
            "guildhall-provider-",
            "guildhall-provider-A",
            "guildhall-other-x",
            "guildhall-tool-../x",
        ] {
            assert_eq!(SecretRef::new(name, ["k"]), Err(InvalidSecretRef::Name), "{name}");
        }
        let key = format!("ghp_{}", "a1".repeat(18));
        let many: Vec<String> = (0..17).map(|number| format!("k{number}")).collect();
        for keys in
            [vec![], vec![String::new()], vec!["a b".into()], vec!["k".into(), "k".into()], vec![key], many]
        {
            assert_eq!(
                SecretRef::new("guildhall-tool-github", keys.clone()),
                Err(InvalidSecretRef::Keys),
                "{keys:?}"
            );
        }
    }
}
