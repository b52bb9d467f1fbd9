//! Ends relations, and what depends on them.

use std::collections::BTreeSet;

use guildhall_domain::access::caller::Caller;
use guildhall_domain::ids::RelationId;
use guildhall_domain::relations::{Relation, RelationChangeKind, RelationState};
use guildhall_store::inbox_messages::end_undelivered_calls;
use guildhall_store::relations as rows;
use guildhall_store::{agents, relation_heads, relation_notices};

use super::{Relations, owner, record};
use crate::ServiceError;

/// What ended with a relation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedRelation {
    pub state: RelationState,
    /// The scopes that were granted. Empty if it had ended before.
    pub ended_scopes: BTreeSet<String>,
    /// Calls of tools that the user's devices had not received. Their content is gone.
    pub ended_calls: u64,
}

impl Relations {
    /// Takes a consent back, and removes what its agent has asked for and nobody has received. Everything holds when this
    /// returns. A repeated call ends nothing more.
    pub async fn revoke(&self, caller: &Caller, id: RelationId) -> Result<EndedRelation, ServiceError> {
        let (user, store) = (owner(caller)?, &self.deps.store);
        let agent = self.find(user, id).await?.agent;
        let tenant = agents::find_tenant(store, agent).await?.ok_or(ServiceError::NOT_FOUND)?;
        let mut tx = store.begin().await?;
        let revision = relation_heads::advance(&mut tx, user).await?;
        let before = rows::load(&mut tx, user, id).await?.ok_or(ServiceError::NOT_FOUND)?;
        if before.ended_at.is_some() {
            tx.rollback().await?;
            let state = self.state(user, id).await?;
            return Ok(EndedRelation { state, ended_scopes: BTreeSet::new(), ended_calls: 0 });
        }
        let ended = Relation { granted_scopes: BTreeSet::new(), revision, ..before.clone() };
        rows::update(&mut tx, &ended, RelationChangeKind::Revoked).await?;
        relation_notices::delete_of(&mut tx, id).await?;
        let ended_calls = end_undelivered_calls(&mut tx, id, user).await?;
        record(&mut tx, tenant, "relation.revoked", &before).await?;
        tx.commit().await?;
        self.feed.notify();
        let state = self.state(user, id).await?;
        Ok(EndedRelation { state, ended_scopes: before.granted_scopes, ended_calls })
    }
}
