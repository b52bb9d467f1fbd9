//! Timeout of a run.

use std::fmt;
use std::time::Duration;

/// Maximum duration of a turn. Stored and transmitted as `timeoutMs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct RunTimeout(Duration);

/// A timeout outside the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid timeout {requested_ms} ms: use {} to {} ms", RunTimeout::MIN_MS, RunTimeout::MAX_MS)]
pub struct InvalidTimeout {
    pub requested_ms: u64,
}

impl RunTimeout {
    /// Every backend needs more than this to start.
    const MIN_MS: u64 = 1_000;
    /// One week: a longer run is considered hung, regardless of the tenant's bounds.
    const MAX_MS: u64 = 7 * 24 * 3_600_000;

    pub const MIN: Self = Self(Duration::from_millis(Self::MIN_MS));
    pub const MAX: Self = Self(Duration::from_millis(Self::MAX_MS));

    pub fn from_millis(requested_ms: u64) -> Result<Self, InvalidTimeout> {
        if (Self::MIN_MS..=Self::MAX_MS).contains(&requested_ms) {
            Ok(Self(Duration::from_millis(requested_ms)))
        } else {
            Err(InvalidTimeout { requested_ms })
        }
    }

    #[must_use]
    pub const fn get(self) -> Duration {
        self.0
    }

    #[must_use]
    pub fn as_millis(self) -> u64 {
        // At most MAX_MS, by construction.
        u64::try_from(self.0.as_millis()).unwrap_or(Self::MAX_MS)
    }
}

impl TryFrom<u64> for RunTimeout {
    type Error = InvalidTimeout;

    fn try_from(requested_ms: u64) -> Result<Self, InvalidTimeout> {
        Self::from_millis(requested_ms)
    }
}

impl From<RunTimeout> for u64 {
    fn from(timeout: RunTimeout) -> Self {
        timeout.as_millis()
    }
}

impl fmt::Display for RunTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", self.as_millis())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeout_outside_the_limits_is_rejected() {
        assert_eq!(RunTimeout::from_millis(1_000), Ok(RunTimeout::MIN));
        assert_eq!(RunTimeout::from_millis(604_800_000), Ok(RunTimeout::MAX));
        for requested_ms in [0, 999, 604_800_001, u64::MAX] {
            assert_eq!(RunTimeout::from_millis(requested_ms), Err(InvalidTimeout { requested_ms }));
        }
        let error = serde_json::from_str::<RunTimeout>("5").expect_err("too short");
        assert_eq!(error.to_string(), "invalid timeout 5 ms: use 1000 to 604800000 ms");
    }
}
