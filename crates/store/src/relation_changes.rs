//! The history of relations. Rows are never changed.

use std::time::Duration;

use guildhall_domain::agents::manifest::version::ManifestPin;
use guildhall_domain::ids::{AgentId, PrincipalId, RelationId};
use guildhall_domain::relations::{RelationChange, RelationChangeKind};
use jiff_sqlx::Timestamp;

use crate::agent_manifests::stored_hash;
use crate::{Store, StoreError, Tx};

/// An entry to insert.
#[derive(Debug, Clone)]
pub(crate) struct NewChange<'a> {
    pub(crate) relation: RelationId,
    pub(crate) number: i32,
    pub(crate) kind: RelationChangeKind,
    pub(crate) granted_scopes: &'a [String],
    pub(crate) manifest: ManifestPin,
    pub(crate) actor: PrincipalId,
}

pub(crate) async fn insert(tx: &mut Tx, new: &NewChange<'_>) -> Result<(), StoreError> {
    sqlx::query_file!(
        "queries/relation_changes/insert.sql",
        new.relation.as_uuid(),
        new.number,
        new.kind.as_str(),
        new.granted_scopes,
        new.manifest.version,
        new.manifest.hash.as_bytes().as_slice(),
        new.actor.as_uuid()
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Returns how long a user waits before they can give an agent another consent, if they gave or changed `limit` within a day.
pub async fn wait_after(
    tx: &mut Tx,
    user: PrincipalId,
    agent: AgentId,
    limit: u32,
) -> Result<Option<Duration>, StoreError> {
    let revoked = RelationChangeKind::Revoked.as_str();
    let (user, agent, limit) = (user.as_uuid(), agent.as_uuid(), i64::from(limit));
    let seconds =
        sqlx::query_file_scalar!("queries/relation_changes/wait_after.sql", user, agent, limit, revoked)
            .fetch_optional(tx.connection())
            .await?;
    Ok(seconds.map(|seconds| Duration::from_secs_f64(seconds.max(1.0))))
}

/// Lists at most `limit` entries below `before`, newest first.
pub async fn list(
    store: &Store,
    relation: RelationId,
    before: i32,
    limit: u32,
) -> Result<Vec<RelationChange>, StoreError> {
    let rows =
        sqlx::query_file!("queries/relation_changes/list.sql", relation.as_uuid(), before, i64::from(limit))
            .fetch_all(&store.pool)
            .await?;
    rows.into_iter()
        .map(|row| {
            Ok(RelationChange {
                number: row.number,
                kind: RelationChangeKind::from_name(&row.kind).map_err(unreadable)?,
                granted_scopes: row.granted_scopes.into_iter().collect(),
                manifest: ManifestPin {
                    version: row.manifest_version,
                    hash: stored_hash(&row.manifest_hash)?,
                },
                actor: PrincipalId::from_uuid(row.actor),
                changed_at: Timestamp::to_jiff(row.changed_at),
            })
        })
        .collect()
}

fn unreadable(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::Unreadable { column: "relation_changes.kind", source: source.into() }
}
