//! Identity and access: principals, roles, sign-in, tokens, invitations and the audit log.

pub mod audit_chain;
pub mod audit_checkpoint;
pub mod authorized;
pub mod caller;
pub mod invitation;
pub mod lockout;
pub mod oidc;
pub mod principal;
pub mod project_setup;
pub mod refresh;
pub mod return_path;
pub mod role;
pub mod service_key;
pub mod signing;
pub mod subject;
pub mod tenant;
pub mod thread_owner;
pub mod user;
