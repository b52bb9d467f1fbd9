//! The AIDs that are logged in: where, with which key, and their tokens.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use guildhall_domain::identity::{Aid, CertificateFingerprint};
use guildhall_identity::pki::{Curve, EcKey};
use guildhall_identity::trust::TrustedRoot;
use guildhall_sdk::socket::{AidCredentials, AidTokens, ServerTrust};
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use super::dir::{ConfigDir, ConfigDirLock, is_readable_by_others};

const FILE: &str = "aids.json";

/// There is no login of an AID to call the socket with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AidNotLoggedIn {
    #[error("no AID is logged in")]
    None,
    #[error("{0} is not logged in")]
    Other(String),
}

/// All logins by AID. No `Debug`: it would print the tokens.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct AidLogins {
    pub(crate) current: Option<String>,
    #[serde(default)]
    pub(crate) logins: BTreeMap<String, AidLogin>,
}

/// The login of one AID.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AidLogin {
    #[serde(flatten)]
    pub(crate) settings: LoginSettings,
    tokens: StoredTokens,
}

/// Where an AID logs in, and with what.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LoginSettings {
    /// The server that issued the tokens. They are sent to no other.
    pub(crate) url: String,
    /// The private key. It stays where the user has it.
    pub(crate) key_file: PathBuf,
    /// In PEM.
    pub(crate) certificate: String,
    /// The id of this device, which the folder of the device was made with.
    #[serde(default)]
    pub(crate) device: String,
    /// The root that the server has to prove that it belongs to. Without one, the connection proves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) root: Option<PinnedRoot>,
}

/// The root of an issuer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PinnedRoot {
    pub(crate) certificate: String,
    pub(crate) fingerprint: String,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredTokens {
    access_token: String,
    access_expires_at: Timestamp,
    refresh_token: String,
}

impl AidLogins {
    pub(crate) fn load(dir: &ConfigDir) -> Result<Self> {
        dir.read_private(FILE, ["guildhall aid logout", "guildhall aid login"])
    }

    pub(crate) fn save(&self, dir: &ConfigDir, lock: &ConfigDirLock) -> Result<()> {
        dir.write(FILE, self, lock)
    }

    /// Returns the login of an AID, or of the current one.
    pub(crate) fn find(&self, aid: Option<&Aid>) -> Result<(Aid, &AidLogin)> {
        let wanted = aid.map(ToString::to_string).or_else(|| self.current.clone());
        let wanted = wanted.ok_or(AidNotLoggedIn::None)?;
        let login = self.logins.get(&wanted).ok_or_else(|| AidNotLoggedIn::Other(wanted.clone()))?;
        let aid = wanted.parse().with_context(|| format!("{FILE} names no AID"))?;
        Ok((aid, login))
    }

    /// Removes the login of an AID. Returns whether there was one.
    pub(crate) fn remove(&mut self, aid: &Aid) -> bool {
        let aid = aid.to_string();
        let existed = self.logins.remove(&aid).is_some();
        if self.current.as_ref() == Some(&aid) {
            // Which one is meant is clear only if there is one.
            self.current = self.logins.keys().next().filter(|_| self.logins.len() == 1).cloned();
        }
        existed
    }
}

impl AidLogin {
    pub(crate) fn new(settings: LoginSettings, tokens: &AidTokens) -> Self {
        Self { settings, tokens: StoredTokens::new(tokens) }
    }

    pub(crate) fn tokens(&self) -> AidTokens {
        AidTokens {
            access: self.tokens.access_token.clone().into(),
            access_expires_at: self.tokens.access_expires_at,
            refresh: self.tokens.refresh_token.clone().into(),
        }
    }
}

impl LoginSettings {
    /// Reads the key, and returns what the AID logs in with.
    pub(crate) fn credentials(&self, aid: Aid) -> Result<AidCredentials> {
        let (server, key) = (self.server_trust()?, Arc::new(self.read_key()?));
        Ok(AidCredentials { aid, certificate: self.certificate.clone(), key, server })
    }

    pub(crate) fn server_trust(&self) -> Result<ServerTrust> {
        match &self.root {
            Some(root) => Ok(ServerTrust::Roots(vec![root.trusted()?])),
            None => Ok(ServerTrust::Connection),
        }
    }

    /// Reads the private key. Refuses one that other users can read.
    pub(crate) fn read_key(&self) -> Result<EcKey> {
        let path = self.key_file.display();
        if is_readable_by_others(&self.key_file) {
            bail!(
                "other users of this machine can read the key in {path}\n  next: `chmod 600 {path}`; if another user may \
                 have read it, revoke the AID with `guildhall aid revoke`"
            );
        }
        let text = std::fs::read_to_string(&self.key_file).map(SecretString::from);
        let text = text.with_context(|| {
            format!("cannot read the key in {path}\n  next: `guildhall aid login` with --key names its file")
        })?;
        EcKey::from_pem(Curve::P256, &text).with_context(|| format!("cannot use the key in {path}"))
    }
}

impl PinnedRoot {
    fn trusted(&self) -> Result<TrustedRoot> {
        let fingerprint: CertificateFingerprint = self.fingerprint.parse()?;
        Ok(TrustedRoot::with_fingerprint(&self.certificate, fingerprint)?)
    }
}

impl StoredTokens {
    fn new(tokens: &AidTokens) -> Self {
        Self {
            access_token: tokens.access.expose_secret().to_owned(),
            access_expires_at: tokens.access_expires_at,
            refresh_token: tokens.refresh.expose_secret().to_owned(),
        }
    }
}
