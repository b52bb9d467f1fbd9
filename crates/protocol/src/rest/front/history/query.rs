//! Query parameters of the history.

use guildhall_domain::front::external_id::ExternalId;
use jiff::civil::Date;
use serde::Deserialize;
use utoipa::IntoParams;

/// Query parameters of the history, as text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct HistoryQuery {
    /// Id or slug of the tenant. Optional for service keys, which belong to one tenant.
    #[param(min_length = 1, max_length = 64)]
    pub tenant_id: Option<String>,
    /// Id or slug of the agent. By default, with `threadId`, the default agent of the tenant.
    #[param(example = "helper", min_length = 1, max_length = 64)]
    pub agent_id: Option<String>,
    /// A thread. By default the one that the caller has used last.
    #[param(example = "550e8400-e29b-41d4-a716-446655440000", min_length = 1, max_length = 128)]
    pub thread_id: Option<String>,
    /// Returns the newest day before this one, in UTC. By default the newest day.
    #[param(example = "2026-03-15", format = Date)]
    pub before: Option<String>,
}

/// Valid query parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryFilter {
    pub thread_id: Option<ExternalId>,
    pub before: Option<Date>,
}

/// A query parameter that is not valid. The protocol has no messages for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HistoryQueryError {
    /// No thread can have it.
    #[error("threadId must have 1 to 128 characters, none of them a control character")]
    ThreadId,
    #[error("before must be a date YYYY-MM-DD")]
    Before,
}

impl HistoryQuery {
    pub fn parse(&self) -> Result<HistoryFilter, HistoryQueryError> {
        let thread_id = self.thread_id.as_deref();
        let thread_id =
            thread_id.map(|text| text.parse().map_err(|_| HistoryQueryError::ThreadId)).transpose()?;
        let before = self.before.as_deref();
        let before = before.map(|text| parse_date(text).ok_or(HistoryQueryError::Before)).transpose()?;
        Ok(HistoryFilter { thread_id, before })
    }
}

/// Parses `YYYY-MM-DD`. The parser of jiff also takes other forms, which have another length or another separator.
fn parse_date(text: &str) -> Option<Date> {
    let is_form = text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if is_form { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(thread_id: Option<&str>, before: Option<&str>) -> Result<HistoryFilter, HistoryQueryError> {
        let (thread_id, before) = (thread_id.map(str::to_owned), before.map(str::to_owned));
        HistoryQuery { thread_id, before, ..HistoryQuery::default() }.parse()
    }

    #[test]
    fn parameters_are_optional() {
        assert_eq!(parse(None, None), Ok(HistoryFilter { thread_id: None, before: None }));
        let id = "550e8400-e29b-41d4-a716-446655440000";
        let expected = HistoryFilter {
            thread_id: Some(id.parse().unwrap()),
            before: Some(jiff::civil::date(2026, 3, 15)),
        };
        assert_eq!(parse(Some(id), Some("2026-03-15")), Ok(expected));
    }

    #[test]
    fn invalid_thread_id_is_refused() {
        for text in ["", "a\0b", &"t".repeat(129)] {
            assert_eq!(parse(Some(text), None), Err(HistoryQueryError::ThreadId), "{text}");
        }
    }

    #[test]
    fn invalid_date_is_refused() {
        for text in [
            "",
            "2026-3-15",
            "2026-02-30",
            "20260315",
            "2026-03-15T",
            "2026/03/15",
            "-02026-3-1",
            "15-03-2026",
            "2026-03-15Z",
            "2026-W12-1",
            "yesterday",
        ] {
            assert_eq!(parse(None, Some(text)), Err(HistoryQueryError::Before), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_without_panic(thread_id in any::<Option<String>>(), before in any::<Option<String>>()) {
            let _ = parse(thread_id.as_deref(), before.as_deref());
        }

        #[test]
        fn every_date_is_read_back(year in 0_i16..=9999, month in 1_i8..=12, day in 1_i8..=28) {
            let date = jiff::civil::date(year, month, day);
            let text = format!("{year:04}-{month:02}-{day:02}");
            prop_assert_eq!(parse(None, Some(&text)), Ok(HistoryFilter { thread_id: None, before: Some(date) }));
        }
    }
}
