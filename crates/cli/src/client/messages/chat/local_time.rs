//! Times as people read them.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The file that says where this machine is.
const LOCAL_TIME_FILE: &str = "/etc/localtime";

/// Formats times in the zone of the user: that of `TZ`, or of this machine.
#[derive(Debug, Clone)]
pub(super) struct LocalTime(TimeZone);

impl LocalTime {
    pub(super) fn find() -> Self {
        let named = std::env::var_os("TZ")
            .and_then(|name| name.into_string().ok())
            .and_then(|name| TimeZone::get(name.trim_start_matches(':')).ok());
        let local = || TimeZone::tzif("", &std::fs::read(LOCAL_TIME_FILE).ok()?).ok();
        Self(named.or_else(local).unwrap_or(TimeZone::UTC))
    }

    /// Formats the minute, with the date where it is another day than `now`.
    pub(super) fn format(&self, time: Timestamp, now: Timestamp) -> String {
        let [time, now] = [time, now].map(|time| time.to_zoned(self.0.clone()));
        let format = if time.date() == now.date() { "%H:%M" } else { "%Y-%m-%d %H:%M" };
        time.strftime(format).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn date_is_shown_only_for_another_day_of_the_zone() {
        let zone = LocalTime(TimeZone::get("Europe/Berlin").expect("bundled"));
        let format = |time: &str| {
            let at = |text: &str| text.parse::<Timestamp>().expect("a time");
            zone.format(at(time), at("2026-07-02T21:30:00Z"))
        };
        assert_eq!(format("2026-07-02T20:03:59Z"), "22:03");
        assert_eq!(format("2026-07-02T22:03:00Z"), "2026-07-03 00:03");
    }
}
