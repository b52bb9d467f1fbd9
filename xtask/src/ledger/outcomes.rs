//! Which tests passed in the last run, from nextest's JUnit report.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context;

use super::claims::TestId;

/// Where nextest keeps the report of its `ci` profile. It stands in the workspace whatever `CARGO_TARGET_DIR` says.
const JUNIT: &str = "target/nextest/ci/junit.xml";

pub(super) const HOW_TO_RUN: &str = "cargo nextest run --profile ci --workspace";

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed,
    Failed,
    /// Not run, ignored, or named otherwise than its file says.
    Absent,
}

/// How the tests of the last run ended.
#[derive(Debug)]
pub(super) struct Outcomes(BTreeMap<TestId, Outcome>);

impl Outcomes {
    /// Reads the report of the last run below `root`.
    pub(super) fn read(root: &Path) -> anyhow::Result<Self> {
        let text = fs::read_to_string(root.join(JUNIT))
            .with_context(|| format!("cannot read {JUNIT}: run `cargo xtask ci` or `{HOW_TO_RUN}` first"))?;
        Self::parse(&text).with_context(|| format!("{JUNIT} is no test report: run `{HOW_TO_RUN}` again"))
    }

    pub(super) fn parse(junit: &str) -> anyhow::Result<Self> {
        let document = roxmltree::Document::parse(junit)?;
        let mut outcomes = BTreeMap::new();
        for case in document.descendants().filter(|node| node.has_tag_name("testcase")) {
            let suite = case.parent().and_then(|suite| suite.attribute("name"));
            let binary = suite.context("a testsuite has no name")?.to_owned();
            let path = case.attribute("name").context("a testcase has no name")?.to_owned();
            let outcome = outcome_of(case);
            // A test that ran more than once passed only when it passed each time.
            let merged = outcomes.entry(TestId { binary, path }).or_insert(outcome);
            if outcome == Outcome::Failed {
                *merged = outcome;
            }
        }
        Ok(Self(outcomes))
    }

    pub(super) fn of(&self, test: &TestId) -> Outcome {
        self.0.get(test).copied().unwrap_or(Outcome::Absent)
    }
}

/// Passed is what carries output at most: failures, errors, skips and second tries all have elements of their own.
fn outcome_of(case: roxmltree::Node<'_, '_>) -> Outcome {
    let harmless = ["system-out", "system-err", "properties"];
    let passed = case
        .children()
        .filter(|node| node.is_element())
        .all(|node| harmless.contains(&node.tag_name().name()));
    if passed { Outcome::Passed } else { Outcome::Failed }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="5">
    <testsuite name="guildhall-x::it">
        <testcase name="a::good" classname="guildhall-x::it" time="0.1"/>
        <testcase name="a::loud"><system-out>text</system-out></testcase>
        <testcase name="a::bad"><failure message="no" type="test failure">no</failure></testcase>
        <testcase name="a::second_try"><flakyFailure message="no" type="test failure"/></testcase>
        <testcase name="a::both"><failure message="no" type="test failure"/></testcase>
        <testcase name="a::both"/>
    </testsuite>
</testsuites>"#;

    #[test]
    fn only_a_test_that_passed_each_time_at_once_has_passed() {
        let outcomes = Outcomes::parse(REPORT).unwrap();
        for (path, outcome) in [
            ("a::good", Outcome::Passed),
            ("a::loud", Outcome::Passed),
            ("a::bad", Outcome::Failed),
            ("a::second_try", Outcome::Failed),
            ("a::both", Outcome::Failed),
            ("a::unheard", Outcome::Absent),
        ] {
            let test = TestId { binary: "guildhall-x::it".to_owned(), path: path.to_owned() };
            assert_eq!(outcomes.of(&test), outcome, "{path}");
        }
    }

    #[test]
    fn a_missing_report_says_what_to_run() {
        let folder = tempfile::tempdir().unwrap();
        let error = Outcomes::read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("run `cargo xtask ci` or `cargo nextest run --profile ci"), "{error}");
    }
}
