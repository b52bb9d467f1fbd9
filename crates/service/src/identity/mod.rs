//! AIDs, their certificates, the authority that issues them, and the log of them.

pub mod agent_keys;
pub mod aids;
pub mod error;
pub mod issuer;
pub mod key_store;
pub mod logins;
mod open_error;
pub mod pki;
pub mod transparency;

use std::sync::Arc;

use guildhall_domain::identity::RegistrationMode;

use self::issuer::Issuer;
use crate::ServiceError;
use crate::access::auth::Auth;
use crate::deps::Deps;
use crate::identity::error::IdentityError;

/// The services of this group. They are missing where the server is not an issuer.
#[derive(Debug, Clone)]
pub struct Group {
    services: Option<Services>,
}

#[derive(Debug, Clone)]
struct Services {
    agent_keys: agent_keys::AgentKeys,
    aids: aids::Aids,
    logins: logins::AidLogins,
    pki: pki::Pki,
    transparency: transparency::Transparency,
}

/// Opens the group.
#[must_use]
pub fn open(deps: &Deps, auth: &Auth, issuer: Option<Issuer>, registration: RegistrationMode) -> Group {
    let services = issuer.map(|issuer| {
        let issuer = Arc::new(issuer);
        let aids = aids::Aids::new(deps.store.clone(), deps.clock.clone(), Arc::clone(&issuer), registration);
        Services {
            agent_keys: aids.agent_keys.clone(),
            logins: logins::AidLogins::new(auth.clone(), aids.clone(), Arc::clone(&issuer)),
            aids,
            pki: pki::Pki::new(deps.store.clone(), deps.clock.clone(), Arc::clone(&issuer)),
            transparency: transparency::Transparency::new(deps.store.clone(), deps.clock.clone(), issuer),
        }
    });
    Group { services }
}

impl Group {
    pub fn aids(&self) -> Result<&aids::Aids, ServiceError> {
        self.services.as_ref().map(|services| &services.aids).ok_or(IdentityError::NotAnIssuer.into())
    }

    /// Returns the keys of agents that the server answers for.
    pub fn agent_keys(&self) -> Result<&agent_keys::AgentKeys, ServiceError> {
        self.services.as_ref().map(|services| &services.agent_keys).ok_or(IdentityError::NotAnIssuer.into())
    }

    pub fn logins(&self) -> Result<&logins::AidLogins, ServiceError> {
        self.services.as_ref().map(|services| &services.logins).ok_or(IdentityError::NotAnIssuer.into())
    }

    pub fn pki(&self) -> Result<&pki::Pki, ServiceError> {
        self.services.as_ref().map(|services| &services.pki).ok_or(IdentityError::NotAnIssuer.into())
    }

    pub fn transparency(&self) -> Result<&transparency::Transparency, ServiceError> {
        self.services.as_ref().map(|services| &services.transparency).ok_or(IdentityError::NotAnIssuer.into())
    }
}
