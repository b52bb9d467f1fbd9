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
    fn is_local(&self, aid: &Aid) -> bool {
        self.issuer.as_deref() == Some(aid.issuer())
    }

    /// Returns the inbox of a registered AID.
    pub(super) async fn inbox_of(&self, aid: &Aid) -> Result<InboxId, ServiceError> {
        if !self.is_local(aid) {
            return Err(MessageError::OtherIssuer.into());
        }
        let found = self.find(aid).await?;
        Ok(found.ok_or_else(|| MessageError::UnknownAid(aid.clone()))?)
    }

    /// Returns the inbox of an AID; none where no AID of this name is registered here.
    pub(super) async fn find(&self, aid: &Aid) -> Result<Option<InboxId>, ServiceError> {
        if !self.is_local(aid) {
            return Ok(None);
        }
        if let Some(known) = self.lock().get(aid).copied() {
            return Ok(Some(known));
        }
        let Some(found) = inboxes::find_or_create(&self.store, aid).await? else { return Ok(None) };
        let mut known = self.lock();
        if known.len() >= MAX_REMEMBERED {
            known.clear();
        }
        known.insert(aid.clone(), found);
        Ok(Some(found))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Aid, InboxId>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
