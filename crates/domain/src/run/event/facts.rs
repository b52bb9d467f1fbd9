//! What of a payload can count, whatever the type of its event: read from a value, or from its text without making one.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// Characters kept of a text: longer ones are cut.
const WORD_CHARS: usize = 64;

/// The members of a payload that some type of event reads.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Facts {
    pub(super) text: Fact,
    pub(super) reply_authority: Fact,
    pub(super) r#final: Fact,
    pub(super) text_truncated: Fact,
    pub(super) output_truncated: Fact,
    pub(super) truncated: Fact,
    pub(super) call_id: Fact,
    pub(super) item_id: Fact,
    pub(super) status: Fact,
    pub(super) phase: Fact,
    pub(super) exit_code: Fact,
    pub(super) bytes: Fact,
    pub(super) input_tokens: Fact,
    pub(super) cached_input_tokens: Fact,
    pub(super) output_tokens: Fact,
    pub(super) active_ms: Fact,
}

impl Facts {
    pub(super) fn of(payload: &Value) -> Self {
        let fact = |name: &str| payload.get(name).map(Fact::of).unwrap_or_default();
        Self {
            text: fact("text"),
            reply_authority: fact("replyAuthority"),
            r#final: fact("final"),
            text_truncated: fact("textTruncated"),
            output_truncated: fact("outputTruncated"),
            truncated: fact("truncated"),
            call_id: fact("callId"),
            item_id: fact("itemId"),
            status: fact("status"),
            phase: fact("phase"),
            exit_code: fact("exitCode"),
            bytes: fact("bytes"),
            input_tokens: fact("inputTokens"),
            cached_input_tokens: fact("cachedInputTokens"),
            output_tokens: fact("outputTokens"),
            active_ms: fact("activeMs"),
        }
    }

    /// Reads them from a text. None where only its value can tell: it is no object, or says something twice.
    pub(super) fn read(payload: &str) -> Option<Self> {
        // An array would be read as the members in their order.
        if !payload.trim_start().starts_with('{') {
            return None;
        }
        serde_json::from_str(payload).ok()
    }
}

/// One member, as far as anything can count of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Fact {
    #[default]
    Nothing,
    Flag(bool),
    Unsigned(u64),
    /// Below zero.
    Signed(i64),
    Text {
        word: String,
        bytes: usize,
        is_blank: bool,
    },
}

impl Fact {
    fn of(value: &Value) -> Self {
        match value {
            Value::Bool(flag) => Self::Flag(*flag),
            Value::String(text) => Self::of_text(text),
            Value::Number(number) => number
                .as_u64()
                .map(Self::Unsigned)
                .or_else(|| number.as_i64().map(Self::Signed))
                .unwrap_or_default(),
            Value::Null | Value::Array(_) | Value::Object(_) => Self::Nothing,
        }
    }

    fn of_text(text: &str) -> Self {
        let end = text.char_indices().nth(WORD_CHARS).map_or(text.len(), |(at, _)| at);
        Self::Text { word: text[..end].to_owned(), bytes: text.len(), is_blank: text.trim().is_empty() }
    }

    pub(super) fn is_true(&self) -> bool {
        matches!(self, Self::Flag(true))
    }

    pub(super) fn word(&self) -> Option<&str> {
        match self {
            Self::Text { word, .. } => Some(word),
            Self::Nothing | Self::Flag(_) | Self::Unsigned(_) | Self::Signed(_) => None,
        }
    }

    pub(super) fn unsigned(&self) -> Option<u64> {
        match self {
            Self::Unsigned(number) => Some(*number),
            Self::Nothing | Self::Flag(_) | Self::Signed(_) | Self::Text { .. } => None,
        }
    }

    pub(super) fn signed(&self) -> Option<i64> {
        match self {
            Self::Unsigned(number) => i64::try_from(*number).ok(),
            Self::Signed(number) => Some(*number),
            Self::Nothing | Self::Flag(_) | Self::Text { .. } => None,
        }
    }
}

impl<'de> Deserialize<'de> for Fact {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_any(Read)
    }
}

struct Read;

impl<'de> Visitor<'de> for Read {
    type Value = Fact;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Fact, E> {
        Ok(Fact::of_text(text))
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Fact, E> {
        Ok(Fact::Flag(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Fact, E> {
        Ok(u64::try_from(number).map_or(Fact::Signed(number), Fact::Unsigned))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Fact, E> {
        Ok(Fact::Unsigned(number))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Fact, E> {
        Ok(Fact::Nothing)
    }

    fn visit_unit<E>(self) -> Result<Fact, E> {
        Ok(Fact::Nothing)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Fact, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Fact::Nothing)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Fact, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Fact::Nothing)
    }
}
