//! Memory of a process, read from /proc.

use anyhow::{Context, Result};

/// Returns the resident set.
pub(crate) fn resident_bytes(pid: u32) -> Result<u64> {
    status_bytes(pid, "VmRSS:")
}

/// Returns the largest resident set since the start or since [`reset_peak`].
pub(crate) fn peak_bytes(pid: u32) -> Result<u64> {
    status_bytes(pid, "VmHWM:")
}

pub(crate) fn reset_peak(pid: u32) -> Result<()> {
    std::fs::write(format!("/proc/{pid}/clear_refs"), "5").context("cannot reset the peak")
}

fn status_bytes(pid: u32, name: &str) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let value = line.with_context(|| format!("no {name} in the status of process {pid}"))?;
    let kib: u64 = value.trim().trim_end_matches(" kB").parse()?;
    Ok(kib * 1024)
}
