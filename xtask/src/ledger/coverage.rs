//! Matches claims with the ledger and the last test run.

use std::collections::{BTreeMap, BTreeSet};

use super::claims::{Claim, TestId};
use super::outcomes::{Outcome, Outcomes};
use super::requirements::{Ledger, RequirementId};

/// Covered requirements, and the claims that cover nothing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Coverage {
    pub(super) covered: BTreeMap<RequirementId, BTreeSet<TestId>>,
    /// Claims of requirements that the ledger does not have.
    pub(super) unknown: Vec<Claim>,
    pub(super) unproven: Vec<UnprovenClaim>,
}

/// A claim whose test did not pass in the last run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnprovenClaim {
    pub(super) claim: Claim,
    pub(super) reason: &'static str,
}

impl Coverage {
    /// A claim counts if the ledger has the requirement and the test passed.
    pub(super) fn compute(ledger: &Ledger, claims: Vec<Claim>, outcomes: &Outcomes) -> Self {
        let mut coverage = Coverage::default();
        for claim in claims {
            if !ledger.contains(claim.id) {
                coverage.unknown.push(claim);
                continue;
            }
            match outcomes.get(&claim.test) {
                Outcome::Passed => {
                    coverage.covered.entry(claim.id).or_default().insert(claim.test);
                }
                Outcome::Failed => coverage.unproven.push(UnprovenClaim { claim, reason: "failed" }),
                Outcome::Missing => {
                    coverage.unproven.push(UnprovenClaim { claim, reason: "not in the report" })
                }
            }
        }
        coverage
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(id: &str, path: &str) -> Claim {
        let test = TestId { binary: "guildhall-x".to_owned(), path: path.to_owned() };
        Claim { id: id.parse().unwrap(), test, position: "crates/x/src/lib.rs:1".to_owned() }
    }

    #[test]
    fn claim_counts_if_requirement_is_known_and_test_passed() {
        let ledger = Ledger::parse("## R. Runs\n- **R1** one\n- **R2** two\n").unwrap();
        let report = r#"<testsuite name="guildhall-x"><testcase name="good"/><testcase name="bad"><failure/></testcase></testsuite>"#;
        let outcomes = Outcomes::new(crate::junit::parse(report).unwrap());
        let claims = vec![claim("R1", "good"), claim("R2", "bad"), claim("R2", "gone"), claim("R3", "good")];
        let expected = Coverage {
            covered: BTreeMap::from([(claims[0].id, BTreeSet::from([claims[0].test.clone()]))]),
            unknown: vec![claims[3].clone()],
            unproven: vec![
                UnprovenClaim { claim: claims[1].clone(), reason: "failed" },
                UnprovenClaim { claim: claims[2].clone(), reason: "not in the report" },
            ],
        };
        assert_eq!(Coverage::compute(&ledger, claims, &outcomes), expected);
    }
}
