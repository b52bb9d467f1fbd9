//! Reads passwords and other secrets. They are never arguments: every process on the machine can read those.

use std::io::{IsTerminal, Read, stdin};

use anyhow::{Context, Result};
use secrecy::{ExposeSecret, SecretString};

use crate::error::UsageError;
use crate::output::sanitize_line;

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

/// Reads a new password from standard input, or prompts for it twice.
pub(super) fn read_new(name: &str, from_stdin: bool) -> Result<SecretString> {
    if from_stdin {
        return read_stdin();
    }
    let first = prompt(&format!("New password of {}: ", sanitize_line(name)))?;
    let second = prompt("Repeat the password: ")?;
    if first.expose_secret() != second.expose_secret() {
        return Err(UsageError("the two passwords differ; nothing was changed").into());
    }
    Ok(first)
}

/// Reads the current and the new password from standard input, one per line.
pub(super) fn read_current_and_new() -> Result<(SecretString, SecretString)> {
    let text = read_stdin()?;
    let mut lines = text.expose_secret().lines();
    let (Some(current), Some(new), None) = (lines.next(), lines.next(), lines.next()) else {
        let message = "expected two lines on standard input: the current password, then the new password";
        return Err(UsageError(message).into());
    };
    Ok((current.into(), new.into()))
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
        "" => Err(UsageError(
            "no credential was given\n  next: type it at the prompt in a terminal, or pipe it to standard input",
        )
        .into()),
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
