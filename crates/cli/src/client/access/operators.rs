//! Commands for operators of the installation.

use guildhall_domain::FailureKind;
use guildhall_sdk::ClientError;

/// Explains the response to other users. The server hides from them what exists, and says "not found".
pub(super) fn explain_refusal(error: ClientError) -> anyhow::Error {
    let is_refusal = [Some(FailureKind::NotFound), Some(FailureKind::Forbidden)].contains(&error.kind());
    let error = anyhow::Error::from(error);
    if !is_refusal {
        return error;
    }
    error.context(
        "this command is for operators of the installation; `guildhall whoami` shows whether you are one",
    )
}
