//! Whether each test of the last run passed.

use std::collections::BTreeMap;
use std::path::Path;

use super::claims::TestId;
use crate::junit::{self, TestCase};

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed,
    Failed,
    /// Not run, ignored, or reported under another name than its file suggests.
    Missing,
}

/// The outcomes of the last run.
#[derive(Debug)]
pub(super) struct Outcomes(BTreeMap<TestId, Outcome>);

impl Outcomes {
    /// Reads the report of the last run in the repository at `root`.
    pub(super) fn read(root: &Path) -> anyhow::Result<Self> {
        Ok(Self::new(junit::read(root)?))
    }

    pub(super) fn new(cases: Vec<TestCase>) -> Self {
        let mut outcomes = BTreeMap::new();
        for TestCase { binary, path, passed, .. } in cases {
            let outcome = if passed { Outcome::Passed } else { Outcome::Failed };
            // A test that ran more than once passed only if it passed each time.
            let merged = outcomes.entry(TestId { binary, path }).or_insert(outcome);
            if outcome == Outcome::Failed {
                *merged = outcome;
            }
        }
        Self(outcomes)
    }

    pub(super) fn get(&self, test: &TestId) -> Outcome {
        self.0.get(test).copied().unwrap_or(Outcome::Missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_passed_only_if_it_passed_each_time() {
        let case = |path: &str, passed| TestCase {
            binary: "guildhall-x::it".to_owned(),
            path: path.to_owned(),
            seconds: 0.0,
            passed,
        };
        let cases = vec![case("good", true), case("bad", false), case("both", false), case("both", true)];
        let outcomes = Outcomes::new(cases);
        for (path, outcome) in [
            ("good", Outcome::Passed),
            ("bad", Outcome::Failed),
            ("both", Outcome::Failed),
            ("not_run", Outcome::Missing),
        ] {
            let test = TestId { binary: "guildhall-x::it".to_owned(), path: path.to_owned() };
            assert_eq!(outcomes.get(&test), outcome, "{path}");
        }
    }
}
