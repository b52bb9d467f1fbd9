//! What a result needs of a run's events, kept as counters and pointers while they are appended.
//!
//! A fold is small whatever the run's length, so a result costs the same after ten events and after a million. It
//! copies no text: it points to the entries that hold it. There is one for the whole run and one for each command.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::event::{Usage, What};
use crate::journal::Seq;

/// The form of a fold. One that was kept by an older binary is folded anew from the events.
pub const VERSION: u32 = 1;

/// Tool calls and artifacts that are named one by one; older ones are only counted.
const RECENT: usize = 10;

/// Tool calls that may be open at once; an older one is taken to have ended unseen.
const OPEN_TOOLS: usize = 32;

/// Different words and exit codes counted apart; further ones are counted together, under `other`.
const COUNTED_APART: usize = 16;

/// What was seen of a run, or of one of its commands, so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fold {
    #[serde(rename = "v")]
    pub version: u32,
    #[serde(rename = "n")]
    pub events: u64,
    #[serde(rename = "last")]
    pub last_seq: Seq,
    /// The last message that the backend itself says is the reply.
    #[serde(rename = "auth", skip_serializing_if = "Option::is_none")]
    pub authoritative: Option<Reply>,
    /// The last message with any text.
    #[serde(rename = "text", skip_serializing_if = "Option::is_none")]
    pub last_text: Option<Reply>,
    #[serde(rename = "tools")]
    pub tools: Tools,
    #[serde(rename = "out")]
    pub output: Bulk,
    #[serde(rename = "art")]
    pub artifacts: Bulk,
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
pub struct Reply {
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

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Tools {
    #[serde(rename = "n")]
    pub count: u64,
    #[serde(rename = "st")]
    pub statuses: BTreeMap<String, u64>,
    #[serde(rename = "ex")]
    pub exit_codes: BTreeMap<String, u64>,
    /// Calls that have begun and not ended.
    #[serde(rename = "op")]
    pub open: VecDeque<String>,
    /// Where the last calls that ended stand.
    #[serde(rename = "re")]
    pub recent: VecDeque<Seq>,
}

/// Something that is counted and measured, and named only at its end.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Bulk {
    #[serde(rename = "n")]
    pub count: u64,
    #[serde(rename = "b")]
    pub bytes: u64,
    #[serde(rename = "t")]
    pub truncated: bool,
    #[serde(rename = "re")]
    pub recent: VecDeque<Seq>,
}

/// What happened last, for those who wonder whether anything happens.
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
            authoritative: None,
            last_text: None,
            tools: Tools::default(),
            output: Bulk::default(),
            artifacts: Bulk::default(),
            usage: Usage::default(),
            activity: Activity::None,
            disconnected: false,
            terminal: None,
        }
    }
}

impl Fold {
    /// Takes the next event in. Events come in the order of their numbers, each once.
    pub fn take(&mut self, seq: Seq, what: &What) {
        self.events = self.events.saturating_add(1);
        self.last_seq = seq;
        match what {
            What::Assistant { authority, is_final, text_truncated, output_truncated, is_empty } => {
                let reply = Reply {
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
                    self.last_text = Some(reply);
                }
                self.activity = Activity::Text;
            }
            What::Piece => self.activity = Activity::Text,
            What::ToolBegan { call } => {
                self.tools.began(call);
                self.activity = Activity::Tool;
            }
            What::ToolEnded { call, status, exit_code } => {
                self.tools.ended(seq, call, status, *exit_code);
                self.activity = Activity::ToolEnded;
            }
            What::Output { bytes, truncated } => {
                self.output.add(seq, *bytes, *truncated);
                self.activity = Activity::Tool;
            }
            What::Artifact { bytes, truncated } => self.artifacts.add(seq, *bytes, *truncated),
            What::Transport { connected } => self.disconnected = !connected,
            What::Usage(usage) => self.usage = self.usage.plus(*usage),
            What::Terminal => self.terminal = Some(seq),
            What::Other => self.activity = Activity::Other,
        }
    }

    /// Returns the message that is the reply: the last that says so, else the last with any text.
    #[must_use]
    pub fn reply(&self) -> Option<Reply> {
        self.authoritative.or(self.last_text)
    }

    /// Returns what it cost, the tool calls among it.
    #[must_use]
    pub fn cost(&self) -> Usage {
        Usage { tool_calls: self.tools.count, ..self.usage }
    }

    /// Reads a fold back. One of another form is none: it is folded anew.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok().filter(|fold: &Self| fold.version == VERSION)
    }

    #[must_use]
    pub fn write(&self) -> String {
        // Numbers, short words and lists of them: nothing here can fail to be written.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Tools {
    fn began(&mut self, call: &str) {
        if self.open.iter().any(|open| open == call) {
            return;
        }
        self.count = self.count.saturating_add(1);
        push_bounded(&mut self.open, call.to_owned(), OPEN_TOOLS);
    }

    fn ended(&mut self, seq: Seq, call: &str, status: &str, exit_code: Option<i64>) {
        match self.open.iter().position(|open| open == call) {
            Some(at) => drop(self.open.remove(at)),
            None => self.count = self.count.saturating_add(1),
        }
        count_apart(&mut self.statuses, status);
        if let Some(code) = exit_code {
            count_apart(&mut self.exit_codes, &code.to_string());
        }
        push_bounded(&mut self.recent, seq, RECENT);
    }
}

impl Bulk {
    fn add(&mut self, seq: Seq, bytes: u64, truncated: bool) {
        self.count = self.count.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
        self.truncated |= truncated;
        push_bounded(&mut self.recent, seq, RECENT);
    }
}

fn push_bounded<T>(list: &mut VecDeque<T>, item: T, at_most: usize) {
    if list.len() >= at_most {
        list.pop_front();
    }
    list.push_back(item);
}

fn count_apart(counts: &mut BTreeMap<String, u64>, word: &str) {
    let known = counts.contains_key(word) || counts.len() < COUNTED_APART;
    let count = counts.entry(if known { word } else { "other" }.to_owned()).or_default();
    *count = count.saturating_add(1);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seq(number: usize) -> Seq {
        Seq::new(i64::try_from(number).expect("small")).expect("positive")
    }

    fn fold(events: &[What]) -> Fold {
        let mut fold = Fold::default();
        for (at, what) in events.iter().enumerate() {
            fold.take(seq(at + 1), what);
        }
        fold
    }

    fn text(authority: bool, is_final: bool, is_empty: bool) -> What {
        What::Assistant { authority, is_final, text_truncated: false, output_truncated: false, is_empty }
    }

    #[test]
    fn the_last_message_that_says_so_is_the_reply_else_the_last_with_text() {
        let reply = |events: &[What]| fold(events).reply().map(|reply| (reply.seq.get(), reply.authority));
        assert_eq!(reply(&[text(false, false, false), text(false, false, true)]), Some((1, false)));
        assert_eq!(reply(&[text(true, false, false), text(false, false, false)]), Some((1, true)));
        assert_eq!(reply(&[text(true, false, false), text(true, true, false)]), Some((2, true)));
        assert_eq!(reply(&[text(false, false, true)]), None);
    }

    #[test]
    fn a_call_that_begins_and_ends_is_one_call() {
        let began = What::ToolBegan { call: "a".into() };
        let ended = |call: &str| What::ToolEnded {
            call: call.into(),
            status: "completed".into(),
            exit_code: Some(0),
        };
        let tools = fold(&[began.clone(), began, ended("a"), ended("b")]).tools;
        let expected = Tools {
            count: 2,
            statuses: BTreeMap::from([("completed".to_owned(), 2)]),
            exit_codes: BTreeMap::from([("0".to_owned(), 2)]),
            open: VecDeque::new(),
            recent: VecDeque::from([seq(3), seq(4)]),
        };
        assert_eq!(tools, expected);
    }

    fn any_what() -> impl Strategy<Value = What> {
        let call = "[a-f]";
        prop_oneof![
            (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(a, f, e)| text(a, f, e)),
            call.prop_map(|call| What::ToolBegan { call }),
            (call, "[a-z]{1,2}", proptest::option::of(-3i64..300))
                .prop_map(|(call, status, exit_code)| What::ToolEnded { call, status, exit_code }),
            (0u64..10_000, any::<bool>()).prop_map(|(bytes, truncated)| What::Output { bytes, truncated }),
            (0u64..10_000, any::<bool>()).prop_map(|(bytes, truncated)| What::Artifact { bytes, truncated }),
            any::<bool>().prop_map(|connected| What::Transport { connected }),
            (0u64..1000).prop_map(|n| What::Usage(Usage { input_tokens: n, ..Usage::default() })),
            Just(What::Piece),
            Just(What::Terminal),
            Just(What::Other),
        ]
    }

    proptest! {
        #[test]
        fn a_fold_that_was_kept_and_read_at_any_point_goes_on_as_if_it_never_was(
            events in proptest::collection::vec(any_what(), 0..80),
            kept_at in 0usize..80,
        ) {
            let mut kept = fold(&events[..kept_at.min(events.len())]);
            kept = Fold::read(&kept.write()).expect("just written");
            for (at, what) in events.iter().enumerate().skip(kept_at) {
                kept.take(seq(at + 1), what);
            }
            prop_assert_eq!(kept, fold(&events));
        }

        #[test]
        fn a_fold_stays_small_whatever_is_taken_in(events in proptest::collection::vec(any_what(), 0..150)) {
            prop_assert!(fold(&events).write().len() < 3_000);
        }

        #[test]
        fn counters_count_every_event(events in proptest::collection::vec(any_what(), 0..100)) {
            let fold = fold(&events);
            prop_assert_eq!(fold.events, events.len() as u64);
            prop_assert_eq!(fold.last_seq, seq(events.len()));
        }
    }
}
