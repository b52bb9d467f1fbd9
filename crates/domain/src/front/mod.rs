//! The front door for applications: what a client sends with a run of an agent.

pub mod attachment;
pub mod attachment_link;
pub mod client_time;
pub mod copilotkit;
pub mod external_id;
pub mod front_end_tools;
pub mod interrupt_answer;
pub mod time_zone;

use self::external_id::ExternalId;
use crate::ids::{AgentId, CommandId, PrincipalId};
use crate::journal::SessionPosition;
use crate::named_enum::named_enum;

/// A conversation as its client names it. Two owners can use the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadKey<'a> {
    pub agent: AgentId,
    pub owner: PrincipalId,
    pub thread: &'a ExternalId,
}

/// A turn that a client has named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientTurn {
    pub command: CommandId,
    /// The place in the session before its first event.
    pub start: SessionPosition,
}

named_enum! {
    /// Where the tools and the context of a run come from. The client always states it: there is no default.
    RuntimeMode, "runtime mode";
    /// A conversation, with the configuration of the agent.
    Chat = "chat",
    /// A stored automation, with its own configuration.
    Automation = "automation",
}
