//! Asking for a password. It is never an argument: every process of the machine can read those.

use std::io::{IsTerminal, Read, stdin};

use anyhow::{Context, Result};
use secrecy::SecretString;

use crate::failure::Usage;

/// The longest credential that is read: more than any server takes, so that one that is too long is refused, not cut.
const CREDENTIAL_BYTES: u64 = 64 * 1024;

/// The longest password that is read.
const BYTES: u64 = 4096;

/// Reads a password from standard input: all of it, without the end of the line.
pub(super) fn from_stdin() -> Result<SecretString> {
    let mut text = String::new();
    stdin().take(BYTES).read_to_string(&mut text).context("cannot read the password from standard input")?;
    let password = text.strip_suffix('\n').unwrap_or(&text);
    let password = password.strip_suffix('\r').unwrap_or(password);
    if password.is_empty() {
        return Err(Usage("standard input holds no password").into());
    }
    Ok(password.into())
}

/// Asks a person for a password, without showing it.
pub(super) fn ask(question: &str) -> Result<SecretString> {
    if !stdin().is_terminal() {
        return Err(
            Usage("there is no terminal to ask for the password; send it with --password-stdin").into()
        );
    }
    Ok(rpassword::prompt_password(question).context("cannot ask for the password")?.into())
}

/// Reads a provider's credential: from a pipe, or from a person, without showing it.
pub(super) fn credential() -> Result<SecretString> {
    let given = if stdin().is_terminal() {
        rpassword::prompt_password("Credential: ").context("cannot ask for the credential")?
    } else {
        let mut text = String::new();
        stdin().take(CREDENTIAL_BYTES).read_to_string(&mut text).context("cannot read the credential")?;
        text
    };
    // Keys have no spaces: what stands around one came with a copy.
    match given.trim() {
        "" => Err(Usage("standard input holds no credential").into()),
        credential => Ok(credential.into()),
    }
}

/// Reads an invitation: from a pipe, or from a person, without showing it.
pub(super) fn invitation() -> Result<SecretString> {
    if stdin().is_terminal() {
        return Ok(rpassword::prompt_password("Invitation: ")
            .context("cannot ask for the invitation")?
            .into());
    }
    from_stdin()
}
