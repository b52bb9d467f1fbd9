//! Time zones of events, by IANA name.

use std::fmt;

use jiff::tz::{TimeZone, TimeZoneDatabase};

/// The name of a zone in the IANA time zone database, spelled as there.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TimeZoneName(String);

/// A text that is not the name of a time zone. The text is not repeated, because it is untrusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unknown time zone: expected an IANA name such as America/Los_Angeles")]
pub struct UnknownTimeZone;

impl TimeZoneName {
    /// Parses a name, in any case. The database is part of the program: the machine's own is not read.
    pub fn parse(name: &str) -> Result<Self, UnknownTimeZone> {
        // `Etc/Unknown` is a name of jiff, not of IANA: it has no IANA name.
        let zone = TimeZoneDatabase::bundled().get(name).map_err(|_| UnknownTimeZone)?;
        zone.iana_name().map(|name| Self(name.to_owned())).ok_or(UnknownTimeZone)
    }

    #[must_use]
    pub fn utc() -> Self {
        Self("UTC".to_owned())
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the rules of the zone.
    #[must_use]
    pub fn time_zone(&self) -> TimeZone {
        TimeZoneDatabase::bundled().get(&self.0).unwrap_or(TimeZone::UTC)
    }
}

impl fmt::Display for TimeZoneName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the zone of an event: the first valid name of
/// 1. `explicit`, the `event_timezone` argument of the tool call,
/// 2. `device`, the `client_time.device_timezone` of the run,
/// 3. `profile`, the setting of the user,
/// 4. UTC.
///
/// An invalid name counts as absent. The zone of the server is never used.
#[must_use]
pub fn event_time_zone(explicit: Option<&str>, device: Option<&str>, profile: Option<&str>) -> TimeZoneName {
    [explicit, device, profile]
        .into_iter()
        .flatten()
        .find_map(|name| TimeZoneName::parse(name).ok())
        .unwrap_or_else(TimeZoneName::utc)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const EXPLICIT: &str = "Asia/Shanghai";
    const DEVICE: &str = "America/Los_Angeles";
    const PROFILE: &str = "Europe/Berlin";

    fn zone(name: &str) -> TimeZoneName {
        TimeZoneName(name.to_owned())
    }

    #[test]
    fn name_is_spelled_as_in_the_database() {
        assert_eq!(TimeZoneName::parse("america/los_angeles"), Ok(zone(DEVICE)));
        assert_eq!(TimeZoneName::parse("UTC"), Ok(TimeZoneName::utc()));
        assert_eq!(TimeZoneName::parse("Etc/GMT+8"), Ok(zone("Etc/GMT+8")));
    }

    #[test]
    fn text_that_is_not_an_iana_name_is_refused() {
        let texts =
            ["", " ", "Etc/Unknown", "Mars/Base", "+08:00", "UTC+8", "PST8", " UTC", "../etc/localtime"];
        for text in texts {
            assert_eq!(TimeZoneName::parse(text), Err(UnknownTimeZone), "{text}");
        }
    }

    #[test]
    fn bundled_database_knows_the_rules_of_a_zone() {
        let at: jiff::Timestamp = "2026-03-16T16:12:33Z".parse().unwrap();
        assert_eq!(
            at.to_zoned(zone(DEVICE).time_zone()).to_string(),
            "2026-03-16T09:12:33-07:00[America/Los_Angeles]"
        );
    }

    #[test]
    fn event_zone_is_the_tool_argument_then_device_then_profile_then_utc() {
        let all = (Some(EXPLICIT), Some(DEVICE), Some(PROFILE));
        assert_eq!(event_time_zone(all.0, all.1, all.2), zone(EXPLICIT));
        assert_eq!(event_time_zone(None, all.1, all.2), zone(DEVICE));
        assert_eq!(event_time_zone(None, None, all.2), zone(PROFILE));
        assert_eq!(event_time_zone(None, None, None), zone("UTC"));
    }

    fn candidates() -> impl Strategy<Value = Option<String>> {
        let names: Vec<String> =
            TimeZoneDatabase::bundled().available().map(|name| name.to_string()).collect();
        prop_oneof![
            Just(None),
            proptest::sample::select(names).prop_map(Some),
            any::<String>().prop_map(Some),
            Just(Some("Mars/Base".to_owned())),
        ]
    }

    proptest! {
        #[test]
        fn event_zone_is_the_first_valid_candidate(explicit in candidates(), device in candidates(), profile in candidates()) {
            let found = event_time_zone(explicit.as_deref(), device.as_deref(), profile.as_deref());
            let mut expected = zone("UTC");
            for candidate in [profile, device, explicit].into_iter().flatten() {
                if let Ok(valid) = TimeZoneName::parse(&candidate) {
                    expected = valid;
                }
            }
            prop_assert_eq!(&found, &expected);
            prop_assert_eq!(TimeZoneName::parse(found.as_str()), Ok(expected));
        }
    }

    #[test]
    fn every_name_of_the_database_is_a_zone_and_keeps_its_spelling() {
        for name in TimeZoneDatabase::bundled().available() {
            assert_eq!(TimeZoneName::parse(name.as_str()), Ok(zone(name.as_str())));
        }
    }
}
