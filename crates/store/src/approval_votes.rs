//! Answers of people to questions of agents. Every writer holds the lock of the run's journal head.

use std::collections::BTreeSet;

use guildhall_domain::access::role::Role;
use guildhall_domain::approvals::digest::ContentDigest;
use guildhall_domain::approvals::question::OptionEffect;
use guildhall_domain::approvals::vote::Vote;
use guildhall_domain::ids::{ApprovalId, PrincipalId, TenantId};

use uuid::Uuid;

use crate::{Store, StoreError, Tx};

/// Inserts the answer of a person, with its encrypted values. Returns false if they have answered before.
pub async fn insert(
    tx: &mut Tx,
    approval: ApprovalId,
    vote: &Vote,
    sealed_content: Option<&[u8]>,
) -> Result<bool, StoreError> {
    let (principal, effect) = (vote.principal.as_uuid(), vote.effect.as_str());
    let inserted = sqlx::query_file!(
        "queries/approval_votes/insert.sql",
        approval.as_uuid(),
        principal,
        vote.option,
        effect,
        vote.content.as_ref().map(|content| content.as_bytes().as_slice()),
        sealed_content
    );
    Ok(inserted.execute(tx.connection()).await?.rows_affected() == 1)
}

/// Finds the answer of a principal.
pub async fn load_own(
    tx: &mut Tx,
    approval: ApprovalId,
    principal: PrincipalId,
) -> Result<Option<Vote>, StoreError> {
    let row =
        sqlx::query_file!("queries/approval_votes/find_own.sql", approval.as_uuid(), principal.as_uuid());
    let Some(row) = row.fetch_optional(tx.connection()).await? else { return Ok(None) };
    let effect = OptionEffect::from_name(&row.effect).map_err(|source| StoreError::Unreadable {
        column: "approval_votes.effect",
        source: source.into(),
    })?;
    let content = read_digest(row.content_digest.as_deref());
    Ok(Some(Vote { principal, option: row.option_id, effect, content }))
}

/// Erases the values of all answers to a question.
pub async fn erase_content(tx: &mut Tx, approval: ApprovalId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/approval_votes/erase_content.sql", approval.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(())
}

fn read_digest(digest: Option<&[u8]>) -> Option<ContentDigest> {
    digest.and_then(|digest| <[u8; 32]>::try_from(digest).ok()).map(ContentDigest::from_bytes)
}

/// Returns which of these questions a principal has answered.
pub async fn list_answered(
    store: &Store,
    approvals: &[ApprovalId],
    principal: PrincipalId,
) -> Result<BTreeSet<ApprovalId>, StoreError> {
    let approvals: Vec<Uuid> = approvals.iter().map(|approval| approval.as_uuid()).collect();
    let rows = sqlx::query_file!("queries/approval_votes/list_answered.sql", &approvals, principal.as_uuid());
    let rows = rows.fetch_all(&store.pool).await?;
    Ok(rows.into_iter().map(|row| ApprovalId::from_uuid(row.approval)).collect())
}

/// Lists the answers to a question in the order of their time, with the roles that the voters have now. External subjects
/// have none.
pub async fn load(
    tx: &mut Tx,
    approval: ApprovalId,
    tenant: TenantId,
) -> Result<Vec<(Vote, Option<Role>)>, StoreError> {
    let rows = sqlx::query_file!("queries/approval_votes/list.sql", approval.as_uuid(), tenant.as_uuid());
    let rows = rows.fetch_all(tx.connection()).await?;
    let read = rows.into_iter().filter_map(|row| {
        let vote = Vote {
            principal: PrincipalId::from_uuid(row.principal),
            option: row.option_id,
            effect: OptionEffect::from_name(&row.effect).ok()?,
            content: read_digest(row.content_digest.as_deref()),
        };
        // An unknown role, written by a newer binary, grants nothing.
        Some((vote, row.role.and_then(|role| Role::from_name(&role).ok())))
    });
    Ok(read.collect())
}
