//! Relations: what users have granted to agents, pinned to the manifest that they were shown.

mod change;
mod gap;
mod grant;
mod notice;
mod page;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;

use jiff::Timestamp;

pub use change::{RelationChange, RelationChangeKind};
pub use gap::{ConsentGap, ToolState};
pub use grant::{Consent, GrantError, ShownManifest};
pub use notice::{NoticeKind, RelationNotice, notice_of, reauth_scopes};
pub use page::RelationPage;

use crate::agents::manifest::version::ManifestPin;
use crate::identity::Aid;
use crate::ids::{AgentId, PrincipalId, RelationId, TenantId};
use crate::named_enum::named_enum;

/// Consents that a user gives to one agent, or changes, within a day. More is no decision of a person, and each is an entry in the audit
/// log of the agent's tenant. Taking a consent back is not counted.
pub const MAX_DAILY_CONSENTS: u32 = 100;

/// Active relations of one user: more than a person can survey, and what one answer on the socket holds.
pub const MAX_RELATIONS: u32 = 500;

named_enum! {
    /// Whether a consent holds.
    RelationStatus, "status of a relation";
    Active = "active",
    Ended = "ended",
}

/// The consent of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    pub id: RelationId,
    pub agent: AgentId,
    /// The user.
    pub principal: PrincipalId,
    /// Ids of scopes.
    pub granted_scopes: BTreeSet<String>,
    /// The manifest that the user was shown.
    pub manifest: ManifestPin,
    /// Of the user's head, at the last change that their devices have to know.
    pub revision: i64,
    pub created_at: Timestamp,
    pub changed_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

impl Relation {
    #[must_use]
    pub const fn status(&self) -> RelationStatus {
        match self.ended_at {
            None => RelationStatus::Active,
            Some(_) => RelationStatus::Ended,
        }
    }
}

/// An agent as a user sees it: one that is published, or that of a tenant of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VisibleAgent {
    pub id: AgentId,
    pub tenant: TenantId,
    pub name: String,
    pub aid: Option<Aid>,
    /// The current version of its manifest.
    pub manifest: Option<ManifestPin>,
}

/// The path of the page on which people agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConsentPage(pub AgentId);

impl fmt::Display for ConsentPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/consent/{}", self.0)
    }
}

/// What users of an agent that they cannot see any more still know of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownAgent {
    pub name: String,
    pub aid: Option<Aid>,
    /// The current version of its manifest; none if the user cannot see it any more.
    pub manifest: Option<ManifestPin>,
    /// The last version of its manifest that the user could see, or was told about.
    pub last_seen_version: Option<i64>,
}

/// A relation as its user sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelationState {
    pub relation: Relation,
    pub agent: KnownAgent,
    /// What has changed since the consent, and waits for an answer.
    pub gap: ConsentGap,
}
