//! Anchors: copies of checkpoints in a file outside the database.
//!
//! Replicas on one machine may share a file: a write is under a lock and appends whole lines at once.
//! The file itself says what is anchored, so a lost write is repeated later.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use guildhall_domain::access::audit_chain::ChainTip;
use guildhall_domain::access::audit_checkpoint::{AuditLog, Checkpoint};
use tracing::warn;

/// An anchor file. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AnchorFile {
    path: PathBuf,
    position: Arc<Mutex<ReadPosition>>,
}

/// What was read of the file so far.
#[derive(Debug, Default)]
struct ReadPosition {
    /// Identifies the file: another one may be put in its place.
    inode: u64,
    offset: u64,
    /// The last anchor of each log.
    last: HashMap<AuditLog, ChainTip>,
}

/// The anchor file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the anchor file {}", path.display())]
pub struct AnchorFileError {
    path: PathBuf,
    #[source]
    source: io::Error,
}

impl AnchorFile {
    /// Opens a file and reads it. A missing file is created, readable by its owner only.
    pub fn open(path: &Path) -> Result<Self, AnchorFileError> {
        let file = Self { path: path.to_owned(), position: Arc::default() };
        file.with_position(|position| file.read_new(position)).map_err(|source| file.error(source))?;
        Ok(file)
    }

    /// Returns the last anchor of a log, as of the last call of [`Self::refresh`].
    #[must_use]
    pub fn last(&self, log: AuditLog) -> Option<ChainTip> {
        self.with_position(|position| position.last.get(&log).copied())
    }

    /// Reads what other replicas appended.
    pub async fn refresh(&self) -> Result<(), AnchorFileError> {
        self.run_blocking(Self::read_new).await
    }

    /// Appends the checkpoints that are not anchored yet, durably.
    pub async fn append(&self, checkpoints: Vec<Checkpoint>) -> Result<(), AnchorFileError> {
        self.run_blocking(move |file, position| {
            // Held until the end, so that two replicas do not write the same anchor.
            let locked = file.open_to_append()?;
            locked.lock()?;
            file.read_new(position)?;
            let is_new = |point: &&Checkpoint| {
                let last = position.last.get(&point.statement.log);
                last.is_none_or(|last| last.seq < point.statement.tip.seq)
            };
            let lines: Vec<String> =
                checkpoints.iter().filter(is_new).map(Checkpoint::to_anchor_line).collect();
            if lines.is_empty() {
                return Ok(());
            }
            file.write(&lines)?;
            file.read_new(position)
        })
        .await
    }

    async fn run_blocking(
        &self,
        action: impl FnOnce(&Self, &mut ReadPosition) -> io::Result<()> + Send + 'static,
    ) -> Result<(), AnchorFileError> {
        let file = self.clone();
        let task =
            tokio::task::spawn_blocking(move || file.with_position(|position| action(&file, position)));
        task.await.map_err(io::Error::other).flatten().map_err(|source| self.error(source))
    }

    fn with_position<T>(&self, action: impl FnOnce(&mut ReadPosition) -> T) -> T {
        action(&mut self.position.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn error(&self, source: io::Error) -> AnchorFileError {
        AnchorFileError { path: self.path.clone(), source }
    }

    fn open_to_append(&self) -> io::Result<File> {
        OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(&self.path)
    }

    /// Reads the complete lines after the known offset. Starts again where the file was replaced.
    fn read_new(&self, position: &mut ReadPosition) -> io::Result<()> {
        let mut file = self.open_to_append()?;
        let metadata = file.metadata()?;
        if metadata.ino() != position.inode || metadata.len() < position.offset {
            *position = ReadPosition { inode: metadata.ino(), ..ReadPosition::default() };
        }
        file.seek(SeekFrom::Start(position.offset))?;
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        loop {
            line.clear();
            let count = reader.read_until(b'\n', &mut line)?;
            // Without a line feed, the line is being written or was cut off.
            let Some(text) = line.strip_suffix(b"\n") else { return Ok(()) };
            position.offset += u64::try_from(count).unwrap_or(0);
            if let Some(checkpoint) = self.parse(text) {
                let tip = checkpoint.statement.tip;
                let last = position.last.entry(checkpoint.statement.log).or_insert(tip);
                if last.seq < tip.seq {
                    *last = tip;
                }
            }
        }
    }

    fn parse(&self, line: &[u8]) -> Option<Checkpoint> {
        if line.is_empty() {
            return None;
        }
        let parsed = Checkpoint::from_anchor_line(&String::from_utf8_lossy(line));
        parsed.inspect_err(|error| warn!("ignoring a line of {}: {error}", self.path.display())).ok()
    }

    /// Appends whole lines with one write. A line that a crash cut off is ended first.
    fn write(&self, lines: &[String]) -> io::Result<()> {
        let mut file = self.open_to_append()?;
        let is_new = file.metadata()?.len() == 0;
        let mut text = if ends_within_a_line(&mut file)? { "\n".to_owned() } else { String::new() };
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
        file.write_all(text.as_bytes())?;
        file.sync_data()?;
        // A new file is durable once its folder is.
        if let Some(folder) = self.path.parent().filter(|folder| is_new && !folder.as_os_str().is_empty()) {
            File::open(folder)?.sync_all()?;
        }
        Ok(())
    }
}

fn ends_within_a_line(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    io::Read::read_exact(file, &mut last)?;
    Ok(last != *b"\n")
}

#[cfg(test)]
mod tests {
    use guildhall_domain::access::audit_chain::Digest;
    use guildhall_domain::access::audit_checkpoint::{AuditKeyId, CheckpointSignature, CheckpointStatement};
    use guildhall_domain::journal::Seq;
    use jiff::Timestamp;
    use uuid::Uuid;

    use super::*;

    fn checkpoint(owner: u128, seq: i64) -> Checkpoint {
        let hash = Digest::from_bytes([u8::try_from(seq % 256).expect("small"); 32]);
        let tip = ChainTip { seq: Seq::new(seq).expect("positive"), hash };
        let log = AuditLog::of_owner(Uuid::from_u128(owner));
        Checkpoint {
            statement: CheckpointStatement { log, tip, signed_at: Timestamp::UNIX_EPOCH },
            key: AuditKeyId::from_bytes([1; 8]),
            signature: CheckpointSignature::from_bytes([2; 64]),
        }
    }

    fn seqs(path: &Path) -> Vec<i64> {
        let text = std::fs::read_to_string(path).expect("readable");
        let parsed = text.lines().filter_map(|line| Checkpoint::from_anchor_line(line).ok());
        parsed.map(|point| point.statement.tip.seq.get()).collect()
    }

    #[tokio::test]
    async fn repeated_anchor_is_written_once_by_two_replicas() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("anchors");
        let (one, two) = (AnchorFile::open(&path).expect("opened"), AnchorFile::open(&path).expect("opened"));
        one.append(vec![checkpoint(1, 3)]).await.expect("appended");
        two.append(vec![checkpoint(1, 3), checkpoint(1, 2)]).await.expect("appended");
        two.append(vec![checkpoint(1, 4)]).await.expect("appended");
        assert_eq!(seqs(&path), [3, 4]);
        one.refresh().await.expect("read");
        assert_eq!(one.last(checkpoint(1, 4).statement.log), Some(checkpoint(1, 4).statement.tip));
    }

    #[tokio::test]
    async fn cut_off_line_is_ended_and_its_anchor_written_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("anchors");
        let line = checkpoint(1, 1).to_anchor_line();
        std::fs::write(&path, &line[..40]).expect("written");
        let file = AnchorFile::open(&path).expect("opened");
        file.append(vec![checkpoint(1, 1)]).await.expect("appended");
        let text = std::fs::read_to_string(&path).expect("readable");
        assert_eq!(text, format!("{}\n{line}\n", &line[..40]));
        // A file that was moved away starts again.
        std::fs::rename(&path, folder.path().join("old")).expect("moved");
        file.refresh().await.expect("read");
        assert_eq!(file.last(checkpoint(1, 1).statement.log), None);
        file.append(vec![checkpoint(1, 1)]).await.expect("appended");
        assert_eq!(seqs(&path), [1]);
    }
}
