//! Lines that a person types, read while other work goes on.

use std::fs::File;
use std::io::{self, IsTerminal, stderr, stdin};

use rustix::fs::{Mode, OFlags, open};
use rustix::termios::{LocalModes, OptionalActions, QueueSelector, tcflush, tcgetattr, tcsetattr};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;

/// The longest line of a terminal.
const MAX_LINE_BYTES: usize = 4096;

/// The terminal of the user. Nothing is read from it before a line is complete and wanted.
pub(crate) struct TerminalInput(Receiver);

impl TerminalInput {
    /// Returns the terminal, if there is one.
    pub(crate) fn open() -> Option<Self> {
        if !is_interactive() {
            return None;
        }
        // Opened anew: other programs share standard input, and do not expect that it does not block.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let terminal = open("/dev/tty", flags, Mode::empty()).ok()?;
        Receiver::from_file_unchecked(File::from(terminal)).ok().map(Self)
    }

    /// Waits for a line; `None` for the end of input (Ctrl-D). Dropping the future loses nothing.
    pub(crate) async fn read_line(&mut self) -> io::Result<Option<String>> {
        let mut buffer = [0; MAX_LINE_BYTES];
        let count = self.0.read(&mut buffer).await?;
        let line = String::from_utf8_lossy(&buffer[..count]).into_owned();
        Ok((count > 0).then_some(line))
    }

    /// Sets whether what is typed is shown. The end of the line always is.
    pub(crate) fn set_echo(&mut self, is_shown: bool) {
        let Ok(mut modes) = tcgetattr(&self.0) else { return };
        modes.local_modes.set(LocalModes::ECHO, is_shown);
        modes.local_modes.set(LocalModes::ECHONL, !is_shown);
        let _not_supported = tcsetattr(&self.0, OptionalActions::Now, &modes);
    }
}

impl Drop for TerminalInput {
    fn drop(&mut self) {
        self.set_echo(true);
    }
}

/// Returns whether somebody can read a question and type the answer.
pub(crate) fn is_interactive() -> bool {
    stdin().is_terminal() && stderr().is_terminal()
}

/// Forgets what was typed so far: it is no answer to a question that was not shown yet.
pub(crate) fn discard_typed_input() {
    if stdin().is_terminal() {
        let _not_supported = tcflush(stdin(), QueueSelector::IFlush);
    }
}
