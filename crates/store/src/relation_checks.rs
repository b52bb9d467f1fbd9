//! The comparison of relations with a new version of a manifest, page by page.

use std::collections::BTreeSet;

use guildhall_domain::ids::{AgentId, PrincipalId, RelationId, TenantId};

use crate::{Store, StoreError, Tx};

/// A comparison that is not finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelationCheck {
    pub agent: AgentId,
    /// The new version.
    pub version: i64,
    pub position: CheckPosition,
}

/// How far a comparison is. It goes through all relations once, from any of them on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CheckPosition {
    /// The last relation that was compared; none before the first one.
    pub after: Option<RelationId>,
    /// Where an older version was when this one came; none if this one has started with the first relation.
    pub began_after: Option<RelationId>,
    /// Whether the last relation was reached, and it goes on from the first one to where it began.
    pub has_wrapped: bool,
}

impl CheckPosition {
    /// Returns the position after a page; none at the end.
    #[must_use]
    pub fn next(self, last: Option<RelationId>, is_last_page: bool) -> Option<Self> {
        match (is_last_page, self.has_wrapped || self.began_after.is_none()) {
            (false, _) => Some(Self { after: last.or(self.after), ..self }),
            (true, false) => Some(Self { after: None, has_wrapped: true, ..self }),
            (true, true) => None,
        }
    }

    /// Returns the last relation to compare; none for that of the agent.
    const fn end(self) -> Option<RelationId> {
        if self.has_wrapped { self.began_after } else { None }
    }
}

/// A relation to compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelationToCheck {
    pub id: RelationId,
    pub principal: PrincipalId,
    pub granted_scopes: BTreeSet<String>,
    /// The version of the consent.
    pub pinned: i64,
    /// Whether a notice about an older version waits.
    pub has_notice: bool,
    /// Whether the user can see the agent.
    pub is_visible: bool,
}

/// Starts a comparison. One with an older version is over: this one goes on where it was, and comes around.
pub async fn start(tx: &mut Tx, agent: AgentId, version: i64) -> Result<(), StoreError> {
    sqlx::query_file!("queries/relation_checks/start.sql", agent.as_uuid(), version)
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Starts comparisons for a user who has become a member of a tenant, with manifests that they could not see before.
pub async fn start_for_member(tx: &mut Tx, tenant: TenantId, member: PrincipalId) -> Result<(), StoreError> {
    let (tenant, member) = (tenant.as_uuid(), member.as_uuid());
    sqlx::query_file!("queries/relation_checks/start_for_member.sql", tenant, member)
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Lists agents and versions with a comparison that is not finished, the newest first.
pub async fn list_open(store: &Store, limit: u32) -> Result<Vec<(AgentId, i64)>, StoreError> {
    let rows = sqlx::query_file!("queries/relation_checks/list_open.sql", i64::from(limit))
        .fetch_all(&store.pool)
        .await?;
    Ok(rows.into_iter().map(|row| (AgentId::from_uuid(row.agent), row.version)).collect())
}

/// Returns whether a comparison is not finished. It costs no transaction.
pub async fn any_open(store: &Store) -> Result<bool, StoreError> {
    Ok(sqlx::query_file_scalar!("queries/relation_checks/any_open.sql").fetch_one(&store.pool).await?)
}

/// Claims some comparison until the end of the transaction: those of several agents take turns.
pub async fn claim(tx: &mut Tx) -> Result<Option<RelationCheck>, StoreError> {
    let row = sqlx::query_file!("queries/relation_checks/claim.sql").fetch_optional(tx.connection()).await?;
    Ok(row.map(|row| RelationCheck {
        agent: AgentId::from_uuid(row.agent),
        version: row.version,
        position: CheckPosition {
            after: row.after.map(RelationId::from_uuid),
            began_after: row.began_after.map(RelationId::from_uuid),
            has_wrapped: row.has_wrapped,
        },
    }))
}

/// Lists the next relations of a comparison.
pub async fn list_relations(
    tx: &mut Tx,
    check: &RelationCheck,
    limit: u32,
) -> Result<Vec<RelationToCheck>, StoreError> {
    let rows = sqlx::query_file!(
        "queries/relations/list_to_check.sql",
        check.agent.as_uuid(),
        check.version,
        check.position.after.map(RelationId::as_uuid),
        check.position.end().map(RelationId::as_uuid),
        i64::from(limit)
    )
    .fetch_all(tx.connection())
    .await?;
    let relations = rows.into_iter().map(|row| RelationToCheck {
        id: RelationId::from_uuid(row.id),
        principal: PrincipalId::from_uuid(row.principal),
        granted_scopes: row.granted_scopes.into_iter().collect(),
        pinned: row.manifest_version,
        has_notice: row.has_notice,
        is_visible: row.is_visible,
    });
    Ok(relations.collect())
}

/// Notes how far a claimed comparison is; none at its end.
pub async fn advance(
    tx: &mut Tx,
    check: &RelationCheck,
    next: Option<CheckPosition>,
) -> Result<(), StoreError> {
    let position = next.unwrap_or_default();
    sqlx::query_file!(
        "queries/relation_checks/advance.sql",
        check.agent.as_uuid(),
        check.version,
        position.after.map(RelationId::as_uuid),
        position.has_wrapped,
        next.is_none()
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Makes devices of a user read a relation again. The caller holds the head of the user.
pub async fn touch_relation(tx: &mut Tx, relation: RelationId, revision: i64) -> Result<(), StoreError> {
    sqlx::query_file!("queries/relations/touch.sql", relation.as_uuid(), revision)
        .execute(tx.connection())
        .await?;
    Ok(())
}
