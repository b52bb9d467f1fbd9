//! Reads the JUnit report that nextest writes with its `ci` profile.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Always in the workspace, whatever `CARGO_TARGET_DIR` says.
pub(crate) const REPORT: &str = "target/nextest/ci/junit.xml";

pub(crate) const HOW_TO_RUN: &str = "cargo nextest run --profile ci --workspace";

/// One test of the last run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TestCase {
    /// `guildhall-x` for unit tests, `guildhall-x::it` for integration tests.
    pub(crate) binary: String,
    /// Modules and function.
    pub(crate) path: String,
    pub(crate) seconds: f64,
    pub(crate) passed: bool,
}

/// Reads the report of the last run in the repository at `root`.
pub(crate) fn read(root: &Path) -> Result<Vec<TestCase>> {
    let text = fs::read_to_string(root.join(REPORT))
        .with_context(|| format!("cannot read {REPORT}: run `cargo xtask ci` or `{HOW_TO_RUN}` first"))?;
    parse(&text).with_context(|| format!("{REPORT} is not a test report: run `{HOW_TO_RUN}` again"))
}

pub(crate) fn parse(report: &str) -> Result<Vec<TestCase>> {
    let document = roxmltree::Document::parse(report)?;
    let nodes = document.descendants().filter(|node| node.has_tag_name("testcase"));
    nodes
        .map(|node| {
            let suite = node.parent().and_then(|suite| suite.attribute("name"));
            Ok(TestCase {
                binary: suite.context("a testsuite has no name")?.to_owned(),
                path: node.attribute("name").context("a testcase has no name")?.to_owned(),
                seconds: node.attribute("time").and_then(|time| time.parse().ok()).unwrap_or_default(),
                passed: has_passed(node),
            })
        })
        .collect()
}

/// Failures, errors, skips and retries each add an element; a passed test has output at most.
fn has_passed(case: roxmltree::Node<'_, '_>) -> bool {
    let allowed = ["system-out", "system-err", "properties"];
    case.children().filter(|node| node.is_element()).all(|node| allowed.contains(&node.tag_name().name()))
}

/// Lists the `count` slowest tests, the slowest first.
pub(crate) fn slowest_tests(mut cases: Vec<TestCase>, count: usize) -> Vec<TestCase> {
    cases.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    cases.truncate(count);
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    const JUNIT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="5">
    <testsuite name="guildhall-x::it">
        <testcase name="a::quick" classname="guildhall-x::it" time="0.1"/>
        <testcase name="a::slow" time="12.5"><system-out>text</system-out></testcase>
        <testcase name="a::failed" time="2"><failure message="no" type="test failure">no</failure></testcase>
        <testcase name="a::retried"><flakyFailure message="no" type="test failure"/></testcase>
    </testsuite>
</testsuites>"#;

    fn test_case(path: &str, seconds: f64, passed: bool) -> TestCase {
        TestCase { binary: "guildhall-x::it".to_owned(), path: path.to_owned(), seconds, passed }
    }

    #[test]
    fn parse_reads_name_time_and_outcome() {
        let expected = [
            test_case("a::quick", 0.1, true),
            test_case("a::slow", 12.5, true),
            test_case("a::failed", 2.0, false),
            test_case("a::retried", 0.0, false),
        ];
        assert_eq!(parse(JUNIT).unwrap(), expected);
    }

    #[test]
    fn slowest_sorts_by_time_and_keeps_the_first() {
        let paths: Vec<String> =
            slowest_tests(parse(JUNIT).unwrap(), 2).into_iter().map(|case| case.path).collect();
        assert_eq!(paths, ["a::slow", "a::failed"]);
    }

    #[test]
    fn missing_report_error_says_what_to_run() {
        let folder = tempfile::tempdir().unwrap();
        let error = read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("run `cargo xtask ci` or `cargo nextest run --profile ci"), "{error}");
    }
}
