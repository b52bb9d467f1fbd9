//! The token file: the tokens of each context, readable by this user only.

use std::collections::BTreeMap;

use anyhow::Result;
use guildhall_sdk::Tokens;
use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use super::dir::{ConfigDir, ConfigDirLock};

const FILE: &str = "tokens.json";

/// A token that expires sooner than this is refreshed first: the call itself takes time.
const EXPIRY_MARGIN: SignedDuration = SignedDuration::from_secs(30);

/// The tokens of one login in the file. No `Debug`: it would print them.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredTokens {
    /// Server that issued them. They are sent to no other, even if the context changes.
    url: String,
    access_token: String,
    access_expires_at: Timestamp,
    refresh_token: String,
}

/// Identifies the tokens of one context at one server.
#[derive(Debug, Clone, Copy)]
pub(super) struct TokenKey<'a> {
    pub(super) context: &'a str,
    pub(super) url: &'a str,
}

/// Access token and refresh token of one login.
#[derive(Debug, Clone)]
pub(super) struct TokenPair {
    pub(super) access: SecretString,
    access_expires_at: Timestamp,
    pub(super) refresh: SecretString,
}

impl TokenPair {
    pub(super) fn expires_soon(&self, now: Timestamp) -> bool {
        self.access_expires_at.duration_since(now) <= EXPIRY_MARGIN
    }
}

pub(super) fn load(dir: &ConfigDir, key: TokenKey<'_>) -> Result<Option<TokenPair>> {
    let stored = load_all(dir)?.remove(key.context).filter(|stored| stored.url == key.url);
    Ok(stored.map(|stored| TokenPair {
        access: stored.access_token.into(),
        access_expires_at: stored.access_expires_at,
        refresh: stored.refresh_token.into(),
    }))
}

pub(super) fn save(dir: &ConfigDir, key: TokenKey<'_>, tokens: &Tokens, lock: &ConfigDirLock) -> Result<()> {
    let mut all = load_all(dir)?;
    let stored = StoredTokens {
        url: key.url.to_owned(),
        access_token: tokens.access.expose_secret().to_owned(),
        access_expires_at: tokens.access_expires_at,
        refresh_token: tokens.refresh.expose_secret().to_owned(),
    };
    all.insert(key.context.to_owned(), stored);
    dir.write(FILE, &all, lock)
}

/// Deletes the tokens of a context. Returns whether there were any.
pub(super) fn delete(dir: &ConfigDir, context: &str, lock: &ConfigDirLock) -> Result<bool> {
    let mut all = load_all(dir)?;
    let existed = all.remove(context).is_some();
    if existed {
        dir.write(FILE, &all, lock)?;
    }
    Ok(existed)
}

fn load_all(dir: &ConfigDir) -> Result<BTreeMap<String, StoredTokens>> {
    dir.read_private(FILE, ["guildhall logout", "guildhall login"])
}
