//! Rates of bytes.

use std::fmt;
use std::str::FromStr;

use super::{Rate, parse_window};

/// Bytes of one permit. Amounts are rounded up to it.
const PERMIT_BYTES: u64 = 1024;

/// The highest rate, in permits: 1 TiB. The store counts permits in 32 bits.
const MAX_PERMITS: u64 = 1024 * 1024 * 1024;

/// Units, the largest first.
const UNITS: [(&str, u64); 3] = [("GiB", 1024 * 1024), ("MiB", 1024), ("KiB", 1)];

/// A number of bytes per window. Text form: `64GiB/24h`. Counted in permits of 1 KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteRate(Rate);

/// A malformed rate of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("use a rate such as `64GiB/24h`: 1 KiB to 1024 GiB per 1 s to 24 h, in whole KiB, MiB or GiB")]
pub struct InvalidByteRate;

impl ByteRate {
    /// Returns the rate in permits.
    #[must_use]
    pub fn in_permits(self) -> Rate {
        self.0
    }

    /// Returns the rate of bytes behind a rate in permits.
    #[must_use]
    pub fn from_permits(rate: Rate) -> Self {
        Self(rate)
    }

    /// Returns the permits that an amount costs.
    #[must_use]
    pub fn permits_for(bytes: u64) -> u32 {
        u32::try_from(bytes.div_ceil(PERMIT_BYTES)).unwrap_or(u32::MAX)
    }
}

impl FromStr for ByteRate {
    type Err = InvalidByteRate;

    fn from_str(text: &str) -> Result<Self, InvalidByteRate> {
        let (amount, window) = text.split_once('/').ok_or(InvalidByteRate)?;
        let amount = amount.trim();
        let (number, permits_per_unit) = UNITS
            .iter()
            .find_map(|(unit, permits)| Some((amount.strip_suffix(unit)?.trim_end(), permits)))
            .ok_or(InvalidByteRate)?;
        let number: u64 = number.parse().map_err(|_| InvalidByteRate)?;
        let permits =
            number.checked_mul(*permits_per_unit).filter(|permits| (1..=MAX_PERMITS).contains(permits));
        let permits = permits.and_then(|permits| u32::try_from(permits).ok()).ok_or(InvalidByteRate)?;
        let window_seconds = parse_window(window).ok_or(InvalidByteRate)?;
        Ok(Self(Rate { permits, window_seconds }))
    }
}

impl fmt::Display for ByteRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let permits = u64::from(self.0.permits);
        let (unit, size) =
            UNITS.into_iter().find(|(_, size)| permits.is_multiple_of(*size)).unwrap_or(("KiB", 1));
        write!(f, "{}{unit}/{}s", permits / size, self.0.window_seconds)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn valid_byte_rates_are_parsed() {
        for (text, kib, shown) in [
            ("64GiB/24h", 64 * 1024 * 1024, "64GiB/86400s"),
            ("20 KiB / 60s", 20, "20KiB/60s"),
            ("2048KiB/1s", 2048, "2MiB/1s"),
            ("1024GiB/24h", 1024 * 1024 * 1024, "1024GiB/86400s"),
        ] {
            let rate: ByteRate = text.parse().expect(text);
            assert_eq!((rate.in_permits().permits(), rate.to_string()), (kib, shown.to_owned()), "{text}");
        }
    }

    #[test]
    fn invalid_byte_rates_are_rejected() {
        for text in [
            "",
            "64",
            "64GiB",
            "64/24h",
            "64GB/24h",
            "0GiB/24h",
            "-1GiB/24h",
            "1.5GiB/24h",
            "GiB/24h",
            "1025GiB/24h",
            "1GiB/25h",
            "1GiB/1500ms",
            "99999999999999999999GiB/24h",
        ] {
            assert_eq!(text.parse::<ByteRate>(), Err(InvalidByteRate), "{text}");
        }
    }

    #[test]
    fn amounts_are_rounded_up_to_permits() {
        let permits = [0, 1, 1024, 1025, u64::MAX].map(ByteRate::permits_for);
        assert_eq!(permits, [0, 1, 1, 2, u32::MAX]);
    }

    proptest! {
        #[test]
        fn byte_rate_round_trips_through_text(permits in 1..=1024 * 1024 * 1024_u32, window_seconds in 1u32..=86_400) {
            let rate = ByteRate(Rate { permits, window_seconds });
            prop_assert_eq!(rate.to_string().parse::<ByteRate>(), Ok(rate));
        }
    }
}
