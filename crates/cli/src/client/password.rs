//! Reads passwords and other secrets. They are never arguments: every process on the machine can read those.

use std::io::{IsTerminal, Read, stdin};

use anyhow::{Context, Result};
use secrecy::SecretString;

use crate::error::UsageError;

/// Longest credential that is read. Above the limit of any server, so that a long one is rejected and not cut.
const MAX_CREDENTIAL_BYTES: u64 = 64 * 1024;

/// Longest password that is read.
const MAX_PASSWORD_BYTES: u64 = 4096;

/// Reads a password from standard input, without the line ending.
pub(super) fn read_stdin() -> Result<SecretString> {
    let mut text = String::new();
    stdin()
        .take(MAX_PASSWORD_BYTES)
        .read_to_string(&mut text)
        .context("cannot read the password from standard input")?;
    let password = text.strip_suffix('\n').unwrap_or(&text);
    let password = password.strip_suffix('\r').unwrap_or(password);
    if password.is_empty() {
        return Err(UsageError("no password on standard input").into());
    }
    Ok(password.into())
}

/// Prompts for a password without echo.
pub(super) fn prompt(text: &str) -> Result<SecretString> {
    if !stdin().is_terminal() {
        return Err(UsageError(
            "cannot prompt for the password: standard input is not a terminal\n  \
             next: pipe the password and add --password-stdin",
        )
        .into());
    }
    Ok(rpassword::prompt_password(text).context("cannot read the password")?.into())
}

/// Reads a provider credential from a pipe, or prompts for it without echo.
pub(super) fn read_credential() -> Result<SecretString> {
    let given = if stdin().is_terminal() {
        rpassword::prompt_password("Credential: ").context("cannot read the credential")?
    } else {
        let mut text = String::new();
        stdin().take(MAX_CREDENTIAL_BYTES).read_to_string(&mut text).context("cannot read the credential")?;
        text
    };
    // Credentials contain no spaces: surrounding ones come from copying.
    match given.trim() {
        "" => Err(UsageError("no credential on standard input").into()),
        credential => Ok(credential.into()),
    }
}

/// Reads an invitation secret from a pipe, or prompts for it without echo.
pub(super) fn read_invitation() -> Result<SecretString> {
    if stdin().is_terminal() {
        return Ok(rpassword::prompt_password("Invitation: ").context("cannot read the invitation")?.into());
    }
    read_stdin()
}
