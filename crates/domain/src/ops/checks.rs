//! Order of the doctor checks: which ones to run, and which failure is the root cause.
//!
//! A check lists the checks that it needs. It is skipped if one of them failed, because its failure would only be a
//! consequence and would hide the root cause.

/// A check and its prerequisites.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckSpec {
    pub id: &'static str,
    /// Ids of earlier checks that must pass first.
    pub needs: &'static [&'static str],
}

/// Result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckOutcome {
    Passed,
    /// The server works, but should be changed.
    Warned,
    Failed,
    /// Not run, because this earlier check failed.
    Skipped {
        because: &'static str,
    },
}

/// Whether to run a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckAction {
    Run,
    Skip { because: &'static str },
}

/// Results of the checks so far, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckOutcomes(Vec<(&'static str, CheckOutcome)>);

impl CheckOutcomes {
    /// Decides whether to run a check. A skipped prerequisite passes on its own cause.
    #[must_use]
    pub fn next(&self, step: &CheckSpec) -> CheckAction {
        let because = step.needs.iter().find_map(|need| match self.of(need) {
            Some(CheckOutcome::Passed | CheckOutcome::Warned) => None,
            Some(CheckOutcome::Skipped { because }) => Some(because),
            // A check that never ran has not passed.
            Some(CheckOutcome::Failed) | None => Some(*need),
        });
        because.map_or(CheckAction::Run, |because| CheckAction::Skip { because })
    }

    pub fn push(&mut self, id: &'static str, outcome: CheckOutcome) {
        self.0.push((id, outcome));
    }

    /// Returns the first failed check.
    #[must_use]
    pub fn root_cause(&self) -> Option<&'static str> {
        self.0.iter().find(|(_, outcome)| *outcome == CheckOutcome::Failed).map(|(id, _)| *id)
    }

    fn of(&self, id: &str) -> Option<CheckOutcome> {
        self.0.iter().find(|(known, _)| *known == id).map(|(_, outcome)| *outcome)
    }
}

/// Returns whether the ids are unique and every check needs only earlier ones.
#[must_use]
pub fn is_ordered(steps: &[CheckSpec]) -> bool {
    steps.iter().enumerate().all(|(at, step)| {
        let earlier = |id: &str| steps[..at].iter().any(|earlier| earlier.id == id);
        !earlier(step.id) && step.needs.iter().all(|need| earlier(need))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STEPS: &[CheckSpec] = &[
        CheckSpec { id: "config", needs: &[] },
        CheckSpec { id: "reachable", needs: &["config"] },
        CheckSpec { id: "signed-in", needs: &["reachable"] },
        CheckSpec { id: "schema", needs: &["signed-in"] },
        CheckSpec { id: "bus", needs: &["config"] },
        CheckSpec { id: "ready", needs: &["schema", "bus"] },
    ];

    /// Runs all checks; the named ones fail.
    fn run_checks(failing: &[&str]) -> CheckOutcomes {
        let mut outcomes = CheckOutcomes::default();
        for step in STEPS {
            let outcome = match outcomes.next(step) {
                CheckAction::Skip { because } => CheckOutcome::Skipped { because },
                CheckAction::Run if failing.contains(&step.id) => CheckOutcome::Failed,
                CheckAction::Run => CheckOutcome::Passed,
            };
            outcomes.push(step.id, outcome);
        }
        outcomes
    }

    #[test]
    fn dependents_of_a_failed_check_are_skipped_with_the_root_cause() {
        let skipped = CheckOutcome::Skipped { because: "reachable" };
        let expected = [
            ("config", CheckOutcome::Passed),
            ("reachable", CheckOutcome::Failed),
            ("signed-in", skipped),
            ("schema", skipped),
            ("bus", CheckOutcome::Passed),
            ("ready", skipped),
        ];
        let outcomes = run_checks(&["reachable", "schema"]);
        assert_eq!(outcomes, CheckOutcomes(expected.to_vec()));
        assert_eq!(outcomes.root_cause(), Some("reachable"));
    }

    #[test]
    fn tables_with_a_cycle_unknown_need_or_duplicate_id_are_not_ordered() {
        assert!(is_ordered(STEPS));
        assert!(!is_ordered(&[CheckSpec { id: "a", needs: &["a"] }]));
        assert!(!is_ordered(&[CheckSpec { id: "a", needs: &["b"] }, CheckSpec { id: "b", needs: &[] }]));
        assert!(!is_ordered(&[CheckSpec { id: "a", needs: &[] }, CheckSpec { id: "a", needs: &[] }]));
    }

    proptest! {
        #[test]
        fn check_runs_exactly_when_all_its_needs_passed(failing in proptest::sample::subsequence(
            STEPS.iter().map(|step| step.id).collect::<Vec<_>>(), 0..=STEPS.len()
        )) {
            let outcomes = run_checks(&failing);
            for step in STEPS {
                let passed = step.needs.iter().all(|need| outcomes.of(need) == Some(CheckOutcome::Passed));
                let ran = !matches!(outcomes.of(step.id), Some(CheckOutcome::Skipped { .. }));
                prop_assert_eq!(ran, passed, "{}", step.id);
            }
        }

        #[test]
        fn skipped_check_names_a_failed_check(failing in proptest::sample::subsequence(
            STEPS.iter().map(|step| step.id).collect::<Vec<_>>(), 0..=STEPS.len()
        )) {
            let outcomes = run_checks(&failing);
            for (_, outcome) in &outcomes.0 {
                if let CheckOutcome::Skipped { because } = outcome {
                    prop_assert_eq!(outcomes.of(because), Some(CheckOutcome::Failed));
                }
            }
            prop_assert_eq!(outcomes.root_cause().is_some(), !failing.is_empty());
        }
    }
}
