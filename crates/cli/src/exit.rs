//! Prints the error of a failed command (what failed, why, what to do next) and returns its exit code.

use std::io;

use guildhall_domain::FailureKind;
use guildhall_sdk::ClientError;
use guildhall_sdk::socket::SocketError;
use serde::Serialize;

use crate::config_dir::{AidNotLoggedIn, ContextNotFound, NotSignedIn};
use crate::error::{
    ChecksFailed, FollowInterrupted, InvalidParameters, ManifestChanged, NoChangesError, NotFoundError,
    OperatorsOnly, UnknownMethod, UnsuccessfulOutcome, UsageError, WatchInterrupted,
};
use crate::exit_code::ExitCode;
use crate::output::{escape_json, sanitize_text};

const SIGN_IN: &str = "`guildhall login` signs you in";
const LOG_IN: &str = "`guildhall aid login` logs an AID in";

/// Separates the next step from the rest of a message.
const NEXT: &str = "\n  next: ";

/// How an error is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorFormat {
    /// For people.
    Text,
    /// One line of JSON, for a command with `--json`.
    Json,
}

/// An error as it is printed.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct ErrorReport {
    failure_kind: String,
    message: String,
    causes: Vec<String>,
    next: Option<String>,
    exit_code: u8,
}

/// The kind, exit code and next step of an error.
struct Classification {
    kind: String,
    code: ExitCode,
    next: Option<String>,
}

/// Prints the error and returns the exit code.
pub(crate) fn report(error: &anyhow::Error, format: ErrorFormat) -> ExitCode {
    if is_broken_pipe(error) {
        // The reader of our output, such as `head`, has closed it: not an error.
        return ExitCode::Success;
    }
    // The result is already printed.
    if error.is::<ChecksFailed>() {
        return ExitCode::Failure;
    }
    if let Some(UnsuccessfulOutcome(status)) = error.downcast_ref() {
        return ExitCode::of_outcome(*status);
    }
    if let Some(ManifestChanged(outcome)) = error.downcast_ref() {
        return ExitCode::of_manifest_changes(*outcome);
    }
    let classification = classify(error);
    let code = classification.code;
    print(&ErrorReport::new(error, classification), format);
    code
}

/// Prints an error of the argument parser as JSON.
pub(crate) fn report_usage_as_json(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    let mut paragraphs = text.split("\n\n");
    let message = paragraphs.next().unwrap_or_default();
    let usage = paragraphs.find(|paragraph| paragraph.starts_with("Usage: "));
    let report = ErrorReport {
        failure_kind: "usage-error".to_owned(),
        message: message.strip_prefix("error: ").unwrap_or(message).to_owned(),
        causes: Vec::new(),
        next: usage.map(str::to_owned),
        exit_code: ExitCode::UsageError.number(),
    };
    print(&report, ErrorFormat::Json);
    ExitCode::UsageError
}

impl ErrorReport {
    fn new(error: &anyhow::Error, classification: Classification) -> Self {
        // The server's message is for clients that send their tokens themselves.
        let login_ended =
            client_error(error).and_then(ClientError::kind) == Some(FailureKind::Unauthenticated);
        let text = if login_ended { "your login has ended".to_owned() } else { error.to_string() };
        let (message, next) = match text.split_once(NEXT) {
            Some((message, next)) => (message, Some(next.to_owned())),
            None => (text.as_str(), classification.next),
        };
        Self {
            failure_kind: classification.kind,
            message: message.to_owned(),
            causes: if login_ended { Vec::new() } else { causes(error) },
            next,
            exit_code: classification.code.number(),
        }
    }
}

/// Returns why it failed. A cause that repeats the message before it is skipped.
fn causes(error: &anyhow::Error) -> Vec<String> {
    // Between the failed call and its reason are only layers of the HTTP client.
    if is_unreachable(error) {
        return vec![error.root_cause().to_string()];
    }
    let mut causes: Vec<String> = Vec::new();
    let mut previous = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !previous.contains(&cause) {
            causes.push(cause.clone());
        }
        previous = cause;
    }
    causes
}

fn is_unreachable(error: &anyhow::Error) -> bool {
    let unreachable = |error: &ClientError| matches!(error, ClientError::Unreachable { .. });
    match socket_error(error) {
        Some(SocketError::Http(cause)) => unreachable(cause),
        Some(_) => false,
        None => client_error(error).is_some_and(unreachable),
    }
}

fn print(report: &ErrorReport, format: ErrorFormat) {
    if format == ErrorFormat::Json {
        let json = serde_json::to_string(report).unwrap_or_default();
        eprintln!("{}", escape_json(&json));
        return;
    }
    // An interrupted command did what the user wanted.
    let prefix = if report.exit_code == ExitCode::Interrupted.number() { "" } else { "error: " };
    // A message may repeat text of other users.
    eprintln!("{prefix}{}", sanitize_text(&report.message));
    if !report.causes.is_empty() {
        eprintln!("  because: {}", sanitize_text(&report.causes.join(": ")));
    }
    if let Some(next) = &report.next {
        eprintln!("  next: {}", sanitize_text(next));
    }
}

fn classify(error: &anyhow::Error) -> Classification {
    let of = |kind: &str, code, next: Option<&str>| Classification {
        kind: kind.to_owned(),
        code,
        next: next.map(str::to_owned),
    };
    let not_signed_in = || of(FailureKind::Unauthenticated.as_str(), ExitCode::NotSignedIn, Some(SIGN_IN));
    if let Some(error) = socket_error(error) {
        return classify_socket_error(error);
    }
    if let Some(error) = client_error(error) {
        return classify_client_error(error).unwrap_or_else(not_signed_in);
    }
    if let Some(missing) = error.downcast_ref::<NotFoundError>() {
        return of(FailureKind::NotFound.as_str(), ExitCode::NotFound, Some(missing.next));
    }
    if error.is::<OperatorsOnly>() {
        return of(FailureKind::Forbidden.as_str(), ExitCode::NotFound, None);
    }
    if error.is::<ContextNotFound>() || error.is::<NoChangesError>() {
        return of(FailureKind::NotFound.as_str(), ExitCode::NotFound, None);
    }
    if error.is::<NotSignedIn>() {
        return not_signed_in();
    }
    if let Some(interrupted) = error.downcast_ref::<WatchInterrupted>() {
        return of("interrupted", ExitCode::Interrupted, Some(&interrupted.next_step()));
    }
    if error.is::<FollowInterrupted>() {
        return of("interrupted", ExitCode::Interrupted, None);
    }
    if error.is::<AidNotLoggedIn>() {
        return aid_not_logged_in();
    }
    if let Some(unknown) = error.downcast_ref::<UnknownMethod>() {
        let kind = FailureKind::MethodNotAllowed.as_str();
        return of(kind, ExitCode::UsageError, Some(&unknown.next_step()));
    }
    if error.is::<UsageError>() || error.is::<InvalidParameters>() {
        return of("usage-error", ExitCode::UsageError, None);
    }
    of("command-failed", ExitCode::Failure, None)
}

fn client_error(error: &anyhow::Error) -> Option<&ClientError> {
    error.chain().find_map(|cause| cause.downcast_ref::<ClientError>())
}

fn socket_error(error: &anyhow::Error) -> Option<&SocketError> {
    error.chain().find_map(|cause| cause.downcast_ref::<SocketError>())
}

fn aid_not_logged_in() -> Classification {
    Classification {
        kind: FailureKind::Unauthenticated.as_str().to_owned(),
        code: ExitCode::NotSignedIn,
        next: Some(LOG_IN.to_owned()),
    }
}

fn classify_socket_error(error: &SocketError) -> Classification {
    let failed =
        |kind: &str, code| Classification { kind: kind.to_owned(), code, next: Some(error.next_step()) };
    match error {
        SocketError::Http(error) => classify_client_error(error).unwrap_or_else(aid_not_logged_in),
        SocketError::Failed(rpc) => match error.kind() {
            Some(FailureKind::Unauthenticated) => aid_not_logged_in(),
            // Not the name and the password: the key of an AID.
            Some(FailureKind::SignInFailed) => failed_login(&rpc.data.failure_kind),
            kind => failed(&rpc.data.failure_kind, exit_code_of(kind)),
        },
        SocketError::NoToken(cause) if cause.is::<AidNotLoggedIn>() => aid_not_logged_in(),
        SocketError::Ended { .. } => aid_not_logged_in(),
        SocketError::Lost { .. } | SocketError::Timeout(_) | SocketError::NotSent(_) => {
            failed("server-unreachable", ExitCode::Failure)
        }
        SocketError::InvalidResponse(_) => failed("invalid-response", ExitCode::Failure),
        SocketError::TooLarge { .. } => failed(FailureKind::PayloadTooLarge.as_str(), ExitCode::Failure),
        SocketError::NoToken(_)
        | SocketError::Parameters
        | SocketError::UntrustedServer(_)
        | SocketError::Closed => failed("command-failed", ExitCode::Failure),
    }
}

fn failed_login(kind: &str) -> Classification {
    let next =
        "check that the AID is not revoked and that key and certificate are its own: `guildhall aid show`";
    Classification { kind: kind.to_owned(), code: ExitCode::NotSignedIn, next: Some(next.to_owned()) }
}

fn exit_code_of(kind: Option<FailureKind>) -> ExitCode {
    match kind {
        Some(FailureKind::SignInFailed) => ExitCode::NotSignedIn,
        Some(FailureKind::NotFound | FailureKind::Forbidden) => ExitCode::NotFound,
        _ => ExitCode::Failure,
    }
}

/// Returns `None` if the user is not signed in.
fn classify_client_error(error: &ClientError) -> Option<Classification> {
    let failed = |kind: &str, code, next| Some(Classification { kind: kind.to_owned(), code, next });
    match error {
        ClientError::NoToken(cause) if cause.is::<NotSignedIn>() => None,
        ClientError::NoToken(_) => failed("command-failed", ExitCode::Failure, None),
        ClientError::Unreachable { .. } => {
            failed("server-unreachable", ExitCode::Failure, Some(error.next_step()))
        }
        ClientError::InvalidResponse { .. } => {
            failed("invalid-response", ExitCode::Failure, Some(error.next_step()))
        }
        ClientError::Failed(problem) => {
            if error.kind() == Some(FailureKind::Unauthenticated) {
                return None;
            }
            failed(&problem.failure_kind, exit_code_of(error.kind()), Some(error.next_step()))
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
