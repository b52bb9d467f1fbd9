//! Rate limits of callers, over all replicas together.
//!
//! Permits are borrowed from PostgreSQL in blocks and spent from memory; `domain::ops::rate` decides. When PostgreSQL
//! does not respond, the request is refused (fail closed). ADR 012 has the reasons.

pub mod error;
mod permit_pool;

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use guildhall_domain::ids::TenantId;
use guildhall_domain::ops::rate::{ByteRate, LocalPermits, Rate, RateKey, RateStatus, SpendResult, Tier};
use guildhall_store::{Store, rate_windows};
use metrics::counter;

use crate::ServiceError;
use error::RateError;
use permit_pool::PermitPool;

/// How often one request borrows: a block may expire with its window on the way. Beyond that PostgreSQL is too slow.
const MAX_BORROWS: usize = 3;

/// The rates of a server. A tier without one is not limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RatePolicy {
    pub sign_in: Option<Rate>,
    pub account: Option<Rate>,
    pub mutation: Option<Rate>,
    pub read: Option<Rate>,
    pub prompt: Option<Rate>,
    pub tenant_events: Option<ByteRate>,
}

impl RatePolicy {
    #[must_use]
    pub fn rate(&self, tier: Tier) -> Option<Rate> {
        match tier {
            Tier::SignIn => self.sign_in,
            Tier::Account => self.account,
            Tier::Mutation => self.mutation,
            Tier::Read => self.read,
            Tier::Prompt => self.prompt,
            Tier::TenantEvents => self.tenant_events.map(ByteRate::in_permits),
            Tier::ToolCall => Some(Rate::TOOL_CALLS),
        }
    }

    /// Returns whether a request can be refused. No route is of the tier `prompt` yet, so its rate alone does nothing.
    #[must_use]
    pub fn limits_anything(&self) -> bool {
        [self.sign_in, self.account, self.mutation, self.read].iter().any(Option::is_some)
    }
}

/// Counts requests. Cheap to clone; clones share what they hold.
#[derive(Debug, Clone)]
pub struct Rates {
    store: Store,
    policy: RatePolicy,
    permits: Arc<Mutex<PermitPool>>,
}

/// The local permits of one key. One request borrows more; the others wait for the outcome.
#[derive(Debug, Default)]
struct Slot {
    permits: tokio::sync::Mutex<LocalPermits>,
    /// Failed borrowings. A request that waited through one does not retry.
    failures: AtomicU64,
}

impl Rates {
    #[must_use]
    pub fn new(store: Store, policy: RatePolicy) -> Self {
        Self { store, policy, permits: Arc::default() }
    }

    #[must_use]
    pub fn policy(&self) -> &RatePolicy {
        &self.policy
    }

    /// Counts a request. Returns none where its tier is not limited, and an error when the rate is used up or cannot be
    /// determined.
    pub async fn count(&self, tier: Tier, key: RateKey) -> Result<Option<RateStatus>, ServiceError> {
        let Some(rate) = self.policy.rate(tier) else { return Ok(None) };
        self.spend(tier, key, rate, 1).await.map(Some)
    }

    /// Counts the bytes of events that a runner sends for a run of a tenant, before they are stored.
    pub async fn count_events(&self, tenant: TenantId, bytes: u64) -> Result<(), ServiceError> {
        let Some(rate) = self.policy.tenant_events else { return Ok(()) };
        let (tier, key) = (Tier::TenantEvents, RateKey::Tenant(tenant));
        self.spend(tier, key, rate.in_permits(), ByteRate::permits_for(bytes)).await.map(drop)
    }

    async fn spend(
        &self,
        tier: Tier,
        key: RateKey,
        rate: Rate,
        amount: u32,
    ) -> Result<RateStatus, ServiceError> {
        let slot = self.permits.lock().unwrap_or_else(PoisonError::into_inner).slot(tier, key);
        let failures = slot.failures.load(SeqCst);
        let mut permits = slot.permits.lock().await;
        for _ in 0..=MAX_BORROWS {
            let requested = match permits.spend(rate, amount, Instant::now()) {
                SpendResult::Allowed(status) => return Ok(status),
                SpendResult::Limited(status) => {
                    counter!("guildhall_rate_refusals_total", "tier" => tier.as_str()).increment(1);
                    return Err(RateError::Limited { tier, rate, status }.into());
                }
                SpendResult::Borrow { permits: requested } => requested,
            };
            if slot.failures.load(SeqCst) != failures {
                return Err(RateError::NoPermits.into());
            }
            counter!("guildhall_rate_blocks_total", "tier" => tier.as_str()).increment(1);
            let granted =
                rate_windows::borrow(&self.store, tier, key, rate, requested).await.inspect_err(|_| {
                    slot.failures.fetch_add(1, SeqCst);
                })?;
            permits.fill(granted, Instant::now());
        }
        Err(RateError::NoPermits.into())
    }
}
