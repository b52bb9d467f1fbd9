//! `guildhall send`, `inbox` and `chat`: messages between AIDs.

pub(crate) mod chat;
pub(crate) mod inbox;
mod payload;
pub(crate) mod send;

use guildhall_sdk::messages::MessengerError;

/// Returns the error of a command. Those of the socket have exit codes of their own.
fn command_error(error: MessengerError) -> anyhow::Error {
    match error {
        MessengerError::Socket(error) => error.into(),
        MessengerError::Store(_)
        | MessengerError::KeyChanged(_)
        | MessengerError::Peer { .. }
        | MessengerError::Sealing(_)
        | MessengerError::OtherDevice { .. } => error.into(),
    }
}
