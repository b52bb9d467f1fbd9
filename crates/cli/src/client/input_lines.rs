//! Lines of standard input, read while other work goes on.

use std::io::{self, BufRead, Read, stdin};
use std::thread;

use guildhall_protocol::rpc::MAX_FRAME_BYTES;
use tokio::sync::mpsc::{Receiver, channel};

/// Lines that are read ahead.
const MAX_WAITING: usize = 16;

/// The lines. A thread of their own reads them: standard input may be a file, a pipe or a terminal.
pub(crate) struct InputLines(Receiver<io::Result<String>>);

impl InputLines {
    pub(crate) fn start() -> Self {
        let (sender, lines) = channel(MAX_WAITING);
        // It ends with the process: nothing can interrupt a read.
        thread::spawn(move || {
            let mut input = stdin().lock();
            while let Some(line) = read_line(&mut input).transpose() {
                let is_last = line.is_err();
                if sender.blocking_send(line).is_err() || is_last {
                    return;
                }
            }
        });
        Self(lines)
    }

    /// Returns lines that a test types.
    #[cfg(test)]
    pub(crate) fn channel() -> (tokio::sync::mpsc::Sender<io::Result<String>>, Self) {
        let (sender, lines) = channel(MAX_WAITING);
        (sender, Self(lines))
    }

    /// Drops the lines that have been read ahead.
    pub(crate) fn discard(&mut self) {
        while self.0.try_recv().is_ok() {}
    }

    /// Waits for a line; none at the end of input. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> io::Result<Option<String>> {
        self.0.recv().await.transpose()
    }
}

/// Reads a line without its end. One that is longer than a message can be is cut, so that the server refuses it.
fn read_line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let count = input.by_ref().take(MAX_FRAME_BYTES as u64 + 1).read_until(b'\n', &mut line)?;
    let text = String::from_utf8_lossy(&line);
    Ok((count > 0).then(|| text.trim_end_matches(['\r', '\n']).to_owned()))
}
