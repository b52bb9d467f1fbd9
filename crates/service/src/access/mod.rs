//! Who may do what: sign-in, tokens, tenants, members, projects, service keys, invitations and the audit log.

pub mod audit;
pub mod audit_seal;
pub mod auth;
pub mod authority;
pub mod browser;
pub mod invitations;
pub mod keys;
pub mod oidc;
pub mod projects;
pub mod signing;
pub mod subject_tokens;
pub mod tenants;
pub mod users;
