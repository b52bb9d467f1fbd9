//! What users are told about new versions of manifests.

use guildhall_domain::agents::manifest::version::ManifestPin;
use guildhall_domain::ids::{AgentId, PrincipalId, RelationId};
use guildhall_domain::relations::{NoticeKind, RelationNotice};

use crate::agent_manifests::stored_hash;
use crate::relations::unreadable;
use crate::{Store, StoreError, Tx};

/// A notice to insert, unless the user has decided meanwhile.
#[derive(Debug, Clone)]
pub struct NewNotice {
    pub relation: RelationId,
    pub principal: PrincipalId,
    /// The version of the consent that was compared.
    pub pinned: i64,
    pub kind: NoticeKind,
    /// A JSON array.
    pub scopes: String,
    pub revision: i64,
}

/// Inserts notices about a version. A relation has at most one for each. The caller holds the heads of the users.
pub async fn insert(tx: &mut Tx, version: ManifestPin, notices: &[NewNotice]) -> Result<u64, StoreError> {
    let relations: Vec<_> = notices.iter().map(|notice| notice.relation.as_uuid()).collect();
    let principals: Vec<_> = notices.iter().map(|notice| notice.principal.as_uuid()).collect();
    let pinned: Vec<i64> = notices.iter().map(|notice| notice.pinned).collect();
    let kinds: Vec<&str> = notices.iter().map(|notice| notice.kind.as_str()).collect();
    let scopes: Vec<&str> = notices.iter().map(|notice| notice.scopes.as_str()).collect();
    let revisions: Vec<i64> = notices.iter().map(|notice| notice.revision).collect();
    let done = sqlx::query_file!(
        "queries/relation_notices/insert.sql",
        &relations,
        &principals,
        &pinned,
        &kinds as &[&str],
        &scopes as &[&str],
        &revisions,
        version.version,
        version.hash.as_bytes().as_slice()
    )
    .execute(tx.connection())
    .await?;
    Ok(done.rows_affected())
}

/// Deletes notices about versions below one. The caller holds the heads of the users.
pub async fn delete_older(tx: &mut Tx, relations: &[RelationId], version: i64) -> Result<(), StoreError> {
    let ids: Vec<_> = relations.iter().map(|relation| relation.as_uuid()).collect();
    sqlx::query_file!("queries/relation_notices/delete_older.sql", &ids, version)
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Deletes the notices of a relation: its user has decided. The caller holds the head of the user.
pub async fn delete_of(tx: &mut Tx, relation: RelationId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/relation_notices/delete_of_relation.sql", relation.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Notes that a user has seen a notice. Returns false where there is none.
pub async fn acknowledge(
    store: &Store,
    principal: PrincipalId,
    relation: RelationId,
    version: i64,
) -> Result<bool, StoreError> {
    let (relation, principal) = (relation.as_uuid(), principal.as_uuid());
    let done = sqlx::query_file!("queries/relation_notices/acknowledge.sql", relation, principal, version)
        .execute(&store.pool)
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Lists notices of a user that wait, after a revision.
pub async fn list_open(
    store: &Store,
    principal: PrincipalId,
    after: i64,
    limit: u32,
) -> Result<Vec<RelationNotice>, StoreError> {
    let principal = principal.as_uuid();
    let rows =
        sqlx::query_file!("queries/relation_notices/list_open.sql", principal, after, i64::from(limit))
            .fetch_all(&store.pool)
            .await?;
    rows.into_iter()
        .map(|row| {
            Ok(RelationNotice {
                relation: RelationId::from_uuid(row.relation),
                agent: AgentId::from_uuid(row.agent),
                kind: NoticeKind::from_name(&row.kind).map_err(unreadable)?,
                manifest: ManifestPin {
                    version: row.manifest_version,
                    hash: stored_hash(&row.manifest_hash)?,
                },
                scopes: row.scopes.into_iter().collect(),
                revision: row.revision,
            })
        })
        .collect()
}
