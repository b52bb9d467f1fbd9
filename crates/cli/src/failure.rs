//! How a command that failed says so: what happened, why, what to do next, and an exit code for scripts.

use std::io;
use std::process::ExitCode;

use guildhall_domain::FailureKind;
use guildhall_domain::runs::TerminalStatus;
use guildhall_sdk::ClientError;

use crate::doctor::Unwell;
use crate::kept::NotSignedIn;

const FAILED: u8 = 1;
const USAGE: u8 = 2;
const NOT_SIGNED_IN: u8 = 3;
const NOT_THERE: u8 = 4;
/// Of a run or command that was followed to its end. The number is that of a login that has ended, which says so.
const CANCELLED: u8 = 3;

const LOGIN: &str = "`guildhall login` signs you in";

/// The command was called in a way that cannot work. The sentence says which would.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub(crate) &'static str);

/// What was followed has ended otherwise than completed. All has been said by then.
#[derive(Debug, thiserror::Error)]
#[error("it has ended: {0}")]
pub(crate) struct NotCompleted(pub(crate) TerminalStatus);

/// What was named is not there, or not for this caller.
#[derive(Debug, thiserror::Error)]
#[error("there is no {what} {name:?} that you can see")]
pub(crate) struct NotThere {
    pub(crate) what: &'static str,
    pub(crate) name: String,
    pub(crate) next: &'static str,
}

/// Tells the user and returns the exit code: 1 failed, 2 wrong usage, 3 not signed in, 4 not there or not allowed.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    if is_closed_pipe(error) {
        // Whoever reads our output, such as `head`, has seen enough.
        return ExitCode::SUCCESS;
    }
    if error.is::<Unwell>() {
        return ExitCode::from(FAILED);
    }
    if let Some(NotCompleted(status)) = error.downcast_ref() {
        return ExitCode::from(match status {
            TerminalStatus::Completed => 0,
            TerminalStatus::Failed | TerminalStatus::Blocked => FAILED,
            TerminalStatus::Cancelled => CANCELLED,
        });
    }
    eprintln!("error: {error}");
    for cause in error.chain().skip(1) {
        eprintln!("  because: {cause}");
    }
    let (code, next) = verdict(error);
    if let Some(next) = next {
        eprintln!("  next: {next}");
    }
    ExitCode::from(code)
}

fn verdict(error: &anyhow::Error) -> (u8, Option<String>) {
    if let Some(error) = error.chain().find_map(|cause| cause.downcast_ref::<ClientError>()) {
        return verdict_of_call(error);
    }
    if let Some(missing) = error.downcast_ref::<NotThere>() {
        return (NOT_THERE, Some(missing.next.to_owned()));
    }
    if error.is::<NotSignedIn>() {
        return (NOT_SIGNED_IN, Some(LOGIN.to_owned()));
    }
    (if error.is::<Usage>() { USAGE } else { FAILED }, None)
}

fn verdict_of_call(error: &ClientError) -> (u8, Option<String>) {
    match error {
        ClientError::NoToken(cause) if cause.is::<NotSignedIn>() => (NOT_SIGNED_IN, Some(LOGIN.to_owned())),
        ClientError::NoToken(_) => (FAILED, None),
        ClientError::Unreachable { .. } | ClientError::BadAnswer { .. } => (FAILED, Some(error.next_step())),
        ClientError::Failed(_) => {
            let kind = error.kind();
            if kind == Some(FailureKind::Unauthenticated) {
                (NOT_SIGNED_IN, Some(LOGIN.to_owned()))
            } else if kind == Some(FailureKind::SignInFailed) {
                (NOT_SIGNED_IN, Some(error.next_step()))
            } else if [Some(FailureKind::NotFound), Some(FailureKind::Forbidden)].contains(&kind) {
                (NOT_THERE, Some(error.next_step()))
            } else {
                (FAILED, Some(error.next_step()))
            }
        }
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
