//! Limits that the kernel does not enforce for a whole sandbox: disk space, and memory without a cgroup.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval};

use super::limits::SandboxLimits;
use crate::child::descendant_ids;

/// Time between two measurements of memory.
const MEMORY_INTERVAL: Duration = Duration::from_millis(500);

/// Shortest time between two measurements of disk space, which read every directory.
const DISK_INTERVAL: Duration = Duration::from_secs(1);

/// The pause after a measurement of disk space, as a multiple of the time that it took.
const DISK_PAUSE_FACTOR: u32 = 5;

/// Nesting of directories.
const MAX_DEPTH: usize = 128;

/// Which limit a sandbox exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExceededLimit {
    Memory { bytes: u64 },
    Disk { bytes: u64 },
    Files { count: u64 },
}

impl std::fmt::Display for ExceededLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const MIB: u64 = 1024 * 1024;
        match self {
            Self::Memory { bytes } => write!(f, "it used more than {} MiB of memory", bytes / MIB),
            Self::Disk { bytes } => write!(f, "it used more than {} MiB of disk space", bytes / MIB),
            Self::Files { count } => write!(f, "it created more than {count} files"),
        }
    }
}

/// Measures a sandbox repeatedly.
#[derive(Debug, Clone)]
pub struct Watchdog {
    /// The first process of the sandbox.
    pub root: u32,
    /// Directories whose size counts.
    pub dirs: Vec<PathBuf>,
    pub limits: SandboxLimits,
    /// Whether a cgroup enforces the memory limit.
    pub has_memory_cgroup: bool,
}

impl Watchdog {
    /// Waits until the sandbox exceeds a limit. Directories that are over the limit at first may shrink, but not grow: a
    /// command that removes files must be possible.
    pub async fn exceeded(mut self) -> ExceededLimit {
        let mut ticks = interval(MEMORY_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let dirs = self.dirs.clone();
        let limits = self.limits;
        if let Ok(found) =
            tokio::task::spawn_blocking(move || DiskUsage::of(&dirs, limits.files.saturating_mul(10))).await
        {
            self.limits.disk_bytes = limits.disk_bytes.max(found.bytes);
            self.limits.files = limits.files.max(found.entries);
        }
        let mut next_disk = Instant::now() + DISK_INTERVAL;
        loop {
            ticks.tick().await;
            let with_disk = Instant::now() >= next_disk;
            let (started, watchdog) = (Instant::now(), self.clone());
            let measure = move || {
                watchdog.measure_memory().or_else(|| with_disk.then(|| watchdog.measure_disk()).flatten())
            };
            if let Ok(Some(limit)) = tokio::task::spawn_blocking(measure).await {
                return limit;
            }
            if with_disk {
                next_disk = Instant::now() + DISK_INTERVAL.max(started.elapsed() * DISK_PAUSE_FACTOR);
            }
        }
    }

    fn measure_memory(&self) -> Option<ExceededLimit> {
        let bytes = self.limits.memory_bytes;
        let is_exceeded = !self.has_memory_cgroup && memory_of(&descendant_ids(self.root)) > bytes;
        is_exceeded.then_some(ExceededLimit::Memory { bytes })
    }

    fn measure_disk(&self) -> Option<ExceededLimit> {
        let SandboxLimits { disk_bytes: bytes, files: count, .. } = self.limits;
        let usage = DiskUsage::of(&self.dirs, count);
        if usage.entries > count {
            return Some(ExceededLimit::Files { count });
        }
        (usage.bytes > bytes).then_some(ExceededLimit::Disk { bytes })
    }
}

/// Returns the memory of processes. Shared pages are divided among the processes that share them.
fn memory_of(processes: &[u32]) -> u64 {
    processes.iter().filter_map(|id| proportional_memory(*id)).sum()
}

fn proportional_memory(id: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{id}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

#[derive(Debug, Default)]
struct DiskUsage {
    bytes: u64,
    entries: u64,
    /// Stops after this many entries.
    max_entries: u64,
}

impl DiskUsage {
    /// Measures directories, up to a number of files.
    fn of(dirs: &[PathBuf], max_entries: u64) -> Self {
        let mut usage = Self { max_entries, ..Self::default() };
        dirs.iter().for_each(|dir| usage.add(dir, 0));
        usage
    }

    /// Adds a directory. Symbolic links are not followed.
    fn add(&mut self, dir: &Path, depth: usize) {
        use std::os::unix::fs::MetadataExt;
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            if self.entries > self.max_entries || depth > MAX_DEPTH {
                return;
            }
            self.entries += 1;
            // Does not follow symbolic links.
            let Ok(metadata) = entry.metadata() else { continue };
            self.bytes += metadata.blocks() * 512;
            if metadata.is_dir() {
                self.add(&entry.path(), depth + 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn directory_over_its_limit_may_not_grow() {
        let dir = tempfile::tempdir().expect("temporary directory");
        fs::create_dir(dir.path().join("inner")).expect("create directory");
        fs::write(dir.path().join("inner/big"), vec![1; 200_000]).expect("write file");
        let watchdog = Watchdog {
            root: std::process::id(),
            dirs: vec![dir.path().to_owned()],
            limits: SandboxLimits { disk_bytes: 100_000, files: 1, ..SandboxLimits::default() },
            has_memory_cgroup: true,
        };
        assert_eq!(watchdog.measure_disk(), Some(ExceededLimit::Files { count: 1 }));
        let disk = Watchdog { limits: SandboxLimits { files: 9, ..watchdog.limits }, ..watchdog.clone() };
        assert_eq!(disk.measure_disk(), Some(ExceededLimit::Disk { bytes: 100_000 }));
        let waiting = tokio::time::timeout(DISK_INTERVAL * 3, watchdog.exceeded());
        let more = async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            fs::write(dir.path().join("more"), "more").expect("write file");
        };
        let (exceeded, ()) = tokio::join!(waiting, more);
        assert_eq!(exceeded.ok(), Some(ExceededLimit::Files { count: 2 }));
    }

    #[test]
    fn memory_of_this_process_is_measured() {
        let watchdog = Watchdog {
            root: std::process::id(),
            dirs: vec![],
            limits: SandboxLimits { memory_bytes: 1024, ..SandboxLimits::default() },
            has_memory_cgroup: false,
        };
        assert_eq!(watchdog.measure_memory(), Some(ExceededLimit::Memory { bytes: 1024 }));
    }
}
