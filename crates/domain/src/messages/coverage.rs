//! What a page proves: from where to where the reader has now seen everything.

use super::inbox::InboxSeq;

/// Where a reader is, and what the inbox has of the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerPosition {
    /// The reader has everything up to here.
    pub after: InboxSeq,
    /// Messages up to here are gone, because they expired.
    pub floor: InboxSeq,
    /// The last message of the sender.
    pub head: InboxSeq,
}

/// What a page covers. `scan_after <= covered_through <= head`, and the rows of the page are between the first two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerCoverage {
    pub scan_after: InboxSeq,
    pub covered_through: InboxSeq,
    pub head: InboxSeq,
    pub has_more: bool,
}

/// Computes what a page covers. `last_row` is the last message that was read after [`PeerCoverage::scan_after`], and
/// `is_cut` says that there may be further ones.
#[must_use]
pub fn peer_coverage(position: PeerPosition, last_row: Option<InboxSeq>, is_cut: bool) -> PeerCoverage {
    let scan_after = position.after.max(position.floor);
    // Nobody has seen more than there is: a reader that claims it covers what it claims.
    let head = position.head.max(scan_after).max(last_row.unwrap_or_default());
    match last_row {
        Some(last) if is_cut && last < head => {
            PeerCoverage { scan_after, covered_through: last.max(scan_after), head, has_more: true }
        }
        Some(_) | None => PeerCoverage { scan_after, covered_through: head, head, has_more: false },
    }
}

/// Returns up to where an instance has nothing left to read: it has confirmed the messages, or they are not for it. The page
/// starts after `after`, was read up to `scanned_to`, and `unread` is its first message that is not confirmed.
///
/// A reader of all senders counts the seqs and waits for those that are missing. It never gets those of other devices.
#[must_use]
pub fn settled_seq(
    confirmed: InboxSeq,
    after: InboxSeq,
    unread: Option<InboxSeq>,
    scanned_to: InboxSeq,
) -> InboxSeq {
    // What is between its position and the page may be unread.
    if after > confirmed {
        return confirmed;
    }
    confirmed.max(unread.map_or(scanned_to, InboxSeq::previous))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seq(number: i64) -> InboxSeq {
        InboxSeq::new(number).expect("a seq")
    }

    #[test]
    fn whole_page_covers_up_to_the_head() {
        let position = PeerPosition { after: seq(3), floor: seq(0), head: seq(9) };
        let expected =
            PeerCoverage { scan_after: seq(3), covered_through: seq(9), head: seq(9), has_more: false };
        assert_eq!(peer_coverage(position, Some(seq(9)), false), expected);
    }

    #[test]
    fn cut_page_covers_up_to_its_last_row() {
        let position = PeerPosition { after: seq(0), floor: seq(0), head: seq(9) };
        let expected =
            PeerCoverage { scan_after: seq(0), covered_through: seq(4), head: seq(9), has_more: true };
        assert_eq!(peer_coverage(position, Some(seq(4)), true), expected);
    }

    #[test]
    fn expired_messages_are_skipped() {
        let position = PeerPosition { after: seq(2), floor: seq(7), head: seq(7) };
        let expected =
            PeerCoverage { scan_after: seq(7), covered_through: seq(7), head: seq(7), has_more: false };
        assert_eq!(peer_coverage(position, None, false), expected);
    }

    proptest! {
        #[test]
        fn settled_messages_are_confirmed_or_not_for_the_instance(
            confirmed in 0..30_i64, after in 0..30_i64, own in prop::collection::btree_set(1..40_i64, 0..20),
            limit in 1..40_i64,
        ) {
            let scanned_to = (after + limit).min(40);
            let mut page = own.range(after + 1..).copied().take_while(|message| *message <= scanned_to);
            let unread = page.find(|message| *message > confirmed);
            let settled = settled_seq(seq(confirmed), seq(after), unread.map(seq), seq(scanned_to)).get();
            prop_assert!(settled >= confirmed);
            prop_assert!(own.iter().all(|message| *message <= confirmed || *message > settled));
            // Nothing more could be said.
            let is_known = after <= confirmed;
            prop_assert!(!is_known || settled >= scanned_to || own.contains(&(settled + 1)));
        }

        /// The rules that the official client checks; it stops silently where one is broken.
        #[test]
        fn rules_of_the_client_hold(
            after in 0..50_i64, floor in 0..50_i64, rows in prop::collection::btree_set(1..60_i64, 0..20), limit in 1..20_usize,
        ) {
            let head = rows.last().copied().unwrap_or(0);
            let position = PeerPosition { after: seq(after), floor: seq(floor), head: seq(head) };
            let start = after.max(floor);
            let page: Vec<i64> = rows.range(start + 1..).take(limit).copied().collect();
            let is_cut = rows.range(start + 1..).count() > limit;
            let coverage = peer_coverage(position, page.last().copied().map(seq), is_cut);
            let PeerCoverage { scan_after, covered_through, head, has_more } = coverage;
            prop_assert!(scan_after.get() >= start);
            prop_assert!(scan_after <= covered_through && covered_through <= head);
            prop_assert!(covered_through == head || has_more);
            prop_assert_eq!(has_more, is_cut);
            prop_assert!(page.iter().all(|row| scan_after < seq(*row) && seq(*row) <= covered_through));
            // Nothing between is left out.
            let between = rows.iter().filter(|row| scan_after < seq(**row) && seq(**row) <= covered_through);
            prop_assert_eq!(between.count(), page.len());
        }
    }
}
