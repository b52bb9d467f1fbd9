//! The audit log of a device: what agents called, without the arguments.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use guildhall_domain::agents::tool_calls::{CallId, ToolStatus};
use guildhall_domain::identity::Aid;
use guildhall_runtime::Clock;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::error::AuditLogError;

/// How long entries are kept.
pub const AUDIT_TIME: SignedDuration = SignedDuration::from_hours(30 * 24);

const LOG_FILE: &str = "tool-calls.jsonl";

/// Entries of the log. Beyond that the older half is dropped before its time: a log that fills the disk stops the device.
const MAX_ENTRIES: usize = 50_000;

/// Names that an agent made up are cut.
const MAX_NAME_CHARS: usize = 64;

/// How a call ended, or that it has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AuditStatus {
    /// The tool may have run, even if no other entry follows.
    Started,
    Ok,
    Error,
    Denied,
}

impl From<ToolStatus> for AuditStatus {
    fn from(status: ToolStatus) -> Self {
        match status {
            ToolStatus::Ok => Self::Ok,
            ToolStatus::Error => Self::Error,
            ToolStatus::Denied => Self::Denied,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolAuditEntry {
    pub call_id: String,
    pub agent_id: String,
    pub tool_name: String,
    pub scope: String,
    /// SHA-256 of the canonical arguments.
    pub arguments_digest: String,
    pub status: AuditStatus,
    pub timestamp: Timestamp,
}

/// A file with one entry per line, for one process.
#[derive(Debug)]
pub struct AuditLog {
    path: PathBuf,
    clock: Clock,
    content: Mutex<Content>,
}

#[derive(Debug)]
struct Content {
    file: File,
    entries: Vec<ToolAuditEntry>,
    /// The calls that were handled, with their time.
    handled: BTreeMap<(Aid, CallId), Timestamp>,
    pruned_at: Timestamp,
}

impl AuditLog {
    /// Opens the log in a folder, which is created where it does not exist.
    pub fn open(folder: &Path, clock: Clock) -> Result<Self, AuditLogError> {
        let created = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        created.map_err(failed("create", folder))?;
        let (path, now) = (folder.join(LOG_FILE), clock.now());
        let mut entries = read(&path)?;
        prune(&mut entries, now);
        let file = rewrite(&path, &entries)?;
        let handled = entries.iter().filter_map(handled_call).collect();
        let content = Content { file, entries, handled, pruned_at: now };
        Ok(Self { path, clock, content: Mutex::new(content) })
    }

    /// Returns the entries, the oldest first.
    #[must_use]
    pub fn entries(&self) -> Vec<ToolAuditEntry> {
        self.content().entries.clone()
    }

    /// Takes a call on. Returns false for one that was taken on before.
    pub(super) fn claim(&self, agent: &Aid, call: &CallId) -> bool {
        let now = self.clock.now();
        self.content().handled.insert((agent.clone(), call.clone()), now).is_none()
    }

    /// Writes an entry to the disk.
    pub(super) fn append(&self, mut entry: ToolAuditEntry) -> Result<(), AuditLogError> {
        for name in [&mut entry.tool_name, &mut entry.scope] {
            *name = name.chars().take(MAX_NAME_CHARS).collect();
        }
        let (now, mut content) = (self.clock.now(), self.content());
        let line = line_of(&entry).map_err(failed("write", &self.path))?;
        let written = content.file.write_all(&line).and_then(|()| content.file.sync_data());
        written.map_err(failed("write", &self.path))?;
        content.entries.push(entry);
        let is_old = now.duration_since(content.pruned_at) > SignedDuration::from_hours(24);
        if is_old || content.entries.len() > MAX_ENTRIES {
            prune(&mut content.entries, now);
            content.handled.retain(|_, handled_at| is_kept(*handled_at, now));
            content.file = rewrite(&self.path, &content.entries)?;
            content.pruned_at = now;
        }
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn replace_file(&self, file: File) {
        self.content().file = file;
    }

    fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_kept(at: Timestamp, now: Timestamp) -> bool {
    now.duration_since(at) < AUDIT_TIME
}

fn prune(entries: &mut Vec<ToolAuditEntry>, now: Timestamp) {
    entries.retain(|entry| is_kept(entry.timestamp, now));
    if entries.len() > MAX_ENTRIES {
        entries.drain(..entries.len() - MAX_ENTRIES / 2);
    }
}

fn handled_call(entry: &ToolAuditEntry) -> Option<((Aid, CallId), Timestamp)> {
    Some(((entry.agent_id.parse().ok()?, entry.call_id.parse().ok()?), entry.timestamp))
}

/// Reads the entries. The last line of a log may be torn by a crash, and is no entry.
fn read(path: &Path) -> Result<Vec<ToolAuditEntry>, AuditLogError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed("read", path)(error)),
    };
    let mut entries = Vec::new();
    for line in BufReader::new(file).split(b'\n') {
        let line = line.map_err(failed("read", path))?;
        entries.extend(serde_json::from_slice::<ToolAuditEntry>(&line).ok());
    }
    Ok(entries)
}

/// Writes the entries to a new file, puts it in the place of the old one, and returns it.
fn rewrite(path: &Path, entries: &[ToolAuditEntry]) -> Result<File, AuditLogError> {
    let new = path.with_extension("new");
    let write = || -> io::Result<File> {
        let mut file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&new)?;
        let mut lines = Vec::new();
        for entry in entries {
            lines.extend(line_of(entry)?);
        }
        file.write_all(&lines)?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        Ok(file)
    };
    write().map_err(failed("write", &new))
}

fn line_of(entry: &ToolAuditEntry) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(entry)?;
    line.push(b'\n');
    Ok(line)
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> AuditLogError {
    let path = path.to_owned();
    move |source| AuditLogError { action, path, source }
}
