//! Decides which claims count.

use std::collections::{BTreeMap, BTreeSet};

use super::claims::{Claim, TestId};
use super::outcomes::{Outcome, Outcomes};
use super::points::{Ledger, Number};

/// Claims, sorted by what they are worth.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Weighed {
    pub(super) covered: BTreeMap<Number, BTreeSet<TestId>>,
    /// Claims of numbers that the ledger does not have.
    pub(super) unknown: Vec<Claim>,
    pub(super) not_passed: Vec<NotPassed>,
}

/// A claim whose test did not pass in the last run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotPassed {
    pub(super) claim: Claim,
    pub(super) why: &'static str,
}

/// Weighs each claim against the ledger first and the last run second.
pub(super) fn weigh(ledger: &Ledger, claims: Vec<Claim>, outcomes: &Outcomes) -> Weighed {
    let mut weighed = Weighed::default();
    for claim in claims {
        if !ledger.contains(claim.number) {
            weighed.unknown.push(claim);
            continue;
        }
        match outcomes.of(&claim.test) {
            Outcome::Passed => {
                weighed.covered.entry(claim.number).or_default().insert(claim.test);
            }
            Outcome::Failed => weighed.not_passed.push(NotPassed { claim, why: "failed" }),
            Outcome::Absent => weighed.not_passed.push(NotPassed { claim, why: "not in the report" }),
        }
    }
    weighed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(number: &str, path: &str) -> Claim {
        let test = TestId { binary: "guildhall-x".to_owned(), path: path.to_owned() };
        Claim { number: number.parse().unwrap(), test, place: "crates/x/src/lib.rs:1".to_owned() }
    }

    #[test]
    fn a_claim_counts_when_the_number_is_known_and_the_test_passed() {
        let ledger = Ledger::parse("## R. Runs\n- **R1** one\n- **R2** two\n").unwrap();
        let report = r#"<testsuite name="guildhall-x"><testcase name="good"/><testcase name="bad"><failure/></testcase></testsuite>"#;
        let claims = vec![claim("R1", "good"), claim("R2", "bad"), claim("R2", "gone"), claim("R3", "good")];
        let expected = Weighed {
            covered: BTreeMap::from([(claims[0].number, BTreeSet::from([claims[0].test.clone()]))]),
            unknown: vec![claims[3].clone()],
            not_passed: vec![
                NotPassed { claim: claims[1].clone(), why: "failed" },
                NotPassed { claim: claims[2].clone(), why: "not in the report" },
            ],
        };
        assert_eq!(weigh(&ledger, claims, &Outcomes::parse(report).unwrap()), expected);
    }
}
