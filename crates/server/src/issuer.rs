//! The AUN issuer of the configuration.

use std::path::Path;

use guildhall_domain::identity::IssuerName;
use guildhall_identity::seal::Kek;
use guildhall_launcher::secrets::IssuerFolder;
use guildhall_runtime::Clock;
use guildhall_service::identity::issuer::{Issuer, OpenIssuerError};
use guildhall_store::{Store, aid_issuer};

use crate::Config;
use crate::issuer_error::IssuerConfigError;
use crate::start_error::StartError;

/// The configured issuer and its folder; none where the server issues no AIDs.
fn configured(config: &Config) -> Result<Option<(IssuerName, IssuerFolder)>, IssuerConfigError> {
    if config.aun.issuer.is_empty() {
        return Ok(None);
    }
    let name = config.aun.issuer.parse()?;
    if config.secrets.folder.is_empty() {
        return Err(IssuerConfigError::NoFolder);
    }
    Ok(Some((name, IssuerFolder::new(Path::new(&config.secrets.folder)))))
}

/// Creates the keys and certificates of the configured issuer. Returns false where it has some, or none is configured.
pub fn create_issuer(config: &Config) -> Result<bool, IssuerConfigError> {
    let Some((name, folder)) = configured(config)? else { return Ok(false) };
    let kek = Kek::from_hex(&config.identity.key_encryption_key)?;
    Ok(Issuer::create(&folder, &kek, &name, Clock::system().now())?)
}

/// Makes the issuer the one of the database. Fails where the database has another one.
pub(crate) async fn claim(store: &Store, issuer: Option<&Issuer>) -> Result<(), StartError> {
    let Some(issuer) = issuer else { return Ok(()) };
    let is_own = aid_issuer::claim(store, issuer.authority.name(), issuer.root_fingerprint()).await?;
    if is_own { Ok(()) } else { Err(StartError::OtherIssuer) }
}

/// Opens the configured issuer.
pub(crate) fn open(config: &Config, kek: &Kek) -> Result<Option<Issuer>, IssuerConfigError> {
    let Some((name, folder)) = configured(config)? else { return Ok(None) };
    if !folder.exists().map_err(OpenIssuerError::from)? {
        return Err(IssuerConfigError::NoKeys);
    }
    Ok(Some(Issuer::open(&folder, kek, &name, Clock::system().now())?))
}
