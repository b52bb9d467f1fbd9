//! Sign-in, tenants, members, projects, service keys, invitations and the audit log.

pub(crate) mod audit;
mod bounds;
mod browser_sign_in;
pub(crate) mod invitations;
pub(crate) mod keys;
pub(crate) mod login;
pub(crate) mod logout;
pub(crate) mod members;
mod operators;
pub(crate) mod passwd;
pub(crate) mod projects;
pub(crate) mod settings;
pub(crate) mod tenants;
pub(crate) mod users;
pub(crate) mod whoami;
