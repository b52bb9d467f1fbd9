//! What was not sent yet, on disk: a line an event, written before it is sent. What a lost runner leaves stays there,
//! for people.

use std::path::{Path, PathBuf};

use guildhall_domain::ids::RunId;
use guildhall_protocol::rest::runners::NewEvent;
use tokio::fs::{self, File, OpenOptions};
use tokio::io::AsyncWriteExt;

/// The events of one run under one epoch.
#[derive(Debug)]
pub struct Spool {
    path: PathBuf,
    file: File,
    is_empty: bool,
}

/// Why events stand in a spool that nobody sends any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// The run was lost before the server had them.
    Unsent,
    /// The server refused them for good.
    Refused,
}

impl Why {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unsent => "unsent",
            Self::Refused => "refused",
        }
    }

    fn file(self, run: RunId, epoch: i64) -> String {
        match self {
            Self::Unsent => format!("{run}-{epoch}.jsonl"),
            Self::Refused => format!("{run}-{epoch}-refused.jsonl"),
        }
    }
}

impl Spool {
    pub async fn open(folder: &Path, run: RunId, epoch: i64) -> std::io::Result<Self> {
        Self::open_for(folder, run, epoch, Why::Unsent).await
    }

    /// Opens the place of what the server does not take; it is never cleared.
    pub async fn open_for(folder: &Path, run: RunId, epoch: i64, why: Why) -> std::io::Result<Self> {
        fs::create_dir_all(folder).await?;
        let path = folder.join(why.file(run, epoch));
        let file = OpenOptions::new().create(true).append(true).open(&path).await?;
        Ok(Self { path, file, is_empty: true })
    }

    /// Returns the name of its file, and the folder that it stands in.
    pub fn place(&self) -> (String, &Path) {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (name, self.path.parent().unwrap_or(Path::new(".")))
    }

    /// Writes events down. They stay until [`Spool::clear`].
    pub async fn keep(&mut self, events: &[NewEvent]) -> std::io::Result<()> {
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

    /// Forgets what the server has confirmed.
    pub async fn clear(&mut self) -> std::io::Result<()> {
        if !self.is_empty {
            self.file.set_len(0).await?;
            self.is_empty = true;
        }
        Ok(())
    }

    /// Ends the spool; one that holds nothing leaves no file.
    pub async fn close(self) -> std::io::Result<()> {
        if self.is_empty { fs::remove_file(&self.path).await } else { Ok(()) }
    }
}

/// What an earlier runner could not send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    pub file: String,
    pub events: usize,
    pub epoch: i64,
    pub why: Why,
}

/// Finds what earlier runners of a run left on this machine, in the order of their epochs.
pub async fn left(folder: &Path, run: RunId) -> Vec<Left> {
    let mut found = Vec::new();
    let Ok(mut entries) = fs::read_dir(folder).await else { return found };
    while let Ok(Some(entry)) = entries.next_entry().await {
        let file = entry.file_name().to_string_lossy().into_owned();
        let Some((epoch, why)) = parse(&file, run) else { continue };
        let text = fs::read(entry.path()).await.unwrap_or_default();
        let events = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
        if events > 0 {
            found.push(Left { file, events, epoch, why });
        }
    }
    found.sort_by_key(|left| (left.epoch, left.why));
    found
}

fn parse(file: &str, run: RunId) -> Option<(i64, Why)> {
    let rest = file.strip_prefix(&format!("{run}-"))?.strip_suffix(".jsonl")?;
    match rest.strip_suffix("-refused") {
        Some(epoch) => Some((epoch.parse().ok()?, Why::Refused)),
        None => Some((rest.parse().ok()?, Why::Unsent)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: &str) -> NewEvent {
        NewEvent { id: id.into(), r#type: "test".into(), command_id: None, payload: serde_json::json!({}) }
    }

    #[tokio::test]
    async fn what_was_not_confirmed_is_found_by_the_next_runner_and_the_rest_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let run = RunId::generate();
        let mut spool = Spool::open(folder.path(), run, 1).await.expect("open");
        spool.keep(&[event("a"), event("b")]).await.expect("kept");
        spool.clear().await.expect("cleared");
        spool.keep(&[event("c")]).await.expect("kept");
        spool.close().await.expect("closed");
        let empty = Spool::open(folder.path(), run, 2).await.expect("open");
        empty.close().await.expect("closed");
        let mut refused = Spool::open_for(folder.path(), run, 10, Why::Refused).await.expect("open");
        refused.keep(&[event("d")]).await.expect("kept");
        let expected = [
            Left { file: format!("{run}-1.jsonl"), events: 1, epoch: 1, why: Why::Unsent },
            Left { file: format!("{run}-10-refused.jsonl"), events: 1, epoch: 10, why: Why::Refused },
        ];
        assert_eq!(left(folder.path(), run).await, expected);
        assert_eq!(left(folder.path(), RunId::generate()).await, []);
    }
}
