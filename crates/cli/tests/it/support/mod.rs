//! Helpers to run the real binaries.

pub(crate) mod agent;
pub(crate) mod aid_user;
pub(crate) mod channels;
pub(crate) mod cluster;
pub(crate) mod doctor;
pub(crate) mod logged_replicas;
pub(crate) mod outage_progress;
pub(crate) mod proxy;
pub(crate) mod run_events;
pub(crate) mod runner;
pub(crate) mod runner_process;
pub(crate) mod terminal;
pub(crate) mod user;

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use guildhall_testkit::Stopwatch;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// Returns the `guildhall` command without `GUILDHALL_*` variables of the caller, except `GUILDHALL_ENGINE_*`.
pub(crate) fn guildhall() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_guildhall"));
    for (name, _) in std::env::vars_os() {
        let is_guildhall = name.to_string_lossy().starts_with("GUILDHALL_");
        if is_guildhall && !name.to_string_lossy().starts_with("GUILDHALL_ENGINE_") {
            command.env_remove(name);
        }
    }
    command
}

/// Returns a free port. Another process may take it first; what listens there then fails to start.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port()
}

/// Returns the command in a mount namespace in which bubblewrap is not installed. Needs root.
pub(crate) fn without_bwrap(command: &Command) -> Command {
    let mut wrapped = Command::new("unshare");
    wrapped.args(["--mount", "sh", "-c", "mount --bind /dev/null /usr/bin/bwrap && exec \"$@\"", "sh"]);
    wrapped.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => wrapped.env(name, value),
            None => wrapped.env_remove(name),
        };
    }
    wrapped
}

/// A child process, killed when this value is dropped.
#[derive(Debug)]
pub(crate) struct ChildProcess {
    child: Child,
    // One buffer for each pipe: a second one would miss what the first has read ahead.
    stdout: BufReader<ChildStdout>,
    stderr: Option<BufReader<ChildStderr>>,
    /// Its TMPDIR: a killed process leaves files there.
    _temporary_files: TempDir,
}

impl ChildProcess {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self::start_with_stderr(command, Stdio::piped())
    }

    /// Starts the command with a given stderr.
    pub(crate) fn start_with_stderr(command: &mut Command, log: Stdio) -> Self {
        // PostgreSQL runs as another user if the tests run as root.
        let traversable = Permissions::from_mode(0o711);
        let temporary_files =
            tempfile::Builder::new().prefix("guildhall-child-").permissions(traversable).tempdir();
        let temporary_files = temporary_files.expect("a folder");
        command.env("TMPDIR", temporary_files.path());
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().expect("the binary starts");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let stderr = child.stderr.take().map(BufReader::new);
        Self { child, stdout, stderr, _temporary_files: temporary_files }
    }

    /// Starts `guildhall dev` on a state folder and a free port.
    pub(crate) fn start_dev(state: &Path) -> Self {
        Self::start(guildhall().args(["dev", "--json", "--listen", "127.0.0.1:0", "--state"]).arg(state))
    }

    /// Waits for the line of JSON that `guildhall dev` prints when it is ready.
    pub(crate) fn wait_ready(&mut self) -> Value {
        let line = self.read_line();
        serde_json::from_str(&line)
            .unwrap_or_else(|_| panic!("not ready: {line}{}", self.kill_and_read_stderr()))
    }

    /// Waits for one line of stdout.
    pub(crate) fn read_line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("readable");
        line
    }

    /// Waits for a line of stdout that matches.
    pub(crate) fn stdout_line_matching(&mut self, matches: impl Fn(&str) -> bool) -> String {
        let lines = self.stdout.by_ref().lines();
        lines.map_while(Result::ok).find(|line| matches(line)).expect("a matching line")
    }

    /// Waits for a line of stderr that matches.
    pub(crate) fn stderr_line_matching(&mut self, matches: impl Fn(&str) -> bool) -> String {
        let lines = self.stderr.as_mut().expect("piped").lines();
        lines.map_while(Result::ok).find(|line| matches(line)).expect("a matching line")
    }

    /// Reads stderr to its end: until the process has exited.
    pub(crate) fn remaining_stderr(&mut self) -> String {
        let mut text = String::new();
        self.stderr.as_mut().expect("piped").read_to_string(&mut text).expect("readable");
        text
    }

    /// Reads stdout to its end: until the process has exited.
    pub(crate) fn remaining_stdout(&mut self) -> String {
        let mut text = String::new();
        self.stdout.read_to_string(&mut text).expect("readable");
        text
    }

    fn kill_and_read_stderr(&mut self) -> String {
        self.signal(Signal::KILL);
        self.remaining_stderr()
    }

    /// Returns whether the process has exited.
    pub(crate) fn has_exited(&mut self) -> bool {
        self.child.try_wait().expect("a status").is_some()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).expect("a pid")).expect("a pid");
        let _already_exited = kill_process(pid, signal);
    }

    /// Waits for the process to exit, at most 20 s.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + Duration::from_secs(120);
        loop {
            if let Some(status) = self.child.try_wait().expect("a status") {
                return status;
            }
            assert!(Instant::now() < deadline, "still running after 120 s");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let _reaped = self.child.wait();
    }
}

/// Returns the processes that have a folder as working directory or in their arguments.
pub(crate) fn processes_of(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().bytes().all(|b| b.is_ascii_digit()))
        .filter_map(|entry| {
            let args = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let args = String::from_utf8_lossy(&args).replace('\0', " ");
            let is_working_dir =
                std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder));
            let is_self = entry.file_name().to_string_lossy() == std::process::id().to_string();
            let is_argument = args.contains(&*folder.to_string_lossy());
            ((is_working_dir || is_argument) && !is_self)
                .then(|| format!("{} {args}", entry.file_name().to_string_lossy()))
        })
        .collect()
}

/// Waits until no process uses a folder, at most `timeout`. Returns how long it took.
pub(crate) fn wait_until_no_process(folder: &Path, timeout: Duration) -> Duration {
    // Reports name the whole time; the limit does not count stolen time.
    let (started, stopwatch) = (Instant::now(), Stopwatch::start());
    loop {
        let running = processes_of(folder);
        if running.is_empty() {
            return started.elapsed();
        }
        assert!(stopwatch.elapsed() < timeout, "still running after {timeout:?}: {running:#?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Sends a GET request over a new connection and returns status and body.
pub(crate) fn http_get(url: &str, headers: &[(&str, &str)]) -> (u16, Value) {
    use std::io::Write;
    let rest = url.strip_prefix("http://").expect("http");
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut stream = std::net::TcpStream::connect(host).expect("the server listens");
    stream.set_read_timeout(Some(Duration::from_secs(120))).expect("set");
    let extra: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    write!(stream, "GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{extra}\r\n").expect("sent");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("a response");
    let (head, body) = response.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, serde_json::from_str(body).unwrap_or(Value::Null))
}

/// Returns the search path with the directories of programs at its start.
pub(crate) fn search_path_with(programs: &[&Path]) -> String {
    let dirs = programs.iter().filter_map(|program| program.parent()).map(Path::to_owned);
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(dirs.chain(std::env::split_paths(&inherited))).expect("a search path");
    path.into_string().expect("text")
}
