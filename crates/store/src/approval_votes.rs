//! Answers of people to questions of agents. Every writer holds the lock of the run's journal head.

use std::collections::BTreeSet;

use guildhall_domain::access::role::Role;
use guildhall_domain::approvals::policy::Vote;
use guildhall_domain::approvals::question::OptionEffect;
use guildhall_domain::ids::{ApprovalId, PrincipalId, TenantId};

use uuid::Uuid;

use crate::{Store, StoreError, Tx};

/// Inserts the answer of a person. Returns false if they have answered before.
pub async fn insert(tx: &mut Tx, approval: ApprovalId, vote: &Vote) -> Result<bool, StoreError> {
    let (principal, effect) = (vote.principal.as_uuid(), vote.effect.as_str());
    let inserted = sqlx::query_file!(
        "queries/approval_votes/insert.sql",
        approval.as_uuid(),
        principal,
        vote.option,
        effect
    );
    Ok(inserted.execute(tx.connection()).await?.rows_affected() == 1)
}

/// Finds the option that a principal has chosen.
pub async fn load_own(
    tx: &mut Tx,
    approval: ApprovalId,
    principal: PrincipalId,
) -> Result<Option<String>, StoreError> {
    let row =
        sqlx::query_file!("queries/approval_votes/find_own.sql", approval.as_uuid(), principal.as_uuid());
    Ok(row.fetch_optional(tx.connection()).await?.map(|row| row.option_id))
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

/// Lists the answers to a question in the order of their time, with the roles that the voters have now.
pub async fn load(
    tx: &mut Tx,
    approval: ApprovalId,
    tenant: TenantId,
) -> Result<Vec<(Vote, Role)>, StoreError> {
    let rows = sqlx::query_file!("queries/approval_votes/list.sql", approval.as_uuid(), tenant.as_uuid());
    let rows = rows.fetch_all(tx.connection()).await?;
    let read = rows.into_iter().filter_map(|row| {
        let vote = Vote {
            principal: PrincipalId::from_uuid(row.principal),
            option: row.option_id,
            effect: OptionEffect::from_name(&row.effect).ok()?,
        };
        Some((vote, Role::from_name(row.role.as_deref()?).ok()?))
    });
    Ok(read.collect())
}
