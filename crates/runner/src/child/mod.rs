//! The process of an agent: started with its own environment, read with limits, killed with all of its descendants.

mod line_reader;
mod process_tree;
mod stderr_tail;

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use guildhall_runtime::Tasks;
use secrecy::{ExposeSecret, SecretString};
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};

pub use line_reader::Line;
use line_reader::LineReader;
use process_tree::ProcessTree;
pub use process_tree::{BackendProcesses, become_subreaper, descendant_ids, kill_backends, kill_descendants};
pub(crate) use stderr_tail::StderrTail;

use crate::sandbox::{Cgroups, Containment, ExceededLimit, ProcessAccess, Watchdog, enter};

/// How long to read the remaining output of a process that has exited.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// A process that does not read its input for this long hangs.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// What to start, and how. The runner's own environment is not inherited.
#[derive(Debug)]
pub struct ProcessSpec<'a> {
    pub program: &'a Path,
    pub arguments: &'a [&'a str],
    pub dir: &'a Path,
    pub environment: Vec<(String, SecretString)>,
    pub containment: &'a Containment,
    /// What the process and its descendants may access, if they are contained.
    pub access: ProcessAccess,
}

/// What was read from a process.
#[derive(Debug)]
pub enum ProcessOutput {
    Line(Line),
    /// It has exited or closed its output.
    Eof,
}

/// What to read next.
#[derive(Clone, Copy)]
enum ReadUnit {
    Line,
    Chunk,
}

/// A process that communicates over its standard streams. Dropping it kills it and its descendants.
#[derive(Debug)]
pub struct Child {
    process: tokio::process::Child,
    input: Option<ChildStdin>,
    output: LineReader<ChildStdout>,
    stderr: StderrTail,
    drain_until: Option<Instant>,
    /// The limit for which the watchdog killed it.
    exceeded: Arc<OnceLock<ExceededLimit>>,
    // Dropped in this order: the process stays an active root until its descendants are killed, and only an empty
    // cgroup can be removed.
    tree: ProcessTree,
    _cgroups: Cgroups,
    _watchdog: DropGuard,
}

impl Child {
    /// Starts a process as the leader of a new process group.
    pub fn start(spec: &ProcessSpec<'_>) -> io::Result<Self> {
        process_tree::become_subreaper()?;
        let environment = spec.environment.iter().map(|(name, value)| (name, value.expose_secret()));
        // Fail here when the program is missing: the sandbox would hide the cause.
        spec.program.metadata()?;
        let (mut args, cgroups) = match spec.containment {
            Containment::Sandboxed(sandbox) => {
                sandbox.check(&spec.access)?;
                let cgroups = Cgroups::create(&sandbox.limits);
                (enter::command(&sandbox.helper, &sandbox.spec(&spec.access, spec.dir, &cgroups))?, cgroups)
            }
            Containment::Uncontained => (Vec::new(), Cgroups::default()),
        };
        args.push(spec.program.into());
        args.extend(spec.arguments.iter().map(OsString::from));
        let mut command = Command::new(&args[0]);
        command
            .args(&args[1..])
            .current_dir(spec.dir)
            .env_clear()
            .envs(environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let mut process = command.spawn()?;
        let missing_pipe = || io::Error::other("the process has no pipes");
        let tree = ProcessTree::new(process.id().ok_or_else(missing_pipe)?);
        let output = LineReader::new(process.stdout.take().ok_or_else(missing_pipe)?);
        let stderr = StderrTail::default();
        let stderr_pipe = process.stderr.take().ok_or_else(missing_pipe)?;
        // The task ends when the last process that holds the pipe exits.
        Tasks::new().spawn("agent's stderr", stderr.clone().follow(stderr_pipe));
        let input = process.stdin.take();
        let exceeded = Arc::new(OnceLock::new());
        let watchdog = watch(spec, tree.root(), cgroups.limits_memory(), Arc::clone(&exceeded));
        Ok(Self {
            process,
            input,
            output,
            stderr,
            drain_until: None,
            exceeded,
            tree,
            _cgroups: cgroups,
            _watchdog: watchdog,
        })
    }

    #[must_use]
    pub fn id(&self) -> u32 {
        self.tree.root()
    }

    /// Writes one line to the process's input.
    pub async fn write_line(&mut self, line: &str) -> io::Result<()> {
        let input = self.input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        let write = async {
            input.write_all(line.as_bytes()).await?;
            input.write_all(b"\n").await?;
            input.flush().await
        };
        timeout(WRITE_TIMEOUT, write).await.map_err(|_elapsed| io::ErrorKind::TimedOut)?
    }

    /// Reads the next line. Cancel safe.
    ///
    /// A descendant may keep the output open after the process has exited, so the exit is awaited as well.
    pub async fn read_line(&mut self) -> ProcessOutput {
        self.read(ReadUnit::Line).await
    }

    /// Reads the next chunk of output, regardless of line breaks. Cancel safe.
    pub async fn read_chunk(&mut self) -> ProcessOutput {
        self.read(ReadUnit::Chunk).await
    }

    async fn read(&mut self, unit: ReadUnit) -> ProcessOutput {
        loop {
            let line = match self.drain_until {
                Some(until) => {
                    timeout_at(until, Self::read_output(&mut self.output, unit)).await.unwrap_or(Ok(None))
                }
                None => tokio::select! {
                    line = Self::read_output(&mut self.output, unit) => line,
                    _exited = self.process.wait() => {
                        self.drain_until = Some(Instant::now() + DRAIN_TIMEOUT);
                        continue;
                    }
                },
            };
            if let Ok(Some(line)) = line {
                return ProcessOutput::Line(line);
            }
            // The pipe closes shortly before the exit status is available.
            let _still_running = timeout(DRAIN_TIMEOUT, self.process.wait()).await;
            return ProcessOutput::Eof;
        }
    }

    async fn read_output(output: &mut LineReader<ChildStdout>, unit: ReadUnit) -> io::Result<Option<Line>> {
        match unit {
            ReadUnit::Line => output.next_line().await,
            ReadUnit::Chunk => output.next_chunk().await,
        }
    }

    /// Closes the process's input.
    pub fn close_input(&mut self) {
        drop(self.input.take());
    }

    /// Returns the exit code; `None` while the process runs, or when a signal killed it.
    pub fn exit_code(&mut self) -> Option<i32> {
        self.process.try_wait().ok().flatten().and_then(|status| status.code())
    }

    /// Returns the limit for which it was killed.
    #[must_use]
    pub fn exceeded_limit(&self) -> Option<ExceededLimit> {
        self.exceeded.get().copied()
    }

    /// Describes how the process exited, without its output, which may contain anything.
    pub fn exit_description(&mut self) -> String {
        if let Some(limit) = self.exceeded.get() {
            return format!("{limit}, and was killed");
        }
        match self.process.try_wait() {
            Ok(Some(status)) => status.to_string(),
            Ok(None) => "it closed its output".to_owned(),
            Err(_) => "its exit status is unknown".to_owned(),
        }
    }

    /// Returns the end of the process's stderr. Redact it before it is stored or logged.
    #[must_use]
    pub fn stderr_tail(&self) -> String {
        self.stderr.read()
    }

    /// Closes the input and waits for the process to exit. After the timeout, dropping it kills what is left.
    pub async fn shutdown(mut self, exit_timeout: Duration) {
        self.close_input();
        let read_to_end = async { while let ProcessOutput::Line(_) = self.read_line().await {} };
        let _timed_out = timeout(exit_timeout, read_to_end).await;
    }
}

/// Kills a contained process that exceeds a limit, until the guard is dropped.
fn watch(
    spec: &ProcessSpec<'_>,
    root: u32,
    has_memory_cgroup: bool,
    exceeded: Arc<OnceLock<ExceededLimit>>,
) -> DropGuard {
    let stop = CancellationToken::new();
    if let Containment::Sandboxed(sandbox) = spec.containment {
        let dirs = spec.access.writable_dirs();
        let watchdog = Watchdog { root, dirs, limits: sandbox.limits, has_memory_cgroup };
        let stop = stop.clone();
        Tasks::new().spawn("watchdog", async move {
            tokio::select! {
                limit = watchdog.exceeded() => {
                    let _set_once = exceeded.set(limit);
                    process_tree::kill_one(root);
                }
                () = stop.cancelled() => {}
            }
        });
    }
    stop.drop_guard()
}

#[cfg(test)]
mod tests;
