//! What a server takes from its configuration before it connects to an engine.

use std::net::SocketAddr;
use std::sync::Arc;

use guildhall_bus::BusOptions;
use guildhall_domain::access::signing::RotationPolicy;
use guildhall_domain::profiles::template::ProfileTemplates;
use guildhall_domain::runs::policy::TenantBounds;
use guildhall_egress::{AddressRules, EgressOptions};
use guildhall_identity::audit_key::AuditSigningKey;
use guildhall_identity::seal::Kek;
use guildhall_service::identity::issuer::Issuer;
use guildhall_service::runners::tokens::RUN_TOKEN_LIFETIME;
use jiff::SignedDuration;

use crate::Config;
use crate::messages::MessageLifetimes;
use crate::outbound::{self, OidcProvider};
use crate::public_url::PublicUrl;
use crate::start_error::StartError;
use crate::tls::TlsFiles;
use crate::{attachments, audit, gateway, issuer, launcher, stores};

/// How long a signing key signs before the next one takes over.
const SIGNING_PERIOD: SignedDuration = SignedDuration::from_hours(30 * 24);

/// How long a key is published before it signs: longer than clients cache the key set.
const KEY_OVERLAP: SignedDuration = SignedDuration::from_hours(1);

/// The checked settings of a server.
pub(crate) struct Settings {
    pub(crate) public_url: PublicUrl,
    /// A signing key stays published until the longest token, a run token, has expired.
    pub(crate) rotation: RotationPolicy,
    pub(crate) kek: Kek,
    pub(crate) audit_key: Option<Arc<AuditSigningKey>>,
    /// None where the server has no TLS port.
    pub(crate) tls: Option<Arc<TlsFiles>>,
    /// None where the server issues no AIDs.
    pub(crate) issuer: Option<Issuer>,
    pub(crate) message_lifetimes: MessageLifetimes,
    pub(crate) run_bounds: TenantBounds,
    pub(crate) address_rules: AddressRules,
    pub(crate) egress: EgressOptions,
    pub(crate) oidc: Option<OidcProvider>,
    pub(crate) templates: ProfileTemplates,
}

impl Settings {
    /// Reads and checks the settings of a server that listens on `address`. Creates no file and connects to nothing.
    pub(crate) fn new(config: &Config, address: SocketAddr) -> Result<Self, StartError> {
        let public_url = PublicUrl::new(&config.http.public_url, address)?;
        stores::check_urls(&config.postgres)?;
        bus_options(config).check()?;
        gateway::check(&config.aun.gateway_url)?;
        let kek = Kek::from_hex(&config.identity.key_encryption_key)?;
        let audit_key = audit::signing_key(&config.audit)?;
        audit::check_anchor_file(&config.audit)?;
        launcher::check(config, address)?;
        attachments::check(&config.attachments)?;
        Ok(Self {
            rotation: RotationPolicy::new(SIGNING_PERIOD, KEY_OVERLAP, RUN_TOKEN_LIFETIME)?,
            tls: TlsFiles::configured(&config.http)?.map(Arc::new),
            issuer: issuer::open(config, &kek)?,
            message_lifetimes: MessageLifetimes::new(config)?,
            kek,
            audit_key,
            run_bounds: config.runs.bounds()?,
            address_rules: outbound::address_rules(config)?,
            egress: outbound::egress_options(config)?,
            oidc: outbound::oidc(config, &public_url)?,
            templates: config.profiles.templates()?,
            public_url,
        })
    }
}

pub(crate) fn bus_options(config: &Config) -> BusOptions {
    BusOptions { url: config.nats.url.clone(), subject_prefix: config.nats.subject_prefix.clone() }
}
