//! A supervised child process.
//!
//! A dedicated thread starts the child and waits for it. The thread must live as long as the child, because the
//! kernel's parent-death signal is bound to the *thread* that started the child, not to the process.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use tracing::{info, warn};

use crate::account::Account;
use crate::{EngineError, programs};

/// A log larger than this is rotated at the next start.
const MAX_LOG_BYTES: u64 = 8 * 1024 * 1024;

/// After this run time the restart delay is reset.
const HEALTHY_RUN_TIME: Duration = Duration::from_secs(10);

/// What happens when an engine exits unexpectedly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestartPolicy {
    /// It is restarted: for development.
    Always,
    /// It stays down until it is restarted explicitly: for tests.
    OnDemand,
}

/// How to start a child process.
#[derive(Debug, Clone)]
pub(crate) struct ProcessSpec {
    pub(crate) engine: &'static str,
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) account: Option<Account>,
    pub(crate) folder: PathBuf,
    pub(crate) log: PathBuf,
    /// The signal that the kernel sends when the supervisor dies.
    pub(crate) death_signal: &'static str,
}

impl ProcessSpec {
    /// Builds the command: `setpriv`, which replaces itself by the program.
    pub(crate) fn command(&self) -> Result<Command, EngineError> {
        let mut command = Command::new(programs::find_setpriv()?);
        command.arg(format!("--pdeathsig={}", self.death_signal));
        if let Some(account) = &self.account {
            command.args(account.setpriv_arguments());
        }
        command.arg("--").arg(&self.program).args(&self.args).current_dir(&self.folder);
        // The engines do not inherit the environment: it may contain secrets.
        command.env_clear().env("PATH", "/usr/bin:/bin").env("LC_ALL", "C");
        // Its own process group: Ctrl-C must not reach the engines, which are stopped in order.
        command.stdin(Stdio::null()).process_group(0);
        Ok(command)
    }

    fn spawn(&self) -> Result<std::process::Child, EngineError> {
        let log = open_log(&self.log)?;
        let errors = log.try_clone().map_err(EngineError::io("open", &self.log))?;
        self.command()?
            .stdout(log)
            .stderr(errors)
            .spawn()
            .map_err(|source| EngineError::Spawn { program: self.program.display().to_string(), source })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DesiredState {
    Running,
    Stopped,
    /// Stopped, and the supervisor thread ends.
    Ended,
}

#[derive(Debug)]
struct State {
    desired: DesiredState,
    pid: Option<Pid>,
    exits: u64,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the state matches, at most `timeout`. Returns whether it does.
    fn wait_until(&self, timeout: Duration, matches: impl Fn(&State) -> bool) -> bool {
        let guard = self.lock();
        let (state, _) = self
            .changed
            .wait_timeout_while(guard, timeout, |state| !matches(state))
            .unwrap_or_else(PoisonError::into_inner);
        matches(&state)
    }

    fn set_desired(&self, desired: DesiredState) {
        self.lock().desired = desired;
        self.changed.notify_all();
    }
}

/// A child process and its supervisor thread. Dropping it ends the child.
#[derive(Debug)]
pub(crate) struct SupervisedProcess {
    spec: Arc<ProcessSpec>,
    shared: Arc<Shared>,
    supervisor: Option<JoinHandle<()>>,
}

impl SupervisedProcess {
    /// Starts the child and its supervisor thread.
    pub(crate) fn start(spec: ProcessSpec, restart: RestartPolicy) -> Result<Self, EngineError> {
        let spec = Arc::new(spec);
        let state = Mutex::new(State { desired: DesiredState::Running, pid: None, exits: 0 });
        let shared = Arc::new(Shared { state, changed: Condvar::new() });
        let (spec_clone, shared_clone) = (Arc::clone(&spec), Arc::clone(&shared));
        let supervisor = std::thread::Builder::new()
            .name(format!("{}-supervisor", spec.engine))
            .spawn(move || supervise(&spec_clone, &shared_clone, restart))
            .map_err(|source| EngineError::Spawn { program: "the supervisor thread".to_owned(), source })?;
        Ok(Self { spec, shared, supervisor: Some(supervisor) })
    }

    pub(crate) fn spec(&self) -> &ProcessSpec {
        &self.spec
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.shared.lock().pid.map(|pid| pid.as_raw_nonzero().get().unsigned_abs())
    }

    /// Returns how often the child has exited.
    pub(crate) fn exits(&self) -> u64 {
        self.shared.lock().exits
    }

    /// Kills the child with SIGKILL, and leaves it down.
    pub(crate) fn kill(&self) {
        self.shared.set_desired(DesiredState::Stopped);
        self.signal(Signal::KILL);
        self.shared.wait_until(Duration::from_secs(10), |state| state.pid.is_none());
    }

    /// Starts the child again.
    pub(crate) fn restart(&self) {
        self.shared.set_desired(DesiredState::Running);
    }

    /// Ends the child: sends the signals in order until it exits.
    pub(crate) fn stop(&mut self, signals: &[(Signal, Duration)]) {
        self.shared.set_desired(DesiredState::Ended);
        for (signal, timeout) in signals {
            self.signal(*signal);
            if self.shared.wait_until(*timeout, |state| state.pid.is_none()) {
                break;
            }
            warn!("{} did not exit within {timeout:?}", self.spec.engine);
        }
        if let Some(supervisor) = self.supervisor.take() {
            let _panicked = supervisor.join();
        }
    }

    /// Sends a signal. The pid is valid: the child is reaped only under the same lock.
    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(pid) = self.shared.lock().pid {
            let _already_gone = kill_process(pid, signal);
        }
    }
}

impl Drop for SupervisedProcess {
    fn drop(&mut self) {
        if self.supervisor.is_some() {
            self.stop(&[(Signal::KILL, Duration::from_secs(10))]);
        }
    }
}

/// The supervisor thread: starts the child while it should run, waits for it, and restarts it by the policy.
fn supervise(spec: &ProcessSpec, shared: &Shared, restart: RestartPolicy) {
    let mut pause = Duration::from_millis(100);
    loop {
        shared.wait_until(Duration::MAX, |state| state.desired != DesiredState::Stopped);
        if shared.lock().desired == DesiredState::Ended {
            return;
        }
        let began = Instant::now();
        match spec.spawn() {
            Ok(child) => wait_for_exit(spec, shared, restart, child),
            Err(error) => {
                warn!(error = &error as &dyn std::error::Error, "cannot start {}", spec.engine);
                record_exit(&mut shared.lock(), restart);
            }
        }
        if restart == RestartPolicy::OnDemand {
            continue;
        }
        pause = if began.elapsed() > HEALTHY_RUN_TIME {
            Duration::from_millis(100)
        } else {
            (pause * 2).min(Duration::from_secs(2))
        };
        shared.wait_until(pause, |state| state.desired == DesiredState::Ended);
    }
}

/// Records an exit under the lock. A caller that sees the exit may request a restart immediately, so the desired state
/// is updated in the same critical section.
fn record_exit(state: &mut State, restart: RestartPolicy) {
    state.pid = None;
    state.exits += 1;
    if restart == RestartPolicy::OnDemand && state.desired == DesiredState::Running {
        state.desired = DesiredState::Stopped;
    }
}

fn wait_for_exit(
    spec: &ProcessSpec,
    shared: &Shared,
    restart: RestartPolicy,
    mut child: std::process::Child,
) {
    let Some(pid) = Pid::from_raw(i32::try_from(child.id()).unwrap_or_default()) else { return };
    let stop_requested = {
        let mut state = shared.lock();
        state.pid = Some(pid);
        state.desired != DesiredState::Running
    };
    shared.changed.notify_all();
    if stop_requested {
        // A stop request during the start found no pid to signal.
        let _already_gone = kill_process(pid, Signal::KILL);
    }
    info!(pid = child.id(), "{} started", spec.engine);
    // NOWAIT leaves a zombie, so that the pid is not reused until the child is reaped under the lock.
    while let Err(rustix::io::Errno::INTR) =
        waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
    {}
    let mut state = shared.lock();
    let status = child.wait();
    let expected = state.desired != DesiredState::Running;
    record_exit(&mut state, restart);
    drop(state);
    shared.changed.notify_all();
    if !expected {
        warn!(?status, "{} exited unexpectedly", spec.engine);
    }
}

fn open_log(path: &Path) -> Result<File, EngineError> {
    if fs::metadata(path).is_ok_and(|log| log.len() > MAX_LOG_BYTES) {
        fs::rename(path, path.with_extension("log.1")).map_err(EngineError::io("rotate", path))?;
    }
    OpenOptions::new().create(true).append(true).open(path).map_err(EngineError::io("open", path))
}

/// Returns the last lines of a log, indented for a message.
pub(crate) fn log_tail(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let tail = String::from_utf8_lossy(&text[text.len().saturating_sub(4096)..]).into_owned();
    let lines: Vec<&str> = tail.lines().collect();
    lines[lines.len().saturating_sub(8)..].iter().map(|line| format!("    {line}\n")).collect()
}
