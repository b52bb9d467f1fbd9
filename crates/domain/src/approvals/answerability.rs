//! Whether a person can answer a question now.

use jiff::Timestamp;

use super::approval::Approval;
use super::state::ApprovalState;
use super::vote::Vote;
use super::voter::VoterError;

/// Whether a person can answer a question now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answerability {
    Open,
    /// It has been answered or withdrawn.
    Ended,
    /// Its time is over. It is denied or escalated in a moment.
    Expired,
    /// The person has answered. Others have to answer too.
    Answered {
        option: String,
    },
    NotAllowed(VoterError),
}

/// Decides it by the state of the question, the check of the person, and their own answer.
#[must_use]
pub fn answerability(
    approval: &Approval,
    check: Result<(), VoterError>,
    own: Option<&Vote>,
    now: Timestamp,
) -> Answerability {
    let ApprovalState::Pending { .. } = approval.state else { return Answerability::Ended };
    if approval.expires_at <= now {
        return Answerability::Expired;
    }
    match (check, own) {
        (Err(error), _) => Answerability::NotAllowed(error),
        (Ok(()), Some(vote)) => Answerability::Answered { option: vote.option.clone() },
        (Ok(()), None) => Answerability::Open,
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use serde_json::json;

    use super::*;
    use crate::approvals::question::{OptionEffect, Question};
    use crate::approvals::state::EndReason;
    use crate::ids::{ApprovalId, CommandId, PrincipalId, RunId, SessionId, TenantId};

    fn now() -> Timestamp {
        Timestamp::from_second(1_800_000_000).expect("in range")
    }

    fn approval(state: ApprovalState) -> Approval {
        let question: Question = serde_json::from_value(json!({
            "action": {
                "kind": "command", "tool": "shell", "arguments": null, "workingDir": null, "environment": null,
                "lifts": [], "changes": [],
            },
            "options": [], "reason": null, "answerSchema": null,
        }))
        .expect("a question");
        Approval {
            id: ApprovalId::generate(),
            tenant: TenantId::generate(),
            session: SessionId::generate(),
            run: RunId::generate(),
            command: CommandId::generate(),
            shown: question.shown_digest(),
            question,
            state,
            created_at: now(),
            expires_at: now() + SignedDuration::from_hours(1),
            policy_version: 1,
            is_escalated: false,
        }
    }

    #[test]
    fn only_a_pending_question_before_its_end_is_open() {
        for is_parked in [true, false] {
            let pending = approval(ApprovalState::Pending { is_parked });
            assert_eq!(answerability(&pending, Ok(()), None, now()), Answerability::Open);
            assert_eq!(answerability(&pending, Ok(()), None, pending.expires_at), Answerability::Expired);
        }
        let withdrawn = approval(ApprovalState::Withdrawn(EndReason::Cancelled));
        assert_eq!(answerability(&withdrawn, Ok(()), None, now()), Answerability::Ended);
    }

    #[test]
    fn person_answers_once_and_only_if_allowed() {
        let pending = approval(ApprovalState::Pending { is_parked: false });
        let vote = Vote {
            principal: PrincipalId::generate(),
            option: "yes".to_owned(),
            effect: OptionEffect::Allow,
            content: None,
        };
        let answered = Answerability::Answered { option: "yes".to_owned() };
        assert_eq!(answerability(&pending, Ok(()), Some(&vote), now()), answered);
        let refused = Err(VoterError::NotLocal);
        assert_eq!(
            answerability(&pending, refused, Some(&vote), now()),
            Answerability::NotAllowed(VoterError::NotLocal)
        );
    }
}
