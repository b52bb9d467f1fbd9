//! Rate limits: a number of permits per time window, shared by all replicas. A permit is a request, or 1 KiB.
//!
//! Replicas borrow permits in blocks. The store counts the permits handed out per window and never exceeds the limit.
//! A replica spends its block from memory ([`LocalPermits`]) and returns nothing, so the permits of a killed replica
//! are lost: the limit is never exceeded.

mod byte_rate;
mod key;
mod local_permits;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::SignedDuration;

pub use byte_rate::{ByteRate, InvalidByteRate};
pub use key::RateKey;
pub use local_permits::{LocalPermits, PermitBlock, RateStatus, SpendResult};

/// A replica borrows at most 1/16 of the remaining permits, so that it withholds little from the others.
const BLOCK_DIVISOR: u32 = 16;

/// Largest block: at 1000 requests per second, a replica asks the store four times per second.
const MAX_BLOCK: u32 = 256;

/// A larger limit has larger blocks: 16 MiB of a limit of 64 GiB.
const MAX_BLOCK_DIVISOR: u32 = 4096;

/// Highest limit of requests per window. A higher one would have no effect in practice.
const MAX_PERMITS: u32 = 1_000_000;

/// Longest window. The store keeps one row per caller and window while the window is open.
const MAX_WINDOW: Duration = Duration::from_secs(24 * 60 * 60);

/// Kinds of requests with separate limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tier {
    /// Requests of sign-in routes, before the caller is known. Counted by address.
    SignIn,
    /// Sign-in attempts with a password, by user name.
    Account,
    /// Requests that change state.
    Mutation,
    /// Requests that only read, including opening a stream.
    Read,
    /// Agent turns.
    Prompt,
    /// Events of runs, by tenant. Counted in KiB.
    TenantEvents,
    /// Calls of tools that an agent sends to users.
    ToolCall,
}

impl Tier {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SignIn => "sign_in",
            Self::Account => "account",
            Self::Mutation => "mutation",
            Self::Read => "read",
            Self::Prompt => "prompt",
            Self::TenantEvents => "tenant_events",
            Self::ToolCall => "tool_call",
        }
    }

    /// Returns the stored number of this tier. Never reused.
    #[must_use]
    pub const fn number(self) -> i16 {
        match self {
            Self::SignIn => 1,
            Self::Mutation => 2,
            Self::Read => 3,
            Self::Prompt => 4,
            Self::Account => 5,
            Self::TenantEvents => 6,
            Self::ToolCall => 7,
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A number of permits per window. Text form: `30/60s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    permits: u32,
    window_seconds: u32,
}

/// A malformed rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("use a rate such as `30/60s` or `1000/1h`: 1 to 1000000 requests per 1 s to 24 h, in whole seconds")]
pub struct InvalidRate;

impl Rate {
    /// Calls of tools that one agent may send, over all users and replicas. Part of the protocol, so it is no setting.
    pub const TOOL_CALLS: Self = Self { permits: 60, window_seconds: 60 };

    #[must_use]
    pub fn permits(self) -> u32 {
        self.permits
    }

    #[must_use]
    pub fn window(self) -> Duration {
        Duration::from_secs(self.window_seconds.into())
    }

    /// Returns the number of permits to borrow when `handed_out` of the window are known to be taken. Blocks shrink
    /// towards the limit, down to one permit, so that no replica holds idle permits while another rejects requests.
    #[must_use]
    pub fn block_size(self, handed_out: u32) -> u32 {
        (self.permits.saturating_sub(handed_out) / BLOCK_DIVISOR)
            .clamp(1, MAX_BLOCK.max(self.permits / MAX_BLOCK_DIVISOR))
    }
}

impl FromStr for Rate {
    type Err = InvalidRate;

    fn from_str(text: &str) -> Result<Self, InvalidRate> {
        let (permits, window) = text.split_once('/').ok_or(InvalidRate)?;
        let permits = permits.trim().parse().ok().filter(|permits| (1..=MAX_PERMITS).contains(permits));
        let window_seconds = parse_window(window).ok_or(InvalidRate)?;
        Ok(Self { permits: permits.ok_or(InvalidRate)?, window_seconds })
    }
}

/// Parses the length of a window, in whole seconds.
fn parse_window(text: &str) -> Option<u32> {
    let window: SignedDuration = text.trim().parse().ok()?;
    let window = Duration::try_from(window).ok()?;
    let is_valid = window.subsec_nanos() == 0 && (1..=MAX_WINDOW.as_secs()).contains(&window.as_secs());
    u32::try_from(window.as_secs()).ok().filter(|_| is_valid)
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}s", self.permits, self.window_seconds)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn valid_rates_are_parsed() {
        for (text, permits, seconds) in [
            ("30/60s", 30, 60),
            ("1/1s", 1, 1),
            ("1000 / 1h", 1000, 3600),
            ("1000000/24h", 1_000_000, 86_400),
        ] {
            let rate: Rate = text.parse().expect(text);
            assert_eq!((rate.permits(), rate.window()), (permits, Duration::from_secs(seconds)), "{text}");
        }
    }

    #[test]
    fn invalid_or_out_of_range_rates_are_rejected() {
        for text in [
            "",
            "30",
            "/60s",
            "30/",
            "0/60s",
            "-1/60s",
            "30/0s",
            "30/-60s",
            "30/1500ms",
            "1000001/1s",
            "30/25h",
            "30/60",
            "30/60s/2",
            "many/60s",
            "99999999999/60s",
        ] {
            assert_eq!(text.parse::<Rate>(), Err(InvalidRate), "{text}");
        }
    }

    #[test]
    fn block_size_is_one_for_small_limits_and_bounded_for_large_ones() {
        let block_size = |rate: &str, handed_out| rate.parse::<Rate>().expect(rate).block_size(handed_out);
        assert_eq!((block_size("1/1s", 0), block_size("30/60s", 0), block_size("31/60s", 31)), (1, 1, 1));
        assert_eq!(
            (block_size("160/60s", 0), block_size("160/60s", 80), block_size("160/60s", 150)),
            (10, 5, 1)
        );
        assert_eq!(block_size("1000000/60s", 0), MAX_BLOCK);
    }

    proptest! {
        #[test]
        fn rate_round_trips_through_text(permits in 1..=MAX_PERMITS, window_seconds in 1u32..=86_400) {
            let rate = Rate { permits, window_seconds };
            prop_assert_eq!(rate.to_string().parse::<Rate>(), Ok(rate));
        }

        #[test]
        fn block_is_never_empty_and_shrinks_towards_the_limit(
            permits in 1..=MAX_PERMITS, a in 0u32..2_000_000, b in 0u32..2_000_000,
        ) {
            let rate = Rate { permits, window_seconds: 60 };
            let (earlier, later) = (rate.block_size(a.min(b)), rate.block_size(a.max(b)));
            prop_assert!(1 <= later && later <= earlier && earlier <= MAX_BLOCK);
            prop_assert!(earlier == 1 || earlier <= permits / BLOCK_DIVISOR);
        }
    }
}
