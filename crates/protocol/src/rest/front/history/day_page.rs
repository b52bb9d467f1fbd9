//! Cuts the messages of a thread into days.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::{
    HistoryAttachment, HistoryMessage, HistoryMessageAssistant, HistoryMessageUser, HistoryScope,
    HistorySnapshotResponse,
};
use crate::rest::front::ui_schema::UiSchemaRenderer;

/// Messages of a thread, in any order. Messages of the same time stay in the order of the list.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionMessages {
    pub messages: Vec<HistoryEntry>,
    /// Number of messages of earlier days that are not in the list; 0 if it is complete. A caller that loads only the
    /// day of the page needs no more than that day and this number.
    pub older: u64,
}

/// A message without its position.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryEntry {
    pub id: String,
    pub timestamp: Timestamp,
    pub body: HistoryBody,
}

/// Who wrote a message, and what. Tool messages are not part of the history.
#[derive(Debug, Clone, PartialEq)]
pub enum HistoryBody {
    User { content: String, attachments: Vec<HistoryAttachment> },
    Assistant { content: String, ui_schema: Option<UiSchemaRenderer> },
}

/// Returns the newest day with messages, or the newest one before `before`.
///
/// The `seq` of a message is its position in the thread, from 1, so that it is the same on each page. A client that
/// repeats the request with `before` = `day` until `hasMore` is false reads every message once.
#[must_use]
pub fn day_page(thread_id: &str, session: SessionMessages, before: Option<Date>) -> HistorySnapshotResponse {
    let SessionMessages { mut messages, older } = session;
    messages.sort_by_key(|entry| entry.timestamp);
    messages.retain(|entry| before.is_none_or(|before| utc_day(entry.timestamp) < before));
    let day = messages.last().map(|entry| utc_day(entry.timestamp));
    let start = messages.partition_point(|entry| Some(utc_day(entry.timestamp)) < day);
    let seqs = (older + 1..).skip(start);
    HistorySnapshotResponse {
        scope: HistoryScope::HistoryDay,
        thread_id: Some(thread_id.to_owned()),
        day,
        has_more: day.is_some() && (start > 0 || older > 0),
        messages: messages.drain(start..).zip(seqs).map(|(entry, seq)| entry.into_message(seq)).collect(),
    }
}

fn utc_day(time: Timestamp) -> Date {
    time.to_zoned(TimeZone::UTC).date()
}

impl HistoryEntry {
    fn into_message(self, seq: u64) -> HistoryMessage {
        let Self { id, timestamp, body } = self;
        match body {
            HistoryBody::User { content, attachments } => {
                HistoryMessage::User(HistoryMessageUser { id, seq, content, attachments, timestamp })
            }
            HistoryBody::Assistant { content, ui_schema } => {
                HistoryMessage::Assistant(HistoryMessageAssistant { id, seq, content, ui_schema, timestamp })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const THREAD: &str = "550e8400-e29b-41d4-a716-446655440000";

    fn entry(id: &str, timestamp: &str) -> HistoryEntry {
        let body = if id.starts_with('u') {
            HistoryBody::User { content: id.to_owned(), attachments: Vec::new() }
        } else {
            HistoryBody::Assistant { content: id.to_owned(), ui_schema: None }
        };
        HistoryEntry { id: id.to_owned(), timestamp: timestamp.parse().unwrap(), body }
    }

    fn session() -> SessionMessages {
        let messages = vec![
            entry("u4", "2026-03-15T00:00:00Z"),
            entry("a5", "2026-03-15T23:59:59.999Z"),
            entry("u3", "2026-03-14T23:59:59.999Z"),
            entry("u1", "2026-03-10T12:00:00Z"),
            entry("a2", "2026-03-10T12:00:00Z"),
        ];
        SessionMessages { messages, older: 0 }
    }

    fn page(day: Option<&str>, has_more: bool, entries: &[(u64, HistoryEntry)]) -> HistorySnapshotResponse {
        HistorySnapshotResponse {
            scope: HistoryScope::HistoryDay,
            thread_id: Some(THREAD.to_owned()),
            day: day.map(|day| day.parse().unwrap()),
            has_more,
            messages: entries.iter().map(|(seq, entry)| entry.clone().into_message(*seq)).collect(),
        }
    }

    fn before(day: &str) -> Option<Date> {
        Some(day.parse().unwrap())
    }

    #[test]
    fn page_is_the_newest_day_of_utc_oldest_message_first() {
        let entries =
            [(4, entry("u4", "2026-03-15T00:00:00Z")), (5, entry("a5", "2026-03-15T23:59:59.999Z"))];
        assert_eq!(day_page(THREAD, session(), None), page(Some("2026-03-15"), true, &entries));
    }

    #[test]
    fn before_gives_the_newest_earlier_day_with_messages() {
        let third = [(3, entry("u3", "2026-03-14T23:59:59.999Z"))];
        assert_eq!(day_page(THREAD, session(), before("2026-03-15")), page(Some("2026-03-14"), true, &third));
        let first = [(1, entry("u1", "2026-03-10T12:00:00Z")), (2, entry("a2", "2026-03-10T12:00:00Z"))];
        for day in ["2026-03-14", "2026-03-12", "2026-03-11"] {
            assert_eq!(
                day_page(THREAD, session(), before(day)),
                page(Some("2026-03-10"), false, &first),
                "{day}"
            );
        }
    }

    #[test]
    fn thread_without_earlier_messages_gives_an_empty_page() {
        assert_eq!(day_page(THREAD, session(), before("2026-03-10")), page(None, false, &[]));
        assert_eq!(day_page(THREAD, SessionMessages::default(), None), page(None, false, &[]));
    }

    #[test]
    fn older_messages_that_are_not_loaded_count() {
        let mut session = session();
        session.messages.truncate(2);
        session.older = 3;
        assert_eq!(day_page(THREAD, session, None), day_page(THREAD, self::session(), None));
    }

    fn id_and_seq(message: &HistoryMessage) -> (String, u64) {
        match message {
            HistoryMessage::User(user) => (user.id.clone(), user.seq),
            HistoryMessage::Assistant(assistant) => (assistant.id.clone(), assistant.seq),
        }
    }

    /// Messages of a few days, with equal times and times at the borders of days.
    fn sessions() -> impl Strategy<Value = Vec<HistoryEntry>> {
        let seconds = (0_i64..8, prop_oneof![Just(0), Just(86_399), 0_i64..86_400]);
        let times = proptest::collection::vec(seconds.prop_map(|(day, second)| day * 86_400 + second), 0..40);
        times.prop_map(|times| {
            let entries = times.into_iter().enumerate().map(|(index, second)| {
                let id = format!("{}{index}", if index % 2 == 0 { 'u' } else { 'a' });
                entry(&id, &Timestamp::from_second(second).unwrap().to_string())
            });
            entries.collect()
        })
    }

    proptest! {
        #[test]
        fn walking_the_pages_reads_every_message_once(entries in sessions()) {
            let mut sorted = entries.clone();
            sorted.sort_by_key(|entry| entry.timestamp);
            let expected: Vec<(String, u64)> = sorted.into_iter().map(|entry| entry.id).zip(1..).collect();

            let mut found: Vec<(String, u64)> = Vec::new();
            let mut before = None;
            loop {
                let session = SessionMessages { messages: entries.clone(), older: 0 };
                let page = day_page(THREAD, session, before);
                prop_assert_eq!(page.messages.is_empty(), page.day.is_none());
                found.splice(0..0, page.messages.iter().map(id_and_seq));
                if !page.has_more {
                    break;
                }
                prop_assert!(page.day.is_some() && before.is_none_or(|before| page.day < Some(before)));
                before = page.day;
            }
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn page_of_a_partly_loaded_thread_equals_the_whole_one(entries in sessions(), before_day in 0_i64..9) {
            let before = Timestamp::from_second(before_day * 86_400).unwrap().to_zoned(TimeZone::UTC).date();
            let whole = day_page(THREAD, SessionMessages { messages: entries.clone(), older: 0 }, Some(before));
            let Some(day) = whole.day else { return Ok(()) };
            let (older, loaded): (Vec<_>, Vec<_>) =
                entries.into_iter().partition(|entry| utc_day(entry.timestamp) < day);
            let part = SessionMessages { messages: loaded, older: older.len() as u64 };
            prop_assert_eq!(day_page(THREAD, part, Some(before)), whole);
        }
    }
}
