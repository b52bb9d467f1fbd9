//! Sign-in, tenants, members, projects, service keys, invitations and the audit log.

pub(crate) mod audit;
pub(crate) mod invitations;
pub(crate) mod keys;
pub(crate) mod login;
pub(crate) mod logout;
pub(crate) mod members;
pub(crate) mod projects;
pub(crate) mod tenants;
mod through_browser;
pub(crate) mod users;
pub(crate) mod whoami;
