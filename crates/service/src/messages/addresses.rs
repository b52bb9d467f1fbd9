//! Finds the inboxes of AIDs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use guildhall_domain::identity::{Aid, IssuerName};
use guildhall_domain::messages::InboxId;
use guildhall_store::{Store, inboxes};

use super::error::MessageError;
use crate::ServiceError;

/// Remembered inboxes: some 15 MB. AIDs are never deleted, so an entry stays true.
const MAX_REMEMBERED: usize = 100_000;

/// The inboxes of this issuer's AIDs. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Addresses {
    store: Store,
    issuer: Option<Arc<IssuerName>>,
    known: Arc<Mutex<HashMap<Aid, InboxId>>>,
}

impl Addresses {
    pub(super) fn new(store: Store, issuer: Option<Arc<IssuerName>>) -> Self {
        Self { store, issuer, known: Arc::default() }
    }

    /// Returns whether an AID is one of this issuer, registered or not.
    pub(super) fn is_local(&self, aid: &Aid) -> bool {
        self.issuer.as_deref() == Some(aid.issuer())
    }

    /// Returns the inbox of a registered AID.
    pub(super) async fn inbox_of(&self, aid: &Aid) -> Result<InboxId, ServiceError> {
        if !self.is_local(aid) {
            return Err(MessageError::OtherIssuer.into());
        }
        if let Some(known) = self.lock().get(aid).copied() {
            return Ok(known);
        }
        let found = inboxes::find_or_create(&self.store, aid).await?;
        let found = found.ok_or_else(|| MessageError::UnknownAid(aid.clone()))?;
        let mut known = self.lock();
        if known.len() >= MAX_REMEMBERED {
            known.clear();
        }
        known.insert(aid.clone(), found);
        Ok(found)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Aid, InboxId>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
