//! Secrets that a run can use.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::secret_ref::{InvalidSecretRef, SecretRef};

/// The secrets of a run, by reference. Omitted secrets are not granted: they are never filled in from the bounds.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Value", rename_all = "camelCase")]
pub struct SecretScope {
    /// Allows the backend to see credentials in its own output. Logs, events and responses are redacted regardless.
    pub allow_credential_echo: bool,
    pub provider_credentials: Vec<SecretRef>,
    pub tool_credentials: Vec<SecretRef>,
}

/// Why a secret scope is invalid. The input is not repeated, because it may contain a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSecretScope {
    #[error(
        "a secret scope is an object with `allowCredentialEcho`, `providerCredentials` and `toolCredentials`"
    )]
    Form,
    #[error("`allowCredentialEcho` must be true or false")]
    Echo,
    #[error(
        "`{list}` must be a list of at most {} references to different secrets",
        SecretScope::MAX_SECRETS
    )]
    List { list: &'static str },
    #[error("`{list}` contains a secret of another kind: use {expected}")]
    Kind { list: &'static str, expected: &'static str },
    #[error("`{list}`: {source}")]
    Secret { list: &'static str, source: InvalidSecretRef },
}

impl SecretScope {
    /// Each secret is mounted into the runner.
    pub const MAX_SECRETS: usize = 16;

    pub(super) const PROVIDERS: &'static str = "providerCredentials";
    pub(super) const TOOLS: &'static str = "toolCredentials";
    const ECHO: &'static str = "allowCredentialEcho";

    /// Validates a scope that was not parsed from JSON.
    pub fn validate(&self) -> Result<(), InvalidSecretScope> {
        check_list(Self::PROVIDERS, &self.provider_credentials, true, "`guildhall-provider-<profile>`")?;
        check_list(Self::TOOLS, &self.tool_credentials, false, "`guildhall-tool-<tool>`")
    }
}

fn check_list(
    list: &'static str,
    secrets: &[SecretRef],
    provider: bool,
    expected: &'static str,
) -> Result<(), InvalidSecretScope> {
    let is_distinct = secrets.iter().map(SecretRef::name).collect::<BTreeSet<_>>().len() == secrets.len();
    if secrets.len() > SecretScope::MAX_SECRETS || !is_distinct {
        return Err(InvalidSecretScope::List { list });
    }
    if secrets.iter().any(|secret| secret.is_provider() != provider) {
        return Err(InvalidSecretScope::Kind { list, expected });
    }
    Ok(())
}

// Written by hand for the same reason as in `secret_ref`: a misplaced value may be a secret.
impl TryFrom<Value> for SecretScope {
    type Error = InvalidSecretScope;

    fn try_from(value: Value) -> Result<Self, InvalidSecretScope> {
        let Value::Object(mut fields) = value else { return Err(InvalidSecretScope::Form) };
        let allow_credential_echo = match fields.remove(Self::ECHO) {
            None => false,
            Some(Value::Bool(echo)) => echo,
            Some(_) => return Err(InvalidSecretScope::Echo),
        };
        let provider_credentials = take_list(&mut fields, Self::PROVIDERS)?;
        let tool_credentials = take_list(&mut fields, Self::TOOLS)?;
        if !fields.is_empty() {
            return Err(InvalidSecretScope::Form);
        }
        let scope = Self { allow_credential_echo, provider_credentials, tool_credentials };
        scope.validate().map(|()| scope)
    }
}

fn take_list(
    fields: &mut Map<String, Value>,
    list: &'static str,
) -> Result<Vec<SecretRef>, InvalidSecretScope> {
    match fields.remove(list) {
        None => Ok(Vec::new()),
        Some(Value::Array(items)) if items.len() <= SecretScope::MAX_SECRETS => items
            .into_iter()
            .map(|item| {
                SecretRef::try_from(item).map_err(|source| InvalidSecretScope::Secret { list, source })
            })
            .collect(),
        Some(_) => Err(InvalidSecretScope::List { list }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> Result<SecretScope, InvalidSecretScope> {
        SecretScope::try_from(value)
    }

    #[test]
    fn omitted_secrets_are_not_granted() {
        assert_eq!(read(json!({})), Ok(SecretScope::default()));
        assert_eq!(
            json!(SecretScope::default()),
            json!({ "allowCredentialEcho": false, "providerCredentials": [], "toolCredentials": [] })
        );
    }

    // covers: R24
    #[test]
    fn invalid_input_is_rejected_and_not_repeated() {
        let secret = |name: &str| json!({ "name": name, "keys": ["k"] });
        let list = SecretScope::PROVIDERS;
        let cases = [
            (json!("hunter2"), InvalidSecretScope::Form),
            (json!({ "env": { "TOKEN": "hunter2" } }), InvalidSecretScope::Form),
            (json!({ "allowCredentialEcho": "hunter2" }), InvalidSecretScope::Echo),
            (json!({ list: "hunter2" }), InvalidSecretScope::List { list }),
            (
                json!({ list: ["hunter2"] }),
                InvalidSecretScope::Secret { list, source: InvalidSecretRef::Form },
            ),
            (
                json!({ list: [secret("guildhall-provider-codex"), secret("guildhall-provider-codex")] }),
                InvalidSecretScope::List { list },
            ),
            (
                json!({ list: [secret("guildhall-tool-github")] }),
                InvalidSecretScope::Kind { list, expected: "`guildhall-provider-<profile>`" },
            ),
        ];
        for (value, expected) in cases {
            assert_eq!(read(value), Err(expected));
            assert!(!expected.to_string().contains("hunter2"));
        }
    }
}
