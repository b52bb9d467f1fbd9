//! The reasoning of the model: a summary in parts, and the reasoning itself where the provider sends it.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::item::ReasoningItem;
use crate::backend::BackendEvent;

/// Stands between two parts of a text.
const PART_SEPARATOR: &str = "\n\n";

/// Which text of an item. Each is a text of its own for readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReasoningText {
    Summary,
    Content,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReasoningDelta {
    item_id: String,
    delta: String,
    #[serde(alias = "summaryIndex", alias = "contentIndex")]
    part: i64,
}

/// The texts of which chunks were reported, with the part of the last chunk.
#[derive(Debug, Default)]
pub(super) struct OpenReasoning(BTreeMap<String, i64>);

impl OpenReasoning {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns a chunk; the first one of a further part starts with the separator.
    pub(super) fn delta(&mut self, text: ReasoningText, delta: ReasoningDelta) -> Option<BackendEvent> {
        if delta.delta.is_empty() {
            return None;
        }
        let item = text.item_id(&delta.item_id);
        let last_part = self.0.insert(item.clone(), delta.part);
        let is_next_part = last_part.is_some_and(|last| last != delta.part);
        let separator = if is_next_part { PART_SEPARATOR } else { "" };
        Some(BackendEvent::ReasoningDelta { item, text: format!("{separator}{}", delta.delta) })
    }

    /// Returns the complete texts of an item. The reasoning of some models is encrypted: then there are none.
    pub(super) fn complete(&mut self, item: &ReasoningItem) -> Vec<BackendEvent> {
        let texts = [(ReasoningText::Content, &item.content), (ReasoningText::Summary, &item.summary)];
        let event = |(text, parts): (ReasoningText, &Vec<String>)| {
            let id = text.item_id(&item.id);
            let has_chunks = self.0.remove(&id).is_some();
            let parts: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
            (has_chunks || !parts.is_empty()).then(|| BackendEvent::Reasoning {
                item: id,
                text: parts.join(PART_SEPARATOR),
                truncated: false,
            })
        };
        texts.into_iter().filter_map(event).collect()
    }
}

impl ReasoningText {
    /// Returns the id of the text. The distinction stands first: readers shorten long ids.
    fn item_id(self, item: &str) -> String {
        match self {
            Self::Summary => item.to_owned(),
            Self::Content => format!("content-{item}"),
        }
    }
}
