//! What must be true of the questions, the answers and the effects of one round.

use guildhall_domain::approvals::state::ApprovalStatus;

/// The turns of one round. Each asks for the same action.
#[derive(Debug, Clone)]
pub(super) struct RoundHistory {
    pub(super) turns: Vec<TurnHistory>,
    /// The questions that an approver allowed, as the server confirmed.
    pub(super) allowed_by_people: Vec<String>,
    /// The states in which the first question may end.
    pub(super) first_ends: Vec<ApprovalStatus>,
}

/// The questions of one turn, and how often the action was executed in it.
#[derive(Debug, Clone)]
pub(super) struct TurnHistory {
    pub(super) approvals: Vec<ApprovalRecord>,
    pub(super) executions: usize,
    /// Whether the agent's process was killed: what it was allowed to do may not have been done.
    pub(super) is_process_lost: bool,
}

/// The last state of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ApprovalRecord {
    pub(super) id: String,
    pub(super) status: ApprovalStatus,
    pub(super) is_allowed: bool,
    /// The earlier question whose answer it got.
    pub(super) answered_by: Option<String>,
}

/// A broken promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Violation {
    ExecutedWithoutAllowance,
    ExecutedTwice,
    /// The process got an allowance, lives on, and did not act.
    NotExecuted,
    /// Allowed, although no person allowed it and no earlier answer was unused.
    AllowedByNobody(String),
    /// An approver was told that it is allowed, and the agent did not get to know.
    LostAnswer(String),
    AnswerUsedTwice(String),
    LeftOpen(String),
    WrongEnd(String, ApprovalStatus),
}

impl ApprovalRecord {
    /// Returns whether the process may have got an allowance.
    fn is_given(&self) -> bool {
        self.is_allowed
            && match self.status {
                ApprovalStatus::Delivering
                | ApprovalStatus::Delivered
                | ApprovalStatus::Settled
                | ApprovalStatus::Uncertain => true,
                ApprovalStatus::Pending
                | ApprovalStatus::Decided
                | ApprovalStatus::Expired
                | ApprovalStatus::Withdrawn
                | ApprovalStatus::Void
                | ApprovalStatus::Reused => false,
            }
    }

    fn is_open(&self) -> bool {
        match self.status {
            ApprovalStatus::Pending
            | ApprovalStatus::Decided
            | ApprovalStatus::Expired
            | ApprovalStatus::Delivering
            | ApprovalStatus::Delivered => true,
            ApprovalStatus::Settled
            | ApprovalStatus::Withdrawn
            | ApprovalStatus::Void
            | ApprovalStatus::Reused
            | ApprovalStatus::Uncertain => false,
        }
    }
}

impl RoundHistory {
    pub(super) fn violations(&self) -> Vec<Violation> {
        let mut found: Vec<Violation> = self.turns.iter().filter_map(TurnHistory::violation).collect();
        found.extend(self.approvals().filter_map(|approval| self.violation_of(approval)));
        let missing = |id: &&String| self.approvals().all(|approval| approval.id != **id);
        found.extend(self.allowed_by_people.iter().filter(missing).cloned().map(Violation::LostAnswer));
        if let Some(first) = self.approvals().next().filter(|first| !self.first_ends.contains(&first.status))
        {
            found.push(Violation::WrongEnd(first.id.clone(), first.status));
        }
        found
    }

    pub(super) fn approvals(&self) -> impl Iterator<Item = &ApprovalRecord> {
        self.turns.iter().flat_map(|turn| &turn.approvals)
    }

    fn violation_of(&self, approval: &ApprovalRecord) -> Option<Violation> {
        let id = || approval.id.clone();
        let uses = self.approvals().filter(|other| other.answered_by.as_ref() == Some(&approval.id)).count();
        let is_by_person = self.allowed_by_people.contains(&approval.id);
        let is_by_unused_answer = approval.answered_by.as_ref().is_some_and(|earlier| {
            let is_source = |other: &ApprovalRecord| {
                other.id == *earlier && other.is_allowed && other.status == ApprovalStatus::Reused
            };
            self.approvals().any(is_source)
        });
        // The agent asked again in the last turn: an answer that is still void, or used by nobody, is lost.
        let is_lost = match approval.status {
            ApprovalStatus::Void => approval.is_allowed,
            ApprovalStatus::Reused => uses == 0,
            ApprovalStatus::Pending
            | ApprovalStatus::Decided
            | ApprovalStatus::Expired
            | ApprovalStatus::Delivering
            | ApprovalStatus::Delivered
            | ApprovalStatus::Settled
            | ApprovalStatus::Withdrawn
            | ApprovalStatus::Uncertain => is_by_person && !approval.is_allowed,
        };
        if uses > 1 {
            Some(Violation::AnswerUsedTwice(id()))
        } else if is_lost {
            Some(Violation::LostAnswer(id()))
        } else if approval.is_open() {
            Some(Violation::LeftOpen(id()))
        } else if approval.is_allowed && !is_by_person && !is_by_unused_answer {
            Some(Violation::AllowedByNobody(id()))
        } else {
            None
        }
    }
}

impl TurnHistory {
    fn violation(&self) -> Option<Violation> {
        let given = self.approvals.iter().filter(|approval| approval.is_given()).count();
        if self.executions > 0 && given == 0 {
            Some(Violation::ExecutedWithoutAllowance)
        } else if self.executions > given {
            Some(Violation::ExecutedTwice)
        } else if self.executions < given && !self.is_process_lost {
            Some(Violation::NotExecuted)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(id: &str, status: ApprovalStatus, answered_by: Option<&str>) -> ApprovalRecord {
        let is_allowed = !matches!(status, ApprovalStatus::Pending | ApprovalStatus::Withdrawn);
        ApprovalRecord { id: id.to_owned(), status, is_allowed, answered_by: answered_by.map(str::to_owned) }
    }

    fn turn(approvals: &[ApprovalRecord], executions: usize, is_process_lost: bool) -> TurnHistory {
        TurnHistory { approvals: approvals.to_vec(), executions, is_process_lost }
    }

    fn history(turns: &[TurnHistory], allowed: &[&str]) -> RoundHistory {
        let first_ends = turns[0].approvals.iter().map(|approval| approval.status).collect();
        let allowed_by_people = allowed.iter().map(|id| (*id).to_owned()).collect();
        RoundHistory { turns: turns.to_vec(), allowed_by_people, first_ends }
    }

    /// A runner is lost with an answer that was not taken; the next process gets it.
    fn reused_answer() -> RoundHistory {
        let lost = record("a", ApprovalStatus::Reused, None);
        let again = record("b", ApprovalStatus::Settled, Some("a"));
        history(&[turn(&[lost], 0, true), turn(&[again], 1, false)], &["a"])
    }

    /// A runner is lost while it delivers; people are asked again.
    fn uncertain_answer() -> RoundHistory {
        let lost = record("a", ApprovalStatus::Uncertain, None);
        let again = record("b", ApprovalStatus::Settled, None);
        history(&[turn(&[lost], 1, true), turn(&[again], 1, false)], &["a", "b"])
    }

    #[test]
    fn histories_of_correct_rounds_have_no_violation() {
        let settled = history(&[turn(&[record("a", ApprovalStatus::Settled, None)], 1, false)], &["a"]);
        let withdrawn = record("a", ApprovalStatus::Withdrawn, None);
        let again = record("b", ApprovalStatus::Settled, None);
        let withdrawn = history(&[turn(&[withdrawn], 0, true), turn(&[again], 1, false)], &["b"]);
        for correct in [settled, withdrawn, reused_answer(), uncertain_answer()] {
            assert_eq!(correct.violations(), [], "{correct:?}");
        }
    }

    #[test]
    fn planted_execution_is_found() {
        let settled = [record("a", ApprovalStatus::Settled, None)];
        let twice = history(&[turn(&settled, 2, false)], &["a"]);
        assert_eq!(twice.violations(), [Violation::ExecutedTwice]);
        let never = history(&[turn(&settled, 0, false)], &["a"]);
        assert_eq!(never.violations(), [Violation::NotExecuted]);
        let withdrawn = [record("a", ApprovalStatus::Withdrawn, None)];
        let unasked = history(&[turn(&withdrawn, 1, true)], &[]);
        assert_eq!(unasked.violations(), [Violation::ExecutedWithoutAllowance]);
        // The process of the first turn got no answer, and its file has a line.
        let mut early = reused_answer();
        early.turns[0].executions = 1;
        assert_eq!(early.violations(), [Violation::ExecutedWithoutAllowance]);
        let mut repeated = uncertain_answer();
        repeated.turns[1].executions = 2;
        assert_eq!(repeated.violations(), [Violation::ExecutedTwice]);
    }

    #[test]
    fn planted_loss_of_an_answer_is_found() {
        let lost = |id: &str| Violation::LostAnswer(id.to_owned());
        let mut void = reused_answer();
        void.turns[0].approvals[0] = record("a", ApprovalStatus::Void, None);
        void.turns[1].approvals[0].answered_by = None;
        void.allowed_by_people.push("b".to_owned());
        void.first_ends = vec![ApprovalStatus::Void];
        assert_eq!(void.violations(), [lost("a")]);
        let mut withdrawn = uncertain_answer();
        withdrawn.turns[0] = turn(&[record("a", ApprovalStatus::Withdrawn, None)], 0, true);
        withdrawn.first_ends = vec![ApprovalStatus::Withdrawn];
        assert_eq!(withdrawn.violations(), [lost("a")]);
        let mut missing = uncertain_answer();
        missing.allowed_by_people.push("c".to_owned());
        assert_eq!(missing.violations(), [lost("c")]);
        let mut unused = reused_answer();
        unused.turns[1].approvals[0].answered_by = None;
        assert_eq!(unused.violations(), [lost("a"), Violation::AllowedByNobody("b".to_owned())]);
    }

    #[test]
    fn planted_reuse_and_wrong_end_are_found() {
        let mut twice = reused_answer();
        twice.turns.push(turn(&[record("c", ApprovalStatus::Settled, Some("a"))], 1, false));
        assert_eq!(twice.violations(), [Violation::AnswerUsedTwice("a".to_owned())]);
        let mut reused = uncertain_answer();
        reused.allowed_by_people.pop();
        reused.turns[1].approvals[0].answered_by = Some("a".to_owned());
        assert_eq!(
            reused.violations(),
            [Violation::AllowedByNobody("b".to_owned())],
            "uncertain is never used again"
        );
        let mut certain = uncertain_answer();
        certain.turns[0].approvals[0].status = ApprovalStatus::Settled;
        assert_eq!(certain.violations(), [Violation::WrongEnd("a".to_owned(), ApprovalStatus::Settled)]);
        let mut open = uncertain_answer();
        open.turns[1].approvals[0].status = ApprovalStatus::Delivered;
        assert_eq!(open.violations(), [Violation::LeftOpen("b".to_owned())]);
    }
}
