//! Incremental summary of the events of a run, updated on every append.
//!
//! A fold has a bounded size, so that computing a result costs the same after ten events and after a million. It holds
//! counters and sequence numbers of entries, but no text. There is one fold per run and one per command. The fold of a
//! command is closed by its terminal event: later events of the command are counted and change nothing else.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::event::{EventContent, Usage};
use crate::journal::Seq;

/// Format version. A fold with another version is rebuilt from the events.
pub const VERSION: u32 = 1;

/// Number of recent tool calls and artifacts to keep. Older ones are only counted.
const MAX_RECENT: usize = 10;

/// Maximum open tool calls. When exceeded, the oldest is considered ended.
const MAX_OPEN_TOOLS: usize = 32;

/// Maximum distinct statuses and exit codes. Further ones are counted as `other`.
const MAX_DISTINCT_KEYS: usize = 16;

/// The summary of a run or of one of its commands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fold {
    #[serde(rename = "v")]
    pub version: u32,
    #[serde(rename = "n")]
    pub events: u64,
    #[serde(rename = "last")]
    pub last_seq: Seq,
    /// Bytes of the stored bodies. Counted for a run only.
    #[serde(rename = "b", default, skip_serializing_if = "is_zero")]
    pub bytes: u64,
    /// Events that arrived after their command had ended.
    #[serde(rename = "late", default, skip_serializing_if = "is_zero")]
    pub late_events: u64,
    /// The last message that the backend marked as the reply.
    #[serde(rename = "auth", skip_serializing_if = "Option::is_none")]
    pub authoritative: Option<ReplyCandidate>,
    /// The first part of a message, or the first message with text.
    #[serde(rename = "ft", default, skip_serializing_if = "Option::is_none")]
    pub first_text: Option<Seq>,
    /// The last message with text.
    #[serde(rename = "text", skip_serializing_if = "Option::is_none")]
    pub last_text: Option<ReplyCandidate>,
    #[serde(rename = "tools")]
    pub tools: ToolTotals,
    #[serde(rename = "out")]
    pub output: OutputTotals,
    #[serde(rename = "art")]
    pub artifacts: OutputTotals,
    #[serde(rename = "use")]
    pub usage: Usage,
    #[serde(rename = "act")]
    pub activity: Activity,
    #[serde(rename = "cut")]
    pub disconnected: bool,
    #[serde(rename = "term", skip_serializing_if = "Option::is_none")]
    pub terminal: Option<Seq>,
}

/// A message that may be the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyCandidate {
    #[serde(rename = "s")]
    pub seq: Seq,
    #[serde(rename = "a")]
    pub authority: bool,
    #[serde(rename = "f")]
    pub is_final: bool,
    #[serde(rename = "tt")]
    pub text_truncated: bool,
    #[serde(rename = "ot")]
    pub output_truncated: bool,
}

/// Totals of the tool calls.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolTotals {
    #[serde(rename = "n")]
    pub count: u64,
    #[serde(rename = "st")]
    pub statuses: BTreeMap<String, u64>,
    #[serde(rename = "ex")]
    pub exit_codes: BTreeMap<String, u64>,
    /// Started calls that have not ended.
    #[serde(rename = "op")]
    pub open: VecDeque<String>,
    /// Sequence numbers of the last ended calls.
    #[serde(rename = "re")]
    pub recent: VecDeque<Seq>,
}

/// Totals of command output or artifacts, with the sequence numbers of the last ones.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct OutputTotals {
    #[serde(rename = "n")]
    pub count: u64,
    #[serde(rename = "b")]
    pub bytes: u64,
    #[serde(rename = "t")]
    pub truncated: bool,
    #[serde(rename = "re")]
    pub recent: VecDeque<Seq>,
}

/// The last activity, for the liveness of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Activity {
    #[default]
    #[serde(rename = "none")]
    None,
    #[serde(rename = "text")]
    Text,
    #[serde(rename = "tool")]
    Tool,
    #[serde(rename = "tool-end")]
    ToolEnded,
    #[serde(rename = "other")]
    Other,
}

impl Default for Fold {
    fn default() -> Self {
        Self {
            version: VERSION,
            events: 0,
            last_seq: Seq::ZERO,
            bytes: 0,
            late_events: 0,
            authoritative: None,
            first_text: None,
            last_text: None,
            tools: ToolTotals::default(),
            output: OutputTotals::default(),
            artifacts: OutputTotals::default(),
            usage: Usage::default(),
            activity: Activity::None,
            disconnected: false,
            terminal: None,
        }
    }
}

impl Fold {
    /// Adds the next event. Events must be applied once each, in sequence order.
    pub fn apply(&mut self, seq: Seq, content: &EventContent) {
        self.events = self.events.saturating_add(1);
        self.last_seq = seq;
        match content {
            EventContent::Assistant { authority, is_final, text_truncated, output_truncated, is_empty } => {
                let reply = ReplyCandidate {
                    seq,
                    authority: *authority,
                    is_final: *is_final,
                    text_truncated: *text_truncated,
                    output_truncated: *output_truncated,
                };
                if *authority || *is_final {
                    self.authoritative = Some(reply);
                }
                if !is_empty {
                    self.first_text.get_or_insert(seq);
                    self.last_text = Some(reply);
                }
                self.activity = Activity::Text;
            }
            EventContent::Delta => {
                self.first_text.get_or_insert(seq);
                self.activity = Activity::Text;
            }
            EventContent::ToolStarted { call } => {
                self.tools.start(call);
                self.activity = Activity::Tool;
            }
            EventContent::ToolEnded { call, status, exit_code } => {
                self.tools.end(seq, call, status, *exit_code);
                self.activity = Activity::ToolEnded;
            }
            EventContent::Output { bytes, truncated } => {
                self.output.add(seq, *bytes, *truncated);
                self.activity = Activity::Tool;
            }
            EventContent::Artifact { bytes, truncated } => self.artifacts.add(seq, *bytes, *truncated),
            EventContent::Transport { connected } => self.disconnected = !connected,
            EventContent::Usage(usage) => self.usage = self.usage.plus(*usage),
            EventContent::Terminal => self.terminal = Some(seq),
            EventContent::Other => self.activity = Activity::Other,
        }
    }

    /// Returns whether the command of this fold has ended. Its later events are late.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.terminal.is_some()
    }

    /// Adds a late event to the fold of a run.
    pub fn apply_late(&mut self, seq: Seq) {
        self.events = self.events.saturating_add(1);
        self.last_seq = seq;
        self.count_late();
    }

    /// Adds a late event to the fold of its command.
    pub fn count_late(&mut self) {
        self.late_events = self.late_events.saturating_add(1);
    }

    /// Returns the reply: the last message marked as such, or else the last message with text.
    #[must_use]
    pub fn reply(&self) -> Option<ReplyCandidate> {
        self.authoritative.or(self.last_text)
    }

    /// Returns the usage, including the number of tool calls.
    #[must_use]
    pub fn total_usage(&self) -> Usage {
        Usage { tool_calls: self.tools.count, ..self.usage }
    }

    /// Parses a stored fold. `None` if it has another version and must be rebuilt.
    #[must_use]
    pub fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok().filter(|fold: &Self| fold.version == VERSION)
    }

    #[must_use]
    pub fn to_json(&self) -> String {
        // Numbers, strings and lists of them always serialise.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl ToolTotals {
    fn start(&mut self, call: &str) {
        if self.open.iter().any(|open| open == call) {
            return;
        }
        self.count = self.count.saturating_add(1);
        push_bounded(&mut self.open, call.to_owned(), MAX_OPEN_TOOLS);
    }

    fn end(&mut self, seq: Seq, call: &str, status: &str, exit_code: Option<i64>) {
        match self.open.iter().position(|open| open == call) {
            Some(at) => drop(self.open.remove(at)),
            None => self.count = self.count.saturating_add(1),
        }
        count_key(&mut self.statuses, status);
        if let Some(code) = exit_code {
            count_key(&mut self.exit_codes, &code.to_string());
        }
        push_bounded(&mut self.recent, seq, MAX_RECENT);
    }
}

impl OutputTotals {
    fn add(&mut self, seq: Seq, bytes: u64, truncated: bool) {
        self.count = self.count.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
        self.truncated |= truncated;
        push_bounded(&mut self.recent, seq, MAX_RECENT);
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn push_bounded<T>(list: &mut VecDeque<T>, item: T, max: usize) {
    if list.len() >= max {
        list.pop_front();
    }
    list.push_back(item);
}

fn count_key(counts: &mut BTreeMap<String, u64>, key: &str) {
    let is_distinct = counts.contains_key(key) || counts.len() < MAX_DISTINCT_KEYS;
    let count = counts.entry(if is_distinct { key } else { "other" }.to_owned()).or_default();
    *count = count.saturating_add(1);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seq(number: usize) -> Seq {
        Seq::new(i64::try_from(number).expect("small")).expect("positive")
    }

    fn fold(events: &[EventContent]) -> Fold {
        let mut fold = Fold::default();
        for (at, content) in events.iter().enumerate() {
            fold.apply(seq(at + 1), content);
        }
        fold
    }

    fn text(authority: bool, is_final: bool, is_empty: bool) -> EventContent {
        EventContent::Assistant {
            authority,
            is_final,
            text_truncated: false,
            output_truncated: false,
            is_empty,
        }
    }

    #[test]
    fn reply_is_the_last_marked_message_or_the_last_text() {
        let reply =
            |events: &[EventContent]| fold(events).reply().map(|reply| (reply.seq.get(), reply.authority));
        assert_eq!(reply(&[text(false, false, false), text(false, false, true)]), Some((1, false)));
        assert_eq!(reply(&[text(true, false, false), text(false, false, false)]), Some((1, true)));
        assert_eq!(reply(&[text(true, false, false), text(true, true, false)]), Some((2, true)));
        assert_eq!(reply(&[text(false, false, true)]), None);
    }

    #[test]
    fn first_text_is_the_first_delta_or_message_with_text() {
        let first = |events: &[EventContent]| fold(events).first_text.map(Seq::get);
        let (empty, message) = (text(false, false, true), text(false, true, false));
        assert_eq!(first(&[EventContent::Other, empty.clone(), message.clone(), message.clone()]), Some(3));
        assert_eq!(first(&[empty.clone(), EventContent::Delta, message]), Some(2));
        assert_eq!(first(&[empty]), None);
    }

    #[test]
    fn started_and_ended_call_counts_once() {
        let started = EventContent::ToolStarted { call: "a".into() };
        let ended = |call: &str| EventContent::ToolEnded {
            call: call.into(),
            status: "completed".into(),
            exit_code: Some(0),
        };
        let tools = fold(&[started.clone(), started, ended("a"), ended("b")]).tools;
        let expected = ToolTotals {
            count: 2,
            statuses: BTreeMap::from([("completed".to_owned(), 2)]),
            exit_codes: BTreeMap::from([("0".to_owned(), 2)]),
            open: VecDeque::new(),
            recent: VecDeque::from([seq(3), seq(4)]),
        };
        assert_eq!(tools, expected);
    }

    fn any_content() -> impl Strategy<Value = EventContent> {
        let call = "[a-f]";
        prop_oneof![
            (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(a, f, e)| text(a, f, e)),
            call.prop_map(|call| EventContent::ToolStarted { call }),
            (call, "[a-z]{1,2}", proptest::option::of(-3i64..300))
                .prop_map(|(call, status, exit_code)| EventContent::ToolEnded { call, status, exit_code }),
            (0u64..10_000, any::<bool>())
                .prop_map(|(bytes, truncated)| EventContent::Output { bytes, truncated }),
            (0u64..10_000, any::<bool>())
                .prop_map(|(bytes, truncated)| EventContent::Artifact { bytes, truncated }),
            any::<bool>().prop_map(|connected| EventContent::Transport { connected }),
            (0u64..1000).prop_map(|n| EventContent::Usage(Usage { input_tokens: n, ..Usage::default() })),
            Just(EventContent::Delta),
            Just(EventContent::Terminal),
            Just(EventContent::Other),
        ]
    }

    proptest! {
        #[test]
        fn stored_and_reloaded_fold_continues_unchanged(
            events in proptest::collection::vec(any_content(), 0..80),
            stored_at in 0usize..80,
        ) {
            let mut stored = fold(&events[..stored_at.min(events.len())]);
            stored = Fold::from_json(&stored.to_json()).expect("valid JSON");
            for (at, content) in events.iter().enumerate().skip(stored_at) {
                stored.apply(seq(at + 1), content);
            }
            prop_assert_eq!(stored, fold(&events));
        }

        #[test]
        fn fold_size_is_bounded(events in proptest::collection::vec(any_content(), 0..150)) {
            prop_assert!(fold(&events).to_json().len() < 3_000);
        }

        #[test]
        fn event_count_and_last_seq_cover_every_event(events in proptest::collection::vec(any_content(), 0..100)) {
            let fold = fold(&events);
            prop_assert_eq!(fold.events, events.len() as u64);
            prop_assert_eq!(fold.last_seq, seq(events.len()));
        }
    }
}
