//! The front door for applications: what a client sends with a run of an agent.

pub mod client_time;
pub mod time_zone;

use crate::named_enum::named_enum;

named_enum! {
    /// Where the tools and the context of a run come from. The client always states it: there is no default.
    RuntimeMode, "runtime mode";
    /// A conversation, with the configuration of the agent.
    Chat = "chat",
    /// A stored automation, with its own configuration.
    Automation = "automation",
}
