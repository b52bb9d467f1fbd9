//! An approval, as readers see it.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;

use super::digest::ShownDigest;
use super::question::Question;
use super::state::ApprovalState;
use crate::access::authorized::TenantObject;
use crate::ids::{ApprovalId, CommandId, RunId, SessionId, TenantId};

/// A question of an agent, and what has become of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    pub id: ApprovalId,
    pub tenant: TenantId,
    pub session: SessionId,
    pub run: RunId,
    /// The turn that asks.
    pub command: CommandId,
    pub question: Question,
    pub shown: ShownDigest,
    pub state: ApprovalState,
    pub created_at: Timestamp,
    /// Denied then, if there is no answer.
    pub expires_at: Timestamp,
    /// Version of the policy that it was asked under.
    pub policy_version: u32,
    /// Whether the owners of the tenant are asked, because nobody answered in time.
    pub is_escalated: bool,
}

impl TenantObject for Approval {
    fn tenant(&self) -> TenantId {
        self.tenant
    }
}

/// The path of the page on which people answer a question: `/approve/apr_…`. A sign-in from there returns to it, and to
/// nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuestionPage(pub ApprovalId);

impl fmt::Display for QuestionPage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "/approve/{}", self.0)
    }
}

/// The question that a turn was blocked by, as the message of the turn names it: `approval:apr_…`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockingQuestion(pub ApprovalId);

/// A message that names no question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the message of a turn that was blocked by a question")]
pub struct NoBlockingQuestion;

const BLOCKED_PREFIX: &str = "approval:";

impl fmt::Display for BlockingQuestion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{BLOCKED_PREFIX}{}", self.0)
    }
}

impl FromStr for BlockingQuestion {
    type Err = NoBlockingQuestion;

    fn from_str(message: &str) -> Result<Self, NoBlockingQuestion> {
        let id = message.strip_prefix(BLOCKED_PREFIX).and_then(|id| id.parse().ok());
        id.map(Self).ok_or(NoBlockingQuestion)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::return_path::ReturnPath;

    #[test]
    fn page_of_a_question_is_a_path_to_return_to() {
        let page = QuestionPage(ApprovalId::generate()).to_string();
        assert!(page.starts_with("/approve/apr_"), "{page}");
        assert_eq!(page.parse::<ReturnPath>().map(|path| path.to_string()), Ok(page));
    }

    #[test]
    fn message_of_a_blocked_turn_names_its_question() {
        let question = BlockingQuestion(ApprovalId::generate());
        assert_eq!(question.to_string().parse(), Ok(question));
        for message in
            ["approval:", "approval:run_1", "the agent stopped because its request was declined", ""]
        {
            assert_eq!(message.parse::<BlockingQuestion>(), Err(NoBlockingQuestion), "{message}");
        }
    }
}
