//! The audit log of a device: what agents called, without the arguments.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use guildhall_domain::agents::tool_calls::CallId;
use guildhall_domain::identity::Aid;
use guildhall_domain::relations::MAX_RELATIONS;
use guildhall_runtime::Clock;
use jiff::{SignedDuration, Timestamp};

use super::agent_shares::{AgentShares, ShareLimits};
use super::audit_entry::{ToolAuditEntry, is_kept};
use super::error::AuditLogError;
use super::handled_calls::{Claim, HandledCalls};

const LOG_FILE: &str = "tool-calls.jsonl";

/// Limits of the entries, and of the calls that are known: a log that fills the disk stops the device.
///
/// Over its limit (10,000 calls have two entries each), an agent loses its own oldest entries before their time. Over the limit of
/// all, the agents with the most lose theirs; nobody loses one of its last 179 (90,000 for 500 agents and one share of all others).
/// As many agents are counted apart as a user has active relations.
///
/// A line has mostly 350 bytes and at most 1.5 KB: the file has up to 35 MB, in the worst case 150 MB. The memory has as much.
const LIMITS: ShareLimits = ShareLimits { of_agent: 20_000, of_all: 100_000, agents: MAX_RELATIONS as usize };

/// Names that an agent made up are cut.
const MAX_NAME_CHARS: usize = 64;

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
    /// Of the agents in the entries.
    shares: AgentShares<String>,
    handled: HandledCalls,
    pruned_at: Timestamp,
}

/// Returns the entries of the log in a folder, the oldest first, while another process may write it.
pub fn read_audit_entries(folder: &Path, now: Timestamp) -> Result<Vec<ToolAuditEntry>, AuditLogError> {
    let mut entries = read(&folder.join(LOG_FILE))?;
    prune(&mut entries, &mut AgentShares::new(LIMITS), now);
    Ok(entries)
}

impl AuditLog {
    /// Opens the log in a folder, which is created where it does not exist.
    pub fn open(folder: &Path, clock: Clock) -> Result<Self, AuditLogError> {
        Self::open_with(folder, clock, LIMITS)
    }

    fn open_with(folder: &Path, clock: Clock, limits: ShareLimits) -> Result<Self, AuditLogError> {
        let created = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        created.map_err(failed("create", folder))?;
        let (path, now) = (folder.join(LOG_FILE), clock.now());
        let (mut entries, mut shares) = (read(&path)?, AgentShares::new(limits));
        prune(&mut entries, &mut shares, now);
        let file = rewrite(&path, &entries)?;
        let handled = HandledCalls::from_entries(&entries, limits);
        let content = Content { file, entries, shares, handled, pruned_at: now };
        Ok(Self { path, clock, content: Mutex::new(content) })
    }

    /// Returns the entries, the oldest first.
    #[must_use]
    pub fn entries(&self) -> Vec<ToolAuditEntry> {
        self.content().entries.clone()
    }

    /// Takes a call on, unless it was taken on before.
    pub(super) fn claim(&self, agent: &Aid, call: &CallId) -> Claim {
        let now = self.clock.now();
        self.content().handled.claim(agent, call, now)
    }

    /// Writes an entry to the disk.
    pub(super) fn append(&self, mut entry: ToolAuditEntry) -> Result<(), AuditLogError> {
        for name in [&mut entry.tool_name, &mut entry.scope] {
            *name = name.chars().take(MAX_NAME_CHARS).collect();
        }
        let (now, mut content) = (self.clock.now(), self.content());
        let content = &mut *content;
        let line = line_of(&entry).map_err(failed("write", &self.path))?;
        let written = content.file.write_all(&line).and_then(|()| content.file.sync_data());
        written.map_err(failed("write", &self.path))?;
        let are_too_many = content.shares.add(&entry.agent_id);
        content.entries.push(entry);
        let is_old = now.duration_since(content.pruned_at) > SignedDuration::from_hours(24);
        if is_old || are_too_many {
            prune(&mut content.entries, &mut content.shares, now);
            content.handled.prune(now);
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

/// Drops entries after their time, and the oldest ones of agents that have too many.
fn prune(entries: &mut Vec<ToolAuditEntry>, shares: &mut AgentShares<String>, now: Timestamp) {
    entries.retain(|entry| is_kept(entry.timestamp, now));
    shares.recount(entries.iter().map(|entry| &entry.agent_id));
    let mut surplus = shares.take_surplus();
    entries.retain(|entry| !surplus.takes(&entry.agent_id));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::AuditStatus;

    const LIMITS_OF_TESTS: ShareLimits = ShareLimits { of_agent: 10, of_all: 100, agents: 3 };

    const QUIET: &str = "quiet.guild.example";
    const NOISY: &str = "noisy.guild.example";

    fn open(folder: &Path, clock: &Clock) -> AuditLog {
        AuditLog::open_with(folder, clock.clone(), LIMITS_OF_TESTS).expect("a log")
    }

    fn entry(agent: &str, number: usize, timestamp: Timestamp) -> ToolAuditEntry {
        ToolAuditEntry {
            call_id: format!("call-{number}"),
            agent_id: agent.to_owned(),
            tool_name: "notify".to_owned(),
            scope: "notification:send".to_owned(),
            arguments_digest: "0".repeat(64),
            status: AuditStatus::Ok,
            timestamp,
        }
    }

    fn calls_of(log: &AuditLog, agent: &str) -> Vec<String> {
        let entries = log.entries().into_iter().filter(|entry| entry.agent_id == agent);
        entries.map(|entry| entry.call_id).collect()
    }

    fn claim(log: &AuditLog, agent: &str, call: &str) -> Claim {
        log.claim(&agent.parse().expect("an AID"), &call.parse().expect("an id"))
    }

    #[test]
    fn noisy_agent_drops_no_entry_and_no_known_call_of_another_agent() {
        let folder = tempfile::tempdir().expect("a folder");
        let clock = Clock::manual("2026-11-19T12:00:00Z".parse().expect("a time"));
        let log = open(folder.path(), &clock);
        log.append(entry(QUIET, 0, clock.now())).expect("written");
        for number in 0..25 {
            log.append(entry(NOISY, number, clock.now())).expect("written");
        }
        let last: Vec<String> = (16..25).map(|number| format!("call-{number}")).collect();
        assert_eq!((calls_of(&log, QUIET), calls_of(&log, NOISY)), (vec!["call-0".to_owned()], last));

        let reopened = open(folder.path(), &clock);
        assert_eq!(reopened.entries(), log.entries());
        let interrupted = Claim::Interrupted { has_ended: true };
        assert_eq!(claim(&reopened, QUIET, "call-0"), interrupted);
        assert_eq!(claim(&reopened, NOISY, "call-24"), interrupted);
        assert_eq!(claim(&reopened, NOISY, "call-0"), Claim::New, "it has dropped its own");
    }

    #[test]
    fn larger_log_of_an_earlier_version_is_read_and_pruned() {
        let folder = tempfile::tempdir().expect("a folder");
        let clock = Clock::manual("2026-11-19T12:00:00Z".parse().expect("a time"));
        let entries: Vec<ToolAuditEntry> = [entry(QUIET, 0, clock.now())]
            .into_iter()
            .chain((0..50).map(|number| entry(NOISY, number, clock.now())))
            .collect();
        rewrite(&folder.path().join(LOG_FILE), &entries).expect("written");
        let log = open(folder.path(), &clock);
        assert_eq!((calls_of(&log, QUIET).len(), calls_of(&log, NOISY).len()), (1, 9));
        assert_eq!(calls_of(&log, NOISY).last().map(String::as_str), Some("call-49"));
    }
}
