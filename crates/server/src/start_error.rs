//! Why a server does not start.

use std::net::SocketAddr;

use guildhall_bus::BusError;
use guildhall_domain::access::signing::InvalidRotationPolicy;
use guildhall_identity::seal::SealError;
use guildhall_launcher::LaunchError;
use guildhall_launcher::secrets::SecretError;
use guildhall_service::ServiceError;
use guildhall_service::access::error::SigningError;
use guildhall_service::approvals::policies::PolicyCheckError;
use guildhall_store::{MigrateError, StoreError};

use crate::attachments::AttachmentsConfigError;
use crate::audit::AuditConfigError;
use crate::config;
use crate::gateway::InvalidGatewayUrl;
use crate::issuer_error::IssuerConfigError;
use crate::messages::InvalidMessageLifetime;
use crate::outbound::OutboundError;
use crate::public_url::InvalidPublicUrl;
use crate::tls::TlsConfigError;

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot listen on {address}: choose another address with --listen, or stop what uses it")]
    Listen {
        address: SocketAddr,
        #[source]
        source: std::io::Error,
    },
    #[error(
        "cannot connect to PostgreSQL: check postgres.url (GUILDHALL_POSTGRES_URL) and that PostgreSQL runs"
    )]
    Store(#[from] StoreError),
    #[error(
        "cannot set up the database as its owner: check postgres.owner_url (GUILDHALL_POSTGRES_OWNER_URL) and that its \
         role owns the tables"
    )]
    Owner(#[source] StoreError),
    #[error(
        "the role of postgres.url can change the audit log ({tables}): it must not own the tables or their schema, nor be \
         a superuser or a member of the owner; docs/guides/audit.md describes the steps"
    )]
    AuditNotProtected { tables: String },
    #[error("cannot migrate the database")]
    Migrate(#[from] MigrateError),
    #[error("cannot connect to NATS: check nats.url (GUILDHALL_NATS_URL)")]
    Bus(#[from] BusError),
    #[error(
        "invalid identity.key_encryption_key (GUILDHALL_IDENTITY_KEY_ENCRYPTION_KEY): create one with \
         `openssl rand -hex 32`"
    )]
    Kek(#[from] SealError),
    #[error("inconsistent rotation policy of the signing keys")]
    Rotation(#[from] InvalidRotationPolicy),
    #[error("cannot prepare the signing keys")]
    Signing(#[from] SigningError),
    #[error("invalid configuration section `runs`")]
    Runs(#[from] config::RunsConfigError),
    #[error("cannot use secrets.folder (GUILDHALL_SECRETS_FOLDER), the folder for credentials")]
    Secrets(#[from] SecretError),
    #[error("cannot use the templates of profiles")]
    Templates(#[from] config::TemplatesError),
    #[error(transparent)]
    PublicUrl(#[from] InvalidPublicUrl),
    #[error(transparent)]
    Outbound(#[from] OutboundError),
    #[error(transparent)]
    ApprovalPolicy(#[from] PolicyCheckError),
    #[error("invalid configuration section `audit`")]
    Audit(#[from] AuditConfigError),
    #[error("cannot use the configuration section `attachments`")]
    Attachments(#[from] AttachmentsConfigError),
    #[error("cannot use TLS")]
    Tls(#[from] TlsConfigError),
    #[error(transparent)]
    GatewayUrl(#[from] InvalidGatewayUrl),
    #[error(transparent)]
    MessageLifetime(#[from] InvalidMessageLifetime),
    #[error("cannot use the configuration section `aun`")]
    Aun(#[from] IssuerConfigError),
    #[error(
        "the database belongs to another issuer: aun.issuer and the files in secrets.folder must be those of the first \
         replica"
    )]
    OtherIssuer,
    #[error("cannot append older certificates to the transparency log")]
    TransparencyLog(#[source] ServiceError),
    #[error("cannot start the launcher: check the section `launcher`, or set launcher.kind to none")]
    Launcher(#[from] LaunchError),
    #[error("cannot install the metrics recorder")]
    Metrics(#[source] Box<dyn std::error::Error + Send + Sync>),
}
