//! The messages of a conversation that this device has sent and shown.
//!
//! Servers delete messages after a while, and hand nobody their own. Each entry is encrypted with a key that only the key of the
//! AID leads to.

use std::collections::HashSet;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use guildhall_domain::identity::Aid;
use guildhall_identity::e2ee::storage_key;
use guildhall_identity::seal::{self, Kek};
use guildhall_sdk::messages::{ReceivedMessage, SentMessage};
use jiff::Timestamp;
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};

use super::super::payload::{is_sealed, text_of};
use crate::client::aid_socket::OpenDevice;

const CHATS_DIR: &str = "chats";

/// Entries that are kept. Older ones are removed when a chat starts.
const MAX_ENTRIES: usize = 1_000;

/// What entries are bound to besides the names of both.
const PURPOSE: &str = "guildhall chat history v1";

/// An entry of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub(in super::super) enum ChatEntry {
    #[serde(rename_all = "camelCase")]
    Message {
        id: String,
        /// Whether this AID has sent it.
        is_own: bool,
        at: Timestamp,
        is_sealed: bool,
        text: String,
    },
    /// The peer has recalled these messages of its own: they are not shown any more.
    #[serde(rename_all = "camelCase")]
    Recall { ids: Vec<String> },
}

/// The file of one conversation.
pub(in super::super) struct ChatHistory {
    path: PathBuf,
    cipher: Kek,
    /// Binds entries to the conversation.
    context: String,
}

impl ChatEntry {
    pub(in super::super) fn sent(sent: &SentMessage, text: String) -> Self {
        Self::Message {
            id: sent.message_id.clone(),
            is_own: true,
            at: sent.stored_at,
            is_sealed: is_sealed(sent.seal),
            text,
        }
    }

    pub(super) fn received(message: &ReceivedMessage, is_own: bool) -> Self {
        Self::Message {
            id: message.message_id.clone(),
            is_own,
            at: message.stored_at,
            is_sealed: is_sealed(message.seal),
            text: text_of(&message.payload),
        }
    }

    /// Returns what identifies a message. Its sender chooses the id, so that both may have the same one.
    pub(super) fn key(&self) -> Option<(bool, String)> {
        match self {
            Self::Message { id, is_own, .. } => Some((*is_own, id.clone())),
            Self::Recall { .. } => None,
        }
    }
}

impl ChatHistory {
    pub(in super::super) fn open(device: &OpenDevice, peer: &Aid) -> Result<Self> {
        let cipher = storage_key(&*device.key)?;
        Ok(Self::new(&device.dir.file(CHATS_DIR), &device.aid, peer, cipher))
    }

    fn new(folder: &Path, aid: &Aid, peer: &Aid, cipher: Kek) -> Self {
        let path = folder.join(aid.to_string()).join(peer.to_string());
        Self { path, cipher, context: format!("{PURPOSE} {aid} {peer}") }
    }

    /// Adds an entry.
    pub(in super::super) fn append(&self, entry: &ChatEntry) -> Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let write = || -> std::io::Result<()> {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.path)?;
            // One write: two chats with one peer may add entries at the same time.
            file.write_all(format!("{}\n", self.encrypt(entry)?).as_bytes())
        };
        write().with_context(|| format!("cannot write {}", self.path.display()))
    }

    /// Returns the messages, the oldest first, without those that were recalled.
    pub(super) fn load(&self) -> Result<Vec<ChatEntry>> {
        let text = match std::fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", self.path.display()));
            }
        };
        let lines: Vec<&str> = text.lines().collect();
        let kept = &lines[lines.len().saturating_sub(MAX_ENTRIES)..];
        if kept.len() < lines.len() {
            self.replace(kept).with_context(|| format!("cannot write {}", self.path.display()))?;
        }
        // An entry of a key that is gone, or one that was cut, is skipped.
        let entries: Vec<ChatEntry> = kept.iter().filter_map(|line| self.decrypt(line)).collect();
        let recalled: HashSet<(bool, String)> = entries
            .iter()
            .flat_map(|entry| match entry {
                ChatEntry::Recall { ids } => ids.iter().map(|id| (false, id.clone())).collect(),
                ChatEntry::Message { .. } => Vec::new(),
            })
            .collect();
        let is_shown = |entry: &ChatEntry| entry.key().is_some_and(|key| !recalled.contains(&key));
        Ok(entries.into_iter().filter(is_shown).collect())
    }

    fn replace(&self, lines: &[&str]) -> std::io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(format!("{}\n", lines.join("\n")).as_bytes())?;
        file.persist(&self.path)?;
        Ok(())
    }

    fn encrypt(&self, entry: &ChatEntry) -> std::io::Result<String> {
        let sealed = seal::seal(&self.cipher, self.context.as_bytes(), &serde_json::to_vec(entry)?);
        Ok(STANDARD.encode(sealed.map_err(std::io::Error::other)?))
    }

    fn decrypt(&self, line: &str) -> Option<ChatEntry> {
        let sealed = STANDARD.decode(line).ok()?;
        let text = seal::open(&self.cipher, self.context.as_bytes(), &sealed).ok()?;
        serde_json::from_slice(text.expose_secret()).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn message(number: usize) -> ChatEntry {
        ChatEntry::Message {
            id: format!("m-{number}"),
            is_own: number.is_multiple_of(2),
            at: "2026-01-02T03:04:05Z".parse().expect("a time"),
            is_sealed: true,
            text: format!("canary {number}"),
        }
    }

    fn aid(name: &str) -> Aid {
        format!("{name}.guild.example").parse().expect("an AID")
    }

    #[test]
    fn history_is_kept_encrypted_for_its_owner_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let kek = Kek::generate();
        let open = |peer: &str| {
            let kek = Kek::from_hex(&kek.to_hex()).expect("a key");
            ChatHistory::new(folder.path(), &aid("alice"), &aid(peer), kek)
        };
        let history = open("bobby");
        assert_eq!(history.load().expect("loaded"), []);
        for number in 0..3 {
            history.append(&message(number)).expect("written");
        }
        // The peer cannot recall what it has not sent.
        let ids = ["m-0", "m-1"].map(str::to_owned).to_vec();
        history.append(&ChatEntry::Recall { ids }).expect("written");
        assert_eq!(history.load().expect("loaded"), [message(0), message(2)]);
        let text = std::fs::read_to_string(&history.path).expect("a file");
        assert!(!text.contains("canary"), "{text}");
        assert_eq!(history.path.metadata().expect("a file").permissions().mode() & 0o777, 0o600);
        // Moved to another conversation, its entries do not open.
        std::fs::copy(&history.path, open("carol").path).expect("copied");
        assert_eq!(open("carol").load().expect("loaded"), []);
    }

    #[test]
    fn damaged_and_old_entries_are_left_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let history = ChatHistory::new(folder.path(), &aid("alice"), &aid("bobby"), Kek::generate());
        for number in 0..MAX_ENTRIES + 5 {
            history.append(&message(number)).expect("written");
        }
        let mut file = OpenOptions::new().append(true).open(&history.path).expect("a file");
        file.write_all(b"damaged\n").expect("written");
        let loaded = history.load().expect("loaded");
        assert_eq!((loaded.len(), loaded.first()), (MAX_ENTRIES - 1, Some(&message(6))));
        let lines = std::fs::read_to_string(&history.path).expect("a file").lines().count();
        assert_eq!(lines, MAX_ENTRIES);
    }
}
