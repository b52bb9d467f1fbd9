//! Acknowledges a command: from then on it may have side effects, and no other runner gets it.

use guildhall_domain::FailureKind;
use guildhall_domain::ids::CommandId;
use guildhall_sdk::runner::LeasedRun;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::options::RETRY_DELAY;
use crate::lease::is_lease_lost;

/// The result of acknowledging a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AckResult {
    Acknowledged,
    /// The command has already ended.
    AlreadyEnded,
    LeaseLost,
}

/// Acknowledges a command. Retries until the server responds: a command that is not acknowledged would wait forever.
pub(super) async fn acknowledge_command(
    held: &LeasedRun,
    id: CommandId,
    lost: &CancellationToken,
) -> AckResult {
    loop {
        let response = tokio::select! {
            response = held.ack(id) => response,
            () = lost.cancelled() => return AckResult::LeaseLost,
        };
        match response {
            Ok(_) => return AckResult::Acknowledged,
            Err(error) if error.kind() == Some(FailureKind::Conflict) => return AckResult::AlreadyEnded,
            Err(error) if is_lease_lost(&error) => return AckResult::LeaseLost,
            Err(error) => warn!("cannot acknowledge {id}: {error}"),
        }
        tokio::select! {
            () = sleep(RETRY_DELAY) => {}
            () = lost.cancelled() => return AckResult::LeaseLost,
        }
    }
}
