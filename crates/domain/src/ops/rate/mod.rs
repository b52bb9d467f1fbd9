//! How often a caller may ask: so many permits in each window of time, over all replicas together.
//!
//! Permits are lent in blocks. The store keeps how many of a window were handed out and never hands out more than the
//! limit; a replica spends its block from memory ([`Purse`]) and returns nothing. What a killed replica held is lost,
//! which errs on the safe side.

mod key;
mod purse;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::SignedDuration;

pub use key::Key;
pub use purse::{Lent, Purse, Spent, Standing};

/// A replica borrows this part of what is left: it can never hold more back from the others than that.
const SHARE: u32 = 16;

/// The largest block: for a caller of a thousand requests a second the store is asked four times in that second.
const LARGEST_BLOCK: u32 = 256;

/// More than this in one window is no limit that anybody meets.
const MOST_PERMITS: u32 = 1_000_000;

/// The store keeps a row for each caller and window, for as long as the window is open.
const LONGEST_WINDOW: Duration = Duration::from_secs(24 * 60 * 60);

/// Kinds of requests that are counted apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tier {
    /// Whatever hands out tokens, before it is known who asks.
    SignIn,
    /// Requests that change something.
    Mutation,
    /// Requests that only look. Opening a stream is one.
    Read,
    /// Turns of an agent.
    Prompt,
}

impl Tier {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SignIn => "sign_in",
            Self::Mutation => "mutation",
            Self::Read => "read",
            Self::Prompt => "prompt",
        }
    }

    /// Returns the number under which the store knows this tier. Never reused.
    #[must_use]
    pub const fn number(self) -> i16 {
        match self {
            Self::SignIn => 1,
            Self::Mutation => 2,
            Self::Read => 3,
            Self::Prompt => 4,
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// So many permits in each window. Written `30/60s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    permits: u32,
    window_seconds: u32,
}

/// Why a text is no rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "write so many in so long, such as `30/60s` or `1000/1h`: 1 to 1000000 in 1 s to 24 h, whole seconds"
)]
pub struct InvalidRate;

impl Rate {
    #[must_use]
    pub fn permits(self) -> u32 {
        self.permits
    }

    #[must_use]
    pub fn window(self) -> Duration {
        Duration::from_secs(self.window_seconds.into())
    }

    /// Returns how many permits to borrow when so many of the window are known to be handed out. The nearer the limit,
    /// the smaller: of a small limit one at a time, so that none lies idle at one replica while another refuses.
    #[must_use]
    pub fn block(self, handed_out: u32) -> u32 {
        (self.permits.saturating_sub(handed_out) / SHARE).clamp(1, LARGEST_BLOCK)
    }
}

impl FromStr for Rate {
    type Err = InvalidRate;

    fn from_str(text: &str) -> Result<Self, InvalidRate> {
        let (permits, window) = text.split_once('/').ok_or(InvalidRate)?;
        let permits = permits.trim().parse().ok().filter(|permits| (1..=MOST_PERMITS).contains(permits));
        let window: SignedDuration = window.trim().parse().map_err(|_| InvalidRate)?;
        let window = Duration::try_from(window).map_err(|_| InvalidRate)?;
        let whole = window.subsec_nanos() == 0 && (1..=LONGEST_WINDOW.as_secs()).contains(&window.as_secs());
        let seconds = u32::try_from(window.as_secs()).ok().filter(|_| whole);
        Ok(Self { permits: permits.ok_or(InvalidRate)?, window_seconds: seconds.ok_or(InvalidRate)? })
    }
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
    fn a_rate_is_so_many_in_so_long() {
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
    fn what_is_no_rate_or_one_that_cannot_be_kept_is_refused() {
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
    fn small_limits_are_lent_one_by_one_and_large_ones_in_bounded_blocks() {
        let block = |rate: &str, handed_out| rate.parse::<Rate>().expect(rate).block(handed_out);
        assert_eq!((block("1/1s", 0), block("30/60s", 0), block("31/60s", 31)), (1, 1, 1));
        assert_eq!((block("160/60s", 0), block("160/60s", 80), block("160/60s", 150)), (10, 5, 1));
        assert_eq!(block("1000000/60s", 0), LARGEST_BLOCK);
    }

    proptest! {
        #[test]
        fn a_rate_reads_what_it_writes(permits in 1..=MOST_PERMITS, window_seconds in 1u32..=86_400) {
            let rate = Rate { permits, window_seconds };
            prop_assert_eq!(rate.to_string().parse::<Rate>(), Ok(rate));
        }

        #[test]
        fn a_block_is_never_empty_and_shrinks_towards_the_limit(permits in 1..=MOST_PERMITS, a in 0u32..2_000_000, b in 0u32..2_000_000) {
            let rate = Rate { permits, window_seconds: 60 };
            let (earlier, later) = (rate.block(a.min(b)), rate.block(a.max(b)));
            prop_assert!(1 <= later && later <= earlier && earlier <= LARGEST_BLOCK);
            prop_assert!(earlier == 1 || earlier <= permits / SHARE);
        }
    }
}
