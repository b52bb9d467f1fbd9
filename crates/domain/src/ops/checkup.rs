//! Which checks are worth making, and which of those that failed is the cause of the others.
//!
//! A check names the checks that it needs. When one of them failed, it is not made: what it would say is a consequence,
//! and a list of consequences hides the one thing to repair.

/// A check and what must have passed before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    pub id: &'static str,
    /// Ids of earlier checks.
    pub needs: &'static [&'static str],
}

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    Failed,
    /// It was not made, because this check failed.
    Skipped {
        because: &'static str,
    },
}

/// What to do with the next check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    Look,
    Skip { because: &'static str },
}

/// What came of the checks so far, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcomes(Vec<(&'static str, Outcome)>);

impl Outcomes {
    /// Decides whether a check is worth making. One that was skipped hands its cause on.
    #[must_use]
    pub fn next(&self, step: &Step) -> Next {
        let because = step.needs.iter().find_map(|need| match self.of(need) {
            Some(Outcome::Passed) => None,
            Some(Outcome::Skipped { because }) => Some(because),
            // A check that was never made has not passed.
            Some(Outcome::Failed) | None => Some(*need),
        });
        because.map_or(Next::Look, |because| Next::Skip { because })
    }

    pub fn push(&mut self, id: &'static str, outcome: Outcome) {
        self.0.push((id, outcome));
    }

    /// Returns the check to repair first.
    #[must_use]
    pub fn root_cause(&self) -> Option<&'static str> {
        self.0.iter().find(|(_, outcome)| *outcome == Outcome::Failed).map(|(id, _)| *id)
    }

    fn of(&self, id: &str) -> Option<Outcome> {
        self.0.iter().find(|(known, _)| *known == id).map(|(_, outcome)| *outcome)
    }
}

/// Returns whether every check has a name of its own and needs earlier ones alone.
#[must_use]
pub fn is_ordered(steps: &[Step]) -> bool {
    steps.iter().enumerate().all(|(at, step)| {
        let earlier = |id: &str| steps[..at].iter().any(|earlier| earlier.id == id);
        !earlier(step.id) && step.needs.iter().all(|need| earlier(need))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STEPS: &[Step] = &[
        Step { id: "config", needs: &[] },
        Step { id: "reachable", needs: &["config"] },
        Step { id: "signed-in", needs: &["reachable"] },
        Step { id: "schema", needs: &["signed-in"] },
        Step { id: "bus", needs: &["config"] },
        Step { id: "ready", needs: &["schema", "bus"] },
    ];

    /// Makes the checks; those that are named fail when they are looked at.
    fn examined(failing: &[&str]) -> Outcomes {
        let mut outcomes = Outcomes::default();
        for step in STEPS {
            let outcome = match outcomes.next(step) {
                Next::Skip { because } => Outcome::Skipped { because },
                Next::Look if failing.contains(&step.id) => Outcome::Failed,
                Next::Look => Outcome::Passed,
            };
            outcomes.push(step.id, outcome);
        }
        outcomes
    }

    #[test]
    fn what_follows_from_a_failure_is_skipped_and_names_it() {
        let skipped = Outcome::Skipped { because: "reachable" };
        let expected = [
            ("config", Outcome::Passed),
            ("reachable", Outcome::Failed),
            ("signed-in", skipped),
            ("schema", skipped),
            ("bus", Outcome::Passed),
            ("ready", skipped),
        ];
        let outcomes = examined(&["reachable", "schema"]);
        assert_eq!(outcomes, Outcomes(expected.to_vec()));
        assert_eq!(outcomes.root_cause(), Some("reachable"));
    }

    #[test]
    fn a_table_with_a_loop_a_gap_or_two_of_a_name_is_out_of_order() {
        assert!(is_ordered(STEPS));
        assert!(!is_ordered(&[Step { id: "a", needs: &["a"] }]));
        assert!(!is_ordered(&[Step { id: "a", needs: &["b"] }, Step { id: "b", needs: &[] }]));
        assert!(!is_ordered(&[Step { id: "a", needs: &[] }, Step { id: "a", needs: &[] }]));
    }

    proptest! {
        #[test]
        fn a_check_is_made_if_and_only_if_all_that_it_needs_has_passed(failing in proptest::sample::subsequence(
            STEPS.iter().map(|step| step.id).collect::<Vec<_>>(), 0..=STEPS.len()
        )) {
            let outcomes = examined(&failing);
            for step in STEPS {
                let passed = step.needs.iter().all(|need| outcomes.of(need) == Some(Outcome::Passed));
                let made = !matches!(outcomes.of(step.id), Some(Outcome::Skipped { .. }));
                prop_assert_eq!(made, passed, "{}", step.id);
            }
        }

        #[test]
        fn whatever_is_skipped_names_a_check_that_failed(failing in proptest::sample::subsequence(
            STEPS.iter().map(|step| step.id).collect::<Vec<_>>(), 0..=STEPS.len()
        )) {
            let outcomes = examined(&failing);
            for (_, outcome) in &outcomes.0 {
                if let Outcome::Skipped { because } = outcome {
                    prop_assert_eq!(outcomes.of(because), Some(Outcome::Failed));
                }
            }
            prop_assert_eq!(outcomes.root_cause().is_some(), !failing.is_empty());
        }
    }
}
