//! How much of the processors each process took, read from /proc.

use std::fs;

use anyhow::{Context, Result};

/// A clock tick of /proc on Linux: a hundredth of a second.
const TICKS_A_SECOND: f64 = 100.0;

/// Returns the seconds of processor time that a process has taken, and those of its children.
pub(crate) fn seconds(pid: u32) -> Result<f64> {
    let own = Stat::read(pid).with_context(|| format!("process {pid} is gone"))?;
    let entries = fs::read_dir("/proc")?.flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let children = pids.filter_map(Stat::read).filter(|stat| stat.parent == pid);
    let living: u64 = children.map(|stat| stat.ticks).sum();
    #[expect(clippy::cast_precision_loss, reason = "ticks of one run are exact to 2^53")]
    let ticks = (own.ticks + own.of_ended_children + living) as f64;
    Ok(ticks / TICKS_A_SECOND)
}

struct Stat {
    parent: u32,
    ticks: u64,
    of_ended_children: u64,
}

impl Stat {
    fn read(pid: u32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name stands in brackets and may hold anything; after it come the numbers, the state first.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        Some(Self {
            parent: u32::try_from(number(1)?).ok()?,
            ticks: number(11)? + number(12)?,
            of_ended_children: number(13)? + number(14)?,
        })
    }
}
