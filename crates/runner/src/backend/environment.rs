//! The environment variables of an agent.

use secrecy::SecretString;

/// Variables of the runner that an agent needs to find programs and to decode text.
const INHERITED: [&str; 5] = ["PATH", "LANG", "LC_ALL", "TZ", "TERM"];

/// Returns the variables of the runner that agents inherit.
pub(super) fn inherited() -> impl Iterator<Item = (String, String)> {
    INHERITED
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), std::env::var_os(name)?.into_string().ok()?)))
}

/// Adds variables to the secrets. The last one of a name wins, so no secret can replace a variable that we set.
pub(super) fn with_secrets(
    secrets: &[(String, SecretString)],
    variables: impl Iterator<Item = (String, String)>,
) -> Vec<(String, SecretString)> {
    let variables = variables.map(|(name, value)| (name, SecretString::from(value)));
    secrets.iter().cloned().chain(variables).collect()
}
