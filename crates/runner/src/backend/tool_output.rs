//! The output of a tool call, within a size limit.
//!
//! An agent streams chunks while a command runs, but may miss the first ones; at the end it sends the output that it
//! has kept. So chunks are for live display, and the complete output follows when the chunks were incomplete.

use super::event::BackendEvent;

/// Limit for the chunks of one call, and again for its complete output.
const MAX_OUTPUT_BYTES: usize = 128 * 1024;

/// Collects the chunks of one call.
#[derive(Debug, Default)]
pub(super) struct ToolOutputBuffer {
    sent: String,
    /// Bytes received, including those over the limit.
    received: usize,
}

impl ToolOutputBuffer {
    /// Adds a chunk. Returns the part of it that is within the limit.
    pub(super) fn push(&mut self, mut chunk: String) -> Option<String> {
        self.received = self.received.saturating_add(chunk.len());
        let budget = MAX_OUTPUT_BYTES.saturating_sub(self.sent.len());
        chunk.truncate(chunk.floor_char_boundary(budget));
        self.sent.push_str(&chunk);
        (!chunk.is_empty()).then_some(chunk)
    }

    /// Returns the complete output when the chunks were incomplete.
    pub(super) fn finish(self, call: &str, complete: Option<&str>) -> Option<BackendEvent> {
        let chunks_truncated = self.received > self.sent.len();
        let complete = complete.unwrap_or(&self.sent);
        if !chunks_truncated && complete == self.sent {
            return None;
        }
        let text = truncate_middle(complete);
        let truncated = chunks_truncated || text.len() < complete.len() || self.received > complete.len();
        Some(BackendEvent::ToolFullOutput { call: call.to_owned(), text, truncated })
    }
}

/// Keeps the start and the end of a text, which usually show the command and its result.
fn truncate_middle(text: &str) -> String {
    if text.len() <= MAX_OUTPUT_BYTES {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(MAX_OUTPUT_BYTES / 2);
    let tail = text.ceil_char_boundary(text.len() - MAX_OUTPUT_BYTES / 2);
    let omitted = tail - head;
    format!("{}\n[{omitted} bytes left out]\n{}", &text[..head], &text[tail..])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn run(chunks: &[&str], complete: Option<&str>) -> (String, Option<BackendEvent>) {
        let mut output = ToolOutputBuffer::default();
        let sent = chunks.iter().filter_map(|chunk| output.push((*chunk).to_owned())).collect();
        (sent, output.finish("c", complete))
    }

    #[test]
    fn complete_chunks_are_not_repeated() {
        assert_eq!(run(&["hi\n", "ho\n"], Some("hi\nho\n")), ("hi\nho\n".to_owned(), None));
        assert_eq!(run(&["hi\n"], None), ("hi\n".to_owned(), None));
        assert_eq!(run(&[], None), (String::new(), None));
    }

    #[test]
    fn missed_chunk_is_followed_by_the_complete_output() {
        let complete = BackendEvent::ToolFullOutput {
            call: "c".to_owned(),
            text: "hi\nho\n".to_owned(),
            truncated: false,
        };
        assert_eq!(run(&["ho\n"], Some("hi\nho\n")), ("ho\n".to_owned(), Some(complete)));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
        #[test]
        fn output_stays_within_the_limit_and_is_marked_when_truncated(
            chunk in "[aé\u{1F600}]{1,9000}", count in 0usize..60, kept in 0usize..2_000_000,
        ) {
            let chunks = vec![chunk.as_str(); count];
            let all = chunks.concat();
            let kept = &all[..all.floor_char_boundary(kept.min(all.len()))];
            let (sent, complete) = run(&chunks, Some(kept));
            prop_assert!(sent.len() <= MAX_OUTPUT_BYTES);
            match complete {
                None => prop_assert_eq!(&sent, kept),
                Some(BackendEvent::ToolFullOutput { text, truncated, .. }) => {
                    prop_assert!(text.len() <= MAX_OUTPUT_BYTES + 64);
                    prop_assert_eq!(truncated, text != all || sent != all);
                }
                Some(event) => prop_assert!(false, "{event:?}"),
            }
        }
    }
}
