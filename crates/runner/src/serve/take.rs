//! Taking a command: from there on it may have side effects, and no other runner gets it.

use guildhall_domain::FailureKind;
use guildhall_domain::ids::CommandId;
use guildhall_sdk::runner::HeldRun;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::REST;
use crate::pump::send::is_over;

/// What became of taking a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    Ours,
    /// It has ended already.
    Gone,
    /// The run is not ours any more.
    Lost,
}

/// Takes a command, and asks until there is an answer: a command that was seen and not taken would wait for ever.
pub(super) async fn take_command(held: &HeldRun, id: CommandId, lost: &CancellationToken) -> Taken {
    loop {
        let answer = tokio::select! {
            answer = held.ack(id) => answer,
            () = lost.cancelled() => return Taken::Lost,
        };
        match answer {
            Ok(_) => return Taken::Ours,
            Err(error) if error.kind() == Some(FailureKind::Conflict) => return Taken::Gone,
            Err(error) if is_over(&error) => return Taken::Lost,
            Err(error) => warn!("cannot take {id}: {error}"),
        }
        tokio::select! {
            () = sleep(REST) => {}
            () = lost.cancelled() => return Taken::Lost,
        }
    }
}
