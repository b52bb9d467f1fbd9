//! The prompt argument.

use std::io::{Read, stdin};

use anyhow::{Context, Result};

/// Longest prompt that is read from standard input: the limit of the server.
const MAX_PROMPT_BYTES: u64 = 1024 * 1024;

/// Returns the prompt argument, or standard input if it is `-`.
pub(super) fn read(argument: &str) -> Result<String> {
    if argument != "-" {
        return Ok(argument.to_owned());
    }
    let mut text = String::new();
    stdin().lock().take(MAX_PROMPT_BYTES).read_to_string(&mut text).context("cannot read standard input")?;
    Ok(text)
}
