//! What the groups are built from.

use std::sync::Arc;

use guildhall_domain::runs::policy::TenantBounds;
use guildhall_domain::runs::quota::EventQuota;
use guildhall_identity::audit_key::AuditPublicKey;
use guildhall_runtime::Clock;
use guildhall_store::Store;

use crate::access::signing::Signing;
use crate::journal::Journals;
use crate::ops::rates::Rates;
use crate::profiles::credentials::Credentials;
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
    pub offers: Offers,
    pub run_timeouts: RunTimeouts,
    /// What a run may ask for: the same for every tenant.
    pub run_bounds: Arc<TenantBounds>,
    pub event_quota: EventQuota,
    pub rates: Rates,
    pub credentials: Credentials,
    /// Verifies the checkpoints of audit logs; none where they are not signed.
    pub audit_key: Option<AuditPublicKey>,
}
