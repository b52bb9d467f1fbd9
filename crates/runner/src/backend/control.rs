//! Controls of a running turn.

use tokio::sync::{mpsc, oneshot};

/// A request of the runner to a running turn.
#[derive(Debug)]
pub enum TurnControl {
    /// Add this text to the turn. The reply says whether the backend accepted it.
    Steer { text: String, reply: oneshot::Sender<Result<(), SteerError>> },
    /// Stop the turn; the thread continues.
    Interrupt,
}

/// Why a backend did not accept a steer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SteerError {
    #[error("this backend does not support steering")]
    Unsupported,
    #[error("no turn is running")]
    NoActiveTurn,
    #[error("the backend did not answer in time")]
    Timeout,
}

/// Rejects the controls that arrived after the end of the turn.
pub(super) fn reject_pending(control: &mut mpsc::Receiver<TurnControl>) {
    while let Ok(control) = control.try_recv() {
        match control {
            TurnControl::Steer { reply, .. } => drop(reply.send(Err(SteerError::NoActiveTurn))),
            TurnControl::Interrupt => {}
        }
    }
}
