//! The comparison of relations with a new version of a manifest, page by page.

use std::collections::BTreeSet;

use guildhall_domain::ids::{AgentId, PrincipalId, RelationId};

use crate::{Store, StoreError, Tx};

/// A comparison that is not finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelationCheck {
    pub agent: AgentId,
    /// The new version.
    pub version: i64,
    /// The last relation that was compared.
    pub after: Option<RelationId>,
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

/// Starts a comparison from the beginning. One with an older version is over.
pub async fn start(tx: &mut Tx, agent: AgentId, version: i64) -> Result<(), StoreError> {
    sqlx::query_file!("queries/relation_checks/start.sql", agent.as_uuid(), version)
        .execute(tx.connection())
        .await?;
    Ok(())
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
        after: row.after.map(RelationId::from_uuid),
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
        check.after.map(RelationId::as_uuid),
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

/// Notes how far a claimed comparison is.
pub async fn advance(
    tx: &mut Tx,
    check: &RelationCheck,
    after: Option<RelationId>,
    is_finished: bool,
) -> Result<(), StoreError> {
    sqlx::query_file!(
        "queries/relation_checks/advance.sql",
        check.agent.as_uuid(),
        check.version,
        after.map(RelationId::as_uuid),
        is_finished
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
