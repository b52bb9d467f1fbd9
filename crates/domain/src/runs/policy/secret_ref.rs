//! References to secrets by name.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::profile::{BackendProfile, is_slug};
use crate::redact::redact;

/// A reference to a secret and to the keys in it that a run uses. It cannot hold a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Value")]
pub struct SecretRef {
    name: String,
    keys: Vec<String>,
}

/// Why a secret reference is invalid. The input is not repeated, because it may be the secret itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSecretRef {
    #[error("a secret reference has the form {{\"name\": …, \"keys\": […]}}")]
    Form,
    #[error(
        "a secret reference has only `name` and `keys`, never a value: store the value as a secret and reference it"
    )]
    Value,
    #[error("invalid secret name: use `guildhall-provider-<profile>` or `guildhall-tool-<tool>`")]
    Name,
    #[error(
        "invalid secret keys: use 1 to {} different names of 1 to {} letters, digits and `._-`",
        SecretRef::MAX_KEYS,
        SecretRef::MAX_KEY_LENGTH
    )]
    Keys,
}

impl SecretRef {
    pub const MAX_KEYS: usize = 16;
    pub const MAX_KEY_LENGTH: usize = 64;

    pub(super) const PROVIDER_PREFIX: &'static str = "guildhall-provider-";
    pub(super) const TOOL_PREFIX: &'static str = "guildhall-tool-";

    /// Creates a reference from a valid name and valid keys.
    pub fn new<K: Into<String>>(
        name: &str,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Self, InvalidSecretRef> {
        let owner = name.strip_prefix(Self::PROVIDER_PREFIX).or_else(|| name.strip_prefix(Self::TOOL_PREFIX));
        if !owner.is_some_and(is_slug) || !redact(name).found.is_empty() {
            return Err(InvalidSecretRef::Name);
        }
        // One key above the limit is enough to reject it.
        let keys: Vec<String> = keys.into_iter().take(Self::MAX_KEYS + 1).map(Into::into).collect();
        let is_distinct = keys.iter().collect::<BTreeSet<_>>().len() == keys.len();
        if keys.is_empty()
            || keys.len() > Self::MAX_KEYS
            || !is_distinct
            || !keys.iter().all(|key| is_key(key))
        {
            return Err(InvalidSecretRef::Keys);
        }
        Ok(Self { name: name.to_owned(), keys })
    }

    /// Returns the secret name of a profile's provider credential. A profile never uses the credential of another.
    #[must_use]
    pub fn provider_name(profile: &BackendProfile) -> String {
        format!("{}{profile}", Self::PROVIDER_PREFIX)
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
        self.name.starts_with(Self::PROVIDER_PREFIX)
    }
}

fn is_key(key: &str) -> bool {
    (1..=SecretRef::MAX_KEY_LENGTH).contains(&key.len())
        && key.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
        && redact(key).found.is_empty()
}

// Written by hand, because serde repeats unexpected input in its errors, and that may be the secret itself.
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
    fn reference_round_trips_through_json() {
        let value = json!({ "name": "guildhall-provider-codex", "keys": ["auth.json", "config.toml"] });
        assert_eq!(read(value.clone()).map(|reference| json!(reference)), Ok(value));
    }

    // covers: R24
    #[test]
    fn secret_value_is_rejected_and_not_repeated() {
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
    fn invalid_names_and_keys_are_rejected() {
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
