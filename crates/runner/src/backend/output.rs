//! What a tool prints, within a bound.
//!
//! An agent sends pieces while a command runs and may miss the first of them; with the end it sends what it has kept of
//! the whole. So pieces are for watching, and where they were not all of it the whole follows.

use crate::backend::BackendEvent;

/// Of one call, in pieces and again as a whole: more helps nobody who reads.
pub(super) const OUTPUT_BYTES_AT_MOST: usize = 128 * 1024;

/// The pieces of one call.
#[derive(Debug, Default)]
pub(super) struct Output {
    sent: String,
    bytes: usize,
}

impl Output {
    /// Takes a piece. Returns what of it is still within the bound.
    pub(super) fn push(&mut self, mut piece: String) -> Option<String> {
        self.bytes = self.bytes.saturating_add(piece.len());
        let room = OUTPUT_BYTES_AT_MOST.saturating_sub(self.sent.len());
        piece.truncate(piece.floor_char_boundary(room));
        self.sent.push_str(&piece);
        (!piece.is_empty()).then_some(piece)
    }

    /// Returns the whole, where the pieces were not.
    pub(super) fn finish(self, call: &str, whole: Option<&str>) -> Option<BackendEvent> {
        let truncated_pieces = self.bytes > self.sent.len();
        let whole = whole.unwrap_or(&self.sent);
        if !truncated_pieces && whole == self.sent {
            return None;
        }
        let text = middle_out(whole);
        let truncated = truncated_pieces || text.len() < whole.len() || self.bytes > whole.len();
        Some(BackendEvent::ToolPrinted { call: call.to_owned(), text, truncated })
    }
}

/// Keeps the beginning and the end of a text: what was asked, and how it went.
fn middle_out(text: &str) -> String {
    if text.len() <= OUTPUT_BYTES_AT_MOST {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(OUTPUT_BYTES_AT_MOST / 2);
    let tail = text.ceil_char_boundary(text.len() - OUTPUT_BYTES_AT_MOST / 2);
    let left_out = tail - head;
    format!("{}\n[{left_out} bytes left out]\n{}", &text[..head], &text[tail..])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn run(pieces: &[&str], whole: Option<&str>) -> (String, Option<BackendEvent>) {
        let mut output = Output::default();
        let sent = pieces.iter().filter_map(|piece| output.push((*piece).to_owned())).collect();
        (sent, output.finish("c", whole))
    }

    #[test]
    fn pieces_that_were_all_of_it_are_not_repeated() {
        assert_eq!(run(&["hi\n", "ho\n"], Some("hi\nho\n")), ("hi\nho\n".to_owned(), None));
        assert_eq!(run(&["hi\n"], None), ("hi\n".to_owned(), None));
        assert_eq!(run(&[], None), (String::new(), None));
    }

    #[test]
    fn a_beginning_that_was_missed_follows_with_the_whole() {
        let whole =
            BackendEvent::ToolPrinted { call: "c".to_owned(), text: "hi\nho\n".to_owned(), truncated: false };
        assert_eq!(run(&["ho\n"], Some("hi\nho\n")), ("ho\n".to_owned(), Some(whole)));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
        #[test]
        fn whatever_is_printed_stays_within_the_bound_and_says_when_it_was_cut(
            piece in "[aé\u{1F600}]{1,9000}", count in 0usize..60, kept in 0usize..2_000_000,
        ) {
            let pieces = vec![piece.as_str(); count];
            let all = pieces.concat();
            let kept = &all[..all.floor_char_boundary(kept.min(all.len()))];
            let (sent, whole) = run(&pieces, Some(kept));
            prop_assert!(sent.len() <= OUTPUT_BYTES_AT_MOST);
            match whole {
                None => prop_assert_eq!(&sent, kept),
                Some(BackendEvent::ToolPrinted { text, truncated, .. }) => {
                    prop_assert!(text.len() <= OUTPUT_BYTES_AT_MOST + 64);
                    prop_assert_eq!(truncated, text != all || sent != all);
                }
                Some(event) => prop_assert!(false, "{event:?}"),
            }
        }
    }
}
