//! Pages that a sign-in leads back to. A request names only an id, so that it can name no other target.

use std::fmt;

use guildhall_domain::approvals::approval::QuestionPage;
use guildhall_domain::ids::{AgentId, ApprovalId};
use guildhall_domain::relations::ConsentPage;

/// A page about one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageTarget {
    Question(ApprovalId),
    Consent(AgentId),
}

impl fmt::Display for PageTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Question(id) => QuestionPage(*id).fmt(f),
            Self::Consent(id) => ConsentPage(*id).fmt(f),
        }
    }
}
