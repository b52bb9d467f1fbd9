//! Relations of users with agents.

use std::collections::HashSet;

use guildhall_domain::agents::manifest::version::ManifestPin;
use guildhall_domain::ids::{AgentId, PrincipalId, RelationId};
use guildhall_domain::relations::{Relation, RelationChangeKind, RelationPage};
use jiff_sqlx::Timestamp;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::agent_manifests::stored_hash;
use crate::relation_changes::{self, NewChange};
use crate::{Store, StoreError, Tx};

struct Row {
    id: Uuid,
    agent: Uuid,
    principal: Uuid,
    granted_scopes: Vec<String>,
    manifest_version: i64,
    manifest_hash: Vec<u8>,
    revision: i64,
    created_at: Timestamp,
    changed_at: Timestamp,
    ended_at: Option<Timestamp>,
}

impl Row {
    fn into_relation(self) -> Result<Relation, StoreError> {
        Ok(Relation {
            id: RelationId::from_uuid(self.id),
            agent: AgentId::from_uuid(self.agent),
            principal: PrincipalId::from_uuid(self.principal),
            granted_scopes: self.granted_scopes.into_iter().collect(),
            manifest: ManifestPin { version: self.manifest_version, hash: stored_hash(&self.manifest_hash)? },
            revision: self.revision,
            created_at: self.created_at.to_jiff(),
            changed_at: self.changed_at.to_jiff(),
            ended_at: self.ended_at.map(Timestamp::to_jiff),
        })
    }
}

/// Returns the consent that a user has given to an agent and not taken back.
pub async fn find_active(
    store: &Store,
    agent: AgentId,
    principal: PrincipalId,
) -> Result<Option<Relation>, StoreError> {
    let (agent, principal) = (agent.as_uuid(), principal.as_uuid());
    let row = sqlx::query_file_as!(Row, "queries/relations/find_active.sql", agent, principal)
        .fetch_optional(&store.pool)
        .await?;
    row.map(Row::into_relation).transpose()
}

/// The same in a transaction.
pub async fn load_active(
    tx: &mut Tx,
    agent: AgentId,
    principal: PrincipalId,
) -> Result<Option<Relation>, StoreError> {
    let (agent, principal) = (agent.as_uuid(), principal.as_uuid());
    let row = sqlx::query_file_as!(Row, "queries/relations/find_active.sql", agent, principal)
        .fetch_optional(tx.connection())
        .await?;
    row.map(Row::into_relation).transpose()
}

/// Returns a relation of a user.
pub async fn find(
    store: &Store,
    principal: PrincipalId,
    id: RelationId,
) -> Result<Option<Relation>, StoreError> {
    let row = sqlx::query_file_as!(Row, "queries/relations/find.sql", principal.as_uuid(), id.as_uuid())
        .fetch_optional(&store.pool)
        .await?;
    row.map(Row::into_relation).transpose()
}

/// The same in a transaction that holds the head of the user.
pub async fn load(
    tx: &mut Tx,
    principal: PrincipalId,
    id: RelationId,
) -> Result<Option<Relation>, StoreError> {
    let row = sqlx::query_file_as!(Row, "queries/relations/find.sql", principal.as_uuid(), id.as_uuid())
        .fetch_optional(tx.connection())
        .await?;
    row.map(Row::into_relation).transpose()
}

/// Lists relations of a user by id, which is the order of their creation.
pub async fn list(
    store: &Store,
    principal: PrincipalId,
    page: RelationPage,
) -> Result<Vec<Relation>, StoreError> {
    let rows = sqlx::query_file_as!(
        Row,
        "queries/relations/list.sql",
        principal.as_uuid(),
        page.with_ended,
        page.after.map(RelationId::as_uuid),
        i64::from(page.limit)
    )
    .fetch_all(&store.pool)
    .await?;
    rows.into_iter().map(Row::into_relation).collect()
}

/// Inserts a relation with the first entry of its history. The caller holds the head of the user.
pub async fn insert(tx: &mut Tx, new: &Relation) -> Result<(), StoreError> {
    let scopes: Vec<String> = new.granted_scopes.iter().cloned().collect();
    sqlx::query_file!(
        "queries/relations/insert.sql",
        new.id.as_uuid(),
        new.agent.as_uuid(),
        new.principal.as_uuid(),
        &scopes,
        new.manifest.version,
        new.manifest.hash.as_bytes().as_slice(),
        new.revision
    )
    .execute(tx.connection())
    .await?;
    let change = NewChange {
        relation: new.id,
        number: 1,
        kind: RelationChangeKind::Granted,
        granted_scopes: &scopes,
        manifest: new.manifest,
        actor: new.principal,
    };
    relation_changes::insert(tx, &change).await
}

/// Writes a changed relation with an entry of its history. The caller holds the head of the user.
pub async fn update(tx: &mut Tx, changed: &Relation, kind: RelationChangeKind) -> Result<(), StoreError> {
    let scopes: Vec<String> = changed.granted_scopes.iter().cloned().collect();
    let number = sqlx::query_file_scalar!(
        "queries/relations/update.sql",
        changed.id.as_uuid(),
        &scopes,
        changed.manifest.version,
        changed.manifest.hash.as_bytes().as_slice(),
        changed.revision,
        kind == RelationChangeKind::Revoked
    )
    .fetch_one(tx.connection())
    .await?;
    let change = NewChange {
        relation: changed.id,
        number,
        kind,
        granted_scopes: &scopes,
        manifest: changed.manifest,
        actor: changed.principal,
    };
    relation_changes::insert(tx, &change).await
}

/// Returns how many relations of a user are active.
pub async fn count_active(tx: &mut Tx, principal: PrincipalId) -> Result<i64, StoreError> {
    let count = sqlx::query_file_scalar!("queries/relations/count_active.sql", principal.as_uuid())
        .fetch_one(tx.connection())
        .await?;
    Ok(count)
}

/// Lists relations of a user that have changed after a revision, in that order. Those of the last revision are all there, also
/// beyond the limit.
pub async fn list_changed(
    store: &Store,
    principal: PrincipalId,
    after: i64,
    limit: u32,
) -> Result<Vec<Relation>, StoreError> {
    let principal = principal.as_uuid();
    let rows =
        sqlx::query_file_as!(Row, "queries/relations/list_changed.sql", principal, after, i64::from(limit))
            .fetch_all(&store.pool)
            .await?;
    rows.into_iter().map(Row::into_relation).collect()
}

/// Lists the active relations of an agent with some users, of those who can see the agent.
pub async fn list_of_users(
    store: &Store,
    agent: AgentId,
    users: &[PrincipalId],
) -> Result<Vec<Relation>, StoreError> {
    let users: Vec<Uuid> = users.iter().map(|user| user.as_uuid()).collect();
    let rows = sqlx::query_file_as!(Row, "queries/relations/list_of_users.sql", agent.as_uuid(), &users);
    rows.fetch_all(&store.pool).await?.into_iter().map(Row::into_relation).collect()
}

/// Returns those of some relations that have not ended, as the last commit has left them.
pub(crate) async fn active_of(
    connection: &mut PgConnection,
    relations: &[RelationId],
) -> Result<HashSet<RelationId>, StoreError> {
    let ids: Vec<Uuid> = relations.iter().map(|relation| relation.as_uuid()).collect();
    let active = sqlx::query_file_scalar!("queries/relations/list_active_of.sql", &ids).fetch_all(connection);
    Ok(active.await?.into_iter().map(RelationId::from_uuid).collect())
}

pub(crate) fn unreadable(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::Unreadable { column: "relations", source: source.into() }
}
