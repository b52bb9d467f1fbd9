//! The formats of texts in a form.

use url::Url;

crate::named_enum::named_enum! {
    /// The format of a text.
    TextFormat, "text format";
    Email = "email",
    Uri = "uri",
    Date = "date",
    DateTime = "date-time",
}

impl TextFormat {
    pub(super) const fn expected(self) -> &'static str {
        match self {
            Self::Email => "an email address",
            Self::Uri => "a URI",
            Self::Date => "a date such as 2026-11-17",
            Self::DateTime => "a date and time such as 2026-11-17T12:00:00Z",
        }
    }

    pub(super) fn matches(self, text: &str) -> bool {
        let is_plain = !text.chars().any(|character| character.is_whitespace() || character.is_control());
        match self {
            Self::Email => {
                is_plain
                    && text.split_once('@').is_some_and(|(name, host)| {
                        !name.is_empty() && !host.is_empty() && !host.contains('@')
                    })
            }
            Self::Uri => is_plain && Url::parse(text).is_ok(),
            Self::Date => text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok(),
            Self::DateTime => {
                text.as_bytes().get(10).is_some_and(|separator| matches!(separator, b'T' | b't'))
                    && !text.contains('[')
                    && text.parse::<jiff::Timestamp>().is_ok()
            }
        }
    }
}
