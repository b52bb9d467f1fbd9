//! The replicas of the server. A supervisor restarts each one that exits.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::api::UnexpectedAnswer;
use crate::support::{ChildProcess, guildhall};

pub(super) const REPLICAS: usize = 3;

/// The replica whose clock jumps.
pub(super) const CLOCK_REPLICA: usize = 2;

/// The library that changes the clock of a process, from the package `faketime`.
const FAKETIME_LIBRARY: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

pub(super) struct StormReplicas {
    pub(super) ports: Vec<u16>,
    slots: Vec<Mutex<Slot>>,
    environment: Vec<(String, String)>,
    folder: PathBuf,
    /// Restarts by the supervisor.
    pub(super) restarts: AtomicUsize,
}

struct Slot {
    process: Option<ChildProcess>,
    program: PathBuf,
    /// The supervisor leaves it down.
    is_held_down: bool,
}

impl StormReplicas {
    /// Starts the replicas and their supervisor.
    pub(super) fn start(folder: &Path, environment: Vec<(String, String)>) -> Arc<Self> {
        let free_port = |_| {
            std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port()
        };
        let program = PathBuf::from(env!("CARGO_BIN_EXE_guildhall"));
        let slot = |_| Mutex::new(Slot { process: None, program: program.clone(), is_held_down: false });
        let replicas = Arc::new(Self {
            ports: (0..REPLICAS).map(free_port).collect(),
            slots: (0..REPLICAS).map(slot).collect(),
            environment,
            folder: folder.to_owned(),
            restarts: AtomicUsize::new(0),
        });
        replicas.set_clock_offset(0);
        (0..REPLICAS).for_each(|replica| replicas.start_replica(replica, &mut replicas.lock(replica)));
        let supervised = Arc::downgrade(&replicas);
        guildhall_testkit::spawn_task(async move {
            while let Some(replicas) = supervised.upgrade() {
                replicas.restart_exited();
                drop(replicas);
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
        replicas
    }

    fn lock(&self, replica: usize) -> std::sync::MutexGuard<'_, Slot> {
        self.slots[replica].lock().expect("the lock is not poisoned")
    }

    fn restart_exited(&self) {
        for replica in 0..REPLICAS {
            let mut slot = self.lock(replica);
            if !slot.is_held_down && slot.process.as_mut().is_none_or(ChildProcess::has_exited) {
                self.start_replica(replica, &mut slot);
                self.restarts.fetch_add(1, Ordering::SeqCst);
            }
        }
    }

    fn start_replica(&self, replica: usize, slot: &mut Slot) {
        let mut command = Command::new(&slot.program);
        guildhall().get_envs().for_each(|(name, _)| {
            command.env_remove(name);
        });
        command.args(["serve", "--listen", &format!("127.0.0.1:{}", self.ports[replica])]);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if replica == CLOCK_REPLICA && Path::new(FAKETIME_LIBRARY).exists() {
            command
                .env("LD_PRELOAD", FAKETIME_LIBRARY)
                .env("FAKETIME_TIMESTAMP_FILE", self.clock_file())
                .env("FAKETIME_CACHE_DURATION", "1")
                .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        }
        let log = fs::OpenOptions::new().create(true).append(true).open(self.log_file(replica));
        let log = log.expect("a log");
        slot.process = Some(ChildProcess::start_with_stderr(&mut command, log.into()));
    }

    pub(super) fn signal(&self, replica: usize, signal: Signal) {
        if let Some(process) = &self.lock(replica).process {
            process.signal(signal);
        }
    }

    /// Drains a replica, and starts a copy of its program in its place.
    pub(super) async fn replace_program(&self, replica: usize) {
        let copy = self.folder.join("guildhall-copy");
        if !copy.exists() {
            let original = env!("CARGO_BIN_EXE_guildhall");
            fs::hard_link(original, &copy).or_else(|_| fs::copy(original, &copy).map(drop)).expect("a copy");
        }
        self.lock(replica).is_held_down = true;
        self.signal(replica, Signal::TERM);
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.lock(replica).process.as_mut().is_none_or(ChildProcess::has_exited) {
            assert!(Instant::now() < deadline, "replica {replica} does not drain");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let mut slot = self.lock(replica);
        let original = PathBuf::from(env!("CARGO_BIN_EXE_guildhall"));
        slot.program = if slot.program == original { copy } else { original };
        slot.is_held_down = false;
        self.start_replica(replica, &mut slot);
    }

    /// Sets the clock of [`CLOCK_REPLICA`], relative to that of the machine.
    pub(super) fn set_clock_offset(&self, seconds: i64) {
        let unfinished = self.folder.join("clock.new");
        fs::write(&unfinished, format!("{seconds:+}\n")).expect("written");
        fs::rename(unfinished, self.clock_file()).expect("renamed");
    }

    /// Returns the lines of the logs with the trace ids of answers, at most 20.
    pub(super) fn log_lines(&self, answers: &[UnexpectedAnswer]) -> String {
        let ids: Vec<_> = answers.iter().filter_map(|answer| answer.body["traceId"].as_str()).collect();
        let logs =
            (0..REPLICAS).map(|replica| fs::read_to_string(self.log_file(replica)).unwrap_or_default());
        let lines = logs.flat_map(|log| log.lines().map(str::to_owned).collect::<Vec<_>>());
        let lines = lines.filter(|line| ids.iter().any(|id| line.contains(id)));
        lines.take(20).collect::<Vec<_>>().join("\n")
    }

    fn log_file(&self, replica: usize) -> PathBuf {
        self.folder.join(format!("replica-{replica}.log"))
    }

    fn clock_file(&self) -> PathBuf {
        self.folder.join("clock")
    }
}

/// Fails if the clock of a replica cannot be changed here.
pub(super) fn require_faketime() {
    assert!(Path::new(FAKETIME_LIBRARY).exists(), "{FAKETIME_LIBRARY} does not exist: install faketime");
}
