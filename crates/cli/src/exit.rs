//! Prints the error of a failed command (what failed, why, what to do next) and returns its exit code.

use std::io;
use std::process::ExitCode;

use guildhall_domain::FailureKind;
use guildhall_domain::runs::TerminalStatus;
use guildhall_sdk::ClientError;

use crate::config_dir::NotSignedIn;
use crate::error::{ChecksFailed, NotFoundError, UnsuccessfulOutcome, UsageError};
use crate::output::sanitize_text;

const FAILED: u8 = 1;
const USAGE: u8 = 2;
const NOT_SIGNED_IN: u8 = 3;
const NOT_FOUND: u8 = 4;
/// A followed run or command was cancelled. Same number as `NOT_SIGNED_IN`, which also prints an error.
const CANCELLED: u8 = 3;

const SIGN_IN: &str = "`guildhall login` signs you in";

/// Prints the error and returns the exit code: 1 failure, 2 usage error, 3 not signed in, 4 not found or not allowed.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    if is_broken_pipe(error) {
        // The reader of our output, such as `head`, has closed it: not an error.
        return ExitCode::SUCCESS;
    }
    if error.is::<ChecksFailed>() {
        return ExitCode::from(FAILED);
    }
    if let Some(UnsuccessfulOutcome(status)) = error.downcast_ref() {
        return ExitCode::from(match status {
            TerminalStatus::Completed => 0,
            TerminalStatus::Failed | TerminalStatus::Blocked => FAILED,
            TerminalStatus::Cancelled => CANCELLED,
        });
    }
    // A message may repeat text of other users.
    eprintln!("error: {}", sanitize_text(&error.to_string()));
    for cause in error.chain().skip(1) {
        eprintln!("  because: {}", sanitize_text(&cause.to_string()));
    }
    let (code, next) = code_and_next_step(error);
    if let Some(next) = next {
        eprintln!("  next: {next}");
    }
    ExitCode::from(code)
}

fn code_and_next_step(error: &anyhow::Error) -> (u8, Option<String>) {
    if let Some(error) = error.chain().find_map(|cause| cause.downcast_ref::<ClientError>()) {
        return for_client_error(error);
    }
    if let Some(missing) = error.downcast_ref::<NotFoundError>() {
        return (NOT_FOUND, Some(missing.next.to_owned()));
    }
    if error.is::<NotSignedIn>() {
        return (NOT_SIGNED_IN, Some(SIGN_IN.to_owned()));
    }
    (if error.is::<UsageError>() { USAGE } else { FAILED }, None)
}

fn for_client_error(error: &ClientError) -> (u8, Option<String>) {
    match error {
        ClientError::NoToken(cause) if cause.is::<NotSignedIn>() => (NOT_SIGNED_IN, Some(SIGN_IN.to_owned())),
        ClientError::NoToken(_) => (FAILED, None),
        ClientError::Unreachable { .. } | ClientError::InvalidResponse { .. } => {
            (FAILED, Some(error.next_step()))
        }
        ClientError::Failed(_) => {
            let kind = error.kind();
            if kind == Some(FailureKind::Unauthenticated) {
                (NOT_SIGNED_IN, Some(SIGN_IN.to_owned()))
            } else if kind == Some(FailureKind::SignInFailed) {
                (NOT_SIGNED_IN, Some(error.next_step()))
            } else if [Some(FailureKind::NotFound), Some(FailureKind::Forbidden)].contains(&kind) {
                (NOT_FOUND, Some(error.next_step()))
            } else {
                (FAILED, Some(error.next_step()))
            }
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
