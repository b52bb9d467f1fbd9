//! Durations on the command line.

use std::time::Duration;

pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    let invalid = || "use a duration such as 90s, 10m or 2h".to_owned();
    let duration: jiff::SignedDuration = text.parse().map_err(|_| invalid())?;
    Duration::try_from(duration).map_err(|_| invalid())
}
