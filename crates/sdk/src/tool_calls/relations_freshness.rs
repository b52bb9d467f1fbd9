//! Whether what a guard knows about relations may decide about calls.

/// Counts what may have changed relations, and how much of it the guard knows.
#[derive(Debug, Default)]
pub(super) struct RelationsFreshness {
    /// What may have changed them so far: lost connections, missed events, events about relations.
    changes: u64,
    /// The changes before the start of the last refresh that counts; none before the first one.
    known: Option<u64>,
}

/// The start of a refresh: what changes later is not in its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RefreshStart(u64);

impl RelationsFreshness {
    /// Makes stale what is known, and the result of every refresh that has started.
    pub(super) fn invalidate(&mut self) {
        self.changes += 1;
    }

    pub(super) fn start_refresh(&self) -> RefreshStart {
        RefreshStart(self.changes)
    }

    /// Ends a refresh that has succeeded. Returns whether its result counts: one that is stale must not be used.
    pub(super) fn end_refresh(&mut self, start: RefreshStart) -> bool {
        let counts = start.0 == self.changes;
        if counts {
            self.known = Some(start.0);
        }
        counts
    }

    /// Returns whether calls may be decided. Else they wait.
    pub(super) fn is_fresh(&self) -> bool {
        self.known == Some(self.changes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_fresh_before_the_first_refresh_has_ended() {
        let mut freshness = RelationsFreshness::default();
        assert!(!freshness.is_fresh());
        let start = freshness.start_refresh();
        assert!(!freshness.is_fresh());
        assert!(freshness.end_refresh(start));
        assert!(freshness.is_fresh());
    }

    #[test]
    fn change_makes_stale_until_a_later_refresh_has_ended() {
        let mut freshness = RelationsFreshness::default();
        let first = freshness.start_refresh();
        assert!(freshness.end_refresh(first));
        freshness.invalidate();
        assert!(!freshness.is_fresh());
        assert!(!freshness.end_refresh(first), "it started before the change");
        assert!(!freshness.is_fresh());
        let second = freshness.start_refresh();
        assert!(!freshness.is_fresh(), "it has not ended");
        assert!(freshness.end_refresh(second));
        assert!(freshness.is_fresh());
    }

    #[test]
    fn change_during_a_refresh_makes_its_result_stale() {
        let mut freshness = RelationsFreshness::default();
        let overtaken = freshness.start_refresh();
        freshness.invalidate();
        let next = freshness.start_refresh();
        assert!(!freshness.end_refresh(overtaken));
        assert!(!freshness.is_fresh());
        assert!(freshness.end_refresh(next));
        assert!(freshness.is_fresh());
    }
}
