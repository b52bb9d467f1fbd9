//! How often callers may ask, over all replicas together.
//!
//! Permits are borrowed from PostgreSQL in blocks and spent from memory; what `domain::rate` decides is carried out
//! here. When PostgreSQL does not lend, the request is refused: a limit that opens when it cannot count is none.
//! `docs/adr/012-rates-are-lent-in-blocks.md` says why it is so.

mod purses;

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use guildhall_domain::ops::rate::{Key, Purse, Rate, Spent, Standing, Tier};
use guildhall_store::{Store, rate_windows};
use metrics::counter;

use crate::ServiceError;
use purses::Purses;

/// A block may end with its window while it is on its way; more often than this it is PostgreSQL that is too slow.
const BORROW_AT_MOST: usize = 3;

/// The rates of a server. A tier without one is not limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policy {
    pub sign_in: Option<Rate>,
    pub mutation: Option<Rate>,
    pub read: Option<Rate>,
    pub prompt: Option<Rate>,
}

impl Policy {
    #[must_use]
    pub fn rate(&self, tier: Tier) -> Option<Rate> {
        match tier {
            Tier::SignIn => self.sign_in,
            Tier::Mutation => self.mutation,
            Tier::Read => self.read,
            Tier::Prompt => self.prompt,
        }
    }

    /// Returns whether a request can be refused. No route is of the tier `prompt` yet, so its rate alone does nothing.
    #[must_use]
    pub fn limits_anything(&self) -> bool {
        [self.sign_in, self.mutation, self.read].iter().any(Option::is_some)
    }
}

/// Counts requests. Cheap to clone; clones share what they hold.
#[derive(Debug, Clone)]
pub struct Rates {
    store: Store,
    policy: Policy,
    purses: Arc<Mutex<Purses>>,
}

/// The purse of one key, and who waits for it: one borrows, the others wait for the outcome.
#[derive(Debug, Default)]
struct Slot {
    purse: tokio::sync::Mutex<Purse>,
    /// Borrowings that failed. Whoever waited through one does not try the same again.
    failures: AtomicU64,
}

impl Rates {
    #[must_use]
    pub fn new(store: Store, policy: Policy) -> Self {
        Self { store, policy, purses: Arc::default() }
    }

    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Counts a request. None where its tier is not limited; an error refuses it: the rate is used up, or nobody can
    /// tell.
    pub async fn count(&self, tier: Tier, key: Key) -> Result<Option<Standing>, ServiceError> {
        let Some(rate) = self.policy.rate(tier) else { return Ok(None) };
        let slot = self.purses.lock().unwrap_or_else(PoisonError::into_inner).of(tier, key);
        self.spend(&slot, tier, key, rate).await.map(Some)
    }

    async fn spend(&self, slot: &Slot, tier: Tier, key: Key, rate: Rate) -> Result<Standing, ServiceError> {
        let failures = slot.failures.load(SeqCst);
        let mut purse = slot.purse.lock().await;
        for _ in 0..=BORROW_AT_MOST {
            let wanted = match purse.spend(rate, Instant::now()) {
                Spent::Permit(standing) => return Ok(standing),
                Spent::Refused(standing) => {
                    counter!("guildhall_rate_refusals_total", "tier" => tier.as_str()).increment(1);
                    return Err(ServiceError::RateLimited { tier, rate, standing });
                }
                Spent::Borrow { permits } => permits,
            };
            if slot.failures.load(SeqCst) != failures {
                return Err(ServiceError::NoPermits);
            }
            counter!("guildhall_rate_blocks_total", "tier" => tier.as_str()).increment(1);
            let lent =
                rate_windows::borrow(&self.store, tier, key, rate, wanted).await.inspect_err(|_| {
                    slot.failures.fetch_add(1, SeqCst);
                })?;
            purse.fill(lent);
        }
        Err(ServiceError::NoPermits)
    }
}
