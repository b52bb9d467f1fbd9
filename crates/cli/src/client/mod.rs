//! Commands that call a server through the SDK.

pub(crate) mod access;
pub(crate) mod agents;
pub(crate) mod aid_socket;
pub(crate) mod approvals;
pub(crate) mod completions;
pub(crate) mod connection;
pub(crate) mod context;
mod duration;
pub(crate) mod guard;
pub(crate) mod identity;
pub(crate) mod input_lines;
pub(crate) mod messages;
mod password;
pub(crate) mod profiles;
pub(crate) mod relations;
pub(crate) mod retention;
pub(crate) mod runners;
pub(crate) mod runs;
pub(crate) mod sessions;
pub(crate) mod webhooks;
