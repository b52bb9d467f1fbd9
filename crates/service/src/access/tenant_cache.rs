//! The tenants of objects that never change their tenant. Only found ones are kept; what a caller may do is never cached here.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use guildhall_domain::ids::TenantId;

/// Maximum number of objects. At the limit, all are forgotten.
const MAX_OBJECTS: usize = 20_000;

/// Tenants by the id or the slug of an object. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct TenantCache<K>(Arc<Mutex<HashMap<K, TenantId>>>);

impl<K> Default for TenantCache<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K: Eq + Hash> TenantCache<K> {
    pub(crate) fn get(&self, key: &K) -> Option<TenantId> {
        self.lock().get(key).copied()
    }

    pub(crate) fn insert(&self, key: K, tenant: TenantId) {
        let mut tenants = self.lock();
        if tenants.len() >= MAX_OBJECTS {
            tenants.clear();
        }
        tenants.insert(key, tenant);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, TenantId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
