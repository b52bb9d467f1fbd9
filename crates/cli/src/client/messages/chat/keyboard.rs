//! The terminal of a chat, in a mode in which every key is read at once.

use std::fs::File;
use std::io::{self, IsTerminal, stdin, stdout};

use rustix::fs::{Mode, OFlags, open};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;

use super::line_editor::{Key, KeyDecoder};

/// What is read at a time.
const BUFFER_BYTES: usize = 1024;

/// The keyboard. The terminal gets its mode back when this value is dropped.
pub(super) struct Keyboard {
    terminal: Receiver,
    earlier: Termios,
    decoder: KeyDecoder,
}

impl Keyboard {
    /// Returns the keyboard, if a person sits at the terminal.
    pub(super) fn open() -> Option<Self> {
        if !stdin().is_terminal() || !stdout().is_terminal() {
            return None;
        }
        // Opened anew: other programs share standard input, and do not expect that it does not block.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let terminal = File::from(open("/dev/tty", flags, Mode::empty()).ok()?);
        let earlier = tcgetattr(&terminal).ok()?;
        let mut modes = earlier.clone();
        modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
        let terminal = Receiver::from_file_unchecked(terminal).ok()?;
        tcsetattr(&terminal, OptionalActions::Now, &modes).ok()?;
        Some(Self { terminal, earlier, decoder: KeyDecoder::default() })
    }

    /// Waits for keys. The terminal is gone where there are none. Dropping the future loses nothing.
    pub(super) async fn read(&mut self) -> io::Result<Vec<Key>> {
        let mut buffer = [0; BUFFER_BYTES];
        let count = self.terminal.read(&mut buffer).await?;
        if count == 0 {
            return Ok(vec![Key::Interrupt]);
        }
        Ok(self.decoder.decode(&buffer[..count]))
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        let _terminal_gone = tcsetattr(&self.terminal, OptionalActions::Now, &self.earlier);
    }
}
