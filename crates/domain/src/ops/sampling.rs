//! What anyone can cause without limit is written down within one, and the rest is counted.

use jiff::{SignedDuration, Timestamp};

/// How long one window lasts.
pub const WINDOW: SignedDuration = SignedDuration::from_mins(1);

/// What is written down in one window. A person who mistypes is far below; a flood shows as one, and fills no disk:
/// 43,200 short entries a day.
pub const AT_MOST: u32 = 30;

/// Decides what is written down.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sampling {
    began_at: Option<Timestamp>,
    written: u32,
    left_out: u64,
}

impl Sampling {
    /// Takes notice of one more. Returns how many were left out before it, when this one may be written down.
    pub fn take(&mut self, now: Timestamp) -> Option<u64> {
        // A clock that went back begins a new window too: a window must not last for ever.
        let goes_on = self
            .began_at
            .is_some_and(|began| (SignedDuration::ZERO..WINDOW).contains(&now.duration_since(began)));
        if !goes_on {
            (self.began_at, self.written) = (Some(now), 0);
        }
        if self.written >= AT_MOST {
            self.left_out = self.left_out.saturating_add(1);
            return None;
        }
        self.written += 1;
        Some(std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).expect("in range")
    }

    proptest! {
        #[test]
        fn everything_is_written_down_or_counted_by_what_is(waits in proptest::collection::vec(0i64..20, 0..400)) {
            let (mut sampling, mut now, mut told) = (Sampling::default(), 0, 0);
            for wait in &waits {
                now += wait;
                if let Some(left_out) = sampling.take(at(now)) {
                    told += 1 + left_out;
                }
            }
            prop_assert_eq!(usize::try_from(told + sampling.left_out), Ok(waits.len()));
        }

        #[test]
        fn no_window_has_more_than_its_share(waits in proptest::collection::vec(0i64..4, 0..400)) {
            let (mut sampling, mut now, mut written) = (Sampling::default(), 0, Vec::new());
            for wait in waits {
                now += wait;
                if sampling.take(at(now)).is_some() {
                    written.push(at(now));
                }
            }
            // Windows do not slide, so that two of them can meet: twice the share within the length of one.
            for these in written.windows(2 * AT_MOST as usize + 1) {
                prop_assert!(these[these.len() - 1].duration_since(these[0]) >= WINDOW);
            }
        }

        #[test]
        fn a_clock_that_jumps_silences_nothing_for_longer_than_a_window(jump in -100_000i64..100_000) {
            let mut sampling = Sampling::default();
            for _ in 0..2 * AT_MOST {
                let _written_or_not = sampling.take(at(0));
            }
            let after = if jump < 0 { jump } else { jump + WINDOW.as_secs() };
            prop_assert_eq!(sampling.take(at(after)), Some(u64::from(AT_MOST)));
        }
    }
}
