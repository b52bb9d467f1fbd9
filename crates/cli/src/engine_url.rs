//! URLs of PostgreSQL and NATS: from flags or from the configuration.

use anyhow::Result;
use guildhall_server::config::default_value;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::error::UsageError;

const SCHEMES: [&str; 5] = ["postgres", "postgresql", "nats", "tls", "ws"];

/// Rejects URLs with a password: every process on the machine can read command-line arguments.
pub(crate) fn reject_passwords<'a>(urls: impl IntoIterator<Item = &'a Option<String>>) -> Result<()> {
    for text in urls.into_iter().flatten() {
        // Checked here and not by a clap value parser: clap would repeat the URL in its message.
        let url = Url::parse(text).ok().filter(|url| SCHEMES.contains(&url.scheme()));
        let Some(url) = url else {
            return Err(UsageError(
                "invalid URL: expected postgres://user@host:port/database or nats://host:port",
            )
            .into());
        };
        if url.password().is_some() {
            return Err(UsageError(
                "a URL in an argument must not contain a password: every process on this machine can read it\n  \
                 next: set GUILDHALL_POSTGRES_URL or GUILDHALL_NATS_URL in the environment",
            )
            .into());
        }
    }
    Ok(())
}

/// Returns whether the file or the environment sets this URL. Then the engine is not started by us.
pub(crate) fn is_configured(key: &str, url: &SecretString) -> bool {
    default_value(key).is_some_and(|default| default != format!("\"{}\"", url.expose_secret()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn password_in_an_argument_is_rejected_and_not_repeated() {
        let given = Some("postgres://me:hunter2@127.0.0.1/db".to_owned());
        let error = format!("{:?}", reject_passwords([&None, &given]).expect_err("rejected"));
        assert!(error.contains("GUILDHALL_POSTGRES_URL") && !error.contains("hunter2"), "{error}");
        let without_scheme = Some("me:hunter2@127.0.0.1/db".to_owned());
        let error = format!("{:?}", reject_passwords([&without_scheme]).expect_err("rejected"));
        assert!(!error.contains("hunter2"), "{error}");
        reject_passwords([&Some("postgres://me@127.0.0.1/db".to_owned())])
            .expect("a URL without a password is accepted");
    }
}
