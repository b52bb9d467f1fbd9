//! Which open questions of a list were read before.

use std::collections::BTreeSet;

/// The part of the open questions that was read. Lists are in the order of the ids, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadRange {
    All,
    /// There are older ones that were not read.
    Newest,
}

/// Ids of the open questions that were read.
#[derive(Debug, Default)]
pub(super) struct KnownQuestions(BTreeSet<String>);

impl KnownQuestions {
    /// Returns whether one of the questions was read before. Then the ones after it were read too, and their pages are not
    /// read again.
    pub(super) fn contains_any<'a>(&self, mut ids: impl Iterator<Item = &'a str>) -> bool {
        ids.any(|id| self.0.contains(id))
    }

    /// Adds the questions that were read, and forgets those that are not open any more. Returns the new ones.
    pub(super) fn update<'a>(
        &mut self,
        open: impl Iterator<Item = &'a str>,
        range: ReadRange,
    ) -> BTreeSet<String> {
        let open: BTreeSet<String> = open.map(str::to_owned).collect();
        let new = open.difference(&self.0).cloned().collect();
        let oldest = open.first().filter(|_| range == ReadRange::Newest);
        self.0.retain(|known| oldest.is_some_and(|oldest| known < oldest));
        self.0.extend(open);
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(known: &mut KnownQuestions, open: &[&str], range: ReadRange) -> Vec<String> {
        known.update(open.iter().copied(), range).into_iter().collect()
    }

    #[test]
    fn page_with_a_known_question_is_the_last_that_is_read() {
        let mut known = KnownQuestions::default();
        assert!(!known.contains_any(["3", "2"].into_iter()), "everything is new at first");
        update(&mut known, &["3", "2", "1"], ReadRange::All);
        assert!(known.contains_any(["4", "3"].into_iter()));
        assert!(!known.contains_any(["6", "5"].into_iter()), "more may be new");
        assert!(!known.contains_any([].into_iter()));
    }

    #[test]
    fn older_questions_stay_known_while_only_the_newest_page_is_read() {
        let mut known = KnownQuestions::default();
        assert_eq!(update(&mut known, &["4", "3", "2", "1"], ReadRange::All), ["1", "2", "3", "4"]);
        assert_eq!(update(&mut known, &["5", "4"], ReadRange::Newest), ["5"]);
        // The newest were answered, so older ones are on the newest page now.
        assert_eq!(update(&mut known, &["3", "2"], ReadRange::Newest), [] as [&str; 0]);
        assert_eq!(known.0, ["1", "2", "3"].map(str::to_owned).into());
        // Two runs asked at once: the one with the smaller id was committed later.
        assert_eq!(update(&mut known, &["7", "3"], ReadRange::Newest), ["7"]);
        assert_eq!(update(&mut known, &["7", "6"], ReadRange::Newest), ["6"]);
        assert_eq!(update(&mut known, &[], ReadRange::All), [] as [&str; 0]);
        assert!(known.0.is_empty(), "nothing is open any more");
    }
}
