//! Caches verified run tokens. A runner appends many times a second, and each check costs a signature and a query. A
//! revoked token is still refused within a second, on every replica and with NATS down.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::run_token::VerifiedRunToken;

/// How long a verification is cached. Together with the duration of a request, it stays well below a second.
const CACHED_FOR: Duration = Duration::from_millis(400);

/// Maximum number of tokens. At the limit, stale tokens are evicted; if none is stale, all are.
const MAX_TOKENS: usize = 10_000;

/// Verified run tokens of one replica, by the hash of the token.
#[derive(Debug, Default)]
pub(super) struct RunTokenCache(Mutex<HashMap<[u8; 32], CachedRunToken>>);

#[derive(Debug, Clone, Copy)]
struct CachedRunToken {
    token: VerifiedRunToken,
    /// When the verification began: its result was true then.
    verified_at: Instant,
}

impl RunTokenCache {
    pub(super) fn get(&self, bearer: &str, now: Timestamp) -> Option<VerifiedRunToken> {
        let cached = *self.lock().get(&hash(bearer))?;
        let is_fresh = cached.verified_at.elapsed() < CACHED_FOR && now < cached.token.expires_at;
        is_fresh.then_some(cached.token)
    }

    pub(super) fn insert(&self, bearer: &str, token: VerifiedRunToken, verified_at: Instant) {
        let mut tokens = self.lock();
        if tokens.len() >= MAX_TOKENS {
            tokens.retain(|_, cached| cached.verified_at.elapsed() < CACHED_FOR);
        }
        if tokens.len() >= MAX_TOKENS {
            tokens.clear();
        }
        tokens.insert(hash(bearer), CachedRunToken { token, verified_at });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 32], CachedRunToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn hash(bearer: &str) -> [u8; 32] {
    Sha256::digest(bearer).into()
}
