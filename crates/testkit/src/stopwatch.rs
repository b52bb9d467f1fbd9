//! Measures the time in which this machine ran.

use std::fs;
use std::time::{Duration, Instant};

/// `/proc/stat` counts in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);

/// A share of the elapsed time always counts, so that a loop with a limit ends on any machine.
const MIN_COUNTED_SHARE: u32 = 10;

/// Measures time without what a hypervisor gave to other machines. A test that asserts an upper limit of a time uses it:
/// on a shared machine, processes may not run for seconds.
#[derive(Debug, Clone)]
pub struct Stopwatch {
    started: Instant,
    stolen: Vec<u32>,
}

impl Stopwatch {
    #[must_use]
    pub fn start() -> Self {
        Self { started: Instant::now(), stolen: stolen_ticks(&read_stat()) }
    }

    /// Returns the time since the start, without the time that was stolen from the processor that lost the most.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        let now = stolen_ticks(&read_stat());
        let stolen = self.stolen.iter().zip(now).map(|(before, now)| now.saturating_sub(*before)).max();
        counted(self.started.elapsed(), TICK * stolen.unwrap_or(0))
    }
}

fn counted(elapsed: Duration, stolen: Duration) -> Duration {
    elapsed.saturating_sub(stolen).max(elapsed / MIN_COUNTED_SHARE)
}

/// Nothing counts as stolen where the file does not exist.
fn read_stat() -> String {
    fs::read_to_string("/proc/stat").unwrap_or_default()
}

/// Returns the stolen time of each processor, the eighth number of its line.
fn stolen_ticks(stat: &str) -> Vec<u32> {
    stat.lines()
        .filter(|line| {
            line.strip_prefix("cpu")
                .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
        })
        .map(|line| line.split_whitespace().nth(8).and_then(|ticks| ticks.parse().ok()).unwrap_or(0))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_read_for_each_processor() {
        let stat = "cpu  100 0 5 900 2 0 1 70 0 0\ncpu0 60 0 3 400 1 0 1 20 0 0\ncpu1 40 0 2 500 1 0 0 50 0 0\nintr 1 2\n";
        assert_eq!(stolen_ticks(stat), [20, 50]);
        assert_eq!(stolen_ticks(""), [0; 0]);
    }

    #[test]
    fn stolen_time_does_not_count_but_a_tenth_always_does() {
        let seconds = Duration::from_secs;
        assert_eq!(counted(seconds(10), seconds(0)), seconds(10));
        assert_eq!(counted(seconds(10), seconds(7)), seconds(3));
        assert_eq!(counted(seconds(10), seconds(12)), seconds(1));
    }
}
