//! How much one page of messages holds.

use super::inbox::{InboxMessage, MessageContent, MessageKind};

/// Messages in one page at most.
pub const MAX_PAGE: u32 = 200;

const DEFAULT_PAGE: u32 = 100;

/// Bytes of payloads in one page, below the 1 MiB that the older official clients accept. One message alone may be larger
/// than what is left, but not than this.
pub const MAX_PAGE_BYTES: usize = 900_000;

/// Bytes of one page as clients get it: its messages with their names and quotes. 1 MiB, with room for the page around them.
const MAX_WRITTEN_BYTES: usize = 1024 * 1024 - 16 * 1024;

/// Bytes of a written message without its texts: names of members, numbers and punctuation.
const ROW_BYTES: usize = 400;

/// The number of messages that a client asks for, within its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLimit(u32);

impl PageLimit {
    /// The default is for clients that do not say; zero is one.
    #[must_use]
    pub fn new(asked: Option<u32>) -> Self {
        Self(asked.unwrap_or(DEFAULT_PAGE).clamp(1, MAX_PAGE))
    }

    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

/// Which messages a reader gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageView {
    /// Everything: the first version of pull.
    All,
    /// Without what clients of the second version cannot open.
    WithoutSealedV1,
}

/// Shortens a page to what clients accept in one frame. At least one message is left; none is larger than that.
pub fn fit_page(messages: &mut Vec<InboxMessage>) {
    let mut bytes = 0;
    let fits = |message: &&InboxMessage| {
        bytes += written_bytes(message);
        bytes <= MAX_WRITTEN_BYTES
    };
    let count = messages.iter().take_while(fits).count();
    messages.truncate(count.max(1));
}

/// Returns how many bytes a message has at most, as a client of any version gets it.
fn written_bytes(message: &InboxMessage) -> usize {
    // An AID is in a row up to four times.
    let aids = 2 * (message.from.to_string().len() + message.to.to_string().len());
    let content = match (&message.content, message.kind) {
        // As JSON, and as a string of JSON.
        (MessageContent::Payload(payload), MessageKind::SealedV2 | MessageKind::SealedV2SelfCopy) => {
            2 * payload.len() + payload.bytes().filter(|byte| matches!(byte, b'"' | b'\\')).count()
        }
        // The ids of the recalled messages are there three times.
        (MessageContent::Payload(payload), MessageKind::Recall) => 3 * payload.len(),
        // In the place of each version.
        (
            MessageContent::Payload(payload),
            MessageKind::Plain
            | MessageKind::SealedV1
            | MessageKind::SealedV1Copies
            | MessageKind::SealedV1SelfCopies,
        ) => 2 * payload.len(),
        (MessageContent::Recalled, _) => 3 * message.id.as_str().len(),
    };
    ROW_BYTES + aids + message.id.as_str().len() + message.envelope_type.len() + content
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_is_clamped() {
        let limits = [None, Some(0), Some(1), Some(200), Some(201), Some(u32::MAX)].map(PageLimit::new);
        assert_eq!(limits.map(PageLimit::get), [100, 1, 1, 200, 200, 200]);
    }
}
