//! CPU time of processes, read from /proc.

use std::fs;

use anyhow::{Context, Result};

/// Clock ticks per second in /proc on Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// Returns the CPU seconds of a process and its children.
pub(crate) fn seconds(pid: u32) -> Result<f64> {
    let own = Stat::read(pid).with_context(|| format!("process {pid} does not exist"))?;
    let entries = fs::read_dir("/proc")?.flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let children = pids.filter_map(Stat::read).filter(|stat| stat.parent == pid);
    let children_ticks: u64 = children.map(|stat| stat.ticks).sum();
    #[expect(clippy::cast_precision_loss, reason = "the ticks of a benchmark are far below 2^53")]
    let ticks = (own.ticks + own.exited_children_ticks + children_ticks) as f64;
    Ok(ticks / TICKS_PER_SECOND)
}

struct Stat {
    parent: u32,
    ticks: u64,
    exited_children_ticks: u64,
}

impl Stat {
    fn read(pid: u32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The process name is in parentheses and can contain any character. The numeric fields follow, after the state.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        Some(Self {
            parent: u32::try_from(number(1)?).ok()?,
            ticks: number(11)? + number(12)?,
            exited_children_ticks: number(13)? + number(14)?,
        })
    }
}
