//! A CLI command on a terminal of its own, and a person who types.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use pty_process::blocking::{Command as TerminalCommand, open};

/// How long to wait for output, and for the end of the command.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A running command, killed when this value is dropped.
pub(crate) struct TerminalSession {
    child: Child,
    keyboard: File,
    chunks: Receiver<Vec<u8>>,
    /// All output so far.
    output: String,
    /// Where the output starts that no call has waited for.
    seen: usize,
}

impl TerminalSession {
    /// Starts a command in its own directory and environment, on a new terminal.
    pub(crate) fn start(command: &Command) -> Self {
        let (terminal, command_side) = open().expect("a terminal");
        let mut on_terminal =
            TerminalCommand::new(command.get_program()).args(command.get_args()).env("TERM", "xterm");
        if let Some(directory) = command.get_current_dir() {
            on_terminal = on_terminal.current_dir(directory);
        }
        for (name, value) in command.get_envs() {
            on_terminal = match value {
                Some(value) => on_terminal.env(name, value),
                None => on_terminal.env_remove(name),
            };
        }
        let child = on_terminal.spawn(command_side).expect("the command starts");
        let keyboard = File::from(OwnedFd::from(terminal));
        let mut screen = keyboard.try_clone().expect("a second descriptor");
        let (sender, chunks) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // Fails when no process has the terminal open, and all its output was read.
            while let Ok(count @ 1..) = screen.read(&mut buffer) {
                let _receiver_dropped = sender.send(buffer[..count].to_vec());
            }
        });
        Self { child, keyboard, chunks, output: String::new(), seen: 0 }
    }

    /// Waits until a text is shown that no earlier call has waited for. Returns the output up to its end.
    pub(crate) fn wait_for(&mut self, text: &str) -> String {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            if let Some(at) = self.output[self.seen..].find(text) {
                let (start, end) = (self.seen, self.seen + at + text.len());
                self.seen = end;
                return self.output[start..end].to_owned();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.chunks.recv_timeout(left) {
                Ok(chunk) => self.output.push_str(&String::from_utf8_lossy(&chunk)),
                Err(error) => panic!("no {text:?} ({error}): {}", self.output),
            }
        }
    }

    /// Types keys; `\n` is Enter, `\u{3}` is Ctrl-C.
    pub(crate) fn type_keys(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("typed");
    }

    /// Waits for the command to end. Returns its exit code and the output that no call has waited for.
    pub(crate) fn wait(mut self) -> (Option<i32>, String) {
        let deadline = Instant::now() + TIMEOUT;
        while let Ok(chunk) = self.chunks.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            self.output.push_str(&String::from_utf8_lossy(&chunk));
        }
        assert!(Instant::now() < deadline, "still running: {}", self.output);
        let status = self.child.wait().expect("a status");
        (status.code(), self.output[self.seen..].to_owned())
    }
}

impl Drop for TerminalSession {
    fn drop(&mut self) {
        let _already_exited = self.child.kill();
        let _reaped = self.child.wait();
    }
}
