//! The agent's reasoning. It arrives in chunks that have no id; what comes after the last one ends it.

use crate::backend::BackendEvent;

/// Bytes of one text to hold until it ends, twice as many as the pump sends: what it redacts may be long.
const MAX_HELD_BYTES: usize = 512 * 1024;

/// The texts of one turn.
#[derive(Debug, Default)]
pub(super) struct Thoughts {
    /// Texts that have ended.
    ended: u32,
    /// The current text.
    text: String,
    is_truncated: bool,
}

impl Thoughts {
    /// Adds a chunk of the current text, or of a new one.
    pub(super) fn add(&mut self, turn: u32, chunk: &str) -> Option<BackendEvent> {
        if chunk.is_empty() {
            return None;
        }
        let cut = chunk.floor_char_boundary(MAX_HELD_BYTES.saturating_sub(self.text.len()));
        // Nothing is added after a gap.
        if !self.is_truncated {
            self.text.push_str(&chunk[..cut]);
        }
        self.is_truncated |= cut < chunk.len();
        Some(BackendEvent::ReasoningDelta { item: self.item_id(turn), text: chunk.to_owned() })
    }

    /// Ends the current text, if there is one.
    pub(super) fn finish(&mut self, turn: u32) -> Option<BackendEvent> {
        if self.text.is_empty() {
            return None;
        }
        let (item, text) = (self.item_id(turn), std::mem::take(&mut self.text));
        let truncated = std::mem::take(&mut self.is_truncated);
        self.ended += 1;
        Some(BackendEvent::Reasoning { item, text, truncated })
    }

    fn item_id(&self, turn: u32) -> String {
        format!("t{turn}-r{}", self.ended + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_thought_is_held_up_to_the_limit_and_marked() {
        let mut thoughts = Thoughts::default();
        let chunk = "\u{e9}".repeat(100_001);
        let deltas = (0..5).filter_map(|_| thoughts.add(1, &chunk)).count();
        let Some(BackendEvent::Reasoning { item, text, truncated }) = thoughts.finish(1) else {
            panic!("a text")
        };
        assert_eq!((deltas, item.as_str(), text.len(), truncated), (5, "t1-r1", MAX_HELD_BYTES, true));
        thoughts.add(1, "next");
        let next =
            BackendEvent::Reasoning { item: "t1-r2".to_owned(), text: "next".to_owned(), truncated: false };
        assert_eq!(thoughts.finish(1), Some(next));
    }
}
