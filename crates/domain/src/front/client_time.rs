//! The time of the device that a client runs on.

use jiff::Timestamp;

use super::time_zone::TimeZoneName;

/// The clock and the zone of a device. That the two times agree is not checked: a device may report them one after the
/// other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientTime {
    pub device_timezone: TimeZoneName,
    /// As the client wrote it, with the offset.
    pub client_now_iso: String,
    /// The time of `client_now_iso`.
    pub client_now: Timestamp,
    /// Milliseconds since 1970.
    pub client_epoch_ms: i64,
}

/// A field of the client time that is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ClientTimeError {
    #[error("invalid client_time.device_timezone")]
    DeviceTimezone,
    #[error("invalid client_time.client_now_iso")]
    ClientNowIso,
    #[error("invalid client_time.client_epoch_ms")]
    ClientEpochMs,
}

impl ClientTime {
    /// Checks the fields, in the order of the parameters. An absent field is not valid.
    pub fn new(
        device_timezone: Option<&str>,
        client_now_iso: Option<&str>,
        client_epoch_ms: Option<i64>,
    ) -> Result<Self, ClientTimeError> {
        let device_timezone = device_timezone.and_then(|name| TimeZoneName::parse(name).ok());
        let device_timezone = device_timezone.ok_or(ClientTimeError::DeviceTimezone)?;
        let client_now_iso = client_now_iso.ok_or(ClientTimeError::ClientNowIso)?;
        let client_now = parse_rfc3339(client_now_iso).ok_or(ClientTimeError::ClientNowIso)?;
        let client_epoch_ms = client_epoch_ms.ok_or(ClientTimeError::ClientEpochMs)?;
        Ok(Self { device_timezone, client_now_iso: client_now_iso.to_owned(), client_now, client_epoch_ms })
    }
}

/// `2026-03-16T09:12:33`, where 0 is any digit.
const DATE_AND_TIME: &[u8] = b"0000-00-00T00:00:00";

/// `-07:00`
const OFFSET: &[u8] = b"+00:00";

/// Digits of a second that are kept.
const NANOSECOND_DIGITS: usize = 9;

/// Parses a time of RFC 3339. It always has an offset, which may be `Z`.
///
/// The parser of jiff also takes other forms of ISO 8601, so that the form is checked first.
fn parse_rfc3339(text: &str) -> Option<Timestamp> {
    let (date_and_time, rest) = text.split_at_checked(DATE_AND_TIME.len())?;
    if !has_form(date_and_time, DATE_AND_TIME) {
        return None;
    }
    let (fraction, offset) = match rest.strip_prefix('.') {
        Some(rest) => {
            rest.split_at(rest.find(|digit: char| !digit.is_ascii_digit()).filter(|length| *length > 0)?)
        }
        None => ("0", rest),
    };
    let is_offset = matches!(offset, "Z" | "z") || has_form(offset, OFFSET) && is_in_one_day(offset);
    let fraction = &fraction[..fraction.len().min(NANOSECOND_DIGITS)];
    is_offset.then(|| format!("{date_and_time}.{fraction}{offset}").parse().ok())?
}

fn has_form(text: &str, form: &[u8]) -> bool {
    text.len() == form.len()
        && text.bytes().zip(form).all(|(byte, expected)| match expected {
            b'0' => byte.is_ascii_digit(),
            b'+' => matches!(byte, b'+' | b'-'),
            b'T' => matches!(byte, b'T' | b't'),
            _ => byte == *expected,
        })
}

/// Returns whether an offset is at most 23:59, as RFC 3339 requires. Digits compare like numbers.
fn is_in_one_day(offset: &str) -> bool {
    &offset[1..3] <= "23" && &offset[4..6] <= "59"
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn client_time(zone: &str, now: &str, epoch_ms: i64) -> Result<ClientTime, ClientTimeError> {
        ClientTime::new(Some(zone), Some(now), Some(epoch_ms))
    }

    #[test]
    fn client_time_keeps_the_zone_both_times_and_the_spelling() {
        let expected = ClientTime {
            device_timezone: TimeZoneName::parse("America/Los_Angeles").unwrap(),
            client_now_iso: "2026-03-16T09:12:33-07:00".to_owned(),
            client_now: "2026-03-16T16:12:33Z".parse().unwrap(),
            client_epoch_ms: 1_773_658_353_000,
        };
        let found = client_time("America/Los_Angeles", "2026-03-16T09:12:33-07:00", 1_773_658_353_000);
        assert_eq!(found, Ok(expected));
    }

    #[test]
    fn times_that_disagree_are_accepted() {
        assert!(client_time("UTC", "2026-03-16T09:12:33Z", -1).is_ok());
    }

    #[test]
    fn first_invalid_field_is_reported() {
        assert_eq!(client_time("Mars/Base", "", 0), Err(ClientTimeError::DeviceTimezone));
        assert_eq!(client_time("UTC", "", 0), Err(ClientTimeError::ClientNowIso));
        let now = Some("2026-03-16T09:12:33Z");
        assert_eq!(ClientTime::new(None, now, Some(0)), Err(ClientTimeError::DeviceTimezone));
        assert_eq!(ClientTime::new(Some("UTC"), None, Some(0)), Err(ClientTimeError::ClientNowIso));
        assert_eq!(ClientTime::new(Some("UTC"), now, None), Err(ClientTimeError::ClientEpochMs));
    }

    #[test]
    fn times_of_rfc_3339_are_accepted() {
        for (text, expected) in [
            ("1985-04-12T23:20:50.52Z", "1985-04-12T23:20:50.52Z"),
            ("1996-12-19T16:39:57-08:00", "1996-12-20T00:39:57Z"),
            ("1990-12-31T15:59:60-08:00", "1990-12-31T23:59:59Z"),
            ("1937-01-01T12:00:27.87+00:20", "1937-01-01T11:40:27.87Z"),
            ("2026-03-16t09:12:33z", "2026-03-16T09:12:33Z"),
            ("2026-03-16T09:12:33.1234567891234-00:00", "2026-03-16T09:12:33.123456789Z"),
        ] {
            assert_eq!(parse_rfc3339(text), Some(expected.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn times_without_offset_and_other_forms_of_iso_8601_are_refused() {
        for text in [
            "",
            "2026-03-16T09:12:33",
            "2026-03-16",
            "2026-03-16T09:12Z",
            "2026-03-16 09:12:33Z",
            "2026-03-16T09:12:33-07",
            "2026-03-16T09:12:33-0700",
            "2026-03-16T09:12:33-07:00:00",
            "2026-03-16T09:12:33+24:00",
            "2026-03-16T09:12:33+01:60",
            "2026-03-16T09:12:33.Z",
            "2026-03-16T09:12:33,5Z",
            "2026-03-16T09:12:33-07:00[America/Los_Angeles]",
            "20260316T091233Z",
            "+002026-03-16T09:12:33Z",
            "2026-02-30T09:12:33Z",
            "2026-03-16T24:00:00Z",
            "2026-03-16T09:12:61Z",
            " 2026-03-16T09:12:33Z",
            "2026-03-16T09:12:33é",
        ] {
            assert_eq!(parse_rfc3339(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_without_panic(text in any::<String>(), tail in any::<String>()) {
            let _ = parse_rfc3339(&text);
            let _ = parse_rfc3339(&format!("2026-03-16T09:12:33{tail}"));
        }

        #[test]
        fn any_time_is_read_back(seconds in -60_000_000_000_i64..250_000_000_000, minutes in -1439_i32..1440) {
            let time = Timestamp::from_second(seconds).unwrap();
            let local = time.to_zoned(jiff::tz::Offset::from_seconds(minutes * 60).unwrap().to_time_zone());
            let text = local.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string();
            prop_assert_eq!(parse_rfc3339(&text), Some(time), "{}", text);
        }
    }
}
