//! Sign-in, tokens, tenants, members, projects, service keys, invitations and the audit log.

pub mod account;
pub mod audit;
pub mod auth;
pub mod bounds;
pub mod invitations;
pub mod keys;
pub mod projects;
pub mod subject_tokens;
pub mod tenants;
pub mod users;
