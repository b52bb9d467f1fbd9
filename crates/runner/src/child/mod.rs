//! The process of an agent: started with an environment of its own, read within bounds, ended with all its descendants.

mod confine;
mod lines;
mod tail;
mod tree;

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use guildhall_runtime::Tasks;
use secrecy::{ExposeSecret, SecretString};
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, timeout, timeout_at};

pub use lines::Line;
use lines::Lines;
use tail::Tail;
use tree::Root;
pub use tree::{adopt_orphans, end_backends, end_everything, end_orphans};

/// What a process may still have written before its end is read for so long.
const DRAIN_WITHIN: Duration = Duration::from_millis(500);

/// A process that does not read what it is told for so long hangs.
const WRITE_WITHIN: Duration = Duration::from_secs(10);

/// What to start, and in which surroundings. Nothing of our own environment goes along.
#[derive(Debug)]
pub struct Spec<'a> {
    pub program: &'a Path,
    pub arguments: &'a [&'a str],
    pub folder: &'a Path,
    pub environment: Vec<(String, SecretString)>,
    /// The folders outside of which it may write nothing, nor what it starts; without it, it may write anywhere.
    pub writable: Option<Vec<PathBuf>>,
}

/// What was heard of a process.
#[derive(Debug)]
pub enum Heard {
    Line(Line),
    /// It has ended, or closed its side; nothing more comes.
    End,
}

/// What to wait for.
#[derive(Clone, Copy)]
enum For {
    Line,
    Piece,
}

/// A process that speaks in lines. Dropping it ends it, and everything that it started.
#[derive(Debug)]
pub struct Child {
    process: tokio::process::Child,
    input: Option<ChildStdin>,
    lines: Lines<ChildStdout>,
    complaints: Tail,
    drain_until: Option<Instant>,
    // After the process, so that the process is known to be ours until its descendants are ended.
    root: Root,
}

impl Child {
    /// Starts a process at the head of its own group.
    pub fn start(spec: &Spec<'_>) -> io::Result<Self> {
        tree::adopt_orphans()?;
        let environment = spec.environment.iter().map(|(name, value)| (name, value.expose_secret()));
        let mut command = Command::new(spec.program);
        command
            .args(spec.arguments)
            .current_dir(spec.folder)
            .env_clear()
            .envs(environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let mut process = match &spec.writable {
            Some(folders) => confine::spawn(&mut command, folders)?,
            None => command.spawn()?,
        };
        let missing = || io::Error::other("the process has no pipes");
        let root = Root::new(process.id().ok_or_else(missing)?);
        let lines = Lines::new(process.stdout.take().ok_or_else(missing)?);
        let complaints = Tail::default();
        let stderr = process.stderr.take().ok_or_else(missing)?;
        // Ends with the process: then nobody is left who holds the other end.
        Tasks::new().spawn("agent's stderr", complaints.clone().follow(stderr));
        let input = process.stdin.take();
        Ok(Self { process, input, lines, complaints, drain_until: None, root })
    }

    #[must_use]
    pub fn id(&self) -> u32 {
        self.root.id()
    }

    /// Says something to the process: one line.
    pub async fn say(&mut self, line: &str) -> io::Result<()> {
        let input = self.input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        let saying = async {
            input.write_all(line.as_bytes()).await?;
            input.write_all(b"\n").await?;
            input.flush().await
        };
        timeout(WRITE_WITHIN, saying).await.map_err(|_elapsed| io::ErrorKind::TimedOut)?
    }

    /// Waits for the next line. Nothing is lost when the wait is given up.
    ///
    /// The process may end while a descendant holds its output open, so its end is watched as well.
    pub async fn hear(&mut self) -> Heard {
        self.listen(For::Line).await
    }

    /// Waits for the next piece of what the process prints, lines or not. Nothing is lost when the wait is given up.
    pub async fn hear_piece(&mut self) -> Heard {
        self.listen(For::Piece).await
    }

    async fn listen(&mut self, what: For) -> Heard {
        loop {
            let line = match self.drain_until {
                Some(until) => timeout_at(until, Self::read(&mut self.lines, what)).await.unwrap_or(Ok(None)),
                None => tokio::select! {
                    line = Self::read(&mut self.lines, what) => line,
                    _ended = self.process.wait() => {
                        self.drain_until = Some(Instant::now() + DRAIN_WITHIN);
                        continue;
                    }
                },
            };
            if let Ok(Some(line)) = line {
                return Heard::Line(line);
            }
            // The pipe closes a moment before the process can be seen to have ended.
            let _it_lives_on = timeout(DRAIN_WITHIN, self.process.wait()).await;
            return Heard::End;
        }
    }

    async fn read(lines: &mut Lines<ChildStdout>, what: For) -> io::Result<Option<Line>> {
        match what {
            For::Line => lines.next().await,
            For::Piece => lines.piece().await,
        }
    }

    /// Lets the process know that nothing more will be said.
    pub fn close_input(&mut self) {
        drop(self.input.take());
    }

    /// Returns the code with which the process ended; none when it runs, or a signal ended it.
    pub fn exit_code(&mut self) -> Option<i32> {
        self.process.try_wait().ok().flatten().and_then(|status| status.code())
    }

    /// Says how the process ended, and nothing that it wrote: that may hold anything.
    pub fn epitaph(&mut self) -> String {
        match self.process.try_wait() {
            Ok(Some(status)) => status.to_string(),
            Ok(None) => "it closed its output".to_owned(),
            Err(_) => "its end was not seen".to_owned(),
        }
    }

    /// Returns the last that the process wrote to stderr, for a log that is redacted.
    #[must_use]
    pub fn complaints(&self) -> String {
        self.complaints.read()
    }

    /// Closes its input and waits until it has ended, at most so long. What is left ends with the drop.
    pub async fn finish(mut self, patience: Duration) {
        drop(self.input.take());
        let reading = async { while let Heard::Line(_) = self.hear().await {} };
        let _late = timeout(patience, reading).await;
    }
}

#[cfg(test)]
mod tests;
