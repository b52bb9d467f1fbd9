//! Who may do what: sign-in, tokens, tenants, members, projects, service keys, invitations and the audit log.

pub mod account;
pub mod audit;
pub mod audit_anchors;
pub mod audit_seal;
pub mod auth;
pub mod authority;
pub mod bounds;
pub mod browser_session;
pub mod client_address;
pub mod error;
pub mod invitations;
pub mod keys;
pub mod oidc;
pub(crate) mod password_queue;
pub mod projects;
pub(crate) mod secrets;
pub mod signing;
pub mod subject_tokens;
pub(crate) mod tenant_cache;
pub mod tenants;
pub(crate) mod timestamps;
pub mod users;

use std::sync::Arc;

use crate::deps::Deps;

/// The services of this group.
#[derive(Debug, Clone)]
pub struct Group {
    pub account: account::Account,
    pub audit: audit::Audit,
    pub auth: auth::Auth,
    pub bounds: bounds::Bounds,
    pub invitations: invitations::Invitations,
    pub keys: keys::ServiceKeys,
    /// None where no identity provider is configured.
    pub oidc: Option<oidc::Oidc>,
    pub projects: projects::Projects,
    pub signing: Arc<signing::Signing>,
    pub tenants: tenants::Tenants,
    pub users: users::Users,
}

/// Opens the group.
#[must_use]
pub fn open(deps: &Deps, auth: auth::Auth, oidc: Option<oidc::Oidc>) -> Group {
    let store = || deps.store.clone();
    Group {
        account: account::Account::new(auth.clone()),
        audit: audit::Audit::new(store(), deps.journals.clone(), deps.audit_key),
        auth,
        bounds: bounds::Bounds::new(store(), Arc::clone(&deps.run_bounds)),
        invitations: invitations::Invitations::new(store(), deps.clock.clone()),
        keys: keys::ServiceKeys::new(store()),
        oidc,
        projects: projects::Projects::new(store()),
        signing: Arc::clone(&deps.signing),
        tenants: tenants::Tenants::new(store()),
        users: users::Users::new(store(), deps.clock.clone()),
    }
}
