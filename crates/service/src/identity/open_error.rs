//! Why the authority of this installation cannot be created or opened.

use guildhall_identity::pki::{EcKeyError, IssuerError};
use guildhall_identity::seal::SealError;
use guildhall_launcher::secrets::SecretError;

/// The issuer could not be created or opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenIssuerError {
    #[error("cannot access the files of the issuer")]
    Folder(#[from] SecretError),
    #[error("the file aun/{0} is missing or unreadable")]
    File(&'static str),
    #[error("cannot open the key in aun/{file}")]
    Key {
        file: &'static str,
        #[source]
        source: EcKeyError,
    },
    #[error("cannot encrypt a key")]
    Seal(#[from] SealError),
    #[error(transparent)]
    Issuer(#[from] IssuerError),
}
