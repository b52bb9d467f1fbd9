//! A shell command that is run to its end, and ends with all that it started when nobody waits for it any more.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::time::timeout;

use super::tree::{self, Root};

/// What a command may print; more is read past.
const PRINTED_AT_MOST: usize = 16 * 1024 * 1024;

/// What a descendant that holds the output may still print after the end of the command.
const DRAIN_WITHIN: Duration = Duration::from_millis(500);

/// What became of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Printed {
    pub text: String,
    /// None when a signal ended it.
    pub code: Option<i32>,
}

/// Runs a command in a folder, with nothing of our environment. Whatever it leaves behind ends with it.
pub async fn shell(folder: &Path, command: &str) -> io::Result<Printed> {
    tree::adopt_orphans()?;
    let mut process = Command::new("sh")
        .args(["-c", command])
        .current_dir(folder)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    let missing = || io::Error::other("the process has no pipes");
    let _root = Root::new(process.id().ok_or_else(missing)?);
    let mut output = process.stdout.take().ok_or_else(missing)?;
    let (mut kept, mut piece) = (Vec::new(), vec![0; 64 * 1024]);
    let mut read = async || -> io::Result<bool> {
        let count = output.read(&mut piece).await?;
        let room = PRINTED_AT_MOST.saturating_sub(kept.len()).min(count);
        kept.extend_from_slice(&piece[..room]);
        Ok(count > 0)
    };
    let status = loop {
        tokio::select! {
            status = process.wait() => break status?,
            more = read() => if !more? { break process.wait().await? },
        }
    };
    let _somebody_holds_it = timeout(DRAIN_WITHIN, async { while matches!(read().await, Ok(true)) {} }).await;
    Ok(Printed { text: String::from_utf8_lossy(&kept).into_owned(), code: status.code() })
}
