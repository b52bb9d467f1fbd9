//! What handlers work with.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use guildhall_domain::ops::capability::Toggles;
use guildhall_runtime::telemetry::metrics::Metrics;
use guildhall_service::access::audit::Audit;
use guildhall_service::access::auth::Auth;
use guildhall_service::access::invitations::Invitations;
use guildhall_service::access::keys::Keys;
use guildhall_service::access::oidc::Oidc;
use guildhall_service::access::projects::Projects;
use guildhall_service::access::signing::Signing;
use guildhall_service::access::tenants::Tenants;
use guildhall_service::access::users::Users;
use guildhall_service::ops::health::Health;
use guildhall_service::ops::rates::Rates;
use guildhall_service::profiles::Profiles;
use guildhall_service::runners::Runners;
use guildhall_service::runners::enrolments::Enrolments;
use guildhall_service::runners::jobs::RunnerJobs;
use guildhall_service::runs::Runs;

use tokio_util::sync::CancellationToken;

use crate::{Access, Refusals, Streams};

/// The use cases behind the routes. Cloned several times in every request, hence one pointer.
#[derive(Debug, Clone)]
pub struct App(Arc<Parts>);

impl App {
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }
}

impl Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

/// What an [`App`] is made of.
#[derive(Debug)]
pub struct Parts {
    pub access: Access,
    pub audit: Audit,
    pub auth: Auth,
    pub enrolments: Enrolments,
    pub health: Arc<Health>,
    pub invitations: Invitations,
    pub keys: Keys,
    pub profiles: Profiles,
    pub projects: Projects,
    pub runner_jobs: RunnerJobs,
    pub runners: Runners,
    pub runs: Runs,
    /// None where no identity provider is configured.
    pub oidc: Option<Oidc>,
    pub signing: Arc<Signing>,
    pub tenants: Tenants,
    pub users: Users,
    pub metrics: Metrics,
    pub limits: Limits,
    pub rates: Rates,
    pub refusals: Refusals,
    pub streams: Streams,
    /// Cancelled when the door closes: what is held open ends, so that its readers go on at another replica.
    pub closing: CancellationToken,
}

impl Parts {
    /// Returns the switches that capability tags depend on.
    #[must_use]
    pub fn toggles(&self) -> Toggles {
        Toggles {
            require_auth: self.access.require_auth,
            allow_origin: !self.access.origins.is_empty(),
            rate_limit: self.rates.policy().limits_anything(),
        }
    }
}

/// The bounds of the front door.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Larger request bodies are refused.
    pub body_bytes: usize,
    /// A request that has no answer by then gets a failure.
    pub request_timeout: Duration,
    /// Requests worked on at once; more are refused with a wish to come back.
    pub concurrent_requests: usize,
    /// Connections held at once; more are refused.
    pub connections: usize,
    /// A connection must have sent its request's head by then.
    pub header_timeout: Duration,
}
