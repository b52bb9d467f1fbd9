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
        MessengerError::KeyChanged(ref change) => {
            let next = format!(
                "ask its owner whether that is their key; then: guildhall aid trust {} --fingerprint {}",
                change.aid, change.found
            );
            anyhow::anyhow!("{error}\n  next: {next}")
        }
        MessengerError::Store(_)
        | MessengerError::Peer { .. }
        | MessengerError::Sealing(_)
        | MessengerError::OtherDevice { .. } => error.into(),
    }
}
