//! What a messenger remembers of others while it runs.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

use guildhall_domain::identity::Aid;
use guildhall_identity::e2ee::v2::V2Recipient;
use guildhall_identity::pki::{P256PublicKey, ParsedCertificate};
use jiff::{SignedDuration, Timestamp};

/// Keys of an AID's devices, which were verified.
#[derive(Debug, Clone)]
pub(super) enum PeerKeys {
    V2(Vec<V2Recipient>),
    V1(V1PeerKeys),
}

/// Keys of the first version.
#[derive(Debug, Clone)]
pub(super) struct V1PeerKeys {
    pub(super) certificate: ParsedCertificate,
    pub(super) devices: Vec<V1Device>,
}

/// A device with a prekey.
#[derive(Debug, Clone)]
pub(super) struct V1Device {
    pub(super) device_id: String,
    pub(super) prekey_id: String,
    pub(super) key: P256PublicKey,
}

/// Entries of a cache. A full one begins again.
const MAX_ENTRIES: usize = 1000;

/// Keys of others are asked for again after this time.
const KEYS_LIFETIME: SignedDuration = SignedDuration::from_hours(1);

/// Certificates of senders, which were trusted, by what messages call them.
#[derive(Debug, Default)]
pub(super) struct CertificateCache(Mutex<HashMap<(Aid, String), ParsedCertificate>>);

impl CertificateCache {
    pub(super) fn get(&self, aid: &Aid, fingerprint: &str) -> Option<ParsedCertificate> {
        lock(&self.0).get(&(aid.clone(), fingerprint.to_owned())).cloned()
    }

    pub(super) fn insert(&self, aid: &Aid, fingerprint: &str, certificate: &ParsedCertificate) {
        insert(&self.0, (aid.clone(), fingerprint.to_owned()), certificate.clone());
    }

    pub(super) fn clear(&self) {
        lock(&self.0).clear();
    }
}

/// Keys of devices, which were verified.
#[derive(Debug, Default)]
pub(super) struct PeerKeyCache(Mutex<HashMap<(Aid, bool), (Timestamp, PeerKeys)>>);

impl PeerKeyCache {
    pub(super) fn get(&self, aid: &Aid, is_v1: bool, now: Timestamp) -> Option<PeerKeys> {
        let cache = lock(&self.0);
        let (at, keys) = cache.get(&(aid.clone(), is_v1))?;
        (now.duration_since(*at) < KEYS_LIFETIME).then(|| keys.clone())
    }

    pub(super) fn insert(&self, aid: &Aid, is_v1: bool, now: Timestamp, keys: &PeerKeys) {
        insert(&self.0, (aid.clone(), is_v1), (now, keys.clone()));
    }

    pub(super) fn remove(&self, aid: &Aid) {
        lock(&self.0).retain(|(cached, _), _| cached != aid);
    }
}

fn insert<K: Hash + Eq, V>(cache: &Mutex<HashMap<K, V>>, key: K, value: V) {
    let mut cache = lock(cache);
    if cache.len() >= MAX_ENTRIES {
        cache.clear();
    }
    cache.insert(key, value);
}

/// No code that holds a lock can panic in the middle of a change.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
