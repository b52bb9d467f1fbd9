//! Further names of secrets, for clients that use other prefixes.

use serde_json::Value;

use super::secret_ref::SecretRef;
use super::secret_scope::SecretScope;

/// Prefixes that requests may use instead of `guildhall-provider-` and `guildhall-tool-`. Names are replaced before a
/// request is validated, so every rule and every stored run knows one name per secret.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SecretAliases {
    provider: Vec<String>,
    tool: Vec<String>,
}

/// A malformed prefix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid prefix of a secret name {prefix:?}: use lower-case letters, digits and dashes, a dash at the end, and each \
     prefix once"
)]
pub struct InvalidSecretPrefix {
    pub prefix: String,
}

impl SecretAliases {
    /// Creates aliases from configured prefixes. One prefix must not stand for both kinds.
    pub fn new(provider: &[String], tool: &[String]) -> Result<Self, InvalidSecretPrefix> {
        let all: Vec<&String> = provider.iter().chain(tool).collect();
        for (index, prefix) in all.iter().enumerate() {
            let is_repeated = all[..index].contains(prefix);
            if is_repeated || !is_prefix(prefix) {
                return Err(InvalidSecretPrefix { prefix: (*prefix).clone() });
            }
        }
        Ok(Self { provider: provider.to_vec(), tool: tool.to_vec() })
    }

    /// Replaces aliases in the secret scope of a requested execution policy. Other parts are left as they are, also
    /// invalid ones.
    pub fn replace_in(&self, policy: &mut Value) {
        for (list, prefixes, own) in [
            (SecretScope::PROVIDERS, &self.provider, SecretRef::PROVIDER_PREFIX),
            (SecretScope::TOOLS, &self.tool, SecretRef::TOOL_PREFIX),
        ] {
            let secrets = policy.pointer_mut(&format!("/secretScope/{list}")).and_then(Value::as_array_mut);
            for secret in secrets.into_iter().flatten() {
                let Some(Value::String(name)) = secret.get_mut("name") else { continue };
                let owner = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix.as_str()));
                if let Some(owner) = owner {
                    *name = format!("{own}{owner}");
                }
            }
        }
    }
}

/// Returns whether a text can start the names of secrets.
fn is_prefix(text: &str) -> bool {
    let is_valid = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    (2..=64).contains(&text.len())
        && text.bytes().all(is_valid)
        && text.ends_with('-')
        && !text.starts_with('-')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn aliases(provider: &[&str], tool: &[&str]) -> Result<SecretAliases, InvalidSecretPrefix> {
        let owned = |prefixes: &[&str]| prefixes.iter().map(ToString::to_string).collect::<Vec<_>>();
        SecretAliases::new(&owned(provider), &owned(tool))
    }

    fn policy(provider: &str, tool: &str) -> Value {
        json!({
            "sandbox": "read-only",
            "secretScope": {
                "providerCredentials": [{ "name": provider, "keys": ["auth.json"] }],
                "toolCredentials": [{ "name": tool, "keys": ["token"] }],
            },
        })
    }

    #[test]
    fn aliases_are_replaced_in_the_list_of_their_kind() {
        let aliases = aliases(&["agentrun-v01-provider-"], &["agentrun-v01-tool-"]).expect("prefixes");
        for (provider, tool, replaced) in [
            ("agentrun-v01-provider-codex", "agentrun-v01-tool-github", true),
            ("guildhall-provider-codex", "guildhall-tool-github", true),
            ("agentrun-v01-tool-github", "agentrun-v01-provider-codex", false),
            ("other-provider-codex", "hunter2", false),
        ] {
            let mut request = policy(provider, tool);
            aliases.replace_in(&mut request);
            let own = policy("guildhall-provider-codex", "guildhall-tool-github");
            assert_eq!(request, if replaced { own } else { policy(provider, tool) });
        }
    }

    #[test]
    fn policy_without_a_valid_scope_is_not_changed() {
        let aliases = aliases(&["a-"], &[]).expect("prefixes");
        for text in [
            "null",
            "[]",
            "{}",
            r#"{"secretScope":"a-x"}"#,
            r#"{"secretScope":{"providerCredentials":["a-x"]}}"#,
        ] {
            let mut request: Value = serde_json::from_str(text).expect("JSON");
            aliases.replace_in(&mut request);
            assert_eq!(request.to_string(), text);
        }
    }

    #[test]
    fn invalid_and_repeated_prefixes_are_rejected() {
        for prefix in ["", "-", "agentrun", "Agent-", "a b-", "-a-", "../-"] {
            assert_eq!(aliases(&[prefix], &[]), Err(InvalidSecretPrefix { prefix: prefix.to_owned() }));
        }
        assert_eq!(aliases(&["a-"], &["a-"]), Err(InvalidSecretPrefix { prefix: "a-".to_owned() }));
    }
}
