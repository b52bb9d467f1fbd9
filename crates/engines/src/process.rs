//! One supervised child process.
//!
//! A thread of its own starts the child and waits for it. The thread lives as long as the child may, because the
//! kernel's parent-death signal follows the *thread* that made the child, not the process.

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
use crate::{EngineError, find};

/// A log that has grown past this is set aside at the next start.
const LOG_AT_MOST_BYTES: u64 = 8 * 1024 * 1024;

/// A child that ran this long was well; the next failure waits little again.
const RAN_WELL: Duration = Duration::from_secs(10);

/// What happens when an engine ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restart {
    /// It is started again: for a developer's machine.
    Always,
    /// It stays down until asked: for tests.
    WhenAsked,
}

/// How to start a child.
#[derive(Debug, Clone)]
pub(crate) struct Launch {
    pub(crate) engine: &'static str,
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) account: Option<Account>,
    pub(crate) folder: PathBuf,
    pub(crate) log: PathBuf,
    /// What the kernel sends when we die.
    pub(crate) death_signal: &'static str,
}

impl Launch {
    /// Builds the command: the program behind `setpriv`, which becomes it.
    pub(crate) fn command(&self) -> Result<Command, EngineError> {
        let mut command = Command::new(find::setpriv()?);
        command.arg(format!("--pdeathsig={}", self.death_signal));
        if let Some(account) = &self.account {
            command.args(account.switches());
        }
        command.arg("--").arg(&self.program).args(&self.args).current_dir(&self.folder);
        // The engines get no variable of ours: a secret in our environment is not theirs to know.
        command.env_clear().env("PATH", "/usr/bin:/bin").env("LC_ALL", "C");
        // A group of its own: Ctrl-C in the terminal is for us, and we end the engines in good order.
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
enum Wish {
    Up,
    Down,
    End,
}

#[derive(Debug)]
struct State {
    wish: Wish,
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

    /// Waits until the state pleases, at most `patience` long. Returns whether it does.
    fn wait_until(&self, patience: Duration, pleases: impl Fn(&State) -> bool) -> bool {
        let guard = self.lock();
        let (state, _) = self
            .changed
            .wait_timeout_while(guard, patience, |state| !pleases(state))
            .unwrap_or_else(PoisonError::into_inner);
        pleases(&state)
    }

    fn wish(&self, wish: Wish) {
        self.lock().wish = wish;
        self.changed.notify_all();
    }
}

/// A child process and the thread that looks after it. Dropping it ends the child.
#[derive(Debug)]
pub(crate) struct Supervised {
    launch: Arc<Launch>,
    shared: Arc<Shared>,
    keeper: Option<JoinHandle<()>>,
}

impl Supervised {
    /// Starts the child and its keeper.
    pub(crate) fn start(launch: Launch, restart: Restart) -> Result<Self, EngineError> {
        let launch = Arc::new(launch);
        let state = Mutex::new(State { wish: Wish::Up, pid: None, exits: 0 });
        let shared = Arc::new(Shared { state, changed: Condvar::new() });
        let (for_launch, for_shared) = (Arc::clone(&launch), Arc::clone(&shared));
        let keeper = std::thread::Builder::new()
            .name(format!("{}-keeper", launch.engine))
            .spawn(move || keep(&for_launch, &for_shared, restart))
            .map_err(|source| EngineError::Spawn { program: "the keeper thread".to_owned(), source })?;
        Ok(Self { launch, shared, keeper: Some(keeper) })
    }

    pub(crate) fn launch(&self) -> &Launch {
        &self.launch
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.shared.lock().pid.map(|pid| pid.as_raw_nonzero().get().unsigned_abs())
    }

    /// Returns how often the child has ended since it was first started.
    pub(crate) fn exits(&self) -> u64 {
        self.shared.lock().exits
    }

    /// Kills the child as a crash would, and leaves it down.
    pub(crate) fn kill(&self) {
        self.shared.wish(Wish::Down);
        self.signal(Signal::KILL);
        self.shared.wait_until(Duration::from_secs(10), |state| state.pid.is_none());
    }

    /// Starts a child that was killed.
    pub(crate) fn up(&self) {
        self.shared.wish(Wish::Up);
    }

    /// Ends the child: asks with the first signal, insists with the next ones, and waits.
    pub(crate) fn stop(&mut self, signals: &[(Signal, Duration)]) {
        self.shared.wish(Wish::End);
        for (signal, patience) in signals {
            self.signal(*signal);
            if self.shared.wait_until(*patience, |state| state.pid.is_none()) {
                break;
            }
            warn!("{} did not end within {patience:?}", self.launch.engine);
        }
        if let Some(keeper) = self.keeper.take() {
            let _panicked = keeper.join();
        }
    }

    /// Sends a signal while the child certainly is ours: it is reaped only under the same lock.
    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(pid) = self.shared.lock().pid {
            let _already_gone = kill_process(pid, signal);
        }
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        if self.keeper.is_some() {
            self.stop(&[(Signal::KILL, Duration::from_secs(10))]);
        }
    }
}

/// The keeper: starts the child while it is wished for, waits for it, and starts again where that is wanted.
fn keep(launch: &Launch, shared: &Shared, restart: Restart) {
    let mut pause = Duration::from_millis(100);
    loop {
        shared.wait_until(Duration::MAX, |state| state.wish != Wish::Down);
        if shared.lock().wish == Wish::End {
            return;
        }
        let began = Instant::now();
        match launch.spawn() {
            Ok(child) => wait_for_end(launch, shared, restart, child),
            Err(error) => {
                warn!(error = &error as &dyn std::error::Error, "cannot start {}", launch.engine);
                note_end(&mut shared.lock(), restart);
            }
        }
        if restart == Restart::WhenAsked {
            continue;
        }
        pause = if began.elapsed() > RAN_WELL {
            Duration::from_millis(100)
        } else {
            (pause * 2).min(Duration::from_secs(2))
        };
        shared.wait_until(pause, |state| state.wish == Wish::End);
    }
}

/// Notes an end under the lock. Whoever sees that the child is gone may wish for another at once, so what the end
/// means for the wish is settled in the same moment.
fn note_end(state: &mut State, restart: Restart) {
    state.pid = None;
    state.exits += 1;
    if restart == Restart::WhenAsked && state.wish == Wish::Up {
        state.wish = Wish::Down;
    }
}

fn wait_for_end(launch: &Launch, shared: &Shared, restart: Restart, mut child: std::process::Child) {
    let Some(pid) = Pid::from_raw(i32::try_from(child.id()).unwrap_or_default()) else { return };
    let wished_away = {
        let mut state = shared.lock();
        state.pid = Some(pid);
        state.wish != Wish::Up
    };
    shared.changed.notify_all();
    if wished_away {
        // A wish that came while the child was being made found no pid to signal.
        let _already_gone = kill_process(pid, Signal::KILL);
    }
    info!(pid = child.id(), "{} started", launch.engine);
    // NOWAIT leaves the child a zombie, so that its pid cannot name anyone else until it is reaped under the lock.
    while let Err(rustix::io::Errno::INTR) =
        waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
    {}
    let mut state = shared.lock();
    let status = child.wait();
    let expected = state.wish != Wish::Up;
    note_end(&mut state, restart);
    drop(state);
    shared.changed.notify_all();
    if !expected {
        warn!(?status, "{} ended by itself", launch.engine);
    }
}

fn open_log(path: &Path) -> Result<File, EngineError> {
    if fs::metadata(path).is_ok_and(|log| log.len() > LOG_AT_MOST_BYTES) {
        fs::rename(path, path.with_extension("log.1")).map_err(EngineError::io("set aside", path))?;
    }
    OpenOptions::new().create(true).append(true).open(path).map_err(EngineError::io("open", path))
}

/// Returns the last lines of a log, indented for a message.
pub(crate) fn last_words(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let tail = String::from_utf8_lossy(&text[text.len().saturating_sub(4096)..]).into_owned();
    let lines: Vec<&str> = tail.lines().collect();
    lines[lines.len().saturating_sub(8)..].iter().map(|line| format!("    {line}\n")).collect()
}
