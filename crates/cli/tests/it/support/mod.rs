//! Running the real binary.

pub(crate) mod agent;
pub(crate) mod channels;
pub(crate) mod fleet;
pub(crate) mod installation;
pub(crate) mod runner;
pub(crate) mod surroundings;
pub(crate) mod user;

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Returns the command, with nothing of ours in its environment.
pub(crate) fn guildhall() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_guildhall"));
    for (name, _) in std::env::vars_os() {
        let ours = name.to_string_lossy().starts_with("GUILDHALL_");
        if ours && !name.to_string_lossy().starts_with("GUILDHALL_ENGINE_") {
            command.env_remove(name);
        }
    }
    command
}

/// A running `guildhall` that is ended with this value.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self::start_logging(command, Stdio::piped())
    }

    /// Starts it with another place for what it logs.
    pub(crate) fn start_logging(command: &mut Command, log: Stdio) -> Self {
        let child = command.stdout(Stdio::piped()).stderr(log).spawn().expect("the binary runs");
        Self { child }
    }

    /// Starts `guildhall dev` on a state folder and a free port.
    pub(crate) fn dev(state: &Path) -> Self {
        Self::start(guildhall().args(["dev", "--json", "--listen", "127.0.0.1:0", "--state"]).arg(state))
    }

    /// Waits for the line of JSON that says that it is ready.
    pub(crate) fn ready(&mut self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("not ready: {line}{}", self.errors()))
    }

    /// Waits for one line of its output.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        let stdout = self.child.stdout.as_mut().expect("piped");
        BufReader::new(stdout).read_line(&mut line).expect("readable");
        line
    }

    /// Waits for a line of its errors that pleases.
    pub(crate) fn error_line(&mut self, pleases: impl Fn(&str) -> bool) -> String {
        let lines = BufReader::new(self.child.stderr.as_mut().expect("piped")).lines();
        lines.map_while(Result::ok).find(|line| pleases(line)).expect("a line that pleases")
    }

    fn errors(&mut self) -> String {
        let mut text = String::new();
        self.signal(Signal::KILL);
        let stderr = self.child.stderr.as_mut().expect("piped");
        stderr.read_to_string(&mut text).expect("readable");
        text
    }

    /// Returns whether it has ended by now.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a status").is_some()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).expect("a pid")).expect("a pid");
        let _already_gone = kill_process(pid, signal);
    }

    /// Waits for the end, at most 20 s.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            if let Some(status) = self.child.try_wait().expect("a status") {
                return status;
            }
            assert!(Instant::now() < deadline, "still running after 20 s");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let _reaped = self.child.wait();
    }
}

/// Returns the processes that work in a folder or name it in their arguments.
pub(crate) fn processes_of(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().bytes().all(|b| b.is_ascii_digit()))
        .filter_map(|entry| {
            let args = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let args = String::from_utf8_lossy(&args).replace('\0', " ");
            let inside =
                std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder));
            let mine = entry.file_name().to_string_lossy() == std::process::id().to_string();
            let named = args.contains(&*folder.to_string_lossy());
            ((inside || named) && !mine).then(|| format!("{} {args}", entry.file_name().to_string_lossy()))
        })
        .collect()
}

/// Waits until no process of a folder is left, at most `within`. Returns how long it took.
pub(crate) fn wait_until_gone(folder: &Path, within: Duration) -> Duration {
    let began = Instant::now();
    loop {
        let left = processes_of(folder);
        if left.is_empty() {
            return began.elapsed();
        }
        assert!(began.elapsed() < within, "left after {within:?}: {left:#?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Sends a GET over a connection of its own and returns status and body.
pub(crate) fn get(url: &str, headers: &[(&str, &str)]) -> (u16, Value) {
    use std::io::Write;
    let rest = url.strip_prefix("http://").expect("http");
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut stream = std::net::TcpStream::connect(host).expect("somebody listens");
    stream.set_read_timeout(Some(Duration::from_secs(15))).expect("set");
    let extra: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    write!(stream, "GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{extra}\r\n").expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, serde_json::from_str(body).unwrap_or(Value::Null))
}
