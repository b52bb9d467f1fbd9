//! Events on disk that the server has not confirmed: one JSON line per event, written before it is sent. Files of a
//! lost runner stay there for operators to read.

use std::path::{Path, PathBuf};

use guildhall_domain::ids::RunId;
use guildhall_protocol::rest::runners::NewEvent;
use tokio::fs::{self, File, OpenOptions};
use tokio::io::AsyncWriteExt;

/// The spool file of one run under one epoch.
#[derive(Debug)]
pub struct Spool {
    path: PathBuf,
    file: File,
    is_empty: bool,
}

/// What the events of a spool are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpoolKind {
    /// The lease was lost before the server confirmed them.
    Unconfirmed,
    /// The server rejected them permanently.
    Rejected,
}

impl SpoolKind {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unconfirmed => "unsent",
            Self::Rejected => "refused",
        }
    }

    fn file_name(self, run: RunId, epoch: i64) -> String {
        match self {
            Self::Unconfirmed => format!("{run}-{epoch}.jsonl"),
            Self::Rejected => format!("{run}-{epoch}-refused.jsonl"),
        }
    }
}

impl Spool {
    pub async fn open(dir: &Path, run: RunId, epoch: i64) -> std::io::Result<Self> {
        Self::open_for(dir, run, epoch, SpoolKind::Unconfirmed).await
    }

    /// Opens the spool for events of one kind. The spool of rejected events is never cleared.
    pub async fn open_for(dir: &Path, run: RunId, epoch: i64, kind: SpoolKind) -> std::io::Result<Self> {
        fs::create_dir_all(dir).await?;
        let path = dir.join(kind.file_name(run, epoch));
        let file = OpenOptions::new().create(true).append(true).open(&path).await?;
        Ok(Self { path, file, is_empty: true })
    }

    pub fn file_name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    pub fn dir(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    /// Appends events. They stay until [`Spool::clear`].
    pub async fn append(&mut self, events: &[NewEvent]) -> std::io::Result<()> {
        let mut lines = Vec::new();
        for event in events {
            serde_json::to_writer(&mut lines, event)?;
            lines.push(b'\n');
        }
        self.file.write_all(&lines).await?;
        self.file.flush().await?;
        self.is_empty = false;
        Ok(())
    }

    /// Removes all events: the server has confirmed them.
    pub async fn clear(&mut self) -> std::io::Result<()> {
        if !self.is_empty {
            self.file.set_len(0).await?;
            self.is_empty = true;
        }
        Ok(())
    }

    /// Closes the spool and deletes its file when it is empty.
    pub async fn close(self) -> std::io::Result<()> {
        if self.is_empty { fs::remove_file(&self.path).await } else { Ok(()) }
    }
}

/// A spool file that an earlier runner left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftoverSpool {
    pub file: String,
    pub events: usize,
    pub epoch: i64,
    pub kind: SpoolKind,
}

/// Finds the spool files that earlier runners of a run left on this machine, ordered by epoch.
pub async fn find_leftover(dir: &Path, run: RunId) -> Vec<LeftoverSpool> {
    let mut found = Vec::new();
    let Ok(mut entries) = fs::read_dir(dir).await else { return found };
    while let Ok(Some(entry)) = entries.next_entry().await {
        let file = entry.file_name().to_string_lossy().into_owned();
        let Some((epoch, kind)) = parse_file_name(&file, run) else { continue };
        let text = fs::read(entry.path()).await.unwrap_or_default();
        let events = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
        if events > 0 {
            found.push(LeftoverSpool { file, events, epoch, kind });
        }
    }
    found.sort_by_key(|spool| (spool.epoch, spool.kind));
    found
}

fn parse_file_name(file: &str, run: RunId) -> Option<(i64, SpoolKind)> {
    let rest = file.strip_prefix(&format!("{run}-"))?.strip_suffix(".jsonl")?;
    match rest.strip_suffix("-refused") {
        Some(epoch) => Some((epoch.parse().ok()?, SpoolKind::Rejected)),
        None => Some((rest.parse().ok()?, SpoolKind::Unconfirmed)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: &str) -> NewEvent {
        NewEvent { id: id.into(), r#type: "test".into(), command_id: None, payload: serde_json::json!({}) }
    }

    #[tokio::test]
    async fn find_leftover_returns_only_unconfirmed_events() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let run = RunId::generate();
        let mut spool = Spool::open(dir.path(), run, 1).await.expect("open");
        spool.append(&[event("a"), event("b")]).await.expect("append");
        spool.clear().await.expect("clear");
        spool.append(&[event("c")]).await.expect("append");
        spool.close().await.expect("close");
        let empty = Spool::open(dir.path(), run, 2).await.expect("open");
        empty.close().await.expect("close");
        let mut rejected = Spool::open_for(dir.path(), run, 10, SpoolKind::Rejected).await.expect("open");
        rejected.append(&[event("d")]).await.expect("append");
        let unconfirmed = SpoolKind::Unconfirmed;
        let expected = [
            LeftoverSpool { file: format!("{run}-1.jsonl"), events: 1, epoch: 1, kind: unconfirmed },
            LeftoverSpool {
                file: format!("{run}-10-refused.jsonl"),
                events: 1,
                epoch: 10,
                kind: SpoolKind::Rejected,
            },
        ];
        assert_eq!(find_leftover(dir.path(), run).await, expected);
        assert_eq!(find_leftover(dir.path(), RunId::generate()).await, []);
    }
}
