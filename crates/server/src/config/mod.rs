//! The configuration: defaults, file, environment, flags. Later sources override earlier ones.
//!
//! Each section has its own file. The doc comment and the default of a key are written once, at its field: the example
//! file, the default values and the check for unknown keys are generated from there.

mod access;
mod attachments;
mod audit;
mod aun;
mod egress;
mod example;
mod git;
mod housekeeping;
mod http;
mod identity;
mod launcher;
mod limits;
mod list;
mod load;
mod nats;
mod networks;
mod oidc;
mod postgres;
mod profiles;
mod rate;
mod retention;
mod runs;
mod sandbox;
mod secrets;
mod section;
mod sessions;
mod sockets;
mod telemetry;

use secrecy::ExposeSecret;
use serde::Deserialize;

pub use access::Access;
pub use attachments::Attachments;
pub use audit::Audit;
pub use aun::Aun;
pub use egress::Egress;
pub use example::example;
pub use git::Git;
pub use housekeeping::Housekeeping;
pub use http::Http;
pub use identity::Identity;
pub use launcher::{Launcher, LauncherKind};
pub use limits::Limits;
pub use load::{ConfigError, Sources, secret_keys_in_file};
pub use nats::Nats;
pub use oidc::Oidc;
pub use postgres::Postgres;
pub use profiles::{Profiles, TemplatesError};
pub use retention::Retention;
pub use runs::{Runs, RunsConfigError};
pub use sandbox::Sandbox;
pub use secrets::Secrets;
pub use section::{Field, Section};
pub use sessions::Sessions;
pub use sockets::Sockets;
pub use telemetry::Telemetry;

/// Every section, in the order of the example file.
pub const SECTIONS: [Section; 22] = [
    Http::SECTION,
    Access::SECTION,
    Limits::SECTION,
    Postgres::SECTION,
    Nats::SECTION,
    Identity::SECTION,
    Aun::SECTION,
    Sockets::SECTION,
    Audit::SECTION,
    Oidc::SECTION,
    Egress::SECTION,
    Telemetry::SECTION,
    Housekeeping::SECTION,
    Retention::SECTION,
    Runs::SECTION,
    Launcher::SECTION,
    Sandbox::SECTION,
    Git::SECTION,
    Profiles::SECTION,
    Secrets::SECTION,
    Sessions::SECTION,
    Attachments::SECTION,
];

/// The configuration of a server.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub http: Http,
    pub access: Access,
    pub limits: Limits,
    pub postgres: Postgres,
    pub nats: Nats,
    pub identity: Identity,
    pub aun: Aun,
    pub sockets: Sockets,
    pub audit: Audit,
    pub oidc: Oidc,
    pub egress: Egress,
    pub telemetry: Telemetry,
    pub housekeeping: Housekeeping,
    pub retention: Retention,
    pub runs: Runs,
    pub launcher: Launcher,
    pub sandbox: Sandbox,
    pub git: Git,
    pub profiles: Profiles,
    pub secrets: Secrets,
    pub sessions: Sessions,
    pub attachments: Attachments,
}

impl Config {
    /// Loads the configuration from its sources. Later sources override earlier ones.
    pub fn load(sources: &Sources) -> Result<Self, ConfigError> {
        load::load(sources)
    }
}

impl Config {
    /// Returns whether a secret key has a value.
    pub(crate) fn is_set(&self, key: &str) -> bool {
        let value = match key {
            "postgres.url" => &self.postgres.url,
            "postgres.owner_url" => &self.postgres.owner_url,
            "nats.url" => &self.nats.url,
            "identity.key_encryption_key" => &self.identity.key_encryption_key,
            "oidc.client_secret" => &self.oidc.client_secret,
            "attachments.secret_access_key" => &self.attachments.secret_access_key,
            _ => return false,
        };
        !value.expose_secret().is_empty()
    }
}

/// Returns the default of a key as TOML text.
#[must_use]
pub fn default_value(key: &str) -> Option<&'static str> {
    let (section, field) = key.split_once('.')?;
    let section = SECTIONS.iter().find(|known| known.name == section)?;
    section.fields.iter().find(|known| known.name == field).map(|field| field.default)
}

/// Returns the keys that hold secrets.
pub fn secret_keys() -> impl Iterator<Item = String> {
    SECTIONS.iter().flat_map(|section| {
        section.fields.iter().filter(|field| field.is_secret()).map(|field| section.key(field))
    })
}
