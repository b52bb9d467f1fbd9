//! Run tokens that were found good a moment ago. A runner appends many times a second, and each look costs a signature
//! and a query; what was revoked is still refused within a second, on every replica and with NATS down.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use guildhall_domain::runners::enrolment::RunGrant;
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::runners::tokens::Held;

/// How long a look serves, as for open streams: with the time of a request it stays well below a second.
const HOLDS_FOR: Duration = Duration::from_millis(400);

/// Tokens remembered; beyond it those that are over are forgotten, and all of them where none is.
const AT_MOST: usize = 10_000;

/// What one replica saw lately, by the hash of the token.
#[derive(Debug, Default)]
pub(crate) struct Lately(Mutex<HashMap<[u8; 32], Seen>>);

#[derive(Debug, Clone, Copy)]
struct Seen {
    grant: RunGrant,
    expires_at: Timestamp,
    /// Before the look began: what it found was true then.
    asked: Instant,
}

impl Lately {
    pub(crate) fn find(&self, bearer: &str, now: Timestamp) -> Option<Held> {
        let seen = *self.lock().get(&hash(bearer))?;
        let holds = seen.asked.elapsed() < HOLDS_FOR && now < seen.expires_at;
        holds.then_some(Held { grant: seen.grant, expires_at: seen.expires_at })
    }

    pub(crate) fn keep(&self, bearer: &str, held: Held, asked: Instant) {
        let mut seen = self.lock();
        if seen.len() >= AT_MOST {
            seen.retain(|_, seen| seen.asked.elapsed() < HOLDS_FOR);
        }
        if seen.len() >= AT_MOST {
            seen.clear();
        }
        seen.insert(hash(bearer), Seen { grant: held.grant, expires_at: held.expires_at, asked });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<[u8; 32], Seen>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn hash(bearer: &str) -> [u8; 32] {
    Sha256::digest(bearer).into()
}
