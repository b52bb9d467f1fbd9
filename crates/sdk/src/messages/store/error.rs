//! Errors of the folder of a device.

use std::io;
use std::path::PathBuf;

use guildhall_identity::e2ee::AgreementError;
use guildhall_identity::seal::SealError;

/// The folder of a device cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DeviceStoreError {
    #[error("cannot {action} {}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The content is not included, because it may hold keys.
    #[error("{} is not readable: restore it, or move the folder away to begin as a new device", path.display())]
    Damaged { path: PathBuf },
    #[error("{} was written by a newer version", path.display())]
    Format { path: PathBuf },
    #[error("{} belongs to {stored}", path.display())]
    OtherAid { path: PathBuf, stored: String },
    #[error(transparent)]
    IdentityKey(AgreementError),
    #[error("cannot encrypt or decrypt a key of the device in {}", path.display())]
    Key {
        path: PathBuf,
        #[source]
        source: SealError,
    },
}
