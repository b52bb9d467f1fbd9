//! Commands for operators of the installation.

use guildhall_domain::FailureKind;
use guildhall_sdk::ClientError;

use crate::error::OperatorsOnly;

/// Explains the response to other users. The server hides from them what exists, and says "not found".
pub(super) fn explain_refusal(error: ClientError) -> anyhow::Error {
    let is_refusal = [Some(FailureKind::NotFound), Some(FailureKind::Forbidden)].contains(&error.kind());
    if !is_refusal {
        return error.into();
    }
    OperatorsOnly.into()
}
