//! The tokens of each context, in a file that nobody else can read.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;

use anyhow::{Result, bail};
use guildhall_sdk::Tokens;
use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use super::Folder;
use super::folder::Locked;

const FILE: &str = "tokens.json";

/// A token that ends sooner than this is exchanged first: a call may take as long on its way.
const MARGIN: SignedDuration = SignedDuration::from_secs(30);

/// The tokens of one login. No `Debug`: it would print them.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kept {
    /// The server that they are for: they are sent to no other, whatever the context says by then.
    url: String,
    access_token: String,
    access_expires_at: Timestamp,
    refresh_token: String,
}

/// Whose tokens are meant.
#[derive(Debug, Clone, Copy)]
pub(super) struct Of<'a> {
    pub(super) context: &'a str,
    pub(super) url: &'a str,
}

/// The tokens of one login, for use.
#[derive(Debug, Clone)]
pub(super) struct Pair {
    pub(super) access: SecretString,
    access_expires_at: Timestamp,
    pub(super) refresh: SecretString,
}

impl Pair {
    pub(super) fn is_fresh(&self, now: Timestamp) -> bool {
        self.access_expires_at.duration_since(now) > MARGIN
    }
}

pub(super) fn find(folder: &Folder, of: Of<'_>) -> Result<Option<Pair>> {
    let kept = all(folder)?.remove(of.context).filter(|kept| kept.url == of.url);
    Ok(kept.map(|kept| Pair {
        access: kept.access_token.into(),
        access_expires_at: kept.access_expires_at,
        refresh: kept.refresh_token.into(),
    }))
}

pub(super) fn keep(folder: &Folder, of: Of<'_>, tokens: &Tokens, lock: &Locked) -> Result<()> {
    let mut all = all(folder)?;
    let kept = Kept {
        url: of.url.to_owned(),
        access_token: tokens.access.expose_secret().to_owned(),
        access_expires_at: tokens.access_expires_at,
        refresh_token: tokens.refresh.expose_secret().to_owned(),
    };
    all.insert(of.context.to_owned(), kept);
    folder.write(FILE, &all, lock)
}

/// Forgets the tokens of a context. Returns whether there were any.
pub(super) fn forget(folder: &Folder, context: &str, lock: &Locked) -> Result<bool> {
    let mut all = all(folder)?;
    let there = all.remove(context).is_some();
    if there {
        folder.write(FILE, &all, lock)?;
    }
    Ok(there)
}

fn all(folder: &Folder) -> Result<BTreeMap<String, Kept>> {
    let path = folder.file(FILE);
    let mode = std::fs::metadata(&path).map_or(0, |file| file.permissions().mode());
    if mode & 0o077 != 0 {
        bail!(
            "others on this machine can read your tokens in {path}\n  next: `chmod 600 {path}`, and \
             `guildhall logout` and `guildhall login` if you do not trust them",
            path = path.display()
        );
    }
    folder.read(FILE)
}
