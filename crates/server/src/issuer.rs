//! The AUN issuer of the configuration.

use std::path::Path;

use guildhall_domain::identity::IssuerName;
use guildhall_identity::seal::Kek;
use guildhall_identity::trust::content_hash;
use guildhall_launcher::secrets::IssuerFolder;
use guildhall_runtime::reconcile::Reconcilers;
use guildhall_runtime::{Clock, Tasks};
use guildhall_service::identity;
use guildhall_service::identity::agent_keys::KeepAgentKeys;
use guildhall_service::identity::issuer::{Issuer, OpenIssuerError};
use guildhall_service::identity::transparency;
use guildhall_store::aid_issuer::{self, IssuerIdentity};
use guildhall_store::{Store, trust_list};
use jiff::{SignedDuration, Timestamp};
use tracing::{info, warn};

use crate::Config;
use crate::issuer_error::IssuerConfigError;
use crate::start_error::StartError;

/// From this time before its end on, each start warns that the certificate of the issuer has to be renewed. Certificates of
/// AIDs, of 90 days, end with it.
const RENEWAL_WARNING: SignedDuration = SignedDuration::from_hours(180 * 24);

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

/// Creates the keys and certificates of the configured issuer that are missing. Returns false where it has all, or none is
/// configured.
pub fn create_issuer(config: &Config) -> Result<bool, IssuerConfigError> {
    let Some((name, folder)) = configured(config)? else { return Ok(false) };
    let kek = Kek::from_hex(&config.identity.key_encryption_key)?;
    Ok(Issuer::create(&folder, &kek, &name, Clock::system().now())?)
}

/// Signs the next certificate of the configured issuer. Returns when it ends; none where no issuer is configured.
pub fn renew_issuer(config: &Config) -> Result<Option<Timestamp>, IssuerConfigError> {
    let Some((name, folder)) = configured(config)? else { return Ok(None) };
    let kek = Kek::from_hex(&config.identity.key_encryption_key)?;
    Ok(Some(Issuer::renew(&folder, &kek, &name, Clock::system().now())?))
}

/// Makes the issuer the one of the database, with its trusted roots and with all of its certificates in the transparency log.
/// Fails where the database has another issuer.
pub(crate) async fn claim(store: &Store, issuer: Option<&Issuer>) -> Result<(), StartError> {
    let Some(issuer) = issuer else { return Ok(()) };
    let ends_at = issuer.authority.not_after();
    if ends_at.duration_since(Clock::system().now()) < RENEWAL_WARNING {
        warn!("the certificate of the issuer ends at {ends_at:.0}: run `guildhall renew-issuer`");
    }
    let identity = IssuerIdentity {
        name: issuer.authority.name(),
        root: issuer.root_fingerprint(),
        log_key: issuer.log().ok().map(|log| log.public.log_id()),
        trust_key: issuer.trust().ok().map(|trust| trust.public.fingerprint()),
    };
    if !aid_issuer::claim(store, &identity).await? {
        return Err(StartError::OtherIssuer);
    }
    if identity.log_key.is_none() || identity.trust_key.is_none() {
        warn!(
            "the issuer has no key of the transparency log or of the list of trusted roots: run `guildhall init`, copy \
             secrets.folder to every replica, and restart"
        );
    }
    trust_list::put(store, content_hash(&issuer.trusted_roots())).await?;
    let appended = transparency::backfill(store, &Clock::system()).await;
    let appended = appended.map_err(StartError::TransparencyLog)?;
    if appended > 0 {
        info!("appended {appended} older certificates to the transparency log");
    }
    Ok(())
}

/// Starts to look after the keys of agents that the server answers for.
pub(crate) fn start_agent_keys(aids: &identity::Group, tasks: &Tasks, reconcilers: &Reconcilers) {
    if let Ok(keys) = aids.agent_keys() {
        reconcilers.start(tasks, KeepAgentKeys::INTERVAL, KeepAgentKeys::new(keys.clone()));
    }
}

/// Opens the configured issuer.
pub(crate) fn open(config: &Config, kek: &Kek) -> Result<Option<Issuer>, IssuerConfigError> {
    let Some((name, folder)) = configured(config)? else { return Ok(None) };
    if !folder.exists().map_err(OpenIssuerError::from)? {
        return Err(IssuerConfigError::NoKeys);
    }
    Ok(Some(Issuer::open(&folder, kek, &name, Clock::system().now())?))
}
