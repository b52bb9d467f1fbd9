//! What the groups are built from.

use std::sync::Arc;

use guildhall_domain::approvals::policy::ServerAddress;
use guildhall_domain::ids::TenantId;
use guildhall_domain::runs::policy::{BundleLimits, TenantBounds};
use guildhall_domain::runs::quota::EventQuota;
use guildhall_identity::audit_key::AuditPublicKey;
use guildhall_identity::payload_seal::PayloadSealer;
use guildhall_runtime::Clock;
use guildhall_store::{Store, StoreError, tenant_bounds};

use crate::access::signing::Signing;
use crate::journal::Journals;
use crate::ops::rates::Rates;
use crate::profiles::credentials::Credentials;
use crate::run_steps::held_runs::HeldRuns;
use crate::run_steps::offers::Offers;
use crate::run_steps::timeouts::RunTimeouts;

/// The shared dependencies of all groups. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Deps {
    pub store: Store,
    /// Connects as the owner of the tables, who may erase. The same as `store` where the server owns them.
    pub owner_store: Store,
    pub clock: Clock,
    pub journals: Journals,
    pub signing: Arc<Signing>,
    pub payload_sealer: Arc<PayloadSealer>,
    pub offers: Offers,
    pub held_runs: HeldRuns,
    pub run_timeouts: RunTimeouts,
    /// What runs of any tenant may request. `tenant_bounds` returns the bounds of one tenant.
    pub run_bounds: Arc<TenantBounds>,
    pub event_quota: EventQuota,
    pub bundle_limits: BundleLimits,
    pub rates: Rates,
    pub credentials: Credentials,
    /// How the server is reached, for policies that want answers from its own machine.
    pub server_address: ServerAddress,
    /// The configured public address of the server, for links in notices.
    pub public_url: Option<String>,
    /// Verifies the checkpoints of audit logs; none where they are not signed.
    pub audit_key: Option<AuditPublicKey>,
}

impl Deps {
    /// Returns what runs of a tenant may request: what the installation allows and no operator has restricted. Read from
    /// the store each time, so that a change applies on every replica at once.
    pub(crate) async fn tenant_bounds(&self, tenant: TenantId) -> Result<TenantBounds, StoreError> {
        Ok(match tenant_bounds::find(&self.store, tenant).await? {
            Some(restrictions) => self.run_bounds.restrict(&restrictions),
            None => TenantBounds::clone(&self.run_bounds),
        })
    }
}
