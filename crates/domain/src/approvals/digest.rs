//! Digests of questions and actions: SHA-256 of canonical JSON.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

macro_rules! digest {
    ($(#[$doc:meta])* $name:ident, $domain:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name([u8; 32]);

        impl $name {
            /// Returns the digest of a value.
            pub(super) fn of(value: &Value) -> Self {
                // Digests of different kinds are never equal, and neither are those of different formats.
                let mut hash = Sha256::new_with_prefix($domain);
                hash.update(canonical_json(value));
                Self(hash.finalize().into())
            }

            /// Restores a stored digest.
            #[must_use]
            pub const fn from_bytes(bytes: [u8; 32]) -> Self {
                Self(bytes)
            }

            #[must_use]
            pub const fn as_bytes(&self) -> &[u8; 32] {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&hex::encode(self.0))
            }
        }
    };
}

digest! {
    /// Everything that a voter saw. Each vote names it, so that nobody votes on a question they have not seen.
    ShownDigest, b"guildhall shown 1\n"
}

digest! {
    /// Only what would be executed. The same action has the same digest, however the agent describes it.
    ActionDigest, b"guildhall action 1\n"
}

/// Recognises equal values of an answer. It is made with a key, so that nobody can guess values with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentDigest([u8; 32]);

impl ContentDigest {
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Writes JSON in one form only: sorted keys, no spaces.
pub(super) fn canonical_json(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(canonical_json).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            let fields: Vec<String> = fields
                .into_iter()
                .map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), canonical_json(value)))
                .collect();
            format!("{{{}}}", fields.join(","))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn canonical_json_sorts_keys_at_every_depth() {
        let value: Value =
            serde_json::from_str(r#"{ "b": [1, {"z": null, "a": "\n\"" }], "a": true }"#).expect("JSON");
        assert_eq!(canonical_json(&value), r#"{"a":true,"b":[1,{"a":"\n\"","z":null}]}"#);
    }

    #[test]
    fn digests_of_different_kinds_differ() {
        let value = json!({ "tool": "shell" });
        assert_ne!(ShownDigest::of(&value).as_bytes(), ActionDigest::of(&value).as_bytes());
        let restored = ActionDigest::from_bytes(*ActionDigest::of(&value).as_bytes());
        assert_eq!(restored.to_string(), ActionDigest::of(&value).to_string());
    }
}
