//! A runner process and its descendants.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use guildhall_testkit::Stopwatch;
use rustix::process::{Pid, Signal, kill_process};

use super::ChildProcess;
use super::agent::runner_program;

/// A runner: the guard process, which the test started, and its child, the worker.
pub(crate) struct RunnerProcess {
    pub(crate) process: ChildProcess,
    pub(crate) log: PathBuf,
}

impl RunnerProcess {
    pub(crate) fn start(command: &mut Command, log: PathBuf) -> Self {
        let file = fs::File::create(&log).expect("a log");
        Self { process: ChildProcess::start_with_stderr(command, file.into()), log }
    }

    /// Starts a runner of the demo agent with a state folder of its own, and the enrolment token beside it.
    pub(crate) fn start_demo(url: &str, state: PathBuf) -> Self {
        let mut command = Command::new(runner_program());
        command
            .args(["--uncontained", "--idle-seconds", "2", "--claim-seconds", "600", "--url", url])
            .arg("--enrolment-file")
            .arg(state.with_file_name("enrolment"))
            .arg("--state")
            .arg(&state)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .stdin(Stdio::null());
        Self::start(&mut command, state.with_extension("log"))
    }

    pub(crate) fn guard_pid(&self) -> u32 {
        self.process.pid()
    }

    /// Waits for the guard to start the worker and returns its pid.
    pub(crate) fn worker_pid(&self) -> u32 {
        let deadline = Instant::now() + Duration::from_secs(120);
        loop {
            if let [worker] = children(self.guard_pid())[..] {
                return worker;
            }
            assert!(Instant::now() < deadline, "no worker: {}", self.log_text());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn log_text(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

pub(crate) fn send_signal(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a pid");
    let _already_exited = kill_process(pid, signal);
}

pub(crate) fn children(pid: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|id| id.parse().ok()).collect()
}

/// Returns all descendants of a process.
pub(crate) fn descendants(pid: u32) -> Vec<u32> {
    let mut found = children(pid);
    let mut at = 0;
    while at < found.len() {
        found.extend(children(found[at]));
        at += 1;
    }
    found
}

/// Returns the command line of a process.
pub(crate) fn command_line(pid: u32) -> String {
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&arguments).replace('\0', " ")
}

/// Returns whether a process is running; a zombie is not.
pub(crate) fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Waits until all processes have exited. Returns how long it took.
pub(crate) async fn wait_until_exited(pids: &[u32], timeout: Duration) -> Duration {
    // Reports name the whole time; the limit does not count stolen time.
    let (started, stopwatch) = (Instant::now(), Stopwatch::start());
    loop {
        let running: Vec<_> = pids.iter().filter(|pid| is_running(**pid)).collect();
        if running.is_empty() {
            return started.elapsed();
        }
        let described = || running.iter().map(|pid| (pid, command_line(**pid))).collect::<Vec<_>>();
        assert!(stopwatch.elapsed() < timeout, "still running after {timeout:?}: {:?}", described());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Waits for a file to have at least `count` lines, and returns them.
pub(crate) async fn wait_for_lines(file: &Path, count: usize) -> Vec<String> {
    let deadline = Instant::now() + Duration::from_secs(120);
    loop {
        let text = fs::read_to_string(file).unwrap_or_default();
        let complete = text.rsplit_once('\n').map_or("", |(complete, _)| complete);
        let found: Vec<String> = complete.lines().map(str::to_owned).collect();
        if found.len() >= count {
            return found;
        }
        assert!(Instant::now() < deadline, "{} has {found:?}", file.display());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Waits for the process ids that a tool writes into its workspace, one per line. A tool has a PID namespace of its
/// own; the ids returned are those of this machine.
pub(crate) async fn wait_for_pids(file: &Path, count: usize) -> Vec<u32> {
    let (lines, workspace) = (wait_for_lines(file, count).await, file.parent().expect("a workspace"));
    let host_pid = |line: &String| {
        let pid = host_pid(line, workspace);
        pid.unwrap_or_else(|| panic!("no process {line} in {}", workspace.display()))
    };
    lines.iter().map(host_pid).collect()
}

/// Finds the process with an id of the innermost PID namespace and a working directory.
fn host_pid(inner: &str, dir: &Path) -> Option<u32> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let mut pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.find(|pid| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let ids = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap_or_default();
        let is_in_dir = fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == dir);
        is_in_dir && ids.split_whitespace().last() == Some(inner)
    })
}
