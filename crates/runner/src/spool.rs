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

impl Spool {
    pub async fn open(folder: &Path, run: RunId, epoch: i64) -> std::io::Result<Self> {
        fs::create_dir_all(folder).await?;
        let path = folder.join(format!("{run}-{epoch}.jsonl"));
        let file = OpenOptions::new().create(true).append(true).open(&path).await?;
        Ok(Self { path, file, is_empty: true })
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
}

/// Finds what earlier runners of a run left on this machine.
pub async fn left(folder: &Path, run: RunId) -> Vec<Left> {
    let mut found = Vec::new();
    let Ok(mut entries) = fs::read_dir(folder).await else { return found };
    while let Ok(Some(entry)) = entries.next_entry().await {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with(&format!("{run}-")) {
            continue;
        }
        let text = fs::read_to_string(entry.path()).await.unwrap_or_default();
        let events = text.lines().filter(|line| !line.is_empty()).count();
        if events > 0 {
            found.push(Left { file: name, events });
        }
    }
    found.sort_by(|one, other| one.file.cmp(&other.file));
    found
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
        let expected = [Left { file: format!("{run}-1.jsonl"), events: 1 }];
        assert_eq!(left(folder.path(), run).await, expected);
        assert_eq!(left(folder.path(), RunId::generate()).await, []);
    }
}
